// Notifications as their organisation sees them.
#include "store/notifications/notify_rows.h"

#include <algorithm>

#include "base/uuid.h"
#include "store/notifications/notify.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxRecovered = 10'000;  // at a time

Parameters key_of(DeliveryId id, OrgId org) {
  return {std::to_string(shard_of(id)), std::to_string(id.value), std::to_string(org.value)};
}

// Where the deliveries of a channel wait.
struct ChannelRoute {
  Shard shard;
  RouteId route;
};

Result<std::optional<ChannelRoute>> route_of_channel(Link& link, OrgId org, const std::string& channel) {
  const auto rows = link.run(sql::channel_route, {std::to_string(org.value), channel});
  TRY(rows);
  if (rows->size() == 0) return std::nullopt;
  return ChannelRoute{static_cast<Shard>(rows->number(0, 0)), {rows->number(0, 1)}};
}

Parameters due_of(const ChannelRoute& route, Micros apart, const RecoveryWindow& window) {
  return {std::to_string(route.shard),   std::to_string(route.route.value),   std::to_string(kMaxRecovered),
          std::to_string(apart.count()), std::to_string(window.since.micros), std::to_string(window.until.micros)};
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
                                            const std::optional<DeliveryCursor>& after, std::size_t most,
                                            std::size_t max_walked) {
  NotificationPage page;
  for (const auto* id : {&filter.rule, &filter.channel})
    if (*id && !is_uuid(**id)) return page;
  const auto from = after.value_or(DeliveryCursor{kEndOfTime, {}});
  Parameters parameters{std::to_string(org.value),
                        filter.rule,
                        filter.status,
                        std::to_string(from.at.micros),
                        std::to_string(from.id.value),
                        std::to_string(most + 1),
                        std::to_string(max_walked)};
  const Statement* statement = filter.rule ? &sql::list_notifications_of_rule : &sql::list_notifications;
  if (filter.channel) {
    statement = &sql::list_notifications_of_channel;
    parameters.push_back(filter.channel);
  }
  const auto rows = link.read(org, *statement, parameters);
  TRY(rows);
  for (std::size_t row = 0; row < rows->size(); ++row) {
    const auto view = read_notification(*rows, row);
    const bool fits = rows->flag(row, 8), is_where_the_walk_stopped = rows->flag(row, 9);
    if (fits && page.items.size() == most) {
      page.next = DeliveryCursor{page.items.back().created, page.items.back().id};
      return page;
    }
    if (fits) page.items.push_back(view);
    if (is_where_the_walk_stopped) page.next = DeliveryCursor{view.created, view.id};
  }
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
                        std::to_string(org.value), actor, "replay", "0", "0"}));
    TRY(connection.run(sql::end_notification_cooldown, key_of(id, org)));
    return NotificationReplay::queued;
  });
}

Result<void> end_channel_cooldown(Link& link, OrgId org, const std::string& channel) {
  return link.run(sql::end_channel_cooldown, {std::to_string(org.value), channel}).map([](const Rows&) {});
}

Result<void> wake_channel(Link& link, OrgId org, const std::string& channel) {
  constexpr int kMaxTurns = 10;
  TRY(end_channel_cooldown(link, org, channel));
  const auto route = route_of_channel(link, org, channel);
  TRY(route);
  for (int turn = 0; *route && turn < kMaxTurns; ++turn) {
    const auto due = link.run(sql::make_channel_due, due_of(**route, Micros{0}, {}));
    TRY(due);
    if (due->size() < kMaxRecovered) break;
  }
  return {};
}

namespace {

// What waits for the channel: how many rows, and how many of these were never attempted and are of the window.
struct Waiting {
  std::size_t rows = 0, unattempted = 0;
};

Result<Waiting> make_due(Connection& connection, const ChannelRoute& route, const RecoveryWindow& window, Micros apart) {
  const auto due = connection.run(sql::make_channel_due, due_of(route, apart, window));
  TRY(due);
  Waiting waiting{due->size(), 0};
  for (std::size_t row = 0; row < due->size(); ++row)
    if (due->flag(row, 0)) ++waiting.unattempted;
  return waiting;
}

Result<Waiting> count_waiting(Connection& connection, const ChannelRoute& route, const RecoveryWindow& window) {
  const auto counted =
      connection.run(sql::unattempted_notifications,
                     {std::to_string(route.shard), std::to_string(route.route.value), std::to_string(kMaxRecovered),
                      std::to_string(window.since.micros), std::to_string(window.until.micros)});
  TRY(counted);
  return Waiting{0, static_cast<std::size_t>(counted->number(0, 0))};
}

}  // namespace

Result<Recovery> recover_notifications(Link& link, OrgId org, const std::string& channel, const RecoveryWindow& window,
                                       const std::string& actor, std::size_t rate) {
  const Micros apart{1'000'000 / static_cast<std::int64_t>(std::max<std::size_t>(rate, 1))};
  if (!window.dry_run) TRY(end_channel_cooldown(link, org, channel));
  const auto route = route_of_channel(link, org, channel);
  TRY(route);
  return link.transact([&](Connection& connection) -> Result<Recovery> {
    Waiting waiting;
    if (*route) {
      const auto found =
          window.dry_run ? count_waiting(connection, **route, window) : make_due(connection, **route, window, apart);
      TRY(found);
      waiting = *found;
    }
    const auto failed =
        connection.run(sql::failed_notifications, {std::to_string(org.value), channel, std::to_string(window.since.micros),
                                                   std::to_string(window.until.micros), std::to_string(kMaxRecovered)});
    TRY(failed);
    const Recovery recovery{failed->size() + waiting.unattempted, waiting.rows,
                            failed->size() == kMaxRecovered || waiting.unattempted == kMaxRecovered};
    if (window.dry_run) return recovery;
    ArrayText shard, id;
    for (std::size_t row = 0; row < failed->size(); ++row) {
      shard.add(failed->number(row, 0));
      id.add(failed->number(row, 1));
    }
    TRY(connection.run(sql::replay_notifications, {shard.take(), id.take(), std::to_string(org.value), actor, "recover",
                                                   std::to_string(apart.count()), std::to_string(waiting.rows)}));
    return recovery;
  });
}

}  // namespace waybill
