// What a delivery has gone through so far: the columns of `ready` that a claim brings, an attempt or a lost host changes and a
// settlement writes back. store/queue/history_rows.h reads them, the part `history` of store/queue/parts.sql selects them, and
// store/queue/settle_statement.cpp has a line for each that a settlement writes.
#pragma once

#include <cstdint>
#include <string>

namespace waybill {

struct History {
  std::uint32_t attempt_count = 0;  // attempts that were made, also those that nobody saw the end of
  std::uint32_t uncounted = 0;      // of these: they do not count against the contract
  std::uint32_t lease_lost = 0;     // hosts that died with it since its last settled attempt; more than 0: a suspect, tried alone
  bool maybe_sent = false;          // the receiver may have what nobody saw it take
  std::string progress{};           // JSON that an earlier transient outcome left for the next attempt, or empty

  std::uint32_t counted() const { return attempt_count - uncounted; }
  bool operator==(const History&) const = default;
};

}  // namespace waybill
