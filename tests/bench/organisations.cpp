// Very many organisations with channels: how fast all of them are served together, and how long those who have little to send
// wait beside one that has much, or whose endpoints hang. A wait is from a delivery's due time to the answer of its endpoint.
#include <chrono>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/backlog.h"
#include "bench/host.h"
#include "bench/interrupt.h"
#include "bench/measures.h"
#include "bench/progress.h"
#include "bench/receiver.h"
#include "bench/tenants.h"
#include "bench/usage.h"

namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLead{2}, kBound{60};
constexpr std::chrono::microseconds kFillOne{400}, kSeeOne{3000};
constexpr std::chrono::seconds kSeeAll{3};
constexpr std::chrono::minutes kDrain{10};
constexpr std::chrono::hours kNeverAnswers{24};
constexpr std::size_t kPlaces = 5;  // notify.per_org

// A host for organisations, and the endpoint of all those that are timed.
class World {
 public:
  explicit World(const Bench& bench)
      : bench_(bench),
        database_(bench.postgres.create_database()),
        host_(bench.program, database_.url(),
              {.port = timed_.port(), .settings = {{"notify.per_org", std::to_string(kPlaces)}}, .channels = true}),
        backlog_(database_.url()),
        tenants_(database_.url(), host_) {}

  Tenants& tenants() { return tenants_; }
  std::uint16_t port() const { return timed_.port(); }
  void tidy() { backlog_.tidy(); }

  // Notifications of a group that is timed, from their insertion until all are on record: ms that each waited.
  std::vector<double> deliver(const std::string& group, std::size_t count, std::size_t stride, std::chrono::microseconds gap) {
    for (Millis lead = lead_for(count); lead < kDrain; lead *= 4) {
      const auto from = Clock::now();
      const auto arrived = timed_.requests() + count;
      const auto batch =
          tenants_.notify({.group = group, .count = count, .stride = stride, .lead = lead, .gap = gap}, bench_.sizes.body_bytes);
      const bool in_time = Clock::now() - from < lead;  // else the first were due before the last were stored: once more
      auto waits = wait_for(batch, count, arrived, kDrain + lead + std::chrono::ceil<Millis>(gap * count));
      if (in_time) return waits;
    }
    throw std::runtime_error("notifications take too long to make");
  }

  void stop() { host_.stop(); }
  double resident_mb() const { return peak_resident_mb(host_.pid()); }
  std::string log_end() const { return host_.log_end(); }
  std::uint64_t timed_requests() const { return timed_.requests(); }

 private:
  using Millis = std::chrono::milliseconds;

  // Time to store them, and for the host to see them before the first is due: it looks more rarely the more there is.
  static Millis lead_for(std::size_t count) {
    return std::chrono::ceil<Millis>(kLead + kFillOne * count + std::min<std::chrono::microseconds>(kSeeOne * count, kSeeAll));
  }

  std::vector<double> wait_for(int batch, std::size_t count, std::uint64_t arrived, Millis bound) {
    const bool done = wait_until([&] { return timed_.requests() >= arrived; }, bound) &&
                      wait_until([&] { return tenants_.waiting(batch) == 0; }, kBound, Millis(20));
    if (!done) throw std::runtime_error(std::to_string(tenants_.waiting(batch)) + " deliveries still wait:\n" + host_.log_end());
    auto waits = tenants_.waits(batch);
    if (waits.size() != count || timed_.requests() != arrived)
      throw std::runtime_error("not each of " + std::to_string(count) +
                               " notifications was sent once: " + std::to_string(waits.size()) + " accepted attempts, " +
                               std::to_string(timed_.requests() + count - arrived) + " requests");
    if (timed_.unsigned_requests() != 0) throw std::runtime_error("requests came without a signature");
    return waits;
  }

  const Bench& bench_;
  Receiver timed_;
  const Database database_;
  Host host_;
  Backlog backlog_;
  Tenants tenants_;
};

// Waits of one kind over all rounds, against the quiet ones of the same round.
class Waits {
 public:
  Waits(std::string name, std::string unit) : p99_{.name = std::move(name), .unit = std::move(unit)} {}

  void add(const std::vector<double>& beside, const std::vector<double>& quiet) {
    p99_.runs.push_back(quantile(beside, 0.99));
    p99_.compare("quiet", "ms, nothing else to do", quantile(quiet, 0.99));
    p50_.push_back(median(beside));
    quiet_p50_.push_back(median(quiet));
    worst_.push_back(quantile(beside, 1));
    timed_ = static_cast<double>(beside.size());
  }
  void report(Report& to) {
    p99_.detail("p50, ms", median(p50_));
    p99_.detail("p50 quiet, ms", median(quiet_p50_));
    p99_.detail("longest, ms", median(worst_));
    p99_.detail("deliveries timed", timed_);
    to.add(std::move(p99_));
  }
  void detail(std::string what, double value) { p99_.detail(std::move(what), value); }

 private:
  Figures p99_;
  std::vector<double> p50_, quiet_p50_, worst_;
  double timed_ = 0;
};

