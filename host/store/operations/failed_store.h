// Deliveries that failed for good, of every kind in one list, and sending them again, which is a replay of a dead letter. Each
// call has a session of its own for its time: operators ask rarely. Safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/operations/dead_store.h"
#include "store/pg/pg.h"
#include "store/submissions/delivery_cursor.h"

namespace waybill {

// An empty field matches all.
struct FailedFilter {
  std::string reference;   // of the submission
  std::string target;      // a target, "sender:<action type>", or "channel:<id>"
  std::string kind;        // intent, form, pipeline, notification
  std::string belongs_to;  // a form's or pipeline's name
  std::string reason, status;
  std::optional<Timestamp> since;  // ended then or later
  std::optional<Timestamp> until;  // ended earlier
  std::vector<DeliveryId> ids{};   // for resending

  bool any() const {
    return !(reference.empty() && target.empty() && kind.empty() && belongs_to.empty() && reason.empty() && status.empty() &&
             !since && !until && ids.empty());
  }
};

struct FailedDelivery {
  DeliveryId id;
  std::string kind, reference, belongs_to, target;
  int action_order = 0;
  std::string action_type, status, reason;
  Timestamp ended;
  std::uint32_t attempts = 0;
  bool is_sent_again = false;
  std::optional<Timestamp> tried;  // of its last attempt: when, and what came of it; none: it had none
  std::string outcome, error;
  std::optional<std::int64_t> code;
};
struct FailedPage {
  std::vector<FailedDelivery> items;   // newest first
  std::optional<DeliveryCursor> next;  // none: this is the last page
};

struct ResendOrder {
  FailedFilter filter;
  std::string actor;
  bool dry_run = false;
  bool include_rejected = false;          // what its destination has refused for good
  bool include_maybe_sent = false;        // one_shots that may have been sent
  std::size_t rate = 0;                   // a second; 0: dead.replay_rate
  std::optional<DeliveryCursor> after{};  // behind where an earlier call stopped
};
inline constexpr std::size_t kMaxResendRate = 1000;

class FailedStore {
 public:
  virtual ~FailedStore() = default;
  // A page looks at a bounded number of deliveries, so it may hold fewer than `most`, and have a next one.
  virtual Result<FailedPage> list(OrgId org, const FailedFilter& filter, std::size_t most,
                                  std::optional<DeliveryCursor> after) = 0;
  // One transaction; the oldest first, spaced by the rate. A dry run writes nothing. Channels' deliveries are refused: they have
  // ways of their own. A call looks at a bounded number of deliveries and takes kMaxReplays, so it may find nothing, and have a
  // next one.
  virtual Result<Replays> resend(OrgId org, const ResendOrder& order) = 0;
};

inline constexpr std::size_t kMaxResendWalked = 50'000;

// `rate`: dead.replay_rate. `most_walked`: how many deliveries one call to resend looks at.
std::unique_ptr<FailedStore> make_failed_store(const DatabaseAddress& address, std::size_t rate,
                                               std::size_t most_walked = kMaxResendWalked);

}  // namespace waybill
