// What the stages of the road ask of the database. Each object holds a session of its own: one thread at a time.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/contract.h"
#include "core/error.h"
#include "core/id.h"
#include "core/idempotency.h"
#include "core/outcome.h"
#include "core/status.h"
#include "core/time.h"

namespace waybill {

// A target that rests after an outage: nothing of it is claimed until then, by any host.
struct Rest {
  OrgId org;
  std::string target;
  Timestamp until;
  std::string reason;
};

// ---- intake ----

struct NewSubmission {
  OrgId org;
  std::string kind;      // "intent"
  std::string pipeline;  // the state machine that drives it
  std::string state;     // that pipeline's first state; from then on it is the delivery's
  std::string client_ref;
  std::string target;
  std::string rest_key;  // what rests when its target does
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

struct Submitted {
  enum class How : std::uint8_t { created, existing, conflict } how;
  SubmissionView view;
  bool claimed = false;  // by the claim that came along
};

// With what newly stored intents are claimed in the same commit.
struct FirstClaim {
  HostId host;
  ClaimToken token;
  Millis lease;
};

class IntakeStore {
 public:
  virtual ~IntakeStore() = default;
  // The route of a contract in an organisation, made if it is new.
  virtual Result<RouteId> route(OrgId org, const Contract& contract) = 0;
  // All in one commit. No two items may share (org, kind, client_ref). Answers in the order of the items. Calling it again
  // after Error::unavailable is safe. With `claim` those that are new are claimed by it, all of them, or none if any of their
  // targets rests.
  virtual Result<std::vector<Submitted>> submit(Shard shard, std::span<const NewSubmission> items,
                                                const std::optional<FirstClaim>& claim) = 0;
};

// ---- claim ----

struct DueRoute {
  RouteId route;
  Timestamp first_due;
};
struct DueRoutes {
  Timestamp now;
  std::vector<DueRoute> routes;  // every route with an unclaimed delivery
  std::vector<Rest> rests;       // every target that rests now
};

struct RouteShare {
  RouteId route;
  std::size_t count;  // take at most so many
  Timestamp after;    // take only what lies behind this place in the order of (due, delivery)
  DeliveryId after_id;
  OrgId org{};               // nothing is taken while this organisation's
  std::string unless_rests;  // target of this name rests; empty: whatever rests
};

// Claims whose deliveries are all settled.
using DoneClaims = std::vector<ClaimToken>;

struct ClaimedRow {
  DeliveryId delivery;
  SubmissionId submission;
  OrgId org;
  RouteId route;
  Timestamp due;
  std::uint32_t attempt_count;
  std::uint32_t lease_lost;
  bool maybe_sent;
  int action_order;
  Timestamp created;
  std::string kind;
  std::string client_ref;
  std::string payload;
  std::optional<Artifact> artifact;  // once its plugin has composed it
  std::string progress;              // JSON that an earlier attempt left, or empty
};
struct Claimed {
  Timestamp now;
  std::vector<ClaimedRow> rows;
};

struct RouteContract {
  OrgId org;
  Contract contract;
};

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  virtual Result<DueRoutes> due_routes(Shard shard) = 0;
  // Committed when it returns. Rows that another host is about to take are passed over. Answers in the order of (due, delivery).
  // What is known of the claims in `done` is forgotten.
  virtual Result<Claimed> claim(Shard shard, HostId host, ClaimToken token, Millis lease, std::span<const RouteShare> shares,
                                const DoneClaims& done) = 0;
  virtual Result<void> forget(Shard shard, const DoneClaims& done) = 0;
  // Undoes a claim whose answer was lost: what it took, if it was carried out, is due again and nothing counts.
  virtual Result<void> give_back(Shard shard, HostId host, ClaimToken token) = 0;
  virtual Result<RouteContract> contract(RouteId route) = 0;
};

// ---- settle ----

struct AttemptRecord {
  std::uint32_t number;
  Timestamp started;
  std::optional<Timestamp> finished;
  std::string outcome;  // accepted, rejected, deferred, error, unknown
  std::string reason;
  std::string error;
  std::int32_t code = 0;
  std::string provider_ref;
};

// What becomes of one claimed delivery. Carried out only if the claim token still holds.
struct Settlement {
  DeliveryId delivery;
  SubmissionId submission{};  // where it is known
  ClaimToken token;
  Status status;                // Status::due or an end
  Timestamp due;                // when status is due
  std::uint32_t attempt_count;  // from now on
  std::uint32_t lease_lost;     // from now on
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
struct Settled {
  std::vector<DeliveryId> held;          // their claims still held; the others were stale, and nothing of theirs was written
  std::vector<std::string> form_states;  // the last states of the form submissions that ended with it
};

// What a plugin made of a claimed delivery before its first send.
struct Composed {
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

class SettleStore {
 public:
  virtual ~SettleStore() = default;
  // One transaction.
  virtual Result<Settled> settle(Shard shard, std::span<const Settlement> batch) = 0;
  // One transaction: the artefacts are durable, and their deliveries due again at the place in the queue that they had. Answers
  // which claims still held.
  virtual Result<std::vector<DeliveryId>> keep(Shard shard, std::span<const Composed> batch) = 0;
  // A longer rest wins over a shorter one.
  virtual Result<void> rest(std::span<const Rest> rests) = 0;
  // Added to the counts of the period that it is now; periods are `period` long and aligned to the clock. In one order by all.
  virtual Result<void> add_failures(std::span<const FailedAttempts> failures, Millis period) = 0;
};

// ---- presence of hosts, and what dead ones left behind ----

struct LostClaim {
  DeliveryId delivery;
  ClaimToken token;
  OrgId org;
  RouteId route;
  HostId host;
  std::string kind;  // of the submission
  std::string client_ref;
  Timestamp claimed_at;
  Timestamp created;  // of the submission
  std::uint32_t attempt_count;
  std::uint32_t lease_lost;
};
struct LostClaims {
  Timestamp now;
  std::vector<LostClaim> claims;
};

struct QueueState {
  std::map<std::string, std::uint64_t> by_status;
  std::optional<Micros> oldest_due;  // age of the oldest delivery that is due
};

class UpkeepStore {
 public:
  virtual ~UpkeepStore() = default;
  // Hosts whose advisory lock is free, so they are gone. The lock is then held by this session until bury().
  virtual Result<std::vector<HostId>> dead_hosts(HostId self) = 0;
  virtual Result<void> bury(HostId host) = 0;
  // Claims of that host, or, without one, claims of anybody whose lease has run out.
  virtual Result<LostClaims> lost_claims(Shard shard, std::optional<HostId> host, std::size_t most) = 0;
  // Forgets claims whose host is gone or whose lease has run out, once none of their deliveries is claimed any more.
  virtual Result<void> forget_lost_claims(Shard shard) = 0;
  // Whatever is claimed past its lease and not known as such is known again. A look through the whole queue: to be done seldom.
  virtual Result<std::uint64_t> find_lost_claims() = 0;
  virtual Result<QueueState> queue_state() = 0;
  virtual Result<void> make_partitions() = 0;
};

// ---- reading ----

struct AttemptView {
  std::uint32_t number;
  Timestamp started;
  std::optional<Timestamp> finished;
  std::string outcome;
  std::string reason;
  std::string error;
};

struct HistoryView {
  SubmissionView submission;
  std::vector<AttemptView> attempts;
};

// Where an unfinished delivery stands.
struct Standing {
  DeliveryId delivery;
  RouteId route;
  std::string target;
  int action_order;
  std::string action_type;
  Status status;
  Timestamp due;
  std::uint32_t attempt_count;
  std::uint32_t lease_lost;
  std::string claimed_by;  // name of the host
  std::optional<Timestamp> lease_until;
  std::uint64_t claimed_of_target = 0;  // deliveries of this route in the hands of hosts now
  std::uint64_t claimed_of_org = 0;
  std::optional<Rest> rest;
};
struct Explanation {
  HistoryView history;
  Timestamp now;
  std::vector<Standing> standings;  // empty when all is done
  std::uint64_t hosts = 0;          // that are registered, alive or only just dead
};

struct HostView {
  HostId id;
  std::string name;  // "<machine>:<pid>"
};

// A delivery that has been written at intake, with its contract.
struct DeliveryView {
  DeliveryId delivery;
  SubmissionId submission;
  int action_order;
  Status status;  // waiting, open, due or claimed: as it began; else its end
  std::uint32_t attempts;
  std::string provider_ref;
  Timestamp created;  // of the submission
  RouteId route;
  Contract contract;
};

class ReadStore {
 public:
  virtual ~ReadStore() = default;
  // none: there is no such submission
  virtual Result<std::optional<SubmissionView>> find(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // The same, compared with what is handed in again: `existing` or `conflict`.
  virtual Result<std::optional<Submitted>> compare(OrgId org, std::string_view kind, std::string_view client_ref,
                                                   const std::string& target, const Sha256& payload_hash) = 0;
  virtual Result<std::optional<HistoryView>> history(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  virtual Result<std::optional<Explanation>> explain(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // In order of action; empty when there is no such submission.
  virtual Result<std::vector<DeliveryView>> deliveries(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // Of these submissions, those that have ended or have at least one finished attempt.
  virtual Result<std::vector<SubmissionId>> moved(std::span<const SubmissionId> ids) = 0;
  virtual Result<std::vector<HostView>> hosts() = 0;
  virtual Result<std::optional<OrgId>> organisation(const std::string& name) = 0;
};

// ---- tokens ----

struct TokenView {
  OrgId org;
  std::string name;
  std::string role;
};

class TokenStore {
 public:
  virtual ~TokenStore() = default;
  virtual Result<std::optional<TokenView>> find(const Sha256& hash) = 0;
  // Error::conflict when a live token of that name exists, Error::not_found when the organisation does not.
  virtual Result<void> create(const std::string& org, const std::string& name, const std::string& role, const Sha256& hash) = 0;
  virtual Result<bool> revoke(const std::string& org, const std::string& name) = 0;
};

}  // namespace waybill
