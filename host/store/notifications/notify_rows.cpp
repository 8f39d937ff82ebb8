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
  if (rows->empty()) return std::nullopt;
  return ChannelRoute{static_cast<Shard>(rows->front().shard()), {rows->front().route_id()}};
}

Parameters due_of(const ChannelRoute& route, Micros apart, const RecoveryWindow& window) {
  return {std::to_string(route.shard),   std::to_string(route.route.value),   std::to_string(kMaxRecovered),
          std::to_string(apart.count()), std::to_string(window.since.micros), std::to_string(window.until.micros)};
}

template <class OneRow>
Result<NotificationPage> page_of(TenantLink& link, OrgId org, const Query<OneRow>& query, const Parameters& parameters,
                                 std::size_t most) {
  const auto rows = link.read(org, query, parameters);
  TRY(rows);
  NotificationPage page;
  for (const auto row : *rows) {
    const auto view = read_notification(row);
    const bool fits = row.fits().value_or(false);
    if (fits && page.items.size() == most) {
      page.next = DeliveryCursor{page.items.back().created, page.items.back().id};
      return page;
    }
    if (fits) page.items.push_back(view);
    if (row.is_where_the_walk_stopped()) page.next = DeliveryCursor{view.created, view.id};
  }
  return page;
}

}  // namespace

tl::unexpected<Error> no_delivery(DeliveryId id) {
  return fail(Error::Kind::not_found, "there is no delivery " + std::to_string(id.value));
}

Result<NotificationPage> list_notifications(TenantLink& link, OrgId org, const NotificationFilter& filter,
                                            const std::optional<DeliveryCursor>& after, std::size_t most,
                                            std::size_t max_walked) {
  for (const auto* id : {&filter.rule, &filter.channel})
    if (*id && !is_uuid(**id)) return NotificationPage{};
  const auto from = after.value_or(DeliveryCursor{kEndOfTime, {}});
  Parameters parameters{std::to_string(org.value),
                        filter.rule,
                        filter.status,
                        std::to_string(from.at.micros),
                        std::to_string(from.id.value),
                        std::to_string(most + 1),
                        std::to_string(max_walked)};
  if (filter.channel) {
    parameters.push_back(filter.channel);
    return page_of(link, org, sql::list_notifications_of_channel, parameters, most);
  }
  if (filter.rule) return page_of(link, org, sql::list_notifications_of_rule, parameters, most);
  return page_of(link, org, sql::list_notifications, parameters, most);
}

Result<NotificationDetail> find_notification(TenantLink& link, OrgId org, DeliveryId id) {
  const auto rows = link.read(org, sql::find_notification, key_of(id, org));
  TRY(rows);
  if (rows->empty()) return no_delivery(id);
  NotificationDetail detail{read_notification(rows->front()), text_or_empty(rows->front().payload()), {}};
  const auto attempts = link.read(org, sql::notification_attempts, {std::to_string(shard_of(id)), std::to_string(id.value)});
  TRY(attempts);
  for (const auto row : *attempts) {
    detail.attempts.push_back(read_attempt(row));
    detail.attempts.back().answer = text_or_empty(row.answer());
  }
  return detail;
}

Result<NotificationReplay> replay_notification(Link& link, OrgId org, DeliveryId id, const std::string& actor) {
  return link.transact([&](Connection& connection) -> Result<NotificationReplay> {
    const auto found = connection.run(sql::lock_notification, key_of(id, org));
    TRY(found);
    if (found->empty()) return no_delivery(id);
    const auto row = found->front();
    if (!row.has_ended()) return NotificationReplay::under_way;
    if (!row.is_living() || !row.is_enabled()) return NotificationReplay::channel_off;
    TRY(connection.run(sql::lock_replays, {std::to_string(org.value)}));
    const auto permit =
        connection.run(sql::replay_permit, {std::to_string(org.value), std::to_string(id.value), std::to_string(kReplaysAnHour)});
    TRY(permit);
    if (permit->empty()) return NotificationReplay::over_limit;
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
  for (const auto row : *due)
    if (row.is_unattempted()) ++waiting.unattempted;
  return waiting;
}

Result<Waiting> count_waiting(Connection& connection, const ChannelRoute& route, const RecoveryWindow& window) {
  const auto counted =
      connection.run(sql::unattempted_notifications,
                     {std::to_string(route.shard), std::to_string(route.route.value), std::to_string(kMaxRecovered),
                      std::to_string(window.since.micros), std::to_string(window.until.micros)});
  TRY(counted);
  return Waiting{0, static_cast<std::size_t>(counted->front().count())};
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
    for (const auto row : *failed) {
      shard.add(row.shard());
      id.add(row.delivery_id());
    }
    TRY(connection.run(sql::replay_notifications, {shard.take(), id.take(), std::to_string(org.value), actor, "recover",
                                                   std::to_string(apart.count()), std::to_string(waiting.rows)}));
    return recovery;
  });
}

}  // namespace waybill
