// Mail addresses as an operator writes them: "team@example.org, Desk <desk@example.org>". A subset of RFC 5322 that every relay
// takes: no groups, no comments, no quoted local parts, ASCII.
#pragma once

#include <optional>
#include <vector>

#include "common/control_characters.h"
#include "common/mail_address_rules.h"

namespace waybill::plugins {

struct Mailbox {
  std::string name;  // as it is to be read, without quotes; often empty
  std::string address;

  std::string domain() const { return address.substr(address.rfind('@') + 1); }
};

inline constexpr std::size_t kMaxRecipients = 100;
inline constexpr std::size_t kMaxNameLength = 100;

// One "name@domain" or "Name <name@domain>"; otherwise none, and `problem` is a sentence.
inline std::optional<Mailbox> parse_mailbox(std::string_view text, std::string& problem) {
  text = detail::trimmed(text);
  Mailbox out;
  std::string fault;
  const auto open = text.rfind('<');
  if (has_control_character(text)) {
    fault = "it has a control character";
  } else if (open == std::string_view::npos || text.back() != '>') {
    out.address = text;
    if (text.find_first_of(":;") != std::string_view::npos) fault = "groups are not supported";
  } else {
    out.address = text.substr(open + 1, text.size() - open - 2);
    detail::read_name(detail::trimmed(text.substr(0, open)), out.name, fault);
  }
  if (out.name.size() > kMaxNameLength) fault = "its name has more than 100 bytes";
  if (fault.empty()) fault = detail::fault_in_address(out.address);
  if (fault.empty()) return out;
  problem = text.empty() ? "an address is missing" : '"' + one_line(text) + "\" is no address: " + fault;
  return std::nullopt;
}

// 1 to 100 of them between commas, each address once; otherwise none, and `problem` is a sentence.
inline std::optional<std::vector<Mailbox>> parse_mailboxes(std::string_view list, std::string& problem) {
  std::vector<Mailbox> out;
  for (std::size_t begin = 0; begin <= list.size();) {
    std::size_t end = begin;
    for (bool quoted = false; end < list.size() && (quoted || list[end] != ','); ++end) {
      if (list[end] == '\\') ++end;
      if (end < list.size() && list[end] == '"') quoted = !quoted;
    }
    end = std::min(end, list.size());
    auto one = parse_mailbox(list.substr(begin, end - begin), problem);
    if (!one) return std::nullopt;
    const auto same = [&](const Mailbox& other) { return same_name(other.address, one->address); };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(*one));
    if (out.size() > kMaxRecipients) return problem = "there are more than 100 recipients", std::nullopt;
    begin = end + 1;
  }
  return out;
}

}  // namespace waybill::plugins
