// One query for all notifications of a claim; none for a claim without any.
#include "store/queue/claimed_channels.h"

#include <unordered_map>

#include "domain/job.h"
#include "store/queue/claim.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

// `config`: a JSON object that has at least a url, as jsonb writes it.
std::string channel_destination(const std::string& id, std::string_view config) {
  return "{\"secret\":\"" + id + "\"," + std::string(config.substr(1));
}

}  // namespace

Result<void> add_channels(Link& link, Shard shard, std::span<ClaimedRow> rows) {
  std::unordered_map<DeliveryId, ClaimedRow*> notifications;
  ArrayText ids;
  for (auto& row : rows) {
    if (row.kind != kNotificationKind) continue;
    notifications.emplace(row.delivery, &row);
    ids.add(row.delivery.value);
  }
  if (notifications.empty()) return {};
  const auto found = link.run(sql::claimed_channels, {std::to_string(shard), ids.take()});
  TRY(found);
  for (const auto row : *found) {
    Channel channel{.id = std::string(row.channel_id()),
                    .destination = {},
                    .key_id = static_cast<std::int32_t>(row.key_id()),
                    .data_key = from_hex(row.data_key()),
                    .secret = from_hex(row.secret()),
                    .secondary = from_hex(row.secondary_secret()),
                    .signs_with_text = row.signs_with_text().value_or(false),
                    .is_deleted = row.is_deleted(),
                    .is_disabled = row.is_disabled()};
    channel.destination = channel_destination(channel.id, row.config());
    ClaimedRow& claimed = *notifications.at({row.delivery_id()});
    claimed.channel = std::make_shared<const Channel>(std::move(channel));
    claimed.body_bytes = static_cast<std::size_t>(row.bytes());
    if (claimed.channel->is_disabled || claimed.channel->is_deleted) {  // nothing is sent: its body is not fetched
      claimed.body_bytes = 0;
      claimed.withheld = false;
    }
  }
  return {};
}

}  // namespace waybill
