// Who else does the work of a measure, in turn with us: job queues, and what the machine itself can do.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/figures.h"
#include "bench/harness.h"

namespace waybill::bench {

struct RivalRun {
  std::string name, unit;
  double value = 0;
  std::optional<double> p99;
};

// One thread at a time.
class Rivals {
 public:
  struct CallKind {
    bool peers = false, limits = false, bullmq = false;
    bool any() const { return peers || limits || bullmq; }
  };

  // Nobody, unless asked for. Sets the harness up; if it is not there, says so and goes on without.
  Rivals(Harness harness, const CallKind& asked);

  // One run of each that knows this measure. No host of ours may run, and no database be there that autovacuum could see to.
  std::vector<RivalRun> run(std::string_view measure) const;

 private:
  const Harness harness_;
  CallKind asked_;
};

// "peers,limits": throws on any other word.
Rivals::CallKind parse_asked(const std::vector<std::string>& words);

void compare(Figures& figures, const std::vector<RivalRun>& runs);

}  // namespace waybill::bench
