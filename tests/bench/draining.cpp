// The target rests while a backlog is made; the release is followed by one more intent at each host, which wakes it.
#include "bench/draining.h"

#include <algorithm>
#include <stdexcept>

#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/usage.h"
#include "support/http_client.h"

namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kNoProgress{60};
// To look at the receiver's counter costs nothing; the host's own is asked for over HTTP, and so more rarely.
constexpr std::chrono::milliseconds kLookAtReceiver{2}, kLookAtHost{10};

}  // namespace

Draining::Draining(const Bench& bench, const std::string& database_url, const Serving& serving, Receiver* receiver, int hosts)
    : bench_(bench), receiver_(receiver), seen_before_(receiver ? receiver->requests() : 0), backlog_(database_url) {
  for (int i = 0; i < hosts; ++i) hosts_.emplace_back(bench.program, database_url, serving);
  if (backlog_.submissions() > 0) {  // it was left resting
    recorded_before_ = backlog_.accepted();
    expected_ = backlog_.waiting();
    return;
  }
  submit(hosts_.front(), "first", "/v1/intents?waitSeconds=20");  // makes the target's route
  if (!wait_for(expected_, kNoProgress)) throw std::runtime_error("a single intent did not end:\n" + log_ends());
  backlog_.hold_target();
}

void Draining::fill(std::size_t count, std::size_t body_bytes) {
  backlog_.add(count, body_bytes);
  expected_ += count;
}

void Draining::fill_finished(std::size_t count, std::size_t body_bytes) {
  backlog_.add_finished(count, body_bytes);
  recorded_before_ += count;
}

void Draining::disown_former() {
  checked_after_ = backlog_.newest();
  recorded_before_ = 0;
}

Draining::Result Draining::run(const Until& until) {
  Result result;
  const auto recorded = backlog_.accepted(), wanted = delivered() + until.deliveries, wal = backlog_.wal_bytes();
  for (const auto& host : hosts_) result.resident_before_mb = std::max(result.resident_before_mb, resident_mb(host.pid()));
  const double hosts = host_cpu(), postgres_cpu = cpu_seconds_of_tree(bench_.postgres.pid());
  const double receiver_cpu = receiver_ ? receiver_->cpu_seconds() : 0;

  // The clock begins with the first deliveries: that a target is held is the bench's own device, and a host sees its release at
  // its next look at the cooldowns. A backlog so small that it is over by then is timed from the release.
  const auto delivered_before = delivered();
  backlog_.release_target();
  auto from = Clock::now();
  for (const auto& host : hosts_) submit(host, "wake", "/v1/intents");
  const auto last = std::min(wanted, expected_);
  if (!wait_for(delivered_before + 1, kNoProgress)) throw std::runtime_error("nothing has been delivered:\n" + log_ends());
  if (const auto first = delivered(); first < last) {
    from = Clock::now();
    result.before_clock = first - delivered_before;
  }
  const bool arrived = wait_for(last, until.most);
  result.drained = arrived && wanted >= expected_;
  const auto on_record = [&] {  // to count them is slow, to see that none is left is not
    return result.drained ? backlog_.empty() : backlog_.accepted() - recorded >= until.deliveries;
  };
  if (arrived && !wait_until(on_record, kNoProgress))
    throw std::runtime_error("what was delivered has not been put on record in a minute:\n" + log_ends());
  result.seconds = std::chrono::duration<double>(Clock::now() - from).count();
  result.host_cpu = host_cpu() - hosts;
  result.postgres_cpu = cpu_seconds_of_tree(bench_.postgres.pid()) - postgres_cpu;
  result.receiver_cpu = receiver_ ? receiver_->cpu_seconds() - receiver_cpu : 0;
  result.wal_bytes = backlog_.wal_bytes() - wal;
  result.deliveries = backlog_.accepted() - recorded;
  result.sessions = backlog_.sessions();
  for (const auto& host : hosts_) result.resident_peak_mb = std::max(result.resident_peak_mb, peak_resident_mb(host.pid()));
  backlog_.hold_target();
  return result;
}

