// What the fields of a form must be: a JSON Schema (draft 7) of the operator's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/problem.h"

namespace waybill {

class JsonCheck;

// Clients are strangers to the schema's author: what costs more than reading it is refused before it is checked.
inline constexpr std::size_t kMaxMatchedLength =
    1024;  // characters of a text or a name that a `pattern` or `format` is held against
inline constexpr std::size_t kMaxCheckedValues = 10'000;
inline constexpr std::size_t kMaxUniqueItems = 500;
inline constexpr std::size_t kMaxFieldLevels = 60;

// Immutable; safe from any thread. Two are equal if their texts are.
class FieldsSchema {
 public:
  FieldsSchema() = default;  // takes any fields

  // Error::invalid says what is wrong with the schema.
  static Result<FieldsSchema> compile(std::string_view json);

  // "" if these fields, a JSON object, are as the schema wants them; else a sentence that begins with "fields", or with the path
  // of the first field that is not, such as "fields.email". At most three of them are named.
  std::string fault_in(std::string_view fields) const;

  const std::string& text() const { return text_; }  // JSON with sorted keys; "": none
  bool operator==(const FieldsSchema& other) const { return text_ == other.text_; }

 private:
  std::string text_;
  std::shared_ptr<const JsonCheck> bounds_;  // the schema without what matches texts, which it bounds instead; null: nothing does
  std::shared_ptr<const JsonCheck> whole_;   // null: none
  bool chooses_ = false;                     // it has alternatives, so that `bounds_` alone does not bound every text
  bool wants_unique_ = false;
};

}  // namespace waybill
