// One host that takes in and sends nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/load.h"
#include "bench/measures.h"

namespace waybill::bench {

// What each intent cost: CPU time by who used it, and WAL. Over several runs.
class IntakeCosts {
 public:
  void add(double host_us, double postgres_us, double wal_bytes);
  void describe(Figures& figures) const;

 private:
  std::vector<double> host_, postgres_, wal_;
};

Settings room_for_batches();  // a batch is one body

// Durable intents/s of a load whose requests hand in `each` intents, on a fresh database. Throws unless as many are stored as
// were acknowledged.
double take_in(const Bench& bench, int connections, const Load& load, const LoadEnd& end, std::uint64_t each, IntakeCosts& costs);

}  // namespace waybill::bench
