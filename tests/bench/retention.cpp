// A drain while retention deletes, and the same without. What is deleted was there before; both databases have it.
#include <stdexcept>
#include <string>

#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

constexpr auto kNever = "0s", kADay = "1d";

struct Run {
  Draining::Result result;
  double deleted = 0;  // submissions, while it drained
};

Run drain_with(const Bench& bench, const std::string& age) {
  const auto& sizes = bench.sizes;
  Receiver receiver;
  const auto database = bench.postgres.create_database();
  const auto serving = [&](const std::string& kept) {
    return Serving{.port = receiver.port(), .settings = {{"retention.intents", kept}, {"retention.notifications", kept}}};
  };
  Backlog backlog(database.url());
  // By a host before: one that finds nothing that is old looks again an hour later.
  Draining(bench, database.url(), serving(kNever), &receiver).fill_finished(sizes.retention_old, sizes.body_bytes);
  backlog.age();
  const auto all = backlog.old();
  Draining draining(bench, database.url(), serving(age), &receiver);
  draining.disown_former();
  draining.fill(sizes.retention, sizes.body_bytes);
  const auto before = backlog.old();
  Run run{.result = draining.run({})};
  const auto after = backlog.old();
  draining.check();
  run.deleted = static_cast<double>(before - after);
  if ((age == kNever) != (after == all)) throw std::runtime_error("retention did not delete what it was to delete");
  if (after == 0) throw std::runtime_error("retention was over before the drain: there must be more that is old");
  return run;
}

}  // namespace

void measure_retention(const Bench& bench) {
  Figures figures{.name = "retention", .unit = "deliveries/s while retention deletes"};
  Costs costs;
  std::vector<double> deleted, plain_us;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("retention", round, bench.rounds);
    Run plain, beside;
    if (round % 2 == 0) plain = drain_with(bench, kNever);  // in either order
    beside = drain_with(bench, kADay);
    if (round % 2 != 0) plain = drain_with(bench, kNever);
    figures.runs.push_back(beside.result.rate());
    figures.compare("plain", "deliveries/s without it", plain.result.rate());
    deleted.push_back(beside.deleted / beside.result.seconds);
    costs.add(beside.result);
    plain_us.push_back(plain.result.postgres_cpu / static_cast<double>(plain.result.deliveries) * 1e6);
  }
  figures.detail("submissions deleted a second", median(deleted));
  costs.describe(figures);
  figures.detail("PostgreSQL without it, CPU us each", median(plain_us));
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
