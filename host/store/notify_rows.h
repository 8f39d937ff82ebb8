// Reading notifications, and sending them again.
#pragma once

#include "store/notify_store.h"
#include "store/tenant_link.h"

namespace waybill {

inline constexpr int kReplaysAnHour = 10;

// Columns 0 to 7 of a row of list_notifications.
NotificationView read_notification(const Rows& rows, std::size_t row);
tl::unexpected<Error> no_delivery(DeliveryId id);

Result<NotificationPage> list_notifications(TenantLink& link, OrgId org, const NotificationFilter& filter,
                                            const std::optional<DeliveryCursor>& after, std::size_t most);
Result<NotificationDetail> find_notification(TenantLink& link, OrgId org, DeliveryId id);
Result<NotificationReplay> replay_notification(Link& link, OrgId org, DeliveryId id, const std::string& actor);
// `rate`: so many become due a second.
Result<Recovery> recover_notifications(Link& link, OrgId org, const std::string& channel, const RecoveryWindow& window,
                                       const std::string& actor, std::size_t rate);

}  // namespace waybill
