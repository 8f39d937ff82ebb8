// The intake's statements. Each object has its own session; one thread at a time.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "domain/contract.h"
#include "domain/idempotency.h"
#include "domain/submission_terms.h"
#include "store/submissions/submission_view.h"

namespace waybill {

struct NewSubmission {
  OrgId org;
  std::string kind;      // "intent"
  std::string pipeline;  // the state machine that drives it
  std::string state;     // that pipeline's first state; afterwards it is the delivery's
  std::string client_ref;
  std::string target;
  std::string cooldown_key;  // see Contract::cooldown_key()
  RouteId route;
  std::string payload;  // valid UTF-8
  Sha256 payload_hash;
  Trace trace{};
  Terms terms{};
  std::optional<Timestamp> handed_in{};  // else now
};

// The claim under which new intents are stored.
struct InsertClaim {
  HostId host;
  ClaimToken token;
  Millis lease;
  Clock::Monotonic asked_at{};  // the lease counts from then on
};

class IntakeStore {
 public:
  virtual ~IntakeStore() = default;
  // The route of a contract in an organisation; creates it if new.
  virtual Result<RouteId> route(OrgId org, const Contract& contract) = 0;
  // One commit. No two items may share (org, kind, client_ref). Returns results in the order of the items. Safe to repeat after
  // Error::unavailable. With `claim`, all new items are claimed, or none if any of their targets cools down.
  virtual Result<std::vector<SubmitResult>> submit(Shard shard, std::span<const NewSubmission> items,
                                                   const std::optional<InsertClaim>& claim) = 0;
};

}  // namespace waybill
