// As many targets as deliveries: what it costs that each delivery has a route of its own, and what a newcomer feels of the
// others.
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "bench/backlog.h"
#include "bench/host.h"
#include "bench/interrupt.h"
#include "bench/load.h"
#include "bench/measures.h"
#include "bench/progress.h"
#include "bench/receiver.h"
#include "bench/usage.h"
#include "support/http_client.h"
#include "support/sql_client.h"

namespace waybill::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kBound{60};
constexpr std::chrono::minutes kDrain{10};
constexpr std::chrono::milliseconds kBetween{10};  // newcomers
constexpr std::size_t kWarmUp = 5;
constexpr double kStillBusy = 0.8;  // newcomers come until so much of the backlog is done

double seconds_since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

void hand_in(const Host& host, const std::string& id, const char* target, std::size_t body_bytes,
             const char* path = "/v1/intents") {
  const auto answer = testing::HttpClient(host.port())
                          .request("POST", path, intent(id, body_bytes, target), {{"Content-Type", "application/json"}});
  if (answer.status / 100 != 2)
    throw std::runtime_error("an intent was refused: " + std::to_string(answer.status) + " " + answer.body);
}

// What the machine leaves for a newcomer: the commit of one row by a session that does nothing else, in the same database.
class BareCommits {
 public:
  explicit BareCommits(const std::string& database_url) : sql_(database_url) {
    sql_.execute("CREATE TABLE bare_commits (body text)");
  }

  double milliseconds() {
    const auto from = Clock::now();
    sql_.execute("INSERT INTO bare_commits VALUES (repeat('x', 1000))");
    return 1000 * seconds_since(from);
  }

 private:
  testing::SqlClient sql_;
};

struct NewcomerTimes {
  std::vector<double> first_byte, bare_commit;  // ms
};

// A host with so many targets, and one newcomer that has a receiver of its own.
class Crowd {
 public:
  Crowd(const Bench& bench, std::size_t targets)
      : bench_(bench),
        database_(bench.postgres.create_database()),
        started_(Clock::now()),
        host_(bench.program, database_.url(),
              {.port = receiver_.port(), .targets = targets, .newcomer_port = newcomers_receiver_.port()}),
        seconds_to_start_(seconds_since(started_)),
        backlog_(database_.url()),
        bare_commits_(database_.url()) {
    hand_in(host_, "first", kTarget, bench.sizes.body_bytes, "/v1/intents?waitSeconds=20");  // makes the route
    if (!wait_until([&] { return backlog_.empty(); }, kBound))
      throw std::runtime_error("a single intent did not end:\n" + host_.log_end());
    ++expected_;
    if (targets > 1) backlog_.copy_route(targets - 1);
  }

  // So many deliveries over all targets, which all become due when this returns.
  void fill() {
    const auto from = Clock::now();
    backlog_.tidy();  // how long that takes tells what this machine needs for the rest
    const auto lead =
        std::chrono::ceil<std::chrono::milliseconds>(kLead + 4 * (Clock::now() - from) + kFillOne * bench_.sizes.many);
    const auto due = Clock::now() + lead;
    backlog_.add_for_later(bench_.sizes.many, bench_.sizes.body_bytes, lead);
    if (Clock::now() >= due) throw std::runtime_error("the backlog took longer to make than was thought");
    expected_ += bench_.sizes.many;
    wait_until([&] { return Clock::now() >= due; }, lead);
  }

  bool is_drained_to(double share) const {
    return static_cast<double>(receiver_.requests()) >= share * static_cast<double>(bench_.sizes.many);
  }

  // Deliveries/s from now on.
  double drain() {
    const auto from = Clock::now();
    if (!wait_until([&] { return receiver_.requests() > bench_.sizes.many; }, kDrain) ||
        !wait_until([&] { return backlog_.empty(); }, kBound))
      throw std::runtime_error(std::to_string(backlog_.waiting()) + " deliveries still wait:\n" + host_.log_end());
    return static_cast<double>(bench_.sizes.many) / seconds_since(from);
  }

