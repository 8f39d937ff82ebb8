// Mail addresses as an operator writes them: "team@example.org, Desk <desk@example.org>". A subset of RFC 5322 that every relay
// takes: no groups, no comments, no quoted local parts, ASCII.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace waybill::plugins {

struct Mailbox {
  std::string name;  // as it is to be read, without quotes; often empty
  std::string address;

  std::string domain() const { return address.substr(address.rfind('@') + 1); }
};

inline constexpr std::size_t kMaxRecipients = 100;

// One "name@domain" or "Name <name@domain>"; otherwise none, and `problem` is a sentence.
std::optional<Mailbox> parse_mailbox(std::string_view text, std::string& problem);

// 1 to 100 of them between commas, each address once; otherwise none, and `problem` is a sentence.
std::optional<std::vector<Mailbox>> parse_mailboxes(std::string_view list, std::string& problem);

}  // namespace waybill::plugins
