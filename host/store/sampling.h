// Big tables are counted by a sample of their pages.
#pragma once

namespace waybill {

// Pages of 8 KiB. Reading kMaxPages takes some 50 ms: larger tables are sampled.
inline constexpr double kMaxPages = 8'192;
inline constexpr double kSamplePages = 1'024;

}  // namespace waybill