  // From the request to the first byte at the newcomer's receiver, one at a time, until there are enough or it is `over`, but one
  // at least; and a bare commit after each.
  template <class Predicate>
  NewcomerTimes newcomers(const std::string& name, std::size_t warm_up, Predicate over) {
    NewcomerTimes times;
    for (std::size_t i = 0; i < warm_up + bench_.sizes.many_newcomers && (i <= warm_up || !over()); ++i) {
      std::this_thread::sleep_for(kBetween);
      const auto before = newcomers_receiver_.requests();
      const auto from = Clock::now();
      hand_in(host_, name + "-" + std::to_string(i), kNewcomer, bench_.sizes.body_bytes);
      ++expected_;
      if (!wait_until([&] { return newcomers_receiver_.requests() > before; }, kBound, std::chrono::microseconds(200)))
        throw std::runtime_error("a newcomer was not delivered in a minute:\n" + host_.log_end());
      const auto took = newcomers_receiver_.last_arrival() - from;
      const double commit = bare_commits_.milliseconds();
      if (i < warm_up) continue;
      times.first_byte.push_back(std::chrono::duration<double, std::milli>(took).count());
      times.bare_commit.push_back(commit);
    }
    return times;
  }

  void check() {
    host_.stop();
    backlog_.check_each_once(expected_);
  }

  double seconds_to_start() const { return seconds_to_start_; }
  double resident_mb() const { return peak_resident_mb(host_.pid()); }

 private:
  static constexpr std::chrono::seconds kLead{2};
  static constexpr std::chrono::microseconds kFillOne{400};

  const Bench& bench_;
  Receiver receiver_, newcomers_receiver_;
  const Database database_;
  const Clock::time_point started_;
  Host host_;
  const double seconds_to_start_;
  Backlog backlog_;
  BareCommits bare_commits_;
  std::uint64_t expected_ = 0;
};

}  // namespace

void measure_many(const Bench& bench) {
  const auto& sizes = bench.sizes;
  const auto targets = std::to_string(sizes.many_targets);
  Figures speed{.name = "many", .unit = "signed deliveries/s over " + targets + " targets"};
  Figures newcomer{.name = "many_newcomer", .unit = "ms to a newcomer's first byte beside them, p99"};
  std::vector<double> start, resident, busy_p50, quiet_commit, seen;
  int over_too_soon = 0;
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("many", round, bench.rounds);
    {
      Crowd one(bench, 1);
      one.fill();
      speed.compare("one_target", "deliveries/s", one.drain());
      one.check();
    }
    {
      Crowd many(bench, sizes.many_targets);
      many.fill();
      speed.runs.push_back(many.drain());
      start.push_back(many.seconds_to_start());
      resident.push_back(many.resident_mb());  // while there is a process to ask
      many.check();
    }
    Crowd crowd(bench, sizes.many_targets);
    const auto quiet = crowd.newcomers("quiet", kWarmUp, [] { return false; });
    crowd.fill();
    if (crowd.is_drained_to(kStillBusy)) ++over_too_soon;
    const auto busy = crowd.newcomers("busy", 0, [&] { return crowd.is_drained_to(kStillBusy); });
    crowd.drain();
    crowd.check();
    newcomer.runs.push_back(quantile(busy.first_byte, 0.99));
    newcomer.compare("bare_commit", "ms, a bare commit beside them", quantile(busy.bare_commit, 0.99));
    newcomer.compare("quiet", "ms, nothing else to do", quantile(quiet.first_byte, 0.99));
    busy_p50.push_back(median(busy.first_byte));
    quiet_commit.push_back(quantile(quiet.bare_commit, 0.99));
    seen.push_back(static_cast<double>(busy.first_byte.size()));
  }
  speed.detail("deliveries", static_cast<double>(sizes.many));
  speed.detail("start with that registry, s", median(start));
  speed.detail("host, resident MB at most", median(resident));
  newcomer.detail("p50, ms", median(busy_p50));
  newcomer.detail("a bare commit, nothing else to do, p99, ms", median(quiet_commit));
  newcomer.detail("newcomers timed", median(seen));
  newcomer.detail("rounds without a busy backlog, to be left out", over_too_soon);
  bench.report.add(std::move(speed));
  bench.report.add(std::move(newcomer));
}

}  // namespace waybill::bench
