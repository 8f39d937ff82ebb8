// Two to four faults, of which at most one lasts longer than the lease.
#include "crash/chaos_plan.h"

#include <random>

namespace waybill::testing::chaos {
namespace {

constexpr Millis kPastTheLease = kLease + Millis{700};
constexpr Millis kLongOutages[] = {Millis{20'000}, Millis{60'000}};  // more attempts than a contract has

class Planner {
 public:
  explicit Planner(unsigned seed) : random_(seed + 1), first_(seed % kPlannedKinds) { random_.discard(10); }

  std::vector<Planned> all() {
    std::vector<Planned> planned{one(static_cast<Kind>(first_))};
    for (auto more = 1 + upto(3); more > 0; --more) planned.push_back(one(any_other_kind()));
    return planned;
  }

 private:
  int upto(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  Millis between(int least, int most) { return Millis{least + upto(most - least)}; }
  template <std::size_t size>
  std::string any_of(const char* const (&words)[size]) {
    return words[upto(static_cast<int>(size))];
  }
  Millis now_and_then_long(int least, int most) {
    if (had_long_ || upto(2) == 0) return between(least, most);
    had_long_ = true;
    return kPastTheLease;
  }

  Kind any_other_kind() {
    const auto kind = static_cast<Kind>(upto(kPlannedKinds));
    // Two hosts that hang leave nobody to take anything over.
    return kind == Kind::hang && hangs_ ? Kind::disabled_channel : kind;
  }

  Planned one(Kind kind) {
    static constexpr const char* kSessions[] = {"", "", "waybill-liveness", "waybill-claim", "waybill-settle", "waybill-intake"};
    static constexpr const char* kTables[] = {"ready", "attempts", "claims", "submissions", "rows", "outages"};
    Planned planned{.kind = kind, .host = upto(2), .after_sends = 5 + upto(40), .at_latest = between(150, 500)};
    planned.random = static_cast<unsigned>(random_());
    switch (kind) {
      case Kind::kill:
        planned.length = between(20, 400);
        break;
      case Kind::stop:
        planned.length = now_and_then_long(100, 500);
        break;
      case Kind::cut:
        planned.what = any_of(kSessions);
        planned.length = between(300, 900);  // where backends live on behind a lock; else it is over at once
        break;
      case Kind::half_open: {
        static constexpr const char* kWays[] = {"stalled, then open", "stalled, then cut", "mute, then open", "mute, then cut"};
        planned.what = any_of(kWays);
        planned.length = now_and_then_long(200, 900);
        break;
      }
      case Kind::lock:
      case Kind::lock_timeout:
      case Kind::statement_timeout:
        planned.what = any_of(kTables);
        planned.length = between(200, 900);
        break;
      case Kind::cancel:
      case Kind::terminate:
        planned.length = between(50, 400);  // at its beginning and at its end
        break;
      case Kind::restart: {
        static constexpr const char* kWays[] = {"fast", "immediate"};
        planned.what = any_of(kWays);
        break;
      }
      case Kind::clock_forward: {
        static constexpr const char* kSteps[] = {"90", "3600", "86400", "10"};  // s
        planned.what = any_of(kSteps);
        break;
      }
      case Kind::clock_back: {
        static constexpr const char* kSteps[] = {"-1", "-2"};  // s: what is due waits for that long
        planned.what = any_of(kSteps);
        break;
      }
      case Kind::outage:
        planned.length = upto(4) == 0 ? kLongOutages[upto(2)] : between(300, 3000);
        break;
      case Kind::sick:
        planned.length = between(500, 5000);
        break;
      case Kind::hang:
        hangs_ = had_long_ = true;
        planned.length = kPastTheLease;
        break;
      case Kind::disabled_channel:
        planned.length = between(300, 3000);
        break;
      case Kind::poison:
      case Kind::loop:
      case Kind::silent_scanner:
      case Kind::crash:
      case Kind::failed_start:
      case Kind::pause:
      case Kind::displaced:
        break;
    }
    return planned;
  }

  std::minstd_rand random_;
  unsigned first_;
  bool had_long_ = false, hangs_ = false;
};

}  // namespace

std::vector<Planned> plan(unsigned seed) { return Planner(seed).all(); }

std::string describe(const Planned& planned) {
  return std::string(to_string(planned.kind)) + " host " + std::to_string(planned.host) + " after " +
         std::to_string(planned.after_sends) + " sends or " + std::to_string(planned.at_latest.count()) + " ms, for " +
         std::to_string(planned.length.count()) + " ms" + (planned.what.empty() ? "" : ", " + planned.what);
}

}  // namespace waybill::testing::chaos
