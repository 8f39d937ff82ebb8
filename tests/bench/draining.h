// Hosts that work off backlogs: set up, watched, and held to account.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "bench/backlog.h"
#include "bench/host.h"
#include "bench/measures.h"
#include "bench/receiver.h"

namespace waybill::bench {

// One thread at a time.
class Draining {
 public:
  // Hosts that are up and hold back, on a fresh database or on one that former hosts have left. `serving.port` is the
  // receiver's; without a receiver nobody is called.
  Draining(const Bench& bench, const std::string& database_url, const Serving& serving, Receiver* receiver, int hosts = 1);

  void fill(std::size_t count, std::size_t body_bytes);           // so many more deliveries wait
  void fill_finished(std::size_t count, std::size_t body_bytes);  // so many more have been delivered, long ago
  void disown_former();  // what former hosts have left may vanish: check() does not look at it

  // When to stop: when so many have been delivered, or all; or when the time is over.
  struct Until {
    std::uint64_t deliveries = ~std::uint32_t{0};
    std::chrono::milliseconds most = std::chrono::hours(1);
  };
  struct Result {
    double seconds = 0;              // from the first deliveries on, or from the release if all was over by then
    std::uint64_t deliveries = 0;    // on record by then
    std::uint64_t before_clock = 0;  // of these, delivered before the seconds began to count
    double host_cpu = 0, postgres_cpu = 0, receiver_cpu = 0;  // seconds; all hosts together
    double resident_before_mb = 0, resident_peak_mb = 0;      // of the largest host
    std::uint64_t wal_bytes = 0;                              // all that PostgreSQL logged meanwhile
    std::uint64_t sessions = 0;                               // that the hosts had at the database at the end
    bool drained = false;                                     // all were delivered and are on record
    double rate() const { return static_cast<double>(deliveries - before_clock) / seconds; }
  };
  Result run(const Until& until);
  // Ends the hosts, then checks that each was done once, on record and at the receiver.
  void check();

 private:
  std::uint64_t delivered();  // by these hosts
  double host_cpu() const;
  void submit(const Host& host, const char* id, const char* path);
  bool wait_for(std::uint64_t wanted, std::chrono::milliseconds most);
  std::string log_ends() const;

  const Bench& bench_;
  Receiver* const receiver_;
  const std::uint64_t seen_before_;  // by the receiver
  std::deque<Host> hosts_;
  Backlog backlog_;
  std::uint64_t recorded_before_ = 0;  // by former hosts
  std::int64_t checked_after_ = 0;     // the last submission that check() does not look at
  std::uint64_t expected_ = 0;         // of these hosts
};

// A fresh database, a backlog of so many, a host that works it off, the check; nothing is left behind. Before the backlog the
// host delivers `warm_up`, after which it knows what the receiver takes.
Draining::Result drain_once(const Bench& bench, std::size_t count, std::size_t body_bytes, const Serving& serving,
                            Receiver* receiver, std::size_t warm_up = 0);

// Where nothing is sent no receiver has to be spared: what is claimed ahead is bounded by memory alone.
Settings wide_window();

// What each delivery cost: CPU time by who used it, and WAL. Over several runs.
class Costs {
 public:
  void add(const Draining::Result& result);
  void describe(Figures& figures) const;

 private:
  std::vector<double> host_, postgres_, receiver_, wal_, resident_;
};

}  // namespace waybill::bench
