// One JSON object, read strictly: what is unknown, doubled or malformed at its top is refused by name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "core/error.h"

namespace waybill {

inline constexpr std::size_t kMostJsonLevels = 64;

// Walking over JSON text that is good, or will be found out later: from `at` past blanks, and past the value that begins there.
std::size_t skip_space(std::string_view text, std::size_t at);
std::size_t end_of_value(std::string_view text, std::size_t at);

class JsonObject {
 public:
  using Fields = std::set<std::string, std::less<>>;

  // Error::invalid with a message for the client. `text` must outlive the object.
  static Result<JsonObject> parse(std::string_view text, const Fields& known);

  bool has(std::string_view name) const;
  Result<std::string> string(std::string_view name) const;  // Error::invalid when it is missing or another kind of value
  std::string_view raw(std::string_view name) const;        // the very bytes of a value; empty when it is missing

 private:
  std::string_view text_;
  std::map<std::string, std::string, std::less<>> strings_;
  std::set<std::string, std::less<>> others_;  // members that are no strings
};

}  // namespace waybill
