// What a pipeline's guards are asked about: the JSON of a submission and of its stages' results.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

namespace waybill {

// A scalar of JSON, or what stands in its place.
struct JsonMissing {
  bool operator==(const JsonMissing&) const = default;
};
struct JsonNull {
  bool operator==(const JsonNull&) const = default;
};
struct JsonCompound {  // an array or an object
  bool operator==(const JsonCompound&) const = default;
};
using JsonValue = std::variant<JsonMissing, JsonNull, JsonCompound, bool, double, std::string>;

class TextPattern;  // a regular expression, compiled

// What to take from the facts: a value by its JSON pointer, or a part of it.
struct Term {
  std::string at;                              // a JSON pointer
  std::string url_part{};                      // "scheme", "host", "path" or "path/N" (segment N, from 0) of a URL; "": all of it
  std::shared_ptr<const TextPattern> match{};  // the pattern's group, if it matches somewhere; null: all of it
  std::string match_text{};
  int group = 0;
  bool count = false;        // how many elements or members it has
  bool ignore_case = false;  // letters A to Z become small

  bool is_plain() const { return url_part.empty() && !match && !count && !ignore_case; }
  // Terms of one key take the same from the same facts.
  std::string key() const;
};

// Null if the text is no regular expression. Patterns that take too long on a text do not match it.
std::shared_ptr<const TextPattern> compile_pattern(const std::string& text);

// Movable; one thread at a time.
class Facts {
 public:
  Facts();
  Facts(Facts&&) noexcept;
  Facts& operator=(Facts&&) noexcept;
  ~Facts();

  // Sets a member by its JSON pointer of one or two names, such as "/payload" or "/results/SCAN". What is no JSON is left out.
  void set(std::string_view pointer, std::string_view text);
  // Removes a member of the top level, such as "/result".
  void remove(std::string_view pointer);
  JsonValue value(const Term& term) const;
  // Compact JSON; "" if there is nothing.
  std::string json_of(const Term& term) const;

 private:
  struct Document;
  std::unique_ptr<Document> document_;
};

// Whether `text` is a JSON pointer (RFC 6901).
bool is_json_pointer(std::string_view text);

}  // namespace waybill
