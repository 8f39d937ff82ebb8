// Which addresses are good, and how a list of them is read: mail_address.h and mail_address_rules.h.
#include "common/mail_address.h"

#include <algorithm>
#include <utility>

#include "common/control_characters.h"
#include "common/mail_address_rules.h"
#include "common/text.h"

namespace waybill::plugins {
namespace {

constexpr std::size_t kMaxNameLength = 100;

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_atext(char c) {
  return detail::is_alnum(c) || (c != '\0' && std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos);
}

// Words of the wanted characters between single dots.
template <class Wanted>
bool is_dotted(std::string_view text, std::size_t longest_word, const Wanted& wanted) {
  std::size_t word = 0;
  for (const char c : text) {
    if (c == '.' ? word == 0 : !wanted(c) || ++word > longest_word) return false;
    if (c == '.') word = 0;
  }
  return word != 0;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n");
  return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

// What stands before "<": bare words, or one quoted string.
bool read_name(std::string_view text, std::string& out, std::string& fault) {
  if (text.empty() || text.front() != '"') {
    out = text;
    if (text.find_first_of("()<>[]:;@\\\"") == std::string_view::npos) return true;
    return fault = "a name with any of ()<>[]:;@\\\" needs quotes around it", false;
  }
  for (text.remove_prefix(1); !text.empty() && text.front() != '"'; text.remove_prefix(1)) {
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    out += text.front();
  }
  if (text.size() == 1) return true;
  return fault = "its quotes do not fit", false;
}

}  // namespace

std::string detail::fault_in_address(std::string_view address) {
  const auto at = address.rfind('@');
  if (at == std::string_view::npos || at == 0 || at + 1 == address.size()) return "it is not of the form name@domain";
  const auto local = address.substr(0, at), domain = address.substr(at + 1);
  if (!is_ascii(local)) return "letters outside ASCII before the @ cannot be sent to (SMTPUTF8 is not offered)";
  if (!is_ascii(domain)) return "write a domain with letters outside ASCII in its xn-- form";
  if (local.front() == '"') return "a quoted name before the @ is not supported";
  if (local.find("=?") != std::string_view::npos) return "what stands before the @ would be read as an encoded word";
  if (local.size() > 64 || !is_dotted(local, 64, is_atext)) return "what stands before the @ is no name";
  if (domain.front() == '[') return "an address in brackets behind the @ is not supported";
  const auto in_label = [](char c) { return detail::is_alnum(c) || c == '-'; };
  if (address.size() > 254 || !is_dotted(domain, 63, in_label)) return "what stands behind the @ is no domain";
  for (std::size_t i = 0; i < domain.size(); ++i)
    if (domain[i] == '-' && (i == 0 || i + 1 == domain.size() || domain[i - 1] == '.' || domain[i + 1] == '.'))
      return "a part of a domain does not begin or end with a hyphen";
  return {};
}

std::optional<Mailbox> parse_mailbox(std::string_view text, std::string& problem) {
  text = trimmed(text);
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
    read_name(trimmed(text.substr(0, open)), out.name, fault);
  }
  if (out.name.size() > kMaxNameLength) fault = "its name has more than 100 bytes";
  if (fault.empty()) fault = detail::fault_in_address(out.address);
  if (fault.empty()) return out;
  problem = text.empty() ? "an address is missing" : '"' + one_line(text) + "\" is no address: " + fault;
  return std::nullopt;
}

std::optional<std::vector<Mailbox>> parse_mailboxes(std::string_view list, std::string& problem) {
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
