// The service level objective: how many deliveries were accepted within a time from their acknowledgement, and how many were not,
// by organisation and target. Whatever ends is a counter of its own, so that operators choose what counts as missed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/id.h"

namespace prometheus {
class Counter;
class Gauge;
class Registry;
template <class T>
class Family;
}  // namespace prometheus

namespace waybill {

// The most pairs of organisation and target that are told apart; the rest is "other" of "other".
inline constexpr std::size_t kMaxObjectives = 500;

// Safe from any thread.
class Objective {
 public:
  enum class End : std::uint8_t { within, late, rejected, exhausted };
  static constexpr std::size_t kEnds = 4;
  using Counts = std::array<std::uint64_t, kEnds>;  // by End

  explicit Objective(prometheus::Registry& registry);

  void promise(double seconds);  // waybill_objective_seconds
  // waybill_objective_ends_total{organisation,target,end}. What an organisation without a known name has is counted once name()
  // has told it.
  void ended(OrgId org, std::string_view target, const Counts& counts);
  std::vector<OrgId> unnamed();  // those whose counts wait for a name
  void name(OrgId org, std::string_view name);
  // waybill_objective_overdue{organisation,target}: what is open for longer than promised. Of pairs that are not in the list: 0.
  struct Overdue {
    std::string organisation, target;
    std::uint64_t count = 0;
  };
  void overdue(std::span<const Overdue> all);

 private:
  using Pair = std::pair<std::string, std::string>;  // organisation and target
  struct Series {
    std::array<prometheus::Counter*, kEnds> ends;
    prometheus::Gauge* overdue;
  };
  Series& series(std::string_view organisation, std::string_view target);
  void count(const std::string& organisation, std::string_view target, const Counts& counts);

  prometheus::Family<prometheus::Counter>& ends_;
  prometheus::Family<prometheus::Gauge>& overdue_;
  prometheus::Gauge& seconds_;
  std::mutex mutex_;  // for all below
  std::map<Pair, Series> series_;
  std::map<OrgId, std::string> names_;
  std::map<std::pair<OrgId, std::string>, Counts> waiting_;  // for names
};

}  // namespace waybill
