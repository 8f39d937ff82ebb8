// Runs the parser on a folder of mails and reads its JSON.
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

static ParsedMail mail_from(const nlohmann::json& read) {
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

std::vector<ParsedMail> parse_mails(const std::vector<std::string>& mails) {
  const TempFolder folder;
  for (std::size_t i = 0; i < mails.size(); ++i) write_file(folder.path() / std::to_string(i), mails[i]);
  const auto parser = run(python_script("parse_mail.py", folder.path()));
  if (parser.exit_code != 0) throw std::runtime_error("the mails could not be parsed: " + parser.err);
  std::vector<ParsedMail> parsed;
  for (const auto& read : nlohmann::json::parse(parser.out)) parsed.push_back(mail_from(read));
  if (parsed.size() != mails.size()) throw std::runtime_error("not all mails were parsed");
  return parsed;
}

ParsedMail parse_mail(const std::string& bytes) { return parse_mails({bytes}).front(); }

}  // namespace waybill::testing
