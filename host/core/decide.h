// The one function that decides what follows from an attempt. Pure: no I/O, no clock, no randomness of its own.
#pragma once

#include <cstdint>
#include <string>

#include "core/contract.h"
#include "core/outcome.h"
#include "core/retry_timing.h"
#include "core/status.h"
#include "core/time.h"

namespace waybill {

inline constexpr std::uint32_t kMostLeasesLost = 3;

struct Decision {
  enum class Kind : std::uint8_t { accept, reject, exhaust, retry, defer, dead_letter };
  Kind kind;
  std::string reason;    // reject, exhaust, defer, dead_letter
  Timestamp retry_at{};  // retry

  bool operator==(const Decision&) const = default;
};

// The event that a decision is for the delivery's state machine.
Event event_of(Decision::Kind kind);

// What is known of a delivery when one of its attempts has ended.
struct Progress {
  std::uint32_t attempts = 0;    // attempts that count, this one included
  std::uint32_t lease_lost = 0;  // hosts that died with it, this one included
  bool maybe_sent_before = false;
  Timestamp created;
  Timestamp now;
};

// An attempt ended with an outcome. `random` is uniform in [0, 1).
Decision decide(const Outcome& outcome, const Contract& contract, const Progress& progress, const RetryTiming& timing,
                double random);

// The host that held the delivery died: nobody saw the attempt's end.
Decision decide_lost(const Contract& contract, const Progress& progress);

// True when the contract's time is over before an attempt has begun: it must not be sent any more.
bool is_expired(const Contract& contract, Timestamp created, Timestamp now);

// True when the outcome leaves open whether the receiver has it: then a later "duplicate" is evidence of acceptance.
bool leaves_doubt(const Outcome& outcome);

}  // namespace waybill
