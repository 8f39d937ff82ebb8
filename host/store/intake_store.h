// What the intake asks of the database. An object holds a session of its own: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "domain/idempotency.h"

namespace waybill {

struct NewSubmission {
  OrgId org;
  std::string kind;      // "intent"
  std::string pipeline;  // the state machine that drives it
  std::string state;     // that pipeline's first state; from then on it is the delivery's
  std::string client_ref;
  std::string target;
  std::string cooldown_key;  // what cooldowns when its target does
  RouteId route;
  std::string payload;  // valid UTF-8
  Sha256 payload_hash;
};

struct SubmissionView {
  SubmissionId id;
  OrgId org;
  std::string client_ref;
  std::string target;
  std::string state;
  std::string reason;  // of a rejection or an exhaustion
  Timestamp created;
  std::optional<Timestamp> completed;
};

struct SubmitResult {
  enum class How : std::uint8_t { created, existing, conflict } how;
  SubmissionView view;
  bool claimed = false;  // by the claim that came along
  Timestamp stored{};    // of what was created: the database's clock at the end of it, where `view.created` is from its beginning
};

// With what newly stored intents are claimed in the same commit.
struct InsertClaim {
  HostId host;
  ClaimToken token;
  Millis lease;
  Clock::Monotonic asked_at{};  // from then on the lease counts
};

class IntakeStore {
 public:
  virtual ~IntakeStore() = default;
  // The route of a contract in an organisation, made if it is new.
  virtual Result<RouteId> route(OrgId org, const Contract& contract) = 0;
  // All in one commit. No two items may share (org, kind, client_ref). Answers in the order of the items. Calling it again
  // after Error::unavailable is safe. With `claim` those that are new are claimed by it, all of them, or none if any of their
  // targets cooldowns.
  virtual Result<std::vector<SubmitResult>> submit(Shard shard, std::span<const NewSubmission> items,
                                                   const std::optional<InsertClaim>& claim) = 0;
};

}  // namespace waybill
