// Cutting messages.
#include "store/pg/error_words.h"

#include <regex>

namespace waybill {
namespace {

constexpr std::size_t kTelling = 3;  // as many characters of a password in a row are no accident

// What may be the password, as far as that can be told of an address that is mistyped: what stands before the last '@' behind a
// ':', and what follows "pass".
std::string password_in(const std::string& url) {
  static const std::regex kNextKeyword("[&\\s]\\w+\\s*=");
  std::string found;
  const auto scheme = url.find("://");
  const auto at = url.rfind('@');
  const auto colon = url.find(':', scheme == std::string::npos ? 0 : scheme + 3);
  if (at != std::string::npos && colon < at) found.append(url, colon + 1, at - colon).append("\n");
  for (auto pass = url.find("pass"); pass != std::string::npos; pass = url.find("pass", pass + 1)) {
    const auto equals = url.find('=', pass);
    if (equals == std::string::npos) break;
    const auto value = url.begin() + static_cast<std::ptrdiff_t>(equals) + 1;
    std::smatch next;
    found.append(value, std::regex_search(value, url.end(), next, kNextKeyword) ? next[0].first : url.end()).append("\n");
  }
  return found;
}

bool repeats(std::string_view quoted, std::string_view password) {
  for (std::size_t i = 0; i + kTelling <= quoted.size(); ++i)
    if (password.find(quoted.substr(i, kTelling)) != std::string_view::npos) return true;
  return false;
}

}  // namespace

std::string error_words(std::string_view message, std::string_view sqlstate) {
  const auto first = message.substr(0, message.find('\n'));
  const bool has_values = sqlstate.empty() || sqlstate.starts_with("22") || sqlstate.starts_with("23");
  return std::string(has_values && first.find(" waybill: ") == std::string_view::npos ? first : message);
}

std::string connection_error_words(std::string_view message, const std::string& url) {
  const auto password = password_in(url);
  if (password.find('"') != std::string::npos)  // then nobody knows where a quotation ends
    return std::string(message.substr(0, message.find('"')));
  std::string words;
  for (;;) {
    const auto open = message.find('"');
    const auto close = open == std::string_view::npos ? open : message.find('"', open + 1);
    if (close == std::string_view::npos) return words.append(message);
    const auto quoted = message.substr(open + 1, close - open - 1);
    words.append(message.substr(0, open + 1)).append(repeats(quoted, password) ? "..." : quoted).append("\"");
    message.remove_prefix(close + 1);
  }
}

}  // namespace waybill
