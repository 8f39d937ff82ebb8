// What can be measured. Each adds its figures to the report, and throws when the system did not do its work right.
#pragma once

#include <cstddef>

#include "bench/host.h"
#include "bench/postgres.h"
#include "bench/report.h"

namespace waybill::bench {

struct Bench {
  const HostProgram& program;
  Postgres& postgres;
  Report& report;
  int rounds = 3;
  int body_bytes = 1024;
};

// Deliveries per second from a backlog, beside the bare curl loop.
void measure_drain(const Bench& bench, std::size_t count, std::size_t curl_connections);

// Single durable intents per second, beside pgbench's commits.
void measure_ingest(const Bench& bench, int connections, int seconds);

// Milliseconds from the submission to the first byte at the gateway, with nothing else to do.
void measure_latency(const Bench& bench, std::size_t count);

// The most memory that the host has while a long backlog drains for so many seconds.
void measure_memory(const Bench& bench, std::size_t backlog, int seconds);

}  // namespace waybill::bench
