// One host that works off one backlog: set up, watched, and held to account.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/backlog.h"
#include "bench/host.h"
#include "bench/measures.h"
#include "bench/receiver.h"

namespace waybill::bench {

// One thread at a time.
class Draining {
 public:
  // A fresh database with `count` deliveries that wait, and a host that is up and holds back.
  Draining(const Bench& bench, Receiver& receiver, std::size_t count);

  struct Result {
    double seconds = 0;  // from the release of the backlog until its last delivery was on record
    std::uint64_t deliveries = 0;
    double host_cpu = 0, postgres_cpu = 0, receiver_cpu = 0;  // seconds
    double resident_before_mb = 0, resident_peak_mb = 0;      // of the host
    bool drained = false;
  };
  // Until the backlog is empty, or `most` has passed. Checks the record and what the receiver saw; ends the host.
  Result run(std::chrono::milliseconds most);

 private:
  const Bench& bench_;
  Receiver& receiver_;
  std::uint64_t expected_ = 0;  // deliveries in all, and requests
  std::uint64_t seen_before_;   // by the receiver
  std::unique_ptr<Host> host_;
  std::unique_ptr<Backlog> backlog_;
};

}  // namespace waybill::bench
