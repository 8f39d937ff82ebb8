// An attempt on record, as the API and the commands show it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"

namespace waybill {

struct AttemptView {
  std::uint32_t number;
  Timestamp started;
  std::optional<Timestamp> finished;
  std::string outcome;
  std::string reason;
  std::string error;
  bool counts = true;       // against the contract's attempts
  std::string answer = {};  // of a channel's: JSON of what came back, or empty
};

}  // namespace waybill
