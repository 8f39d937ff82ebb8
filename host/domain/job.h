// What travels along the pipeline claim -> execute -> settle: a claimed delivery, and the result of its attempt.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/id.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "domain/channel.h"
#include "domain/contract.h"
#include "domain/history.h"
#include "domain/outcome.h"
#include "domain/submission_terms.h"

namespace waybill {

inline constexpr std::string_view kIntentKind = "intent";
// The kind of a notification's submission. It raises no alert itself, however it ends.
inline constexpr std::string_view kAlertKind = "alert";
// The kind of events' submissions that go to an organisation's channel.
inline constexpr std::string_view kNotificationKind = "notification";

// A claim's fencing token names the host that made it. A host makes fewer than 2^38 claims in its life (a thousand a second for
// eight years), and fewer than 2^25 hosts ever register.
inline constexpr int kClaimBits = 38;
inline ClaimToken token_of(HostId host, std::int64_t claim) { return {host.value << kClaimBits | claim}; }
inline HostId host_of(ClaimToken token) { return {token.value >> kClaimBits}; }

// A claimed delivery without its payload, context and artifact: what goes on to be settled. Immutable once claimed.
struct JobHead {
  DeliveryId delivery;
  SubmissionId submission;
  OrgId org;
  RouteId route;
  ClaimToken token;
  History history;                // before this attempt
  Timestamp created;              // of the submission, database clock
  Timestamp claimed_at;           // database clock, read at the end of the claim
  Clock::Monotonic claimed_mono;  // this host's clock when the claim's answer was there
  // From then on another host may have it: the claim's lease, counted from before the claim was asked for.
  Clock::Monotonic begin_before = Clock::Monotonic::max();
  std::shared_ptr<const Contract> contract;
  std::string kind;  // of the submission: "intent", "form", "alert", "notification"
  std::string client_ref;
  int action_order = 1;
  std::string idempotency_key;
  std::size_t body_bytes = 0;               // of the payload, also when it is gone or was withheld
  bool withheld = false;                    // the host had no room for the payload: not to be attempted
  bool probe = false;                       // half-open: it goes first after its target's cooldown
  bool claimed_on_insert = false;           // in the commit that stored it
  Trace trace{};                            // of its submission
  Terms terms{};                            // likewise
  std::optional<Timestamp> outage_since{};  // of its target, if the target was in an outage when this was claimed

  // From when deadlines count.
  Timestamp begins() const { return begins_at(created, terms); }
  std::uint32_t attempt() const { return history.attempt_count + 1; }  // the number of this one
};

// The same with all that its plugin is given.
struct Job : JobHead {
  std::shared_ptr<const Channel> channel{};  // of a notification: where it goes, instead of the contract's destination
  std::string payload{};
  std::string progress{};              // JSON that an earlier transient outcome left for this attempt, or empty
  std::string context{};               // JSON object for the plugin
  std::optional<Artifact> artifact{};  // what its plugin composed of it, if it does that and has done so
  std::string provider_ref{};          // of an accepted attempt, for questions about it
};

// What a claimed row, or its job, takes of the host's room for bodies.
template <class RowOrJob>
std::size_t bytes_of(const RowOrJob& one) {
  return one.withheld ? 0 : one.body_bytes;
}

// Intents that come in and would be claimed as they are stored.
struct InsertGroup {
  OrgId org;
  RouteId route;
  std::shared_ptr<const Contract> contract;
  std::size_t count;
  std::size_t bytes = 0;  // of their payloads together
};

// What a plugin is told of a submission beside its payload. `client_ref` may be any text without control characters.
// Of a form's submission its payload, a JSON object that is not empty, is part of it.
std::string context_of(OrgId org, std::string_view kind, std::string_view client_ref, const Contract& contract, Timestamp created,
                       std::string_view payload);

// The database's time now, reckoned from the claim. It is behind by the time that the claim's answer travelled, never ahead:
// nothing expires early, and nothing is begun later than so long after its deadline.
inline Timestamp database_now(const JobHead& job, Clock::Monotonic now) {
  return job.claimed_at + std::chrono::duration_cast<Micros>(now - job.claimed_mono);
}

// From then on it must not be sent: its contract's time is over, or its own.
inline std::optional<Timestamp> ends_at(const JobHead& job) {
  auto end = job.contract->deadline(job.begins());
  if (job.terms && job.terms->expires && (!end || *job.terms->expires < *end)) end = job.terms->expires;
  return end;
}
inline bool is_over(const JobHead& job, Timestamp now) {
  const auto end = ends_at(job);
  return end && now >= *end;
}

// The other way round: when that was by this host's clock, which nobody sets.
inline Clock::Monotonic host_time(const JobHead& job, Timestamp at) {
  return job.claimed_mono + std::chrono::duration_cast<Clock::Monotonic::duration>(at - job.claimed_at);
}

// A job that is done with, for now.
struct Finished {
  enum class How : std::uint8_t {
    attempted,    // the sender was called; `outcome` is set
    composed,     // nothing was sent and nothing counts: `outcome` has an artifact that must be durable before anything is sent
    expired,      // its contract's time or its own was over before the sender could be called
    unattempted,  // given back: nothing was sent and nothing counts
    hung,         // the plugin did not come back from it, or its process died in it: charged as if the host had died in it
    interrupted   // the same of another one: nobody saw this one's end, and it does not count
  };
  JobHead job;
  How how = How::attempted;
  bool by_kept_connection = false;   // all that was sent: so it does not tell whether this host can make a connection
  std::optional<Outcome> outcome;    // of a process that died in it: how, and whether anything was sent
  Timestamp started_at;              // attempted: the call of the sender, database clock
  Timestamp finished_at;             // database clock
  std::optional<Millis> not_before;  // unattempted: not claimable again for this long

  // Something came back: the destination's word, for all hosts.
  bool is_answered() const { return how == How::attempted && outcome->reach == Reach::answered; }
};

using JobSink = std::function<void(std::vector<Job>)>;
using FinishedSink = std::function<void(std::vector<Finished>)>;

}  // namespace waybill
