// One JSON object, read strictly: what is unknown, doubled or malformed at its top is refused by name.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace waybill {

inline constexpr std::size_t kMaxJsonLevels = 64;

// Why this text is no JSON at all, or "" if it is some. A number that no double can hold counts as malformed.
std::string malformed_json(std::string_view text);

class JsonObject {
 public:
  using Fields = std::initializer_list<std::string_view>;  // literals: they outlive every object

  // Error::invalid with a message for the client. `text` must outlive the object.
  static Result<JsonObject> parse(std::string_view text, Fields known);

  // The two ways of parse(). The quick one takes no text that the thorough one refuses, and sees the same in it; none: ask the
  // thorough one, which knows what is wrong, if anything is.
  static std::optional<JsonObject> parse_quickly(std::string_view text, Fields known);
  static Result<JsonObject> parse_thoroughly(std::string_view text, Fields known);

  bool has(std::string_view name) const { return !raw(name).empty(); }
  Result<std::string> string(std::string_view name) const;  // Error::invalid when it is missing or another kind of value
  std::string_view raw(std::string_view name) const;        // the very bytes of a value; empty when it is missing

 private:
  struct Member {
    std::string_view name;
    std::string_view value;
  };
  static std::optional<JsonObject> cut(std::string_view text, Fields known);

  std::vector<Member> members_;
};

}  // namespace waybill
