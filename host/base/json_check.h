// A compiled JSON Schema (draft 7) that checks texts. Hides valijson.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/problem.h"

namespace waybill {

inline constexpr std::size_t kMaxProblems = 20;
inline constexpr std::size_t kMaxMessageBytes = 300;

// Safe from any thread.
class JsonCheck {
 public:
  // An empty schema allows every object.
  static Result<JsonCheck> compile(std::string_view schema);
  // Allows only the empty object.
  static JsonCheck nothing();
  JsonCheck(JsonCheck&&) noexcept;
  JsonCheck& operator=(JsonCheck&&) noexcept;
  ~JsonCheck();

  // At most kMaxProblems; `field` is a path such as "headers.X-A" or "recipients[2]".
  Problems check(const std::string& text) const;

 private:
  struct Compiled;
  explicit JsonCheck(std::unique_ptr<const Compiled> compiled);
  std::unique_ptr<const Compiled> compiled_;
};

// "/recipients/2/name" as "recipients[2].name".
std::string dotted_path(std::string_view json_pointer);

}  // namespace waybill
