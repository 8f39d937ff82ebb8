// A database that was empty a moment ago, and a host that has been at work on it: batches come in while they are worked off.
#include <stdexcept>

#include "bench/backlog.h"
#include "bench/intake.h"
#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/progress.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

constexpr std::chrono::minutes kAtMost{5};

double work_off(const Bench& bench, const Load& batches, const LoadEnd& end) {
  using Clock = std::chrono::steady_clock;
  const auto database = bench.postgres.create_database();
  const Host host(bench.program, database.url(), {.type = "noop", .settings = room_for_batches()});
  Backlog backlog(database.url());
  const auto first = testing::HttpClient(host.port())
                         .request("POST", "/v1/intents?waitSeconds=20", intent("first", bench.sizes.body_bytes),
                                  {{"Content-Type", "application/json"}});
  if (first.status != 200) throw std::runtime_error("a single intent did not end: " + first.body);
  const auto from = Clock::now();
  const auto intents = run_load(host.port(), 1, batches, end).acknowledged * bench.sizes.burst_batch;
  if (!wait_until([&] { return backlog.empty(); }, kAtMost))
    throw std::runtime_error(std::to_string(backlog.waiting()) + " deliveries still wait:\n" + host.log_end());
  const auto seconds = std::chrono::duration<double>(Clock::now() - from).count();
  backlog.check_each_once(intents + 1);
  return static_cast<double>(intents) / seconds;
}

}  // namespace

void measure_burst(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Figures figures{.name = "burst", .unit = "no-op deliveries/s, from handing in to on record"};
  const auto batches = batches_of_intents(sizes.burst_batch, sizes.body_bytes);
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("burst", round, bench.rounds);
    figures.runs.push_back(work_off(bench, batches, {.requests = sizes.burst / sizes.burst_batch}));
  }
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
