// Queries of clients and operators. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "domain/idempotency.h"
#include "domain/status.h"
#include "store/queue/cooldown.h"
#include "store/submissions/attempt_view.h"
#include "store/submissions/submission_list.h"
#include "store/submissions/submission_view.h"

namespace waybill {

// What a provider said of an accepted intent afterwards (failure_check).
struct LateFailureView {
  Timestamp noticed;
  std::string status;               // the provider's word: permanent-failure
  std::optional<Timestamp> failed;  // none: it did not say
  std::string provider_ref;         // or empty
};
struct HistoryView {
  SubmissionView submission;
  std::vector<AttemptView> attempts;
  std::vector<LateFailureView> late_failures{};  // of an intent
};

// The state of an unfinished delivery.
struct QueuePosition {
  DeliveryId delivery;
  RouteId route;
  std::string target;
  int action_order;
  std::string action_type;
  Status status;
  Timestamp due;
  std::uint32_t attempt_count;
  std::uint32_t lease_lost;
  std::string claimed_by;      // name of the host; empty if it is no longer registered
  bool claimer_lives = false;  // it holds its advisory lock
  std::optional<Timestamp> lease_until;
  std::optional<std::uint64_t> due_before;  // deliveries of its route and shard that are due earlier; kMaxDueBefore at most
  std::optional<Rate> rate;                 // of its target
  struct OrderedRate {                      // by an operator: then it is that
    std::string actor;
    std::optional<Timestamp> until;
  };
  std::optional<OrderedRate> ordered_rate{};
  std::optional<Timestamp> permits_until;  // if it has, or had, a rate: when the last permit that was given out is used up
  std::string host_name;                   // of its target, with the port; empty for a form's action
  struct InFlight {                        // deliveries that all hosts together have claimed now
    std::uint64_t of_target = 0, of_org = 0, of_host_name = 0, of_action_type = 0, all = 0;
  } in_flight;
  std::optional<Cooldown> cooldown;  // of its target; one that is over: the target is half-open
  struct Pause {
    std::string target;
    Timestamp since;
    std::string reason, actor;
  };
  std::optional<Pause> pause{};  // of its target, by an operator
  struct Finding {               // of a host that alone finds the target unreachable
    std::string host;
    Timestamp since;
    std::string reason;
  };
  std::vector<Finding> findings{};
};
inline constexpr std::uint64_t kMaxDueBefore = 10'000;
// A host that holds its advisory lock.
struct LivingHost {
  std::string name;
  std::optional<Micros> told_ago;  // since it said what it does; none: it says nothing (an earlier version)
  std::string facts;               // JSON object: host/app/host_facts.cpp
};
struct Explanation {
  HistoryView history;
  Timestamp now;
  std::vector<QueuePosition> positions;  // empty if all have ended
  std::uint64_t hosts = 0;               // alive: holding their advisory locks
  std::vector<std::string> cut_off{};    // the names of hosts that reach nothing while others do
  std::vector<LivingHost> living{};      // if there are positions
};

struct HostView {
  HostId id;
  std::string name;  // "<machine>:<pid>"
};

// A delivery with its contract.
struct DeliveryView {
  DeliveryId delivery;
  SubmissionId submission;
  int action_order;
  Status status;  // waiting, open, due or claimed: its first status; else its end
  std::uint32_t attempts;
  std::string provider_ref;
  Timestamp created;  // of the submission
  RouteId route;
  Contract contract;
};

// A submission that may have come in before.
struct SubmissionKey {
  std::string client_ref;
  std::string target;
  Sha256 payload_hash;
};

class ReadStore {
 public:
  virtual ~ReadStore() = default;
  // None: no such submission.
  virtual Result<std::optional<SubmissionView>> find(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // Each key's submission, compared with a repetition of it: `existing` or `conflict`. None: there is no such submission.
  virtual Result<std::vector<std::optional<SubmitResult>>> compare(OrgId org, std::string_view kind,
                                                                   std::span<const SubmissionKey> keys) = 0;
  virtual Result<std::optional<HistoryView>> history(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // See list_intents().
  virtual Result<SubmissionPage> intents(OrgId org, const SubmissionFilter& filter, std::size_t most,
                                         const std::optional<DeliveryCursor>& after) = 0;
  virtual Result<std::optional<Explanation>> explain(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // In order of action; empty if there is no such submission.
  virtual Result<std::vector<DeliveryView>> deliveries(OrgId org, std::string_view kind, std::string_view client_ref) = 0;
  // Of these submissions, those that have ended or have at least one finished attempt.
  virtual Result<std::vector<SubmissionId>> moved(std::span<const SubmissionId> ids) = 0;
  virtual Result<std::vector<HostView>> hosts() = 0;
  virtual Result<std::vector<LivingHost>> living_hosts() = 0;
  virtual Result<std::optional<OrgId>> organisation(const std::string& name) = 0;
};

}  // namespace waybill
