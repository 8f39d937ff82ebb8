// Drain and memory: the same work, once to its end for speed, once from a backlog far larger than the window.
#include <cstdio>

#include "bench/curl_loop.h"
#include "bench/draining.h"
#include "bench/measures.h"
#include "bench/receiver.h"

namespace waybill::bench {
namespace {

constexpr std::chrono::hours kUntilDone{1};

double per_delivery_us(double seconds, double deliveries) { return deliveries > 0 ? seconds / deliveries * 1e6 : 0; }

}  // namespace

void measure_drain(const Bench& bench, std::size_t count, std::size_t curl_connections) {
  Figures drain{.name = "drain", .unit = "signed deliveries/s"}, curl{.name = "curl_multi", .unit = "requests/s, no queue"};
  std::vector<double> host, postgres, receiver_us, resident, curl_us;
  Receiver receiver;
  const auto bare_loop = [&] {
    const Receiver own;
    return run_curl_loop(own.port(), count, static_cast<std::size_t>(bench.body_bytes), curl_connections);
  };
  for (int round = 0; round < bench.rounds; ++round) {
    Draining draining(bench, receiver, count);
    const auto before = bare_loop();
    const auto result = draining.run(kUntilDone);
    const auto after = bare_loop();  // on both sides, so that a drift of the machine's load meets the limit as well
    const auto deliveries = static_cast<double>(result.deliveries);
    drain.runs.push_back(deliveries / result.seconds);
    host.push_back(per_delivery_us(result.host_cpu, deliveries));
    postgres.push_back(per_delivery_us(result.postgres_cpu, deliveries));
    receiver_us.push_back(per_delivery_us(result.receiver_cpu, deliveries));
    resident.push_back(result.resident_peak_mb);
    const auto bare = 2 * static_cast<double>(count);
    curl.runs.push_back(bare / (before.seconds + after.seconds));
    curl_us.push_back(per_delivery_us(before.cpu_seconds + after.cpu_seconds, bare));
  }
  drain.ratios["curl_multi"] = median_ratio(drain.runs, curl.runs);
  drain.detail("host, CPU us each", median(host));
  drain.detail("PostgreSQL, CPU us each", median(postgres));
  drain.detail("receiver, CPU us each", median(receiver_us));
  drain.detail("host, resident MB at most", median(resident));
  curl.detail("client, CPU us each", median(curl_us));
  bench.report.add(std::move(drain));
  bench.report.add(std::move(curl));
}

void measure_memory(const Bench& bench, std::size_t backlog, int seconds) {
  Receiver receiver;
  const auto result = Draining(bench, receiver, backlog).run(std::chrono::seconds(seconds));
  Figures memory{.name = "memory", .unit = "MB resident at most", .runs = {result.resident_peak_mb}};
  memory.detail("before the first claim, MB", result.resident_before_mb);
  memory.detail("backlog, deliveries", static_cast<double>(backlog));
  memory.detail("of these delivered", static_cast<double>(result.deliveries));
  memory.detail("time for it, s", result.seconds);
  memory.detail("deliveries/s", static_cast<double>(result.deliveries) / result.seconds);
  bench.report.add(std::move(memory));
  if (!result.drained) std::printf("  (stopped after %d s, as told by --seconds: memory is what counts here)\n", seconds);
}

}  // namespace waybill::bench
