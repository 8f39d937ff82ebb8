// The receiver is away while work comes in: nothing of that may count against a delivery, and when it is back the speed is too.
#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>

#include "bench/backlog.h"
#include "bench/host.h"
#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/progress.h"
#include "bench/receiver.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::minutes kAtMost{10};
constexpr std::chrono::milliseconds kWindow{250}, kTick{2};
constexpr double kFull = 0.8;  // of the speed before: the rest is noise

double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

struct Outcome {
  double back = 0;       // s from the return to full speed
  double lost = 0;       // s that all of it took longer than at full speed
  double counted = 0;    // attempts that count and were not accepted
  double uncounted = 0;  // attempts on record that do not count
};

// Reads the receiver's counter and says when the speed of a window was the full one.
class Speed {
 public:
  Speed(Clock::time_point from, double full) : from_(from), full_(full) {}

  void see(std::uint64_t requests) {
    const auto now = Clock::now();
    seen_.push_back({now, requests});
    while (seen_.size() > 2 && now - seen_[1].at >= kWindow) seen_.pop_front();
    const auto length = seconds(now - seen_.front().at);
    const auto rate = length > 0 ? static_cast<double>(requests - seen_.front().requests) / length : 0;
    if (!back_ && now - seen_.front().at >= kWindow && rate >= kFull * full_) back_ = seconds(seen_.front().at - from_);
  }
  std::optional<double> back() const { return back_; }

 private:
  struct Sample {
    Clock::time_point at;
    std::uint64_t requests;
  };
  const Clock::time_point from_;
  const double full_;
  std::deque<Sample> seen_;
  std::optional<double> back_;
};

Outcome live_through(const Bench& bench) {
  const auto& sizes = bench.sizes;
  std::optional<Receiver> receiver(std::in_place);
  const auto port = receiver->port();
  const auto database = bench.postgres.create_database();
  const Host host(bench.program, database.url(), {.port = port});
  Backlog backlog(database.url());
  const auto wait_for_end = [&] {
    if (!wait_until([&] { return backlog.empty(); }, kAtMost))
      throw std::runtime_error(std::to_string(backlog.waiting()) + " deliveries still wait:\n" + host.log_end());
  };
  const auto hand_in = [&](const char* id, const char* path) {
    const auto answer = testing::HttpClient(host.port())
                            .request("POST", path, intent(id, sizes.body_bytes), {{"Content-Type", "application/json"}});
    if (answer.status / 100 != 2) throw std::runtime_error("an intent was refused: " + answer.body);
  };
  hand_in("first", "/v1/intents?waitSeconds=20");
  wait_for_end();

  // What the full speed is: the same work, all there at once, to a receiver that is there.
  backlog.hold_target();
  backlog.add(sizes.outage, sizes.body_bytes);
  const auto from = Clock::now();
  backlog.release_target();
  hand_in("wake", "/v1/intents");
  wait_for_end();
  const double full = static_cast<double>(sizes.outage) / seconds(Clock::now() - from);

  receiver.reset();
  const auto away = Clock::now();
  backlog.add(sizes.outage, sizes.body_bytes);
  wait_until([&] { return Clock::now() - away >= std::chrono::seconds(sizes.outage_seconds); }, kAtMost);

  receiver.emplace(std::chrono::milliseconds(0), port);
  const auto back = Clock::now();
  Speed speed(back, full);
  const auto all_done = [&] {
    speed.see(receiver->requests());
    return receiver->requests() >= sizes.outage || backlog.empty();
  };
  if (!wait_until(all_done, kAtMost, kTick)) wait_for_end();
  const double took = seconds(Clock::now() - back);
  wait_for_end();
  backlog.check_all_accepted(2 * sizes.outage + 2);
  const double at_full_speed = static_cast<double>(sizes.outage) / full;
  return {.back = speed.back().value_or(took),
          .lost = std::max(0.0, took - at_full_speed),
          .counted = static_cast<double>(backlog.failed_attempts(true)),
          .uncounted = static_cast<double>(backlog.failed_attempts(false))};
}

}  // namespace

void measure_outage(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Figures back{.name = "outage", .unit = "s from the receiver's return to full speed"};
  Figures used{.name = "outage_attempts", .unit = "attempts that an outage used up"};
  std::vector<double> lost, uncounted;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("outage", round, bench.rounds);
    const auto outcome = live_through(bench);
    back.runs.push_back(outcome.back);
    used.runs.push_back(outcome.counted);
    lost.push_back(outcome.lost);
    uncounted.push_back(outcome.uncounted);
  }
  back.detail("deliveries that waited", static_cast<double>(sizes.outage));
  back.detail("outage, s", sizes.outage_seconds);
  back.detail("longer than at full speed, s", median(lost));
  used.detail("on record without counting", median(uncounted));
  bench.report.add(std::move(back));
  bench.report.add(std::move(used));
}

}  // namespace waybill::bench
