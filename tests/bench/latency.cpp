// One intent at a time, each after the last one has ended: how soon the gateway hears of it.
#include <unistd.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/backlog.h"
#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/one_by_one.h"
#include "bench/progress.h"
#include "bench/receiver.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

constexpr std::chrono::seconds kBound{30};
constexpr std::chrono::milliseconds kIdle{10};  // so that whatever sleeps when idle is asleep
constexpr std::size_t kWarmUp = 5;

double millis(std::chrono::steady_clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

}  // namespace

Times one_by_one(const Bench& bench, const Settings& settings) {
  const auto count = kWarmUp + bench.sizes.latency;
  Receiver receiver;
  const auto database = bench.postgres.create_database();
  const Host host(bench.program, database.url(), {.port = receiver.port(), .settings = settings});
  Backlog backlog(database.url());
  testing::HttpClient client(host.port());
  Times times;
  for (std::size_t i = 0; i < count; ++i) {
    const auto body = intent("one-" + std::to_string(i), bench.sizes.body_bytes);
    std::this_thread::sleep_for(kIdle);
    const auto from = std::chrono::steady_clock::now();
    const auto response = client.request("POST", "/v1/intents", body, {{"Content-Type", "application/json"}});
    const auto answered = std::chrono::steady_clock::now();
    if (response.status / 100 != 2) throw std::runtime_error("an intent was refused: " + response.body);
    if (!wait_until([&] { return receiver.requests() > i; }, kBound, std::chrono::microseconds(200)) ||
        !wait_until([&] { return backlog.empty(); }, kBound))
      throw std::runtime_error("an intent was not delivered in 30 s:\n" + host.log_end());
    if (i < kWarmUp) continue;
    times.to_gateway.push_back(millis(receiver.last_arrival() - from));
    times.to_answer.push_back(millis(answered - from));
  }
  backlog.check_each_once(count);
  return times;
}

void measure_latency(const Bench& bench) {
  Figures p50{.name = "latency", .unit = "ms to the first byte, p50"},
      p99{.name = "latency_p99", .unit = "ms to the first byte, p99"};
  Figures answer{.name = "answer", .unit = "ms to the durable answer, p50"};
  for (int round = 0; round < bench.rounds; ++round) {
    ::sync();  // what measures before this one have written is on disk: an idle system has an idle disk, for the peers as for us
    tell_round("latency", round, bench.rounds);
    const auto times = one_by_one(bench, {});
    p50.runs.push_back(median(times.to_gateway));
    p99.runs.push_back(quantile(times.to_gateway, 0.99));
    answer.runs.push_back(median(times.to_answer));
    const auto rivals = bench.rivals.run("latency");
    compare(p50, rivals);
    for (const auto& rival : rivals)
      if (rival.p99) p99.compare(rival.name, "ms p99", *rival.p99);
  }
  p50.detail("intents a round", static_cast<double>(bench.sizes.latency));
  for (auto* figures : {&p50, &p99, &answer}) bench.report.add(std::move(*figures));
}

}  // namespace waybill::bench
