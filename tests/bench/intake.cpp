// The target rests, so that nothing but the intake works.
#include "bench/intake.h"

#include <stdexcept>
#include <string>

#include "bench/backlog.h"
#include "bench/receiver.h"
#include "bench/usage.h"

namespace waybill::bench {

Settings room_for_batches() {
  constexpr int kMaxBodyBytes = 64 << 20;  // bytes
  return {{"limits.body_bytes", std::to_string(kMaxBodyBytes)}};
}

void IntakeCosts::add(double host_us, double postgres_us, double wal_bytes) {
  host_.push_back(host_us);
  postgres_.push_back(postgres_us);
  wal_.push_back(wal_bytes);
}

void IntakeCosts::describe(Figures& figures) const {
  figures.detail("host, CPU us each", median(host_));
  figures.detail("PostgreSQL, CPU us each", median(postgres_));
  figures.detail("WAL bytes each", median(wal_));
}

double take_in(const Bench& bench, int connections, const Load& load, const LoadEnd& end, std::uint64_t each,
               IntakeCosts& costs) {
  const Receiver receiver;
  const auto database = bench.postgres.create_database();
  const Host host(bench.program, database.url(), {.port = receiver.port(), .settings = room_for_batches()});
  Backlog backlog(database.url());
  backlog.hold_target();
  const double host_cpu = cpu_seconds(host.pid()), postgres_cpu = cpu_seconds_of_tree(bench.postgres.pid());
  const auto wal = backlog.wal_bytes();
  const auto result = run_load(host.port(), connections, load, end);
  const auto intents = result.acknowledged * each;
  const auto us_each = [&](double seconds) { return seconds / static_cast<double>(intents) * 1e6; };
  costs.add(us_each(cpu_seconds(host.pid()) - host_cpu), us_each(cpu_seconds_of_tree(bench.postgres.pid()) - postgres_cpu),
            static_cast<double>(backlog.wal_bytes() - wal) / static_cast<double>(intents));
  if (const auto stored = backlog.submissions(); stored != intents)
    throw std::runtime_error(std::to_string(intents) + " intents were acknowledged, " + std::to_string(stored) + " are stored");
  if (receiver.requests() != 0) throw std::runtime_error("something was sent, although the target rests");
  return static_cast<double>(intents) / result.seconds;
}

}  // namespace waybill::bench
