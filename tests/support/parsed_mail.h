// Mails as a parser that is not ours reads them: Python's `email`.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace waybill::testing {

struct MailPart {
  std::string content_type;  // "text/plain"
  std::string text;          // decoded, lines ending in \n; "" for what is no text
};

struct ParsedMail {
  std::vector<std::pair<std::string, std::string>> headers;  // decoded, in their order
  std::vector<std::string> defects;                          // what the parser forgave, in headers and parts
  std::string subject;                                       // these are "" when there is none
  std::string from;                                          // the address alone
  std::vector<std::string> to;                               // addresses alone
  std::string message_id;
  std::string date;             // ISO 8601
  std::vector<MailPart> parts;  // those that are no multipart, in their order

  std::string header(const std::string& name) const;  // the first of this name in any case, else ""
};

// Throws if the parser gave up.
ParsedMail parse_mail(const std::string& bytes);
std::vector<ParsedMail> parse_mails(const std::vector<std::string>& mails);  // with one start of the parser

}  // namespace waybill::testing