void Draining::check() {
  for (auto& host : hosts_) host.stop();
  const auto done = expected_ - backlog_.waiting();
  if (receiver_) {
    if (const auto requests = receiver_->requests() - seen_before_; requests != done)
      throw std::runtime_error("the receiver saw " + std::to_string(requests) + " requests for " + std::to_string(done) +
                               " deliveries");
    if (receiver_->unsigned_requests() != 0) throw std::runtime_error("requests came without a signature");
  }
  const auto refused = receiver_ ? receiver_->refused() : 0;
  if (refused == 0) return backlog_.check_each_once(recorded_before_ + done, checked_after_);
  backlog_.check_all_accepted(recorded_before_ + done);
  if (const auto uncounted = backlog_.failed_attempts(false); uncounted != refused || backlog_.failed_attempts(true) != 0)
    throw std::runtime_error(std::to_string(refused) + " requests were refused, " + std::to_string(uncounted) +
                             " attempts are on record that failed and do not count");
}

std::uint64_t Draining::delivered() {
  if (receiver_) return receiver_->requests() - seen_before_;
  std::uint64_t all = 0;
  for (auto& host : hosts_) all += host.accepted();
  return all;
}

double Draining::host_cpu() const {
  double all = 0;
  for (const auto& host : hosts_) all += cpu_seconds(host.pid());
  return all;
}

std::string Draining::log_ends() const {
  std::string all;
  for (const auto& host : hosts_) all += host.log_end();
  return all;
}

void Draining::submit(const Host& host, const char* id, const char* path) {
  const auto name = std::string(id) + "-" + std::to_string(host.pid()) + "-" + std::to_string(expected_);
  ++expected_;
  const auto answer = testing::HttpClient(host.port())
                          .request("POST", path, intent(name, bench_.sizes.body_bytes), {{"Content-Type", "application/json"}});
  if (answer.status / 100 != 2)
    throw std::runtime_error("an intent was refused: " + std::to_string(answer.status) + " " + answer.body);
}

bool Draining::wait_for(std::uint64_t wanted, std::chrono::milliseconds most) {
  auto progress_at = Clock::now();
  std::uint64_t progress = delivered();
  const auto arrived = [&] {
    const auto now = Clock::now();
    if (const auto seen = delivered(); seen != progress) {
      progress = seen;
      progress_at = now;
    }
    if (now - progress_at > kNoProgress) throw std::runtime_error("nothing has been delivered for a minute:\n" + log_ends());
    for (const auto& host : hosts_) host.check_running();
    return progress >= wanted;
  };
  return wait_until(arrived, most, receiver_ ? kLookAtReceiver : kLookAtHost);
}

Draining::Result drain_once(const Bench& bench, std::size_t count, std::size_t body_bytes, const Serving& serving,
                            Receiver* receiver, std::size_t warm_up) {
  const auto database = bench.postgres.create_database();
  Draining draining(bench, database.url(), serving, receiver);
  if (warm_up > 0) {
    draining.fill(warm_up, body_bytes);
    draining.run({});
  }
  draining.fill(count - 1, body_bytes);  // the last is the one that wakes the host: one more would be a wave of its own in `slow`
  const auto result = draining.run({});
  draining.check();
  return result;
}

void Costs::add(const Draining::Result& result) {
  const auto each = [&](double seconds) { return seconds / static_cast<double>(result.deliveries) * 1e6; };
  host_.push_back(each(result.host_cpu));
  postgres_.push_back(each(result.postgres_cpu));
  receiver_.push_back(each(result.receiver_cpu));
  wal_.push_back(static_cast<double>(result.wal_bytes) / static_cast<double>(result.deliveries));
  resident_.push_back(result.resident_peak_mb);
}

void Costs::describe(Figures& figures) const {
  figures.detail("host, CPU us each", median(host_));
  figures.detail("PostgreSQL, CPU us each", median(postgres_));
  if (median(receiver_) > 0) figures.detail("receiver, CPU us each", median(receiver_));
  figures.detail("WAL bytes each", median(wal_));
  figures.detail("host, resident MB at most", median(resident_));
}

}  // namespace waybill::bench
