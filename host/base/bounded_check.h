// A JSON Schema that holds what strangers send against it: no text of theirs costs much more than reading it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json_check.h"
#include "base/problem.h"

namespace waybill {

// What costs more is refused before it is checked.
inline constexpr std::size_t kMaxMatchedLength = 1024;  // characters of a text that a `pattern` or `format` is held against
inline constexpr std::size_t kMaxCheckedValues = 10'000;
inline constexpr std::size_t kMaxUniqueItems = 500;
inline constexpr std::size_t kMaxCheckedLevels = 60;

// Immutable; safe from any thread.
class BoundedCheck {
 public:
  // Draft 7 but for `patternProperties`. Error::invalid says what is wrong with the schema.
  static Result<BoundedCheck> compile(std::string_view schema);

  // As JsonCheck's. A JSON that costs too much is a problem of no field.
  Problems check(const std::string& json) const;

 private:
  explicit BoundedCheck(JsonCheck whole) : whole_(std::move(whole)) {}

  JsonCheck whole_;
  std::optional<JsonCheck> bounds_;  // the schema without what matches texts, which it bounds instead; none: nothing does
  bool chooses_ = false;             // it has alternatives, so that `bounds_` alone does not bound every text
  bool wants_unique_ = false;
};

}  // namespace waybill
