// How many wrong tokens an address may send, and which of them the log tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "api/recent.h"
#include "base/clock.h"
#include "base/time.h"

namespace waybill {

// One thread at a time. A peer is an address as text; those of IPv6 with the same first 64 bits are one.
class SignInLimit {
 public:
  SignInLimit(const Clock& clock, std::size_t per_minute) : clock_(clock), per_minute_(static_cast<double>(per_minute)) {}

  bool is_over(const std::string& peer);
  Seconds retry_after(const std::string& peer);  // at least one
  void count(const std::string& peer);           // a wrong token
  // Whether the log is to tell of a failure now, and of how many of this peer since it last did. At most one event in ten seconds
  // for each peer, and ten for all of them.
  std::optional<std::uint64_t> tell(const std::string& peer);

 private:
  struct Account {
    double left = 0;  // wrong tokens; below 0: as many answers came in at one time
    Clock::Monotonic at{};
    std::optional<Clock::Monotonic> told{};
    std::uint64_t untold = 0;
  };
  Account& account(const std::string& peer);

  const Clock& clock_;
  const double per_minute_;
  Recent<Account> accounts_{10'000};
  std::optional<Clock::Monotonic> period_;  // of the log
  int told_ = 0;                            // in it
};

}  // namespace waybill
