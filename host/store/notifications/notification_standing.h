// Where a notification stands: in the queue, with its channel, and beside the others of its organisation.
#pragma once

#include <optional>
#include <string>

#include "store/notifications/notify_store.h"
#include "store/pg/tenant_link.h"
#include "store/queue/cooldown.h"

namespace waybill {

class Vault;

struct NotificationStanding {
  NotificationView view;
  Timestamp now;
  std::string reason;  // of its end
  std::string channel_type;
  std::optional<Timestamp> channel_deleted, channel_disabled;
  std::string disabled_reason;
  bool is_locked = false;  // no master key of the vault opens its channel's secret
  std::optional<Cooldown> cooldown;
  std::optional<Timestamp> paused;  // its channel, by the installation's operator
  std::string pause_reason;
  bool is_open = false;          // it takes further events
  std::uint32_t lease_lost = 0;  // hosts that died inside it
  std::string claimed_by;        // name of the host; empty if it is not claimed, or the host is no longer registered
  bool claimer_lives = false;
  std::optional<Timestamp> claimed, lease_until;
  std::uint64_t under_way = 0;             // deliveries to channels of its organisation, on all hosts
  std::uint64_t under_way_of_channel = 0;  // of these, to its channel
  std::string served_by;                   // name of the host that serves its organisation's channels; empty: none does now
  std::optional<Timestamp> serves_since, serves_until;  // its lease: since it was renewed, and its end; none: of an older version
  std::string rate;                                     // of its channel; empty: any
  std::optional<Timestamp> rate_until;                  // not before then, for its rate
  std::uint64_t hosts = 0;                              // alive
};

// Error::not_found: the organisation has no such notification. Without a vault nothing is known to be locked.
Result<NotificationStanding> notification_standing(Link& link, TenantLink& tenant, OrgId org, DeliveryId id, const Vault* vault);

}  // namespace waybill
