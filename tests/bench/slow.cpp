// A receiver that takes its time: the speed is how many requests can be open, divided by that time, if nothing else holds it up.
// The host knows what it takes: it has delivered to it before the backlog was held back.
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

constexpr std::uint64_t kRefuseEach = 1000;

std::size_t warm_up_of(std::size_t open) { return 2 * open; }  // enough to have all open at one time

double ideal(std::size_t open, int delay_ms) { return static_cast<double>(open) * 1000 / delay_ms; }

struct Run {
  double rate = 0;
  std::uint64_t most_open = 0;
};

Run deliver(const Bench& bench, std::size_t count, std::size_t open, Costs& costs) {
  Receiver receiver(std::chrono::milliseconds(bench.sizes.slow_ms));
  const auto result = drain_once(bench, count, bench.sizes.body_bytes, {.port = receiver.port(), .settings = room_for(open)},
                                 &receiver, warm_up_of(open));
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
  const auto one = [&](Figures& figures, std::size_t count, std::size_t open, Costs& costs, std::vector<double>& most_open) {
    const auto run = deliver(bench, count, open, costs);
    figures.runs.push_back(run.rate);
    most_open.push_back(static_cast<double>(run.most_open));
    figures.compare("limit", "deliveries/s, ideal", ideal(open, sizes.slow_ms));
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

// The last tenth is not timed: what was refused waits for its retry.
void measure_flapping(const Bench& bench) {
  const auto& sizes = bench.sizes;
  check_file_limit(sizes.flapping_open);
  Figures flapping{.name = "flapping", .unit = "deliveries/s"};
  Costs costs;
  std::vector<double> refused;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("flapping", round, bench.rounds);
    Receiver receiver(std::chrono::milliseconds(sizes.flapping_ms), 0, kRefuseEach);
    const auto database = bench.postgres.create_database();
    Draining draining(bench, database.url(), {.port = receiver.port(), .settings = room_for(sizes.flapping_open)}, &receiver);
    draining.fill(warm_up_of(sizes.flapping_open), sizes.body_bytes);
    draining.run({});
    draining.fill(sizes.flapping, sizes.body_bytes);
    const auto result = draining.run({.deliveries = sizes.flapping - sizes.flapping / 10});
    draining.run({});
    draining.check();
    costs.add(result);
    flapping.runs.push_back(result.rate());
    flapping.compare("limit", "deliveries/s, ideal", ideal(sizes.flapping_open, sizes.flapping_ms));
    refused.push_back(static_cast<double>(receiver.refused()));
  }
  costs.describe(flapping);
  flapping.detail("requests refused", median(refused));
  bench.report.add(std::move(flapping));
}

}  // namespace waybill::bench
