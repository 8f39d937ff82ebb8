// Reads the sink's notes: each names the file that has the mail.
#include "support/smtp_sink.h"

#include <nlohmann/json.hpp>

namespace waybill::testing {

SmtpSink::SmtpSink() : script_(folder_.path()), server_("smtp_sink.py", folder_.path()) {}

std::vector<ReceivedMail> SmtpSink::received() const {
  std::vector<ReceivedMail> mails;
  for (const auto& line : script_.notes()) {
    const auto note = nlohmann::json::parse(line);
    if (note.contains("mail"))
      mails.push_back({note.at("from"), note.at("recipients"), read_file(folder_.path() / note.at("mail").get<std::string>())});
  }
  return mails;
}

}  // namespace waybill::testing
