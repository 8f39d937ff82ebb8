// What can be measured. Each adds its figures to the report, and throws when the system did not do its work right.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "bench/host.h"
#include "bench/postgres.h"
#include "bench/report.h"
#include "bench/rivals.h"

namespace waybill::bench {

// How much work a measure does. The defaults are what the bar speaks of.
struct Sizes {
  std::size_t body_bytes = 1024;  // of a payload, about
  std::size_t drain = 50'000, drain_connections = 64;
  std::size_t noop = 100'000;
  int ingest_connections = 32, ingest_seconds = 5;
  std::size_t bulk = 100'000, bulk_batch = 1000;
  int bulk_clients = 4;
  std::size_t burst = 50'000, burst_batch = 1000;
  std::size_t latency = 200;
  std::size_t slow = 40'000, slow_open = 4000, slow_wide = 90'000, slow_wide_open = 15'000;
  int slow_ms = 1000;
  std::size_t flapping = 40'000, flapping_open = 4000;
  int flapping_ms = 1000;
  std::size_t growth_small = 10'000, growth_backlogs = 4;  // so many small ones in a row
  std::size_t growth_pending = 1'000'000, growth_timed = 80'000, growth_finished = 1'000'000;
  std::size_t snapshot = 100'000;
  std::size_t memory = 1'000'000, memory_small = 10'000;
  int memory_seconds = 20;
  std::size_t memory_large = 3000, memory_large_bytes = 1'000'000;  // bodies as large as the intake takes them
  int memory_large_ms = 2000;                                       // that the receiver takes
  std::size_t many = 100'000, many_targets = 100'000, many_newcomers = 200;
  std::size_t outage = 10'000;
  int outage_seconds = 60;
  std::size_t hosts = 50'000, hosts_noop = 100'000;
  std::size_t orgs = 10'000, orgs_channels = 10;            // of each
  std::size_t orgs_waiting = 1'000'000, orgs_timed = 1000;  // due for one organisation; others with one delivery each
  int orgs_seconds = 10;                                    // over which these fall due
  std::size_t hanging = 100'000, hanging_endpoints = 50, hanging_timed = 500;
  int hanging_gap_ms = 20;
  std::size_t retention = 200'000, retention_old = 100'000;
  std::size_t hostile_slow = 2000, hostile_strangers = 1000, hostile_timed = 1000;
  int hostile_batches = 8, hostile_many_batches = 100;  // connections of a member that posts bad batches

  bool operator==(const Sizes&) const = default;
};

struct Bench {
  const HostProgram& program;
  Postgres& postgres;
  const Rivals& rivals;
  Report& report;
  Sizes sizes;
  int rounds = 3;
};

void measure_drain(const Bench& bench);     // deliveries/s from a backlog, and a bare curl loop
void measure_noop(const Bench& bench);      // the same when nothing is sent
void measure_ingest(const Bench& bench);    // single durable intents/s, and pgbench's commits
void measure_bulk(const Bench& bench);      // durable intents/s in batches
void measure_burst(const Bench& bench);     // the same, until the last is on record
void measure_latency(const Bench& bench);   // ms from the submission to the gateway, idle
void measure_slow(const Bench& bench);      // deliveries/s to a receiver that takes its time
void measure_flapping(const Bench& bench);  // the same, when it refuses one request in a thousand
void measure_growth(const Bench& bench);    // deliveries/s with much that waits, and with much that is done
void measure_snapshot(const Bench& bench);  // deliveries/s while somebody holds an old snapshot
void measure_memory(const Bench& bench);    // the host's memory while it works on a long backlog
void measure_many(const Bench& bench);      // deliveries/s over very many targets, and a newcomer's latency beside them
void measure_outage(const Bench& bench);    // s until the speed is back after the receiver was away
void measure_isolated(const Bench& bench);  // deliveries/s and ms with plugins in processes of their own, and their memory
void measure_hosts(const Bench& bench);     // deliveries/s of several hosts on one database
void measure_many_orgs(
    const Bench& bench);                   // deliveries/s over very many organisations, and what they feel of one with a million
void measure_hanging(const Bench& bench);  // what an organisation feels of one whose endpoints hang
void measure_hostile(const Bench& bench);  // what good clients feel of strangers, and their memory
void measure_retention(const Bench& bench);  // deliveries/s while old rows are deleted

struct Measure {
  const char* name;
  const char* help;
  void (*run)(const Bench& bench);
  bool in_all = true;  // else it must be named
};
std::span<const Measure> measures();  // in the order in which they are run

}  // namespace waybill::bench
