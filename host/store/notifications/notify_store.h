// Channels, alert rules, events and notifications of organisations. Each object has its own session; one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/secret.h"
#include "base/time.h"
#include "base/trace_context.h"
#include "store/submissions/attempt_view.h"
#include "store/submissions/delivery_cursor.h"

namespace waybill {

struct ChannelView {
  std::string id;
  std::string name;
  std::string type;
  std::string config;  // JSON
  Timestamp created;
  Timestamp updated;
  bool has_secondary = false;  // the secret before the last rotation still signs
  std::optional<Timestamp> disabled;
  std::string disabled_reason;
};
struct NewChannel {
  std::string name;
  std::string type;
  std::string config;  // a compact JSON object with a url
};
struct ChannelChange {
  std::optional<std::string> name;
  std::optional<std::string> config;
  bool enable = false;
};
struct CreatedChannel {
  ChannelView channel;
  Secret secret;  // shown this once
};

struct RuleView {
  std::string id;
  std::string name;
  std::string status;  // draft, active, disabled
  Timestamp created;
  Timestamp updated;
};

struct RuleCursor {  // of a list, the newest first
  Timestamp created;
  std::string id;
};

struct NewEvent {
  std::string rule;
  std::string event_id;
  std::string snapshot;  // JSON
  bool suppressed = false;
  Trace trace{};
};
struct EventOutcome {
  bool is_new = false;
  std::size_t channels = 0;  // that it was fanned out to now
};

struct NotificationFilter {
  std::optional<std::string> rule, channel;
  std::optional<std::string> status;  // pending, processing, succeeded, failed, cancelled
};
struct NotificationView {
  DeliveryId id;
  std::string rule;  // empty: it tests the channel
  std::string channel;
  std::string status;
  std::uint32_t attempts = 0;
  Timestamp created;
  Timestamp send_after;  // of one that has ended: when it ended
  std::optional<Timestamp> delivered;
};
struct NotificationPage {
  std::vector<NotificationView> items;
  std::optional<DeliveryCursor> next;
};
struct NotificationDetail {
  NotificationView view;
  std::string payload;  // JSON array
  std::vector<AttemptView> attempts;
};
// Where a walk over the events that another program stored stands. Organisations take turns.
struct OrphanTurns {
  OrgId behind{};  // whose turn was last; 0: the next round begins
  std::map<OrgId, std::int64_t>
      refused{};  // per organisation, the event behind which it goes on: those before could not be fanned out
};
// Of these, what was fanned out now.
struct Adoption {
  std::size_t events = 0;
  std::vector<std::string> failures{};  // events that could not be
  bool more = false;                    // adopt_orphans() goes on
};
struct NotificationStanding;  // notification_standing.h
struct LostKey;               // org_keys.h
struct RecoveryWindow {
  Timestamp since, until;  // when the deliveries were made
  bool dry_run = false;
};
struct Recovery {
  std::size_t failed = 0;   // in the window, or never attempted
  std::size_t waiting = 0;  // for the channel; these are made due
  bool more = false;        // than one call takes
};
enum class NotificationReplay { queued, under_way, channel_off, over_limit };

// Of an organisation.
inline constexpr std::size_t kMaxChannels = 1000;
inline constexpr std::size_t kMaxRules = 1000;

// For an action type that no channel can have.
std::string no_channel_type(const std::string& type);

// Ids of channels and rules are UUIDs in text; what is none is not found. Error::not_found names what is missing;
// Error::unavailable: also when the organisation's secrets cannot be opened.
class NotifyStore {
 public:
  virtual ~NotifyStore() = default;

  // What waits for a channel becomes due when its settings change, when it is enabled, and when it is deleted (and ends then).
  // Error::conflict: the name is taken, or it has kMaxChannels. Error::invalid: channels are not of this type.
  virtual Result<CreatedChannel> add_channel(OrgId org, const NewChannel& channel) = 0;
  virtual Result<std::vector<ChannelView>> channels(OrgId org, const std::optional<std::string>& after, std::size_t most) = 0;
  virtual Result<ChannelView> channel(OrgId org, const std::string& id) = 0;
  virtual Result<ChannelView> change_channel(OrgId org, const std::string& id, const ChannelChange& change) = 0;
  // Error::conflict: an active rule is bound to it.
  virtual Result<void> delete_channel(OrgId org, const std::string& id) = 0;
  virtual Result<CreatedChannel> rotate_secret(OrgId org, const std::string& id) = 0;
  virtual Result<void> clear_secondary(OrgId org, const std::string& id) = 0;

  // Error::conflict: it has kMaxRules.
  virtual Result<RuleView> add_rule(OrgId org, const std::string& name, const std::string& status) = 0;
  virtual Result<std::vector<RuleView>> rules(OrgId org, const std::optional<RuleCursor>& after, std::size_t most) = 0;
  virtual Result<RuleView> rule(OrgId org, const std::string& id) = 0;
  virtual Result<RuleView> change_rule(OrgId org, const std::string& id, const std::optional<std::string>& name,
                                       const std::optional<std::string>& status) = 0;
  // With its bindings. What was collected by it is sent all the same.
  virtual Result<void> delete_rule(OrgId org, const std::string& id) = 0;
  virtual Result<std::vector<ChannelView>> bound(OrgId org, const std::string& rule, const std::optional<std::string>& after,
                                                 std::size_t most) = 0;
  virtual Result<void> bind(OrgId org, const std::string& rule, const std::string& channel) = 0;
  virtual Result<void> unbind(OrgId org, const std::string& rule, const std::string& channel) = 0;

  // The event and its deliveries in one transaction. A known event changes nothing; Error::conflict if it says something else.
  virtual Result<EventOutcome> add_event(OrgId org, const NewEvent& event) = 0;

  virtual Result<NotificationPage> notifications(OrgId org, const NotificationFilter& filter,
                                                 const std::optional<DeliveryCursor>& after, std::size_t most) = 0;
  virtual Result<NotificationDetail> notification(OrgId org, DeliveryId id) = 0;
  virtual Result<NotificationStanding> standing(OrgId org, DeliveryId id) = 0;
  virtual Result<NotificationReplay> replay(OrgId org, DeliveryId id, const std::string& actor) = 0;

  // Sends what waits for the channel, and then again what failed, the oldest first, spaced by the settings' rate.
  virtual Result<Recovery> recover(OrgId org, const std::string& channel, const RecoveryWindow& window,
                                   const std::string& actor) = 0;
  // A test event, due now and sent once. Ends the channel's cooldown.
  virtual Result<DeliveryId> test(OrgId org, const std::string& channel) = 0;
  // The channel's destination is well: ends its cooldown, and makes due what waits.
  virtual Result<void> wake(OrgId org, const std::string& channel) = 0;

  // ---- for all organisations ----
  // Fans out events that have been without deliveries for `age`: some of some organisations, of each the oldest first.
  virtual Result<Adoption> adopt_orphans(Millis age, OrphanTurns& turns) = 0;
  virtual Result<void> remind_of_old_secrets() = 0;
  // The master keys that secrets of organisations are sealed with.
  virtual Result<std::vector<std::string>> master_keys() = 0;
  // Seals up to `most` data keys anew with the newest master key. Answers how many; 0: all are.
  virtual Result<std::size_t> rewrap(std::size_t most) = 0;
  // See org_keys.h.
  virtual Result<std::vector<LostKey>> lost_keys() = 0;
  virtual Result<std::size_t> give_up(const LostKey& lost, const std::string& actor) = 0;
};

}  // namespace waybill
