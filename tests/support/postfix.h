// Debian's Postfix as a relay of the tests' own: it delivers into mailboxes that they read, and lets nothing leave the machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/smtp_script.h"
#include "support/socket.h"
#include "support/temp_folder.h"

namespace waybill::testing {

// Configuration, queue, log and mailboxes lie in a folder of its own; of the machine's Postfix only the programs are used, which
// must start as root and become the users postfix and nobody. An address of a mailbox's domain without a mailbox is refused with
// 550, every other with 554. One thread at a time.
class Postfix {
 public:
  // Why this user can have none; none if it can. A test that gets a reason skips itself and tells it. With must_run() there is no
  // reason to skip: the constructor throws it.
  static std::optional<std::string> impossible();

  explicit Postfix(std::vector<std::string> mailboxes);  // addresses in lower case
  ~Postfix();
  Postfix(const Postfix&) = delete;
  Postfix& operator=(const Postfix&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "smtp://127.0.0.1:" + std::to_string(port_); }
  // Its only moments are "RCPT <address>", and they know no cut; "450 4.7.1 later" at one is a greylist.
  SmtpScript& script() { return script_; }
  void start();
  void stop();  // as by a power cut; the port is kept and refuses connections, the queue is kept

  std::vector<std::string> mailbox(const std::string& address) const;  // mails as delivered, the oldest first
  bool wait_for_mails(const std::string& address, std::size_t least) const;
  std::string log() const { return read_file(folder_.path() / "log"); }

 private:
  bool end();  // false: its services live on
  void make_queue() const;
  void write_configuration(const std::vector<std::string>& mailboxes) const;

  TempFolder folder_;
  TempFolder policy_folder_;
  SmtpScript script_{policy_folder_.path()};
  PythonServer policy_{"postfix_policy.py", policy_folder_.path()};
  Socket door_;  // bound and never listening: it keeps the port ours, also while Postfix is down
  std::uint16_t port_ = 0;
  std::unique_ptr<Process> master_;
};

}  // namespace waybill::testing
