// The settle statements. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/history.h"
#include "domain/outcome.h"
#include "domain/status.h"
#include "store/pipelines/pipeline_view.h"
#include "store/queue/cooldown.h"

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
  bool counts = true;                           // against the contract's attempts
  bool maybe_sent = false;                      // the receiver may have what nobody saw it take
  std::shared_ptr<const std::string> answer{};  // JSON: what came back over HTTP; null: not on record
  std::string sent_hash{};                      // of Outcome, as the text of a bytea; "": not on record
  std::string signed_with{};
};

// The alert about a dead letter.
struct DeadLetterAlert {
  std::string about;
  std::string message;
};

// The new state of one claimed delivery. Written only if the row still has the fencing token.
struct Settlement {
  DeliveryId delivery;
  SubmissionId submission{};  // if known
  ClaimToken token;
  Status status;         // Status::due or an end
  Timestamp due;         // when status is due
  History history;       // from now on
  std::string reason;    // of the end
  std::string result;    // of the end: JSON, or empty
  std::string progress;  // when status is due: JSON for the next attempt; empty keeps the old
  Timestamp ended;       // when status is an end
  std::optional<AttemptRecord> attempt;
  std::string submission_state;  // the submission's final state; empty: unchanged
  std::string from_state;        // for the audit
  std::string action;            // audit: what happened, such as "intent_accepted" or "sms_success"; empty: none
  std::string trigger;           // audit: why, such as "accept" or "lease_lost"
  std::string actor;             // audit: who, such as the host's name
  std::string metadata;          // audit: a JSON object
  std::string action_type;       // what sent it
  bool of_form = false;          // its submission's state and audit follow from all actions
  bool of_stage = false;         // its submission goes on along its pipeline
  bool halts = false;            // but not now: what would follow could not be written
  bool dead_letter = false;      // it becomes a dead letter
  std::optional<DeadLetterAlert> alert;
};

// The result of settle().
struct SettleResult {
  std::vector<DeliveryId> held;          // settled; the others had a stale token, and nothing of theirs was written
  std::vector<ClaimToken> tokens;        // the claim of each: a batch may contain an older, stale claim of the same delivery
  std::vector<std::string> form_states;  // the final states of the form submissions that ended
  std::vector<PipelineMoved> moves{};    // of pipelines' submissions
  std::vector<DeliveryId> handled{};     // failed ones of stages that became no dead letters: a transition handles the failure
};

// What a plugin composed of a claimed delivery before its first send.
struct ComposeRow {
  DeliveryId delivery;
  ClaimToken token;
  Artifact artifact;
};

// Failed attempts of one kind, for the digest of their period.
struct FailedAttempts {
  OrgId org;
  std::string action_type;
  std::string target;
  std::string reason;
  std::uint64_t count;
};

// How an attempt to reach an organisation's channel ended.
struct ChannelResult {
  OrgId org;
  std::string channel;
  enum class How : std::uint8_t { accepted, failed, gone } how;  // gone: its destination will not come back
};
struct DisabledChannel {
  std::string channel;
  std::string reason;
};

// An attempt that blamed its target.
struct BlamedTarget {
  OrgId org;
  std::string target;  // see Contract::cooldown_key()
  Timestamp at;
  Millis asked{};  // the receiver's minimum
  std::string reason;
  bool is_answered = true;        // else nothing came back: it may be the host that reaches nothing
  HostId host{};                  // that found it
  bool others_connected = false;  // that host had answers from elsewhere since, by connections made for them
};

// An attempt at a target in an outage that got through, or was never sent.
struct ClearedCooldown {
  OrgId org;
  std::string target;
  Timestamp since;       // of the outage known when the attempt was claimed
  HostId host;           // that claimed it
  bool is_over = false;  // it got through; else another probe may start
};

// A cooldown lasts 1/kCooldownShare of the outage's length so far, at least kMinCooldown.
inline constexpr Millis kMinCooldown = Seconds(1);
inline constexpr int kCooldownShare = 30;

class SettleStore {
 public:
  virtual ~SettleStore() = default;
  // One transaction.
  // Disables channels whose destination is gone, or that have only failed for `patience`, each with an alert. Answers those.
  virtual Result<std::vector<DisabledChannel>> record_channel_results(std::span<const ChannelResult> results,
                                                                      Millis patience) = 0;
  virtual Result<SettleResult> settle(Shard shard, std::span<const Settlement> batch) = 0;
  // One transaction: stores the artifacts and makes their deliveries due again at their old place in the queue. Returns the
  // deliveries whose token was still valid.
  virtual Result<std::vector<DeliveryId>> save_artifacts(Shard shard, std::span<const ComposeRow> batch) = 0;
  // Those that settle() and save_artifacts() would have to wait for, because another session holds a lock on their row of the
  // queue or on their form's submission. Waits for no row itself.
  virtual Result<std::vector<DeliveryId>> locked(Shard shard, std::span<const DeliveryId> deliveries) = 0;
  // Starts or extends cooldowns, up to `most` unless the receiver asks for more. A present outage keeps its beginning, and a
  // concurrent call never shortens a cooldown. What was not answered is a cooldown of its host alone, unless another living host
  // that is not cut off finds the same, or there is no such host. Returns the present outages. May be repeated. Waits for no lock
  // longer than a moment, and leaves out targets whose row is locked beyond that; also clear().
  virtual Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget> blames, Millis most) = 0;
  // Ends these outages, or their probes, but not a later outage of the same target; also the finding of the host that got
  // through. Returns those that ended.
  virtual Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown> cleared) = 0;
  // Adds to the counts of the present period. Periods are `period` long and aligned to the clock. Locks rows in a fixed order.
  virtual Result<void> add_failures(std::span<const FailedAttempts> failures, Millis period) = 0;
};

}  // namespace waybill
