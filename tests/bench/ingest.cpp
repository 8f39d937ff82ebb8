// Intake: the target rests, so that nothing but the intake works; then pgbench on the same server.
#include "bench/intake.h"
#include "bench/progress.h"

namespace waybill::bench {

void measure_ingest(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Figures figures{.name = "ingest", .unit = "durable intents/s"};
  IntakeCosts costs;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("ingest", round, bench.rounds);
    const LoadEnd end{.time = std::chrono::seconds(sizes.ingest_seconds)};
    figures.runs.push_back(take_in(bench, sizes.ingest_connections, single_intents(sizes.body_bytes), end, 1, costs));
    if (const double rate = bench.postgres.commits_per_second(sizes.ingest_connections, sizes.ingest_seconds, sizes.body_bytes);
        rate > 0)
      figures.compare("limit", "one-row commits/s of pgbench", rate);
    compare(figures, bench.rivals.run("ingest"));
  }
  figures.detail("connections", sizes.ingest_connections);
  costs.describe(figures);
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