std::chrono::microseconds spread_over(int seconds, std::size_t count) {
  return std::chrono::microseconds(std::chrono::seconds(seconds)) / static_cast<std::int64_t>(count);
}

}  // namespace

void measure_many_orgs(const Bench& bench) {
  const auto& sizes = bench.sizes;
  const std::size_t channels = sizes.orgs * sizes.orgs_channels, timed = std::min(sizes.orgs_timed, sizes.orgs);
  Figures all{
      .name = "many_orgs",
      .unit = "deliveries/s to " + std::to_string(channels) + " channels of " + std::to_string(sizes.orgs) + " organisations"};
  Waits at_once("many_orgs_at_once", "ms of organisations with one each, all due at once, beside one with very many, p99");
  Waits spread("many_orgs_spread", "ms of the same, due one after the other, p99");
  std::vector<double> resident, beside_rate;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("many_orgs", round, bench.rounds);
    Receiver large;
    World world(bench);
    world.tenants().add("many", sizes.orgs, sizes.orgs_channels, [&](std::size_t) { return world.port(); });
    world.tenants().add("large", 1, sizes.orgs_channels, [&](std::size_t) { return large.port(); });
    world.tidy();
    using std::chrono::microseconds;
    const auto gap = spread_over(sizes.orgs_seconds, timed);
    const auto ones = [&](microseconds between) { return world.deliver("many", timed, sizes.orgs_channels, between); };
    const auto drained = world.deliver("many", channels, 1, microseconds{0});
    all.runs.push_back(static_cast<double>(channels) / quantile(drained, 1) * 1000);
    world.tidy();
    ones(microseconds{0});  // what comes first finds nothing in the host's memory
    const auto quiet_at_once = ones(microseconds{0}), quiet_spread = ones(gap);
    const auto waiting = world.tenants().notify({.group = "large", .count = sizes.orgs_waiting}, sizes.body_bytes);
    world.tidy();
    const auto from = Clock::now();
    const auto requests = large.requests();
    at_once.add(ones(microseconds{0}), quiet_at_once);
    spread.add(ones(gap), quiet_spread);
    beside_rate.push_back(static_cast<double>(large.requests() - requests) /
                          std::chrono::duration<double>(Clock::now() - from).count());
    resident.push_back(world.resident_mb());
    if (world.tenants().waiting(waiting) == 0)
      throw std::runtime_error("the large organisation's deliveries were over too soon: it needs more");
    world.stop();
    world.tenants().check_each_once(large.requests() + world.timed_requests());
  }
  all.detail("host, resident MB at most", median(resident));
  at_once.detail("due for the one, when it began", static_cast<double>(sizes.orgs_waiting));
  at_once.detail("deliveries/s of the one meanwhile", median(beside_rate));
  bench.report.add(std::move(all));
  at_once.report(bench.report);
  spread.report(bench.report);
}

void measure_hanging(const Bench& bench) {
  const auto& sizes = bench.sizes;
  Waits waits("hanging", "ms of an organisation's deliveries beside one whose endpoints hang, p99");
  std::vector<double> tried;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("hanging", round, bench.rounds);
    std::deque<Receiver> hanging;
    for (std::size_t i = 0; i < sizes.hanging_endpoints; ++i) hanging.emplace_back(kNeverAnswers);
    const auto requests = [&] {
      std::uint64_t sum = 0;
      for (const auto& one : hanging) sum += one.requests();
      return sum;
    };
    World world(bench);
    // A channel for each: a second delivery that falls due to a channel soon after the first is found at the next poll only.
    world.tenants().add("other", 1, sizes.hanging_timed, [&](std::size_t) { return world.port(); });
    world.tenants().add("hanging", 1, sizes.hanging_endpoints, [&](std::size_t i) { return hanging[i].port(); });
    world.tidy();
    const auto trickle = [&] {
      return world.deliver("other", sizes.hanging_timed, 1, std::chrono::milliseconds(sizes.hanging_gap_ms));
    };
    trickle();  // what comes first finds nothing in the host's memory
    const auto quiet = trickle();
    const auto stuck = world.tenants().notify({.group = "hanging", .count = sizes.hanging}, sizes.body_bytes);
    world.tidy();
    if (!wait_until([&] { return requests() >= std::min(kPlaces, sizes.hanging); }, kBound))
      throw std::runtime_error("the hanging endpoints were not called:\n" + world.log_end());
    waits.add(trickle(), quiet);
    tried.push_back(static_cast<double>(requests()));
    if (!world.tenants().waits(stuck).empty()) throw std::runtime_error("an endpoint that hangs took a delivery");
    hanging.clear();  // so that nothing hangs while the host ends
    world.stop();
  }
  waits.detail("due for the one that hangs", static_cast<double>(sizes.hanging));
  waits.detail("its endpoints", static_cast<double>(sizes.hanging_endpoints));
  waits.detail("its attempts meanwhile", median(tried));
  waits.report(bench.report);
}

}  // namespace waybill::bench
