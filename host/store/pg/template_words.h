// The text of a template of a .sql file, with its words in braces replaced.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace waybill {

// Quoting is the caller's. A value is not looked through again.
inline std::string with_words(std::string_view text, const std::map<std::string, std::string>& words) {
  std::string all(text);
  for (const auto& [word, value] : words)
    for (auto at = all.find(word); at != std::string::npos; at = all.find(word, at + value.size()))
      all.replace(at, word.size(), value);
  return all;
}

}  // namespace waybill
