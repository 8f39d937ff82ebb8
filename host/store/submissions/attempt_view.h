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
  bool counts = true;     // against the contract's attempts
  std::int32_t code = 0;  // the protocol's own; 0: none
  std::string provider_ref = {};
  std::optional<bool> maybe_sent = {};  // whether the receiver may have what nobody saw it take; none: not on record
  std::string answer = {};              // of a channel's: JSON of what came back, or empty
};

}  // namespace waybill
