// What organisations weigh when several want more than there is: one of weight 3 gets three times the places of one of weight 1.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/id.h"

namespace waybill {

inline constexpr std::uint32_t kMaxOrgWeight = 1000;

using OrgWeights = std::unordered_map<OrgId, std::uint32_t>;  // of those that have another than 1

}  // namespace waybill
