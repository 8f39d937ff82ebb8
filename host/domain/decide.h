// The one function that decides what follows from an attempt. Pure: no I/O, no clock, no randomness of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/time.h"
#include "domain/contract.h"
#include "domain/history.h"
#include "domain/outcome.h"
#include "domain/retry_timing.h"
#include "domain/status.h"

namespace waybill {

inline constexpr std::uint32_t kMaxLeasesLost = 3;
// So many attempts of one delivery, and one more for each second of an outage, go uncounted. An outage cannot take more: beyond
// that it is this delivery that makes its target refuse.
inline constexpr std::uint32_t kMaxUncounted = 1000;

// So long does a host leave a delivery to the others that could not leave from here.
inline constexpr Millis kOthersTurn = Seconds(1);

struct Decision {
  enum class Kind : std::uint8_t { accept, reject, exhaust, retry, defer, dead_letter };
  Kind kind;
  std::string reason;    // reject, exhaust, defer, dead_letter
  Timestamp retry_at{};  // retry
  bool counts = true;    // the attempt, against the contract's attempts

  bool operator==(const Decision&) const = default;
};

// The event that a decision is for the delivery's state machine.
Event event_of(Decision::Kind kind);

// The outage of a delivery's target, when the attempt's outcome blames the target.
struct Outage {
  Timestamp since;
  Timestamp until;            // the cooldown's end: nothing is sent before
  Millis uncounted_for{};     // while the outage is shorter than this, attempts do not count
  bool of_this_host = false;  // nobody else finds so: other hosts go on sending
};

// What is known of a delivery when one of its attempts has ended.
struct Progress {
  History before{};     // before this attempt
  Timestamp created{};  // from when its deadline counts
  Timestamp now{};
  std::optional<Outage> outage{};
  std::optional<Timestamp> expires{};  // its own time: nothing is sent then or later

  std::uint32_t attempts() const { return before.counted() + 1; }  // that count, this one as well
};

// An attempt ended with an outcome. `random` is uniform in [0, 1).
Decision decide(const Outcome& outcome, const Contract& contract, const Progress& progress, const RetryTiming& timing,
                double random);

// The host that held the delivery died, or the plugin's process: nobody saw the attempt's end. `lease_lost` includes this death.
// `reach`: what is known of it; not_sent is no doubt, and ends no one_shot.
Decision decide_lost(const Contract& contract, std::uint32_t lease_lost, Timestamp created, Timestamp now,
                     Reach reach = Reach::maybe_sent);

// True when the contract's time is over before an attempt has begun: it must not be sent any more.
bool is_expired(const Contract& contract, Timestamp created, Timestamp now);

// True when the outcome says that nothing would get through to the target now, whichever delivery it was.
bool blames_target(const Outcome& outcome);

// True when an outage of its target may be behind the outcome as well as the delivery: a 5xx, or no answer to what was sent. One
// of them says nothing; settle/breaker.h looks at how many of a target's deliveries fail so.
bool may_blame_target(const Outcome& outcome);

// True when the target was there, whatever it made of the delivery: its outage, if there was one, is over.
bool clears_target(const Outcome& outcome);

// True when the outcome leaves open whether the receiver has it: then a later "duplicate" is evidence of acceptance.
bool leaves_doubt(const Outcome& outcome);

}  // namespace waybill
