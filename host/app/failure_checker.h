// One check of what providers failed to deliver: every page of every target's list, the digest, the alert.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "domain/contract.h"
#include "registry/registry.h"
#include "senders/destination_queries.h"
#include "store/operations/failure_check_store.h"
#include "telemetry/log.h"

namespace waybill {

struct FailureCheckResult {
  enum class How : std::uint8_t {
    finished,
    put_off,  // it could not read every list, and is tried again in a minute
    lost      // another process has it now
  };
  How how = How::finished;
  std::vector<DigestLine> organisations;
  std::vector<std::string> targets;  // whose lists were read to their end
  std::vector<std::string> problems;
};

// One thread at a time.
class FailureChecker {
 public:
  // `targets`: those to be asked; empty: all whose plugin lists failures.
  FailureChecker(FailureCheckStore& store, DestinationQueries& queries, const Registry& registry,
                 std::vector<std::string> targets, const Clock& clock, Log& log);

  enum class Patience : std::uint8_t { ends_anyhow, tries_again };
  Result<FailureCheckResult> run(const FailureCheck& check, Patience patience);

 private:
  enum class Read : std::uint8_t { whole, in_part, not_offered, lost };
  Result<Read> read(const FailureCheck& check, const Contract& target, std::int64_t since, std::string& problem);
  Result<FailureCheckResult> finish(const FailureCheck& check, std::map<std::string, Timestamp> whole,
                                    std::vector<std::string> problems);
  std::vector<const Contract*> asked(std::vector<std::string>& problems) const;

  FailureCheckStore& store_;
  DestinationQueries& queries_;
  const Registry& registry_;
  const std::vector<std::string> targets_;
  const Clock& clock_;
  Log& log_;
};

}  // namespace waybill
