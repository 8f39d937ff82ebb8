// Notifications as their organisation sees them.
#include "store/notify_rows.h"

#include <algorithm>

#include "base/uuid.h"
#include "store/read_rows.h"
#include "store/sql/notify.h"

namespace waybill {
namespace {

Parameters key_of(DeliveryId id, OrgId org) {
  return {std::to_string(shard_of(id)), std::to_string(id.value), std::to_string(org.value)};
}

}  // namespace

NotificationView read_notification(const Rows& rows, std::size_t row) {
  return {.id = {rows.number(row, 0)},
          .rule = text_of(rows, row, 1),
          .channel = text_of(rows, row, 2),
          .status = text_of(rows, row, 3),
          .attempts = static_cast<std::uint32_t>(rows.number(row, 4)),
          .created = rows.time(row, 5),
          .send_after = rows.time(row, 6),
          .delivered = time_of(rows, row, 7)};
}

tl::unexpected<Error> no_delivery(DeliveryId id) {
  return fail(Error::Kind::not_found, "there is no delivery " + std::to_string(id.value));
}

Result<NotificationPage> list_notifications(TenantLink& link, OrgId org, const NotificationFilter& filter,
                                            const std::optional<DeliveryCursor>& after, std::size_t most) {
  NotificationPage page;
  for (const auto* id : {&filter.rule, &filter.channel})
    if (*id && !is_uuid(**id)) return page;
  const auto rows = link.read(org, sql::list_notifications,
                              {std::to_string(org.value), filter.rule, filter.channel, filter.status,
                               after ? std::optional(std::to_string(after->at.micros)) : std::nullopt,
                               after ? std::optional(std::to_string(after->id.value)) : std::nullopt, std::to_string(most + 1)});
  TRY(rows);
  for (std::size_t row = 0; row < rows->size() && row < most; ++row) page.items.push_back(read_notification(*rows, row));
  if (rows->size() > most) page.next = DeliveryCursor{page.items.back().created, page.items.back().id};
  return page;
}

Result<NotificationDetail> find_notification(TenantLink& link, OrgId org, DeliveryId id) {
  const auto rows = link.read(org, sql::find_notification, key_of(id, org));
  TRY(rows);
  if (rows->size() == 0) return no_delivery(id);
  NotificationDetail detail{read_notification(*rows, 0), text_of(*rows, 0, 8), {}};
  const auto attempts = link.read(org, sql::notification_attempts, {std::to_string(shard_of(id)), std::to_string(id.value)});
  TRY(attempts);
  for (std::size_t row = 0; row < attempts->size(); ++row) {
    detail.attempts.push_back(read_attempt(*attempts, row, 0));
    detail.attempts.back().answer = text_of(*attempts, row, 10);
  }
  return detail;
}

Result<NotificationReplay> replay_notification(Link& link, OrgId org, DeliveryId id, const std::string& actor) {
  return link.transact([&](Connection& connection) -> Result<NotificationReplay> {
    const auto found = connection.run(sql::lock_notification, key_of(id, org));
    TRY(found);
    if (found->size() == 0) return no_delivery(id);
    if (!found->flag(0, 0)) return NotificationReplay::under_way;
    if (!found->flag(0, 1) || !found->flag(0, 2)) return NotificationReplay::channel_off;
    TRY(connection.run(sql::lock_replays, {std::to_string(org.value)}));
    const auto permit =
        connection.run(sql::replay_permit, {std::to_string(org.value), std::to_string(id.value), std::to_string(kReplaysAnHour)});
    TRY(permit);
    if (permit->size() == 0) return NotificationReplay::over_limit;
    TRY(connection.run(sql::replay_notifications,
                       {ArrayText().add(std::int64_t{shard_of(id)}).take(), ArrayText().add(id.value).take(),
                        std::to_string(org.value), actor, "replay", "0"}));
    return NotificationReplay::queued;
  });
}

Result<Recovery> recover_notifications(Link& link, OrgId org, const std::string& channel, const RecoveryWindow& window,
                                       const std::string& actor, std::size_t rate) {
  constexpr std::size_t kMaxRecovered = 10'000;
  return link.transact([&](Connection& connection) -> Result<Recovery> {
    const auto failed =
        connection.run(sql::failed_notifications, {std::to_string(org.value), channel, std::to_string(window.since.micros),
                                                   std::to_string(window.until.micros), std::to_string(kMaxRecovered)});
    TRY(failed);
    const Recovery recovery{failed->size(), failed->size() == kMaxRecovered};
    if (window.dry_run) return recovery;
    ArrayText shard, id;
    for (std::size_t row = 0; row < failed->size(); ++row) {
      shard.add(failed->number(row, 0));
      id.add(failed->number(row, 1));
    }
    TRY(connection.run(sql::replay_notifications, {shard.take(), id.take(), std::to_string(org.value), actor, "recover",
                                                   std::to_string(1'000'000 / std::max<std::size_t>(rate, 1))}));
    return recovery;
  });
}

}  // namespace waybill
