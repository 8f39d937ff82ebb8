// The rules that a message must keep before a byte of it leaves.
#include "services/smtp_message.h"

#include <algorithm>

#include "base/utf8.h"

namespace waybill {
namespace {

bool is_word(std::string_view text, std::string_view word) {
  const auto same = [](char a, char b) { return (a >= 'a' && a <= 'z' ? a - 'a' + 'A' : a) == b; };
  return text.size() == word.size() && std::equal(text.begin(), text.end(), word.begin(), same);
}

std::optional<std::string> fault_in_address(std::string_view address) {
  if (address.empty()) return "is empty";
  if (address.size() > kMaxAddressBytes) return "is longer than 320 bytes";
  const auto bad = [](char c) { return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '<' || c == '>'; };
  if (std::any_of(address.begin(), address.end(), bad)) return "contains a space, a control character or an angle bracket";
  const auto at = address.rfind('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == address.size()) return "has no @ between two parts";
  if (!is_valid_utf8(address)) return "is not UTF-8";
  return std::nullopt;
}

bool has_bare_line_end(std::string_view data) {
  for (std::size_t i = data.find_first_of("\r\n"); i != std::string_view::npos; i = data.find_first_of("\r\n", i + 2))
    if (data.substr(i, 2) != "\r\n") return true;
  return false;
}

}  // namespace

void SmtpOffers::take_line(std::string_view keyword_and_more) {
  const auto keyword = keyword_and_more.substr(0, keyword_and_more.find_first_of(" ="));
  if (is_word(keyword, "SIZE")) size = true;
  if (is_word(keyword, "8BITMIME")) eight_bit = true;
  if (is_word(keyword, "SMTPUTF8")) utf8 = true;
}

std::optional<std::string> fault_in(const SmtpMessage& message) {
  if (message.recipients.empty()) return "the message has no recipient";
  if (message.recipients.size() > kMaxRecipients) return "the message has more than 1,000 recipients";
  if (!message.from.empty())
    if (const auto fault = fault_in_address(message.from)) return "the sender's address " + *fault;
  for (std::size_t i = 0; i < message.recipients.size(); ++i)
    if (const auto fault = fault_in_address(message.recipients[i]))
      return "the address of recipient " + std::to_string(i + 1) + " " + *fault;
  if (message.user.empty() != message.password.empty()) return "a user and a password's name go together";
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (message.user.size() > kMaxUserBytes || std::any_of(message.user.begin(), message.user.end(), is_control))
    return "the user is longer than 512 bytes or contains a control character";
  if (message.data.empty()) return "the message is empty";
  if (message.data.size() > kMaxMailBytes) return "the message is longer than 64 MiB";
  if (has_bare_line_end(message.data)) return "the message has a CR or LF that is not part of a CRLF";
  return std::nullopt;
}

}  // namespace waybill
