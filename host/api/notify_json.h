// The JSON of channels, alert rules, events and deliveries.
#pragma once

#include <string>
#include <string_view>

#include "base/public_ids.h"
#include "domain/action_types.h"
#include "http/http.h"
#include "store/notifications/notify_store.h"

namespace waybill {

inline constexpr std::size_t kMaxNotificationsListed = 500;
inline constexpr std::size_t kMaxChannelsListed = 100;
inline constexpr std::size_t kMaxRulesListed = 100;
inline constexpr std::size_t kMaxChannelConfig = std::size_t{64} << 10;  // bytes

// Checks the URL that a tenant gives; Error::invalid with a message for the tenant.
using CheckUrl = std::function<Result<void>(const std::string& url)>;

// Request bodies and queries; Error::invalid with a message for the client.
Result<NewChannel> read_new_channel(std::string_view body, const ActionTypes& types, const CheckUrl& check_url);
Result<ChannelChange> read_channel_change(std::string_view body, const std::string& type, const ActionTypes& types,
                                          const CheckUrl& check_url);
struct NewRule {
  std::string name;
  std::string status;
};
Result<NewRule> read_new_rule(std::string_view body);
struct RuleChange {
  std::optional<std::string> name, status;
};
Result<RuleChange> read_rule_change(std::string_view body);
Result<NewEvent> read_event(std::string_view body, const std::string& rule);
Result<RecoveryWindow> read_recovery(std::string_view body);
struct NotificationQuery {
  NotificationFilter filter;
  std::optional<DeliveryCursor> after;
  std::size_t most = 50;
};
Result<NotificationQuery> read_notification_query(const http::Request& request, const PublicIds& ids = {});

// The same channel with the names of its headers, and of their values nothing.
ChannelView without_header_values(ChannelView channel);
// The `cursor` of a list of rules; none where the request has none.
Result<std::optional<RuleCursor>> read_rule_cursor(const http::Request& request);

std::string channel_json(const ChannelView& channel);
std::string created_channel_json(const CreatedChannel& created);
std::string channels_json(const std::vector<ChannelView>& channels);
std::string rule_json(const RuleView& rule);
std::string rules_json(const std::vector<RuleView>& rules);
std::string notification_page_json(const NotificationPage& page, const PublicIds& ids = {});
std::string notification_json(const NotificationDetail& detail, const PublicIds& ids = {});

}  // namespace waybill
