// Intake: the target rests, so that nothing but the intake works; then pgbench on the same server.
#include <stdexcept>
#include <string>

#include "bench/backlog.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/receiver.h"
#include "bench/usage.h"

namespace waybill::bench {

void measure_ingest(const Bench& bench, int connections, int seconds) {
  Figures ingest{.name = "ingest", .unit = "durable intents/s"}, commits{.name = "pgbench_commits", .unit = "one-row commits/s"};
  std::vector<double> host_us, postgres_us;
  const Receiver receiver;
  for (int round = 0; round < bench.rounds; ++round) {
    {
      const auto url = bench.postgres.create_database();
      const Host host(bench.program, url, receiver.port());
      Backlog backlog(url);
      backlog.hold_target();
      const double host_cpu = cpu_seconds(host.pid()), postgres_cpu = cpu_seconds_of_tree(bench.postgres.pid());
      const auto load = run_load(host.port(), connections, seconds, bench.body_bytes, "load-");
      const auto acknowledged = static_cast<double>(load.acknowledged);
      ingest.runs.push_back(acknowledged / load.seconds);
      host_us.push_back((cpu_seconds(host.pid()) - host_cpu) / acknowledged * 1e6);
      postgres_us.push_back((cpu_seconds_of_tree(bench.postgres.pid()) - postgres_cpu) / acknowledged * 1e6);
      if (const auto stored = backlog.submissions(); stored != load.acknowledged)
        throw std::runtime_error(std::to_string(load.acknowledged) + " intents were acknowledged, " + std::to_string(stored) +
                                 " are stored");
    }
    if (const double rate = bench.postgres.commits_per_second(connections, seconds, bench.body_bytes); rate > 0)
      commits.runs.push_back(rate);
  }
  if (!commits.runs.empty()) ingest.ratios["pgbench_commits"] = median_ratio(ingest.runs, commits.runs);
  ingest.detail("connections", connections);
  ingest.detail("host, CPU us each", median(host_us));
  ingest.detail("PostgreSQL, CPU us each", median(postgres_us));
  bench.report.add(std::move(ingest));
  if (!commits.runs.empty()) bench.report.add(std::move(commits));
}

}  // namespace waybill::bench
