// What a delivery has gone through so far: the columns of `ready` that a claim brings, an attempt or a lost host changes and a
// settlement writes back. The part `history` of store/parts.sql selects them, store/queue/history_rows.h reads them, and
// store/queue/settle_statement.cpp has a line for each that a settlement writes. `progress`, which may be large, goes with the
// body.
#pragma once

#include <cstdint>

namespace waybill {

struct History {
  std::uint32_t attempt_count = 0;  // attempts that were made, also those that nobody saw the end of
  std::uint32_t uncounted = 0;      // of these: they do not count against the contract
  // Hosts lost with it, and hangs, since an attempt last ended in sight. More than 0: a suspect, tried alone.
  std::uint32_t lease_lost = 0;
  bool maybe_sent = false;  // the receiver may have it, although no attempt saw it accepted

  std::uint32_t counted() const { return attempt_count - uncounted; }
  bool operator==(const History&) const = default;
};

}  // namespace waybill
