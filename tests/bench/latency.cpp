// One intent at a time, each after the last one has ended: how soon the gateway hears of it.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/backlog.h"
#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/receiver.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

constexpr std::chrono::seconds kBound{30};
constexpr std::chrono::milliseconds kIdle{10};  // so that whatever sleeps when idle is asleep
constexpr std::size_t kWarmUp = 5;

double millis(std::chrono::steady_clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

}  // namespace

void measure_latency(const Bench& bench, std::size_t count) {
  Figures p50{.name = "latency_p50", .unit = "ms to the first byte"}, p99{.name = "latency_p99", .unit = "ms to the first byte"};
  Figures answer{.name = "answer_p50", .unit = "ms to the durable 2xx"};
  for (int round = 0; round < bench.rounds; ++round) {
    Receiver receiver;
    const auto url = bench.postgres.create_database();
    const Host host(bench.program, url, receiver.port());
    Backlog backlog(url);
    testing::HttpClient client(host.port());
    std::vector<double> to_gateway, to_answer;
    for (std::size_t i = 0; i < kWarmUp + count; ++i) {
      const auto body = intent("one-" + std::to_string(i), bench.body_bytes);
      std::this_thread::sleep_for(kIdle);
      const auto from = std::chrono::steady_clock::now();
      const auto response = client.request("POST", "/v1/intents", body, {{"Content-Type", "application/json"}});
      const auto answered = std::chrono::steady_clock::now();
      if (response.status / 100 != 2) throw std::runtime_error("an intent was refused: " + response.body);
      if (!wait_until([&] { return receiver.requests() > i; }, kBound, std::chrono::microseconds(200)) ||
          !wait_until([&] { return backlog.empty(); }, kBound))
        throw std::runtime_error("an intent was not delivered in 30 s:\n" + host.log_end());
      if (i < kWarmUp) continue;
      to_gateway.push_back(millis(receiver.last_arrival() - from));
      to_answer.push_back(millis(answered - from));
    }
    backlog.check_each_once(kWarmUp + count);
    p50.runs.push_back(median(to_gateway));
    p99.runs.push_back(quantile(to_gateway, 0.99));
    answer.runs.push_back(median(to_answer));
  }
  p50.detail("intents a round", static_cast<double>(count));
  for (auto* figures : {&p50, &p99, &answer}) bench.report.add(std::move(*figures));
}

}  // namespace waybill::bench
