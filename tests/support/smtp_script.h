// What a mail server of the tests does at each step of a conversation, changed while it runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "support/process.h"

namespace waybill::testing {

// How one step is met. A mail whose end is answered with 2xx counts as taken, also when that answer is late or never leaves.
struct SmtpStep {
  enum class Cut { never, before, after };  // the connection, by the answer

  std::string say;    // "451 4.7.1 later"; "": the usual answer
  bool held = false;  // the answer, and a cut, wait for release()
  Cut cut = Cut::never;
};

// The script in a server's folder, and the server's notes of what it met. One thread at a time.
//
// Moments: "greeting", "EHLO", "MAIL", "RCPT <address in lower case>", "DATA", "." (a message's end).
class SmtpScript {
 public:
  explicit SmtpScript(std::filesystem::path folder);

  // The steps at this moment from now on, in turn; the last one stays.
  void at(const std::string& moment, std::vector<SmtpStep> steps);
  void release();                                      // lets everything go that is held, now and later
  std::size_t count(const std::string& moment) const;  // how often it came
  std::vector<std::string> notes() const;              // JSON, in their order

 private:
  struct List {
    int number;  // each has its own, so that the server knows a new one
    std::vector<SmtpStep> steps;
  };
  void write() const;

  std::filesystem::path folder_;
  std::map<std::string, List> moments_;
  int lists_ = 0;
  bool released_ = false;
};

// The command that runs one of tests/support/*.py with Debian's own Python, on a folder or a file.
Command python_script(const std::string& name, const std::filesystem::path& argument);

// Starts such a server in its folder, where it writes its port once it listens there; throws what it said when it does not.
class PythonServer {
 public:
  PythonServer(const std::string& name, const std::filesystem::path& folder);
  std::uint16_t port() const { return port_; }

 private:
  Process process_;
  std::uint16_t port_ = 0;
};

}  // namespace waybill::testing
