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
  for (std::size_t row = 0; row < found->size(); ++row) {
    Channel channel{.id = text_of(*found, row, 1),
                    .destination = {},
                    .key_id = static_cast<std::int32_t>(found->number(row, 3)),
                    .data_key = from_hex(found->text(row, 4)),
                    .secret = from_hex(found->text(row, 5)),
                    .secondary = from_hex(found->text(row, 6)),
                    .signs_with_text = found->flag(row, 9),
                    .is_deleted = found->flag(row, 7),
                    .is_disabled = found->flag(row, 8)};
    channel.destination = channel_destination(channel.id, found->text(row, 2));
    ClaimedRow& claimed = *notifications.at({found->number(row, 0)});
    claimed.channel = std::make_shared<const Channel>(std::move(channel));
    claimed.body_bytes = static_cast<std::size_t>(found->number(row, 10));
    if (claimed.channel->is_disabled || claimed.channel->is_deleted) {  // nothing is sent: its body is not fetched
      claimed.body_bytes = 0;
      claimed.withheld = false;
    }
  }
  return {};
}

}  // namespace waybill
