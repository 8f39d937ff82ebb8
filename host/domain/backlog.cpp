// Reckoning when a queue is empty.
#include "domain/backlog.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr double kMicrosInMinute = 60e6;
constexpr double kTooLong = 365.0 * 24 * 60;  // minutes

double per_minute(const Rate& rate) { return rate.count * (kMicrosInMinute / static_cast<double>(Micros(rate.per).count())); }

}  // namespace

// It empties at what ends beyond what arrives, and not before the last of what is scheduled may start.
EmptyQueue empty_queue(const Backlog& backlog, bool is_counted, Timestamp now) {
  if (backlog.waiting() + backlog.claimed == 0) return {now, {}};
  if (!backlog.stopped.empty()) return {{}, backlog.stopped};
  if (!is_counted) return {{}, "it is too long to be counted"};
  if (backlog.ends <= 0) return {{}, "nothing ended in the last minutes"};
  const double drained = backlog.rate ? std::min(backlog.ends, per_minute(*backlog.rate)) : backlog.ends;
  const double shrinks = drained - backlog.arrivals;
  if (shrinks <= 0) return {{}, "it grows"};
  const double minutes = static_cast<double>(backlog.waiting() + backlog.claimed) / shrinks;
  if (minutes > kTooLong) return {{}, "not within a year"};
  auto at = Timestamp{now.micros + static_cast<std::int64_t>(minutes * kMicrosInMinute)};
  if (backlog.last_scheduled) at = std::max(at, *backlog.last_scheduled);
  return {at, {}};
}

}  // namespace waybill
