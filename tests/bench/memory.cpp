// A backlog far larger than the window: what the host holds must not grow with it.
#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

Draining::Result drain_for_a_while(const Bench& bench, std::size_t backlog) {
  Receiver receiver;
  const auto database = bench.postgres.create_database();
  Draining draining(bench, database.url(), {.port = receiver.port()}, &receiver);
  draining.fill(backlog, bench.sizes.body_bytes);
  const auto result = draining.run({.most = std::chrono::seconds(bench.sizes.memory_seconds)});
  draining.check();
  return result;
}

// Large bodies wait for a receiver that is slow: the host holds as many as it may, and no more.
void measure_large(const Bench& bench) {
  const auto& sizes = bench.sizes;
  tell("memory: " + std::to_string(sizes.memory_large) + " bodies of " + std::to_string(sizes.memory_large_bytes) + " bytes");
  Receiver receiver(std::chrono::milliseconds(sizes.memory_large_ms));
  const auto database = bench.postgres.create_database();
  Draining draining(bench, database.url(), {.port = receiver.port()}, &receiver);
  draining.fill(sizes.memory_large, sizes.memory_large_bytes);
  const auto result = draining.run({.most = std::chrono::seconds(sizes.memory_seconds)});
  draining.check();
  Figures figures{.name = "memory_large", .unit = "MB resident at most, large bodies", .runs = {result.resident_peak_mb}};
  figures.detail("before the first claim, MB", result.resident_before_mb);
  figures.detail("bytes of a body", static_cast<double>(sizes.memory_large_bytes));
  figures.detail("open at once, at most", static_cast<double>(receiver.most_open()));
  figures.detail("deliveries/s", result.rate());
  bench.report.add(std::move(figures));
}

}  // namespace

void measure_memory(const Bench& bench) {
  const auto& sizes = bench.sizes;
  tell("memory: a backlog of " + std::to_string(sizes.memory_small) + ", then one of " + std::to_string(sizes.memory));
  const auto small = drain_for_a_while(bench, sizes.memory_small);
  const auto result = drain_for_a_while(bench, sizes.memory);
  Figures figures{.name = "memory", .unit = "MB resident at most", .runs = {result.resident_peak_mb}};
  figures.compare("small_backlog", "MB with " + std::to_string(sizes.memory_small), small.resident_peak_mb);
  figures.detail("before the first claim, MB", result.resident_before_mb);
  figures.detail("backlog, deliveries", static_cast<double>(sizes.memory));
  figures.detail("of these delivered", static_cast<double>(result.deliveries));
  figures.detail("time for it, s", result.seconds);
  figures.detail("deliveries/s", result.rate());
  bench.report.add(std::move(figures));
  measure_large(bench);
}

}  // namespace waybill::bench
