// Numbers in queries.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace waybill {

// None when the text is anything else than one number that fits.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace waybill
