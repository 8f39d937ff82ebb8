// The mail that a demo's forms send: a local SMTP server, and a folder where each mail it took lies as a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "support/smtp_sink.h"

namespace waybill::testing {

// One thread at a time.
class Mailbox {
 public:
  // Mails go to FOLDER/1.eml, FOLDER/2.eml, ...; what an earlier run left there goes.
  explicit Mailbox(std::filesystem::path folder);

  std::string relay() const { return sink_.url(); }
  // How many mails came since the last call; each is written to its file, and told of.
  std::size_t show_new();

 private:
  std::filesystem::path folder_;
  SmtpSink sink_;
  std::size_t shown_ = 0;
};

}  // namespace waybill::testing
