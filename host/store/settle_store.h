// What settling asks of the database. An object holds a session of its own: one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/outcome.h"
#include "domain/status.h"
#include "store/cooldown.h"

namespace waybill {

struct AttemptRecord {
  std::uint32_t number;
  Timestamp started;
  std::optional<Timestamp> finished;
  std::string outcome;  // accepted, rejected, deferred, error, unknown
  std::string reason;
  std::string error;
  std::int32_t code = 0;
  std::string provider_ref;
  bool counts = true;  // against the contract's attempts
};

// What becomes of one claimed delivery. Carried out only if the claim token still holds.
struct Settlement {
  DeliveryId delivery;
  SubmissionId submission{};  // where it is known
  ClaimToken token;
  Status status;                // Status::due or an end
  Timestamp due;                // when status is due
  std::uint32_t attempt_count;  // from now on
  std::uint32_t lease_lost;     // from now on; more than 0: a suspect, which is tried alone
  std::uint32_t uncounted = 0;  // from now on: of attempt_count, those that do not count against the contract
  bool maybe_sent;              // from now on
  std::string reason;           // of the end
  std::string result;           // of the end: JSON, or empty
  std::string progress;         // when status is due: JSON for the next attempt; empty keeps what there is
  Timestamp ended;              // when status is an end
  std::optional<AttemptRecord> attempt;
  std::string submission_state;  // the submission's new and final state; empty: it does not move
  std::string from_state;        // for the audit
  std::string action;            // audit: what happened, such as "intent_accepted"
  std::string trigger;           // audit: why, such as "accept" or "lease_lost"
  std::string actor;             // audit: who, such as the host's name
  std::string metadata;          // audit: a JSON object
  std::string action_type;       // what sent it
  bool of_form = false;          // its submission and its audit follow from all of the submission's actions
  bool dead_letter = false;      // kept for people to look at
};

// What a settlement was carried out to.
struct SettleResult {
  std::vector<DeliveryId> held;          // their claims still held; the others were stale, and nothing of theirs was written
  std::vector<ClaimToken> tokens;        // by which claim each was: a batch may hold an older, stale claim of the same delivery
  std::vector<std::string> form_states;  // the last states of the form submissions that ended with it
};

// What a plugin made of a claimed delivery before its first send.
struct ComposeRow {
  DeliveryId delivery;
  ClaimToken token;
  Artifact artifact;
};

// Attempts of one kind that ended as error, to be told in the digest of their period.
struct FailedAttempts {
  OrgId org;
  std::string action_type;
  std::string target;
  std::string reason;
  std::uint64_t count;
};

// An attempt that blamed its target.
struct BlamedTarget {
  OrgId org;
  std::string target;  // what cooldowns together: see Contract::cooldown_key
  Timestamp at;
  Millis asked{};  // the least cooldown, as the receiver asked
  std::string reason;
};

// An attempt of a target in an outage that got through, or never set out.
struct ClearedCooldown {
  OrgId org;
  std::string target;
  Timestamp since;       // of the outage that was known when the attempt was claimed
  bool is_over = false;  // it got through; else another probe may go
};

// How long a cooldown is: a share of the outage's length so far, within these bounds.
inline constexpr Millis kMinCooldown = Seconds(1);
inline constexpr int kCooldownShare = 30;

class SettleStore {
 public:
  virtual ~SettleStore() = default;
  // One transaction.
  virtual Result<SettleResult> settle(Shard shard, std::span<const Settlement> batch) = 0;
  // One transaction: the artefacts are durable, and their deliveries due again at the place in the queue that they had. Answers
  // which claims still held.
  virtual Result<std::vector<DeliveryId>> save_artifacts(Shard shard, std::span<const ComposeRow> batch) = 0;
  // Those of these that settle() and keep() would have to wait for: another session holds their row of the queue locked, or their
  // form's submission. Waits for no row itself.
  virtual Result<std::vector<DeliveryId>> locked(Shard shard, std::span<const DeliveryId> deliveries) = 0;
  // The targets cool down, for `most` at most unless the receiver asks for more. An outage goes on from its beginning, and a
  // cooldown is never cut short, whoever else writes at the same time. Answers the outages as they are now. May be repeated.
  virtual Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget> blames, Millis most) = 0;
  // Ends these outages, or their probes. Another outage of the same target, a later one, is left alone. Answers those that ended.
  virtual Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown> cleared) = 0;
  // Added to the counts of the period that it is now; periods are `period` long and aligned to the clock. In one order by all.
  virtual Result<void> add_failures(std::span<const FailedAttempts> failures, Millis period) = 0;
};

}  // namespace waybill
