// The measures as a table.
#include "bench/measures.h"

namespace waybill::bench {

std::span<const Measure> measures() {
  static constexpr Measure kAll[] = {
      {"drain", "Signed deliveries/s from a backlog to a receiver on loopback, and a bare libcurl loop", &measure_drain},
      {"noop", "The same with a plugin that accepts at once and sends nothing", &measure_noop},
      {"ingest", "POST /v1/intents, one intent each, durable when answered, and pgbench's commits", &measure_ingest},
      {"bulk", "POST /v1/intents:batch, durable when answered", &measure_bulk},
      {"burst", "Batches into an empty database while a host works them off", &measure_burst},
      {"latency", "From POST to the first byte at the gateway, idle system, one at a time", &measure_latency},
      {"slow", "Deliveries/s to a receiver that takes a second, with 4,000 and with 15,000 open requests", &measure_slow},
      {"flapping", "The same with 4,000, when the receiver answers 429 to one request in a thousand", &measure_flapping},
      {"growth", "The speed with 1 M deliveries pending, and beside 1 M finished ones, against 10 k", &measure_growth},
      {"snapshot", "Drain while another session holds an old snapshot", &measure_snapshot},
      {"memory", "The host's memory while it works on a backlog of 1 M, and on bodies of 1 MiB for a slow receiver",
       &measure_memory},
      {"many", "Drain over 100,000 targets against one, and the first byte of a newcomer beside them", &measure_many},
      {"outage", "The receiver is away for a minute: attempts used up, and the time until the speed is back", &measure_outage},
      {"many_orgs",
       "Deliveries to 100,000 channels of 10,000 organisations; 1,000 with one each beside one with 1 M; not in `all`",
       &measure_many_orgs, false},
      {"hanging", "An organisation's trickle beside another one with 100,000 due for 50 endpoints that hang; not in `all`",
       &measure_hanging, false},
      {"retention", "Drain while intents and notifications past their age are deleted; not in `all`", &measure_retention, false},
      {"hostile", "Good clients beside 2,000 slow ones and 1,000 that send bodies without a token; not in `all`",
       &measure_hostile, false},
      {"isolated", "Drain, no-op drain and latency with the plugin in a process of its own and in the host's; not in `all`",
       &measure_isolated, false},
      {"hosts", "Drain with 1, 2 and 4 hosts on one database, and with 4 shards; not in `all`", &measure_hosts, false},
  };
  return kAll;
}

}  // namespace waybill::bench
