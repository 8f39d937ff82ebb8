// Runs the parser on a file and reads its JSON.
#include "support/parsed_mail.h"

#include <strings.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "support/smtp_script.h"
#include "support/temp_folder.h"

namespace waybill::testing {

std::string ParsedMail::header(const std::string& name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const auto& one) { return ::strcasecmp(one.first.c_str(), name.c_str()) == 0; });
  return found == headers.end() ? "" : found->second;
}

ParsedMail parse_mail(const std::string& bytes) {
  const TempFolder folder;
  write_file(folder.path() / "mail", bytes);
  const auto parser = run(python_script("parse_mail.py", folder.path() / "mail"));
  if (parser.exit_code != 0) throw std::runtime_error("the mail could not be parsed: " + parser.err);
  const auto read = nlohmann::json::parse(parser.out);
  ParsedMail mail{.headers = read.at("headers"),
                  .defects = read.at("defects"),
                  .subject = read.at("subject"),
                  .from = read.at("from"),
                  .to = read.at("to"),
                  .message_id = read.at("message_id"),
                  .date = read.at("date"),
                  .parts = {}};
  for (const auto& part : read.at("parts")) mail.parts.push_back({part.at("content_type"), part.at("text")});
  return mail;
}

}  // namespace waybill::testing
