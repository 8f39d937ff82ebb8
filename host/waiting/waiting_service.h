// What operators do about deliveries that wait: they end them, or send them elsewhere. For the routes and the command line alike.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "registry/registry.h"
#include "store/operations/waiting_store.h"

namespace waybill {

struct WaitingOrder {
  OrgId org;
  WaitingFilter filter;  // with a target
  std::string reason;    // why they end
  Operator by;
  bool dry_run = false;
  std::size_t most = 10'000;                 // in one call
  std::optional<DeliveryCursor> after = {};  // behind where an earlier call stopped
};
struct WaitingDone {
  std::size_t count = 0;            // ended or rerouted, or in a dry run, that would be
  std::size_t may_be_sent = 0;      // of those that ended: an attempt may have arrived
  std::size_t taken_by_others = 0;  // a host or another operator was faster
  std::size_t refused = 0;
  std::vector<std::pair<WaitingDelivery, std::string>> examples{};  // of the refused, with why; kMaxExamples
  std::optional<DeliveryCursor> next{};  // none: it came to the end; else ask again, with this as `after`
};
inline constexpr std::size_t kMaxExamples = 100;
inline constexpr std::size_t kMaxBodiesHeld = 8 << 20;  // bytes of what is read at once to be checked, or one body

// Told after each transaction how many are done.
using WaitingProgress = std::function<void(const WaitingDone&)>;

// In transactions of some hundred each: what is done stays done if it is stopped, and is not met again. What came in after it
// began is left alone. Error::invalid: no target, or no reason.
Result<WaitingDone> end_waiting(WaitingStore& store, const WaitingOrder& order, const WaitingProgress& progress = {});

// From order.filter.target to `to`, in the same way. Error::invalid: `to` is no target of the registry, is the same, or is of
// another action type.
Result<WaitingDone> reroute_waiting(WaitingStore& store, const Registry& registry, const ActionTypes& types,
                                    const WaitingOrder& order, const std::string& to, const WaitingProgress& progress = {});

}  // namespace waybill
