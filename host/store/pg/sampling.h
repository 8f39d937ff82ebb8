// Big tables are counted by a sample of their pages.
#pragma once

namespace waybill {

// Pages of 8 KiB. Reading kMaxPagesCounted takes some 50 ms: larger tables are sampled.
inline constexpr double kMaxPagesCounted = 8'192;
inline constexpr double kPagesSampled = 1'024;

}  // namespace waybill
