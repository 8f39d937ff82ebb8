// Which script measures what, as a table.
#include "bench/rivals.h"

#include <stdexcept>

#include "bench/progress.h"

namespace waybill::bench {
namespace {

constexpr auto kPeer = &Rivals::CallKind::peers, kLimit = &Rivals::CallKind::limits, kBullmq = &Rivals::CallKind::bullmq;

struct Rival {
  std::string_view measure, name;
  bool Rivals::CallKind::*kind;
  const char *script, *argument, *test;  // a limit has no test of its own
};
constexpr Rival kRivals[] = {
    {"drain", "graphile-worker", kPeer, "peer.sh", "graphile", "webhook"},
    {"drain", "pg-boss", kPeer, "peer.sh", "pgboss", "webhook"},
    {"drain", "bullmq", kBullmq, "peer.sh", "bullmq", "webhook"},
    {"drain", "hot_path_sketch", kLimit, "limit.sh", "e2e", nullptr},
    {"noop", "graphile-worker", kPeer, "peer.sh", "graphile", "drain"},
    {"noop", "pg-boss", kPeer, "peer.sh", "pgboss", "drain"},
    {"noop", "bullmq", kBullmq, "peer.sh", "bullmq", "drain"},
    {"noop", "limit", kLimit, "limit.sh", "noop", nullptr},
    {"ingest", "graphile-worker", kPeer, "peer.sh", "graphile", "enqueue"},
    {"ingest", "pg-boss", kPeer, "peer.sh", "pgboss", "enqueue"},
    {"ingest", "bullmq", kBullmq, "peer.sh", "bullmq", "enqueue"},
    {"bulk", "graphile-worker", kPeer, "peer.sh", "graphile", "bulk"},
    {"bulk", "pg-boss", kPeer, "peer.sh", "pgboss", "bulk"},
    {"bulk", "bullmq", kBullmq, "peer.sh", "bullmq", "bulk"},
    {"bulk", "limit", kLimit, "limit.sh", "copy", nullptr},
    {"latency", "graphile-worker", kPeer, "peer.sh", "graphile", "latency"},
    {"latency", "pg-boss", kPeer, "peer.sh", "pgboss", "latency"},
    {"latency", "bullmq", kBullmq, "peer.sh", "bullmq", "latency"},
    {"slow", "graphile-worker", kPeer, "peer.sh", "graphile", "slow"},
    {"slow", "pg-boss", kPeer, "peer.sh", "pgboss", "slow"},
    {"slow", "bullmq", kBullmq, "peer.sh", "bullmq", "slow"},
    {"slow", "hot_path_sketch", kLimit, "limit.sh", "slow", nullptr},
};

}  // namespace

Rivals::Rivals(Harness harness, const CallKind& asked) : harness_(std::move(harness)), asked_(asked) {
  if (!asked_.any()) return;
  if (harness_.is_there()) {
    harness_.set_up();
    harness_.rest();  // after whatever was measured there before
  } else {
    tell("no scripts that measure peers and limits in " + harness_.folder().string() + " (--harness): measuring without");
    asked_ = {};
  }
}

std::vector<RivalRun> Rivals::run(std::string_view measure) const {
  std::vector<RivalRun> runs;
  for (const auto& rival : kRivals) {
    if (rival.measure != measure || !(asked_.*rival.kind)) continue;
    tell(std::string(measure) + ": " + std::string(rival.name));
    std::vector<std::string> arguments{rival.argument};
    if (rival.test != nullptr) arguments.emplace_back(rival.test);
    auto answer = harness_.run(rival.script, arguments);
    runs.push_back({std::string(rival.name), std::move(answer.unit), answer.value, answer.p99});
  }
  if (!runs.empty()) harness_.rest();
  return runs;
}

Rivals::CallKind parse_asked(const std::vector<std::string>& words) {
  Rivals::CallKind asked;
  for (const auto& word : words) {
    if (word == "peers")
      asked.peers = true;
    else if (word == "limits")
      asked.limits = true;
    else if (word == "bullmq")
      asked.bullmq = true;
    else
      throw std::runtime_error("--against takes peers, limits and bullmq, not " + word);
  }
  return asked;
}

void compare(Figures& figures, const std::vector<RivalRun>& runs) {
  for (const auto& run : runs) figures.compare(run.name, run.unit, run.value);
}

}  // namespace waybill::bench
