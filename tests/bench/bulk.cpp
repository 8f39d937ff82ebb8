// Bulk intake: batches from one client, one after the other as the peers have it, and from several at once.
#include "bench/intake.h"
#include "bench/progress.h"

namespace waybill::bench {

void measure_bulk(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Figures figures{.name = "bulk", .unit = "durable intents/s in batches"};
  IntakeCosts costs, costs_of_several;
  std::vector<double> several;
  const auto batches = batches_of_intents(sizes.bulk_batch, sizes.body_bytes);
  const LoadEnd end{.requests = sizes.bulk / sizes.bulk_batch};
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("bulk", round, bench.rounds);
    figures.runs.push_back(take_in(bench, 1, batches, end, sizes.bulk_batch, costs));
    several.push_back(take_in(bench, sizes.bulk_clients, batches, end, sizes.bulk_batch, costs_of_several));
    compare(figures, bench.rivals.run("bulk"));
  }
  figures.detail("intents in a batch", static_cast<double>(sizes.bulk_batch));
  costs.describe(figures);
  figures.detail("clients", sizes.bulk_clients);
  figures.detail("with so many clients, intents/s", median(several));
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
