// A receiver that takes its time: the speed is how many requests can be open, divided by that time, if nothing else holds it up.
#include <sys/resource.h>

#include <stdexcept>
#include <string>

#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

// As many requests as this are open at one time; twice as many may be claimed, so that the next is at hand.
Settings room_for(std::size_t open) {
  const auto claimed = std::to_string(2 * open);
  return {{"limits.in_flight", claimed},
          {"limits.per_target", claimed},
          {"limits.per_org", claimed},
          {"limits.per_host_name", std::to_string(open)}};
}

// The host and the receiver each have a socket for every open request.
void check_file_limit(std::size_t open) {
  constexpr std::size_t kBeside = 200;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < open + kBeside)
    throw std::runtime_error("the limit of open files is " + std::to_string(limit.rlim_cur) + ", which is too low for " +
                             std::to_string(open) + " open requests: raise it (ulimit -n)");
}

struct Run {
  double rate = 0;
  std::uint64_t most_open = 0;
};

Run deliver(const Bench& bench, std::size_t count, std::size_t open, Costs& costs) {
  Receiver receiver(std::chrono::milliseconds(bench.sizes.slow_ms));
  const auto result =
      drain_once(bench, count, bench.sizes.body_bytes, {.port = receiver.port(), .settings = room_for(open)}, &receiver);
  costs.add(result);
  return {result.rate(), receiver.most_open()};
}

}  // namespace

void measure_slow(const Bench& bench) {
  const auto& sizes = bench.sizes;
  for (const auto open : {sizes.slow_open, sizes.slow_wide_open}) check_file_limit(open);
  Figures slow{.name = "slow", .unit = "deliveries/s"};
  Figures wide{.name = "slow_wide", .unit = "deliveries/s"};
  Costs slow_costs, wide_costs;
  std::vector<double> slow_open, wide_open;
  const auto ideal = [&](std::size_t open) { return static_cast<double>(open) * 1000 / sizes.slow_ms; };
  const auto one = [&](Figures& figures, std::size_t count, std::size_t open, Costs& costs, std::vector<double>& most_open) {
    const auto run = deliver(bench, count, open, costs);
    figures.runs.push_back(run.rate);
    most_open.push_back(static_cast<double>(run.most_open));
    figures.compare("limit", "deliveries/s, ideal", ideal(open));
  };
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("slow", round, bench.rounds);
    one(slow, sizes.slow, sizes.slow_open, slow_costs, slow_open);
    one(wide, sizes.slow_wide, sizes.slow_wide_open, wide_costs, wide_open);
    compare(slow, bench.rivals.run("slow"));
  }
  slow_costs.describe(slow);
  wide_costs.describe(wide);
  slow.detail("open at once, at most", median(slow_open));
  wide.detail("open at once, at most", median(wide_open));
  bench.report.add(std::move(slow));
  bench.report.add(std::move(wide));
}

}  // namespace waybill::bench
