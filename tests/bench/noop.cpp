// What is left when nothing is sent: claim, plugin, settlement.
#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

constexpr std::size_t kBodyBytes = 40;  // the peers' no-op jobs have next to none

}  // namespace

Settings wide_window() {
  Settings settings;
  for (const char* limit : {"in_flight", "per_target", "per_org", "per_host_name"})
    settings["limits." + std::string(limit)] = "4096";
  return settings;
}

void measure_noop(const Bench& bench) {
  Figures figures{.name = "noop", .unit = "no-op deliveries/s"};
  Costs costs;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("noop", round, bench.rounds);
    const auto result = drain_once(bench, bench.sizes.noop, kBodyBytes, {.type = "noop", .settings = wide_window()}, nullptr);
    figures.runs.push_back(result.rate());
    costs.add(result);
    compare(figures, bench.rivals.run("noop"));
  }
  costs.describe(figures);
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
