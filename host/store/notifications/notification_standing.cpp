// The row level security of the organisation finds the notification; the engine's statement then sees hosts and claims as well.
#include "store/notifications/notification_standing.h"

#include "domain/channel.h"
#include "store/notifications/notification_standing.sql.h"
#include "store/notifications/notify_rows.h"
#include "vault/vault.h"

namespace waybill {

Result<NotificationStanding> notification_standing(Link& link, TenantLink& tenant, OrgId org, DeliveryId id, const Vault* vault) {
  const Parameters key{std::to_string(shard_of(id)), std::to_string(id.value), std::to_string(org.value)};
  const auto own = tenant.read(org, sql::own_notification, key);
  TRY(own);
  if (own->empty()) return no_delivery(id);
  const auto rows = link.read(sql::notification_standing, key);
  TRY(rows);
  if (rows->empty()) return no_delivery(id);
  const auto row = rows->front();
  NotificationStanding s{.view = read_notification(row),
                         .now = row.now(),
                         .reason = text_or_empty(row.reason()),
                         .channel_type = text_or_empty(row.channel_type()),
                         .channel_deleted = row.channel_deleted(),
                         .channel_disabled = row.channel_disabled(),
                         .disabled_reason = text_or_empty(row.disabled_reason()),
                         .is_locked = vault != nullptr && !vault->knows(row.master()),
                         .cooldown = {},
                         .paused = row.paused(),
                         .pause_reason = text_or_empty(row.pause_reason()),
                         .is_open = row.is_open(),
                         .lease_lost = static_cast<std::uint32_t>(row.lease_lost()),
                         .claimed_by = text_or_empty(row.claimed_by()),
                         .claimer_lives = row.claimer_lives(),
                         .claimed = row.claimed(),
                         .lease_until = row.lease_until(),
                         .under_way = static_cast<std::uint64_t>(row.under_way()),
                         .under_way_of_channel = static_cast<std::uint64_t>(row.under_way_of_channel()),
                         .served_by = text_or_empty(row.served_by()),
                         .serves_since = row.serves_since(),
                         .serves_until = row.serves_until(),
                         .rate = text_or_empty(row.rate()),
                         .rate_until = row.rate_until(),
                         .hosts = static_cast<std::uint64_t>(row.hosts())};
  if (const auto until = row.cooldown_until())
    s.cooldown =
        Cooldown{org, channel_target(s.view.channel), *until, text_or_empty(row.cooldown_reason()), *row.cooldown_since()};
  return s;
}

}  // namespace waybill
