// A place in a list of deliveries that is ordered by time and id: the page behind it begins after it.
#pragma once

#include <cstddef>

#include "base/id.h"
#include "base/time.h"

namespace waybill {

struct DeliveryCursor {
  Timestamp at;
  DeliveryId id;
};

inline constexpr Timestamp kEndOfTime{253'402'300'799'000'000};  // of the year 9999: what PostgreSQL can store

// Rows that a page of any list looks at, at most. So a page may hold fewer than were asked for, even none, and have a next one.
inline constexpr std::size_t kMaxWalked = 20'000;

}  // namespace waybill
