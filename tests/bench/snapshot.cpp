// Somebody's long report: while it holds its snapshot, no row that dies can be cleared away.
#include <stdexcept>

#include "bench/draining.h"
#include "bench/progress.h"
#include "support/sql_client.h"

namespace waybill::bench {
namespace {

// A transaction that sees the database as it was, until it is gone.
class OldSnapshot {
 public:
  explicit OldSnapshot(const std::string& url) : session_(url) {
    session_.execute("BEGIN ISOLATION LEVEL REPEATABLE READ");
    sees_ = count();
  }
  // Throws if it was lost on the way: then nothing was measured.
  void check() {
    if (count() != sees_) throw std::runtime_error("the old snapshot was not held");
  }

 private:
  std::int64_t count() { return session_.number("SELECT count(*) FROM waybill.ready"); }

  testing::SqlClient session_;
  std::int64_t sees_ = 0;
};

Draining::Result drain_beside_snapshot(const Bench& bench) {
  Receiver receiver;
  const auto database = bench.postgres.create_database();
  Draining draining(bench, database.url(), {.port = receiver.port()}, &receiver);
  draining.fill(bench.sizes.snapshot, bench.sizes.body_bytes);
  OldSnapshot snapshot(database.url());
  const auto result = draining.run({});
  snapshot.check();
  draining.check();
  return result;
}

}  // namespace

void measure_snapshot(const Bench& bench) {
  Figures figures{.name = "snapshot", .unit = "deliveries/s beside an old snapshot"};
  Costs costs;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("snapshot", round, bench.rounds);
    Receiver receiver;
    const auto plain = drain_once(bench, bench.sizes.snapshot, bench.sizes.body_bytes, {.port = receiver.port()}, &receiver);
    const auto held = drain_beside_snapshot(bench);
    figures.runs.push_back(held.rate());
    figures.compare("plain", "deliveries/s without it", plain.rate());
    costs.add(held);
  }
  costs.describe(figures);
  bench.report.add(std::move(figures));
}

}  // namespace waybill::bench
