// How long a queue is and when it will be empty, reckoned from what came and went of late.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "domain/contract.h"

namespace waybill {

// What waits for one target.
struct Backlog {
  std::int64_t due = 0;                     // may start now
  std::int64_t scheduled = 0;               // later: a retry, or spaced
  std::int64_t collecting = 0;              // notifications that still collect events
  std::int64_t claimed = 0;                 // held by a host: most of them in flight
  std::int64_t retries = 0;                 // of the scheduled, those that were attempted
  std::optional<Timestamp> oldest_due;      // since then the oldest has been due
  std::optional<Timestamp> next_scheduled;  // the first of them
  std::optional<Timestamp> last_scheduled;  // the last one may start then
  double arrivals = 0, ends = 0;            // a minute, of late
  std::optional<Rate> rate;                 // in force
  std::string stopped;                      // why nothing is sent: "paused", "in an outage"; "": it is

  std::int64_t waiting() const { return due + scheduled + collecting; }
};

// `empty_at`, or else why there is no such time.
struct EmptyQueue {
  std::optional<Timestamp> at;
  std::string why_not;
};

// `is_counted`: all that waits was counted.
EmptyQueue empty_queue(const Backlog& backlog, bool is_counted, Timestamp now);

}  // namespace waybill
