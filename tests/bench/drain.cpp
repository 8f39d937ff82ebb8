// The measure that counts most: signed deliveries from a backlog until the last is on record, beside a bare curl loop.
#include "bench/curl_loop.h"
#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

CurlLoopResult bare_loop(const Bench& bench) {
  const Receiver receiver;
  return run_curl_loop(receiver.port(), bench.sizes.drain, bench.sizes.body_bytes, bench.sizes.drain_connections);
}

}  // namespace

void measure_drain(const Bench& bench) {
  Figures figures{.name = "drain", .unit = "signed deliveries/s"};
  Costs costs;
  std::vector<double> loop_us;
  const auto bare = 2 * static_cast<double>(bench.sizes.drain);
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("drain", round, bench.rounds);
    {
      Receiver receiver;
      const auto database = bench.postgres.create_database();
      Draining draining(bench, database.url(), {.port = receiver.port()}, &receiver);
      draining.fill(bench.sizes.drain, bench.sizes.body_bytes);
      const auto before = bare_loop(bench);
      const auto result = draining.run({});
      const auto after = bare_loop(bench);  // on both sides, so that a drift of the machine's load meets the limit as well
      draining.check();
      figures.runs.push_back(result.rate());
      costs.add(result);
      figures.compare("limit", "posts/s of a bare curl loop", bare / (before.seconds + after.seconds));
      loop_us.push_back((before.cpu_seconds + after.cpu_seconds) / bare * 1e6);
    }
    compare(figures, bench.rivals.run("drain"));
  }
  costs.describe(figures);
  figures.detail("bare curl loop, CPU us each", median(loop_us));
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
