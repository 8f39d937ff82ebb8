// Reading notifications, and sending them again.
#pragma once

#include "store/notifications/notify_store.h"
#include "store/pg/tenant_link.h"

namespace waybill {

inline constexpr int kReplaysAnHour = 10;

// The columns `delivery_id`, `rule_id`, `channel_id`, `status`, `attempt_count`, `created`, `send_after` and `delivered`.
template <class OneRow>
NotificationView read_notification(const OneRow& row) {
  return {.id = {row.delivery_id()},
          .rule = text_or_empty(row.rule_id()),
          .channel = text_or_empty(row.channel_id()),
          .status = text_or_empty(row.status()),
          .attempts = static_cast<std::uint32_t>(row.attempt_count()),
          .created = row.created(),
          .send_after = row.send_after().value_or(Timestamp{}),
          .delivered = row.delivered()};
}

tl::unexpected<Error> no_delivery(DeliveryId id);

Result<NotificationPage> list_notifications(TenantLink& link, OrgId org, const NotificationFilter& filter,
                                            const std::optional<DeliveryCursor>& after, std::size_t most,
                                            std::size_t max_walked = kMaxWalked);
Result<NotificationDetail> find_notification(TenantLink& link, OrgId org, DeliveryId id);
Result<NotificationReplay> replay_notification(Link& link, OrgId org, DeliveryId id, const std::string& actor);
// Ends the cooldown of a channel and makes due what waits for it: somebody has mended its destination, or the channel is gone.
// What is left when there is very much is looked at again by itself.
Result<void> wake_channel(Link& link, OrgId org, const std::string& channel);
Result<void> end_channel_cooldown(Link& link, OrgId org, const std::string& channel);
// `rate`: so many become due a second.
Result<Recovery> recover_notifications(Link& link, OrgId org, const std::string& channel, const RecoveryWindow& window,
                                       const std::string& actor, std::size_t rate);

}  // namespace waybill
