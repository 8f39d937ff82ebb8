// Numbers as they were written: 100.00 is no 100.0 to the person who reads it in a mail.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "common/json.h"

namespace waybill::plugins {

// Whether a number comes out of the parser as it went in. What is no number is left to the parser.
inline bool is_kept_exactly(std::string_view number) {
  const bool is_short = number.size() <= 18 && number != "-0";  // a whole one that surely fits into 64 bits
  if (is_short && number.find_first_of(".eE") == std::string_view::npos) return true;
  const auto value = read_json(number);
  return !value.is_number() || value.dump() == number;
}

// The same JSON with each number that would be changed (1.10, 2^64, 1E5) as a text of what stands there.
inline std::string with_exact_numbers(std::string_view json) {
  constexpr std::string_view kOfNumbers = "+-.0123456789eE";
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    std::size_t length = 1;
    if (json.front() == '"') {
      while (length < json.size() && json[length] != '"') length += json[length] == '\\' ? 2 : 1;
      ++length;
    } else if (json.front() == '-' || (json.front() >= '0' && json.front() <= '9')) {
      length = json.find_first_not_of(kOfNumbers);
      const auto number = json.substr(0, length);
      if (!is_kept_exactly(number)) {
        out.append(1, '"').append(number).append(1, '"');
        json.remove_prefix(number.size());
        continue;
      }
    }
    out += json.substr(0, length);
    json.remove_prefix(std::min(length, json.size()));
  }
  return out;
}

}  // namespace waybill::plugins
