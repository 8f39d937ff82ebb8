// One host that works off backlogs: set up, watched, and held to account.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
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
  // A host that is up and holds back, on a fresh database or on one that a former host has left. `serving.port` is the
  // receiver's; without a receiver nobody is called.
  Draining(const Bench& bench, const std::string& database_url, const Serving& serving, Receiver* receiver);

  void fill(std::size_t count, std::size_t body_bytes);           // so many more deliveries wait
  void fill_finished(std::size_t count, std::size_t body_bytes);  // so many more have been delivered, long ago

  // When to stop: when so many have been delivered, or all; or when the time is over.
  struct Until {
    std::uint64_t deliveries = ~std::uint32_t{0};
    std::chrono::milliseconds most = std::chrono::hours(1);
  };
  struct Result {
    double seconds = 0;                                       // from the release of the backlog
    std::uint64_t deliveries = 0;                             // on record by then
    double host_cpu = 0, postgres_cpu = 0, receiver_cpu = 0;  // seconds
    double resident_before_mb = 0, resident_peak_mb = 0;      // of the host
    bool drained = false;                                     // all were delivered and are on record
    double rate() const { return static_cast<double>(deliveries) / seconds; }
  };
  Result run(const Until& until);
  // Ends the host, then checks that each was done once, on record and at the receiver.
  void check();

 private:
  std::uint64_t delivered();  // by this host
  void submit(const char* id, const char* path);
  bool wait_for(std::uint64_t wanted, std::chrono::milliseconds most);

  const Bench& bench_;
  Receiver* const receiver_;
  const std::uint64_t seen_before_;  // by the receiver
  Host host_;
  Backlog backlog_;
  std::uint64_t recorded_before_ = 0;  // by former hosts
  std::uint64_t expected_ = 0;         // of this host
};

// A fresh database, a backlog of so many, a host that works it off, the check; nothing is left behind.
Draining::Result drain_once(const Bench& bench, std::size_t count, std::size_t body_bytes, const Serving& serving,
                            Receiver* receiver);

// CPU time of each delivery by who used it, over several runs.
class Costs {
 public:
  void add(const Draining::Result& result);
  void describe(Figures& figures) const;

 private:
  std::vector<double> host_, postgres_, receiver_, resident_;
};

}  // namespace waybill::bench
