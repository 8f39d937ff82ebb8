// Whether it stays fast when much waits, and when much has been done. All in turn in each round; only one host runs at a time.
#include <string>

#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

// Deliveries/s over several small backlogs, one after the other, as one alone is over too soon.
double small_backlogs(const Bench& bench, Draining& draining) {
  double seconds = 0, deliveries = 0;
  for (std::size_t i = 0; i < bench.sizes.growth_backlogs; ++i) {
    draining.fill(bench.sizes.growth_small, bench.sizes.body_bytes);
    const auto result = draining.run({});
    seconds += result.seconds;
    deliveries += static_cast<double>(result.deliveries);
  }
  draining.check();
  return deliveries / seconds;
}

// A database that its former host has left is tidied, so that autovacuum does not work on it while the next is measured.
class Kept {
 public:
  Kept(const Bench& bench, Receiver& receiver)
      : bench_(bench), receiver_(receiver), database_(bench.postgres.create_database()) {}

  Draining host() { return {bench_, database_.url(), {.port = receiver_.port()}, &receiver_}; }
  void tidy() { Backlog(database_.url()).tidy(); }

 private:
  const Bench& bench_;
  Receiver& receiver_;
  const Database database_;
};

double small(const Bench& bench, Receiver& receiver) {
  Kept fresh(bench, receiver);
  auto host = fresh.host();
  return small_backlogs(bench, host);
}

double beside_finished(const Bench& bench, Kept& database) {
  auto host = database.host();
  const auto rate = small_backlogs(bench, host);
  database.tidy();
  return rate;
}

double from_many_pending(const Bench& bench, Kept& database) {
  auto host = database.host();
  const auto rate = host.run({.deliveries = bench.sizes.growth_timed}).rate();
  host.check();
  database.tidy();
  return rate;
}

}  // namespace

void measure_growth(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Figures base{.name = "growth", .unit = "deliveries/s, " + std::to_string(sizes.growth_small) + " pending"};
  Figures pending{.name = "growth_pending", .unit = "deliveries/s, " + std::to_string(sizes.growth_pending) + " pending"};
  Figures finished{.name = "growth_finished", .unit = "deliveries/s, " + std::to_string(sizes.growth_finished) + " finished"};
  Receiver receiver;  // one for all: a target's route keeps its port
  Kept many_pending(bench, receiver), many_finished(bench, receiver);
  tell("growth: a backlog of " + std::to_string(sizes.growth_pending));
  many_pending.host().fill(sizes.growth_pending, sizes.body_bytes);
  tell("growth: " + std::to_string(sizes.growth_finished) + " finished deliveries");
  many_finished.host().fill_finished(sizes.growth_finished, sizes.body_bytes);
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("growth", round, bench.rounds);
    base.runs.push_back(small(bench, receiver));
    pending.runs.push_back(from_many_pending(bench, many_pending));
    finished.runs.push_back(beside_finished(bench, many_finished));
    for (auto* figures : {&pending, &finished}) figures->compare("growth", base.unit, base.runs.back());
  }
  for (auto* figures : {&base, &pending, &finished}) bench.report.add(std::move(*figures));
}

}  // namespace waybill::bench
