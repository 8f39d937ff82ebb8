// The same backlog with more and more hosts on one database: what they do together, and what a delivery costs then.
#include <stdexcept>
#include <string>

#include "bench/draining.h"
#include "bench/progress.h"

namespace waybill::bench {
namespace {

struct Setup {
  const char* name;  // behind the kind of work
  int hosts, shards;
  int against;  // place of the setup that it is compared with; its own: none
};
constexpr Setup kSetups[] = {{"", 1, 1, 0}, {"_2", 2, 1, 0}, {"_4", 4, 1, 0}, {"_4_sharded", 4, 4, 2}};

struct Work {
  std::string name, unit, type;
  std::size_t count;
};

// One figure for each setup of one kind of work.
class Ladder {
 public:
  Ladder(const Bench& bench, Work work) : bench_(bench), work_(std::move(work)) {
    for (const auto& setup : kSetups) {
      const auto shards = setup.shards > 1 ? ", " + std::to_string(setup.shards) + " shards" : "";
      steps_.push_back({.figures = {.name = work_.name + setup.name,
                                    .unit = work_.unit + ", hosts: " + std::to_string(setup.hosts) + shards}});
    }
  }

  void round() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      auto& step = steps_[i];
      drain(kSetups[i], step);
      const auto& other = steps_[static_cast<std::size_t>(kSetups[i].against)].figures;
      if (&other != &step.figures) step.figures.compare(other.name, other.unit, other.runs.back());
    }
  }

  void report() {
    for (auto& step : steps_) {
      step.costs.describe(step.figures);
      step.figures.detail("hosts that settled some of it", median(step.at_work));
      step.figures.detail("sessions at the database", median(step.sessions));
      bench_.report.add(std::move(step.figures));
    }
  }

 private:
  struct Step {
    Figures figures;
    Costs costs = {};
    std::vector<double> sessions = {}, at_work = {};
  };

  void drain(const Setup& setup, Step& step) const {
    Receiver receiver;
    const bool sends = work_.type == "webhook";
    const auto database = bench_.postgres.create_database();
    const Serving serving{.type = work_.type, .port = receiver.port()};
    { const Host makes_the_tables(bench_.program, database.url(), serving); }
    Backlog(database.url()).set_shards(setup.shards);
    Draining draining(bench_, database.url(), serving, sends ? &receiver : nullptr, setup.hosts);
    draining.fill(work_.count, bench_.sizes.body_bytes);
    const auto result = draining.run({});
    draining.check();
    Backlog record(database.url());
    if (const auto used = record.shards_used(); used != static_cast<std::uint64_t>(setup.shards))
      throw std::runtime_error("the deliveries lie in " + std::to_string(used) + " shards");
    step.figures.runs.push_back(result.rate());
    step.costs.add(result);
    step.sessions.push_back(static_cast<double>(result.sessions));
    step.at_work.push_back(static_cast<double>(record.hosts_at_work()));
  }

  const Bench& bench_;
  const Work work_;
  std::vector<Step> steps_;
};

}  // namespace

void measure_hosts(const Bench& bench) {
  Ladder sending(bench, {"hosts", "signed deliveries/s", "webhook", bench.sizes.hosts});
  Ladder accepting(bench, {"hosts_noop", "no-op deliveries/s", "noop", bench.sizes.hosts_noop});
  for (int round = 0; round < bench.rounds; ++round) {
    tell_round("hosts", round, bench.rounds);
    sending.round();
    accepting.round();
  }
  sending.report();
  accepting.report();
}

}  // namespace waybill::bench
