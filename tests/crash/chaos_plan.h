// Which faults a round of the campaign has, from its seed alone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "crash/chaos_verdict.h"

namespace waybill::testing::chaos {

using Millis = std::chrono::milliseconds;

// What the campaign's hosts are configured with.
inline constexpr Millis kAttempt{2000}, kLease{4000};
inline constexpr Terms kTerms{.attempt = 2.0, .lease = 4.0};
inline bool plugins_apart(unsigned seed) { return seed % 2 == 1; }  // in processes of their own

struct Planned {
  Kind kind{};
  int host = 0;         // whom it hits, where it hits one
  int after_sends = 0;  // how much is delivered between the last fault's beginning and this one's
  Millis at_latest{};   // it begins then, if so much is not delivered
  Millis length{};      // from its beginning to its end
  std::string what;     // a table, a session's name, a way of stopping: as the kind needs it
  unsigned random = 0;  // for choices that are made while it runs
};

std::vector<Planned> plan(unsigned seed);
std::string describe(const Planned& planned);

}  // namespace waybill::testing::chaos
