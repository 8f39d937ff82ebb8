// What waits to be sent and no host holds: listing it, ending it, sending it elsewhere. Each call has a session of its own for
// its time: operators ask rarely. Safe from any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "domain/contract.h"
#include "domain/history.h"
#include "store/operations/target_store.h"
#include "store/pg/pg.h"
#include "store/queue/settle_store.h"
#include "store/submissions/delivery_cursor.h"

namespace waybill {

// An empty field matches all.
struct WaitingFilter {
  std::string target;  // a target, "sender:<action type>", or "channel:<id>"
  std::string kind;    // intent, form, pipeline, notification
  std::optional<Seconds> older_than;
};

struct WaitingDelivery {
  DeliveryId id;
  SubmissionId submission;
  RouteId route;
  std::string kind, reference, target, action_type;
  int action_order = 0;
  Timestamp created;  // of the submission
  Terms terms{};      // likewise
  Timestamp due;      // from then on it may start
  History history;
  bool has_begun = false;  // its plugin has composed it, or keeps how far it has come
  std::string last_error;
};
struct WaitingPage {
  Timestamp now{};
  std::vector<WaitingDelivery> items;  // by the time from which they may start
  std::optional<DeliveryCursor> next;  // none: this is the last page
};

// The settlement of one that is taken.
using EndOfWaiting = std::function<Settlement(const WaitingDelivery&, const Contract&, Timestamp now)>;
inline constexpr ClaimToken kOperatorsToken{-1};  // in the transaction that takes it; nobody else ever sees it

struct NewRoute {
  const Contract& contract;
  std::string from, to;  // names of targets
};

class WaitingStore {
 public:
  virtual ~WaitingStore() = default;
  virtual Result<std::optional<OrgId>> organisation(const std::string& name) = 0;
  // A page looks at a bounded number of deliveries, so it may hold fewer than `most`, and have a next one.
  virtual Result<WaitingPage> list(OrgId org, const WaitingFilter& filter, std::size_t most,
                                   const std::optional<DeliveryCursor>& after) = 0;
  // One transaction. Settles those of them that still wait, with all that follows from their end. Returns these. Waits for no
  // row.
  virtual Result<std::vector<DeliveryId>> end(OrgId org, std::span<const WaitingDelivery> chosen, const EndOfWaiting& settle,
                                              const std::string& reason, const Operator& by) = 0;
  // How many bytes these would send, and their bodies, by delivery; what is not kept is left out. Bodies may be a megabyte each.
  virtual Result<std::map<DeliveryId, std::size_t>> body_sizes(OrgId org, std::span<const WaitingDelivery> chosen) = 0;
  virtual Result<std::map<DeliveryId, std::string>> bodies(OrgId org, std::span<const WaitingDelivery> chosen) = 0;
  // One transaction. Of intents, those that still wait and of which nothing may have been sent. Returns these. Waits for no row.
  virtual Result<std::vector<DeliveryId>> reroute(OrgId org, std::span<const WaitingDelivery> chosen, const NewRoute& route,
                                                  const Operator& by) = 0;
  // One transaction. Settles up to `most` of the shard that wait although their own time is over. Waits for no row.
  virtual Result<std::vector<Settlement>> end_expired(Shard shard, std::size_t most, const EndOfWaiting& settle) = 0;
};

std::unique_ptr<WaitingStore> make_waiting_store(const DatabaseAddress& address, int shards);

}  // namespace waybill
