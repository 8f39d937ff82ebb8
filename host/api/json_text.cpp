// Strings, which are most of the bytes, are leapt over; the rest is walked through.
#include "api/json_text.h"

namespace waybill {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

std::size_t end_of_string(std::string_view text, std::size_t at) {
  for (auto quote = text.find('"', at + 1); quote != std::string_view::npos; quote = text.find('"', quote + 1)) {
    auto first = quote;  // of the backslashes before the quote: an even number of them leaves it alone
    while (text[first - 1] == '\\') --first;
    if ((quote - first) % 2 == 0) return quote + 1;
  }
  return text.size();
}

std::size_t end_of_value(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == '}' || c == ']' || c == ',' || is_space(c))) break;
    if (c == '}' || c == ']') --depth;
    ++at;
  }
  return at;
}

}  // namespace waybill
