// What the fields of a form must be: a JSON Schema (draft 7) of the operator's.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"

namespace waybill {

class BoundedCheck;

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
  std::shared_ptr<const BoundedCheck> check_;  // null: none
};

}  // namespace waybill
