// The row level security of the organisation finds the notification; the engine's statement then sees hosts and claims as well.
#include "store/notifications/notification_standing.h"

#include "domain/channel.h"
#include "store/notifications/notification_standing.sql.h"
#include "store/notifications/notify_rows.h"
#include "store/submissions/read_rows.h"
#include "vault/vault.h"

namespace waybill {

Result<NotificationStanding> notification_standing(Link& link, TenantLink& tenant, OrgId org, DeliveryId id, const Vault* vault) {
  const Parameters key{std::to_string(shard_of(id)), std::to_string(id.value), std::to_string(org.value)};
  const auto own = tenant.read(org, sql::own_notification, key);
  TRY(own);
  if (own->size() == 0) return no_delivery(id);
  const auto rows = link.read(sql::notification_standing, key);
  TRY(rows);
  if (rows->size() == 0) return no_delivery(id);
  NotificationStanding s{.view = read_notification(*rows, 0),
                         .now = rows->time(0, 8),
                         .reason = text_of(*rows, 0, 9),
                         .channel_type = text_of(*rows, 0, 10),
                         .channel_deleted = time_of(*rows, 0, 11),
                         .channel_disabled = time_of(*rows, 0, 12),
                         .disabled_reason = text_of(*rows, 0, 13),
                         .is_locked = vault != nullptr && !vault->knows(rows->text(0, 14)),
                         .cooldown = {},
                         .is_open = rows->flag(0, 18),
                         .lease_lost = static_cast<std::uint32_t>(rows->number(0, 19)),
                         .claimed_by = text_of(*rows, 0, 20),
                         .claimer_lives = rows->flag(0, 21),
                         .claimed = time_of(*rows, 0, 22),
                         .lease_until = time_of(*rows, 0, 23),
                         .under_way = static_cast<std::uint64_t>(rows->number(0, 24)),
                         .under_way_of_channel = static_cast<std::uint64_t>(rows->number(0, 26)),
                         .served_by = text_of(*rows, 0, 27),
                         .serves_since = time_of(*rows, 0, 30),
                         .serves_until = time_of(*rows, 0, 31),
                         .rate = text_of(*rows, 0, 28),
                         .rate_until = time_of(*rows, 0, 29),
                         .hosts = static_cast<std::uint64_t>(rows->number(0, 25))};
  if (const auto until = time_of(*rows, 0, 15))
    s.cooldown = Cooldown{org, channel_target(s.view.channel), *until, text_of(*rows, 0, 16), rows->time(0, 17)};
  return s;
}

}  // namespace waybill
