// The target rests while the backlog is made; the release is followed by one more intent, which wakes the host.
#include "bench/draining.h"

#include <stdexcept>
#include <string>

#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/usage.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kNoProgress{60};

void submit(const Host& host, const std::string& path, const std::string& id, int body_bytes) {
  const auto answer =
      testing::HttpClient(host.port()).request("POST", path, intent(id, body_bytes), {{"Content-Type", "application/json"}});
  if (answer.status / 100 != 2)
    throw std::runtime_error("an intent was refused: " + std::to_string(answer.status) + " " + answer.body);
}

}  // namespace

Draining::Draining(const Bench& bench, Receiver& receiver, std::size_t count)
    : bench_(bench), receiver_(receiver), seen_before_(receiver.requests()) {
  const auto url = bench.postgres.create_database();
  host_ = std::make_unique<Host>(bench.program, url, receiver.port());
  backlog_ = std::make_unique<Backlog>(url);
  submit(*host_, "/v1/intents?waitSeconds=20", "first", bench.body_bytes);  // makes the target's route
  if (!wait_until([&] { return backlog_->empty(); }, kNoProgress))
    throw std::runtime_error("a single intent did not end:\n" + host_->log_end());
  backlog_->hold_target();
  backlog_->add(count, static_cast<std::size_t>(bench.body_bytes));
  expected_ = count + 2;  // the first, and the one that wakes
}

Draining::Result Draining::run(std::chrono::milliseconds most) {
  Result result;
  result.resident_before_mb = resident_mb(host_->pid());
  const double host_cpu = cpu_seconds(host_->pid()), postgres_cpu = cpu_seconds_of_tree(bench_.postgres.pid());
  const double receiver_cpu = receiver_.cpu_seconds();
  const auto before = receiver_.requests();

  const auto from = Clock::now();
  backlog_->release_target();
  submit(*host_, "/v1/intents", "wake", bench_.body_bytes);
  auto progress_at = from;
  std::uint64_t progress = before;
  const auto all_arrived = [&] {
    const auto now = Clock::now();
    if (const auto seen = receiver_.requests(); seen != progress) {
      progress = seen;
      progress_at = now;
    }
    if (now - progress_at > kNoProgress)
      throw std::runtime_error("nothing has been delivered for a minute:\n" + host_->log_end());
    host_->check_running();
    return progress - seen_before_ >= expected_;
  };
  result.drained = wait_until(all_arrived, most) && wait_until([&] { return backlog_->empty(); }, kNoProgress);
  result.seconds = std::chrono::duration<double>(Clock::now() - from).count();
  result.host_cpu = cpu_seconds(host_->pid()) - host_cpu;
  result.postgres_cpu = cpu_seconds_of_tree(bench_.postgres.pid()) - postgres_cpu;
  result.receiver_cpu = receiver_.cpu_seconds() - receiver_cpu;
  result.resident_peak_mb = peak_resident_mb(host_->pid());
  result.deliveries = receiver_.requests() - before;

  host_->stop();
  const auto requests = receiver_.requests() - seen_before_;
  if (result.drained && requests != expected_)
    throw std::runtime_error("the receiver saw " + std::to_string(requests) + " requests for " + std::to_string(expected_) +
                             " deliveries");
  if (receiver_.unsigned_requests() != 0) throw std::runtime_error("requests came without a signature");
  backlog_->check_each_once(requests);
  return result;
}

}  // namespace waybill::bench
