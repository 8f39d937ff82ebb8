// An SMTP server that takes mail, refuses it, answers late or breaks off as a test tells it, and keeps what it took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/smtp_script.h"
#include "support/temp_folder.h"

namespace waybill::testing {

struct ReceivedMail {
  std::string from;  // of the envelope
  std::vector<std::string> recipients;
  std::string data;  // as it came, without the dots that SMTP adds
};

// Speaks by aiosmtpd in a process of its own. A mail's end is usually answered "250 2.0.0 Ok: queued as sink-<number from 1>".
// One thread at a time.
class SmtpSink {
 public:
  SmtpSink();

  std::uint16_t port() const { return server_.port(); }
  std::string url() const { return "smtp://127.0.0.1:" + std::to_string(port()); }
  SmtpScript& script() { return script_; }
  std::vector<ReceivedMail> received() const;  // what was taken, in its order

 private:
  TempFolder folder_;
  SmtpScript script_;
  PythonServer server_;
};

}  // namespace waybill::testing
