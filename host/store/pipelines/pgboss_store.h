// Takes jobs that were never started out of a schema of pg-boss. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/id.h"
#include "domain/contract.h"
#include "domain/pipeline_definition.h"
#include "store/pg/pg.h"

namespace waybill {

struct PgBossQueue {
  std::string name;
  std::uint64_t waiting = 0;  // created or to be tried again
  std::uint64_t later = 0;    // created, for a time to come
};

struct PgBossJob {
  std::string id, queue;
  std::string data;  // JSON; "" for none
  // The id under which it is handed in: the same however often that is tried.
  std::string submission() const { return "pgboss-" + id; }
};

struct HandedIn {
  std::string submission;  // "": it was refused
  std::string refusal;
};

// Hands in jobs on this connection, within its transaction; answers in their order. Done again with the same jobs it changes
// nothing.
using HandInJobs = std::function<Result<std::vector<HandedIn>>(Connection& connection, std::span<const PgBossJob> jobs)>;
// Those in which no fault is found; the others are refused with it.
HandInJobs hand_in_those_without(HandInJobs hand_in, std::function<std::string(const PgBossJob&)> fault_of);
// As intents for a target, the data as payload.
HandInJobs hand_in_as_intents(OrgId org, const Contract& contract, int shards);
// As submissions of a pipeline, the data as payload, and its `metadata` as theirs.
Result<HandInJobs> hand_in_as_pipeline(const DatabaseAddress& address, OrgId org,
                                       const std::shared_ptr<const PipelineDefinition>& pipeline, int shards);

class PgBossStore {
 public:
  virtual ~PgBossStore() = default;
  virtual Result<std::vector<PgBossQueue>> queues() = 0;
  struct Step {
    std::uint64_t taken = 0;
    std::vector<std::string> refusals;
    bool is_over = false;  // nothing is left that could be taken
  };
  // Up to `most` jobs that take() would hand in, in the order of their ids, behind `after` ("": from the first).
  virtual Result<std::vector<PgBossJob>> waiting(const std::string& queue, const std::string& after, std::size_t most) = 0;
  // Hands in up to `most` jobs and marks them as completed, in one transaction if both are in one database. If not, what was
  // handed in is marked after its commit, and handed in again (which changes nothing) if this process dies between the two.
  virtual Result<Step> take(const std::string& queue, std::size_t most, const HandInJobs& hand_in) = 0;
};

// `from`: the database of pg-boss if it is another one than `address`, "" if it is the same.
Result<std::unique_ptr<PgBossStore>> open_pgboss(const DatabaseAddress& address, const std::string& from,
                                                 const std::string& schema);

}  // namespace waybill
