// Who looks after the installation and says something of it, and in which words.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.h"

namespace waybill {

// Who acts, and through what, for the audit.
struct Operator {
  std::string actor, trigger;
};
inline constexpr std::size_t kMaxReason = 500;  // bytes

// Error::invalid names the field whose text is empty, too long or no plain UTF-8.
Result<void> check_text(const char* field, const std::string& text);

}  // namespace waybill
