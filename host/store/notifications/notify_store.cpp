// Channels and their secrets, rules and bindings, on PostgreSQL.
#include "store/notifications/notify_store.h"

#include "base/uuid.h"
#include "domain/channel.h"
#include "store/notifications/notification_standing.h"
#include "store/notifications/notify.sql.h"
#include "store/notifications/notify_rows.h"
#include "store/organisations/org_keys.h"
#include "store/pg/sqlstate.h"
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/queue/routes.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr std::size_t kOrgsAtOnce = 20;     // that take turns with their orphaned events
constexpr std::size_t kOrphansOfOrg = 100;  // in a turn

auto missing(const char* what, const std::string& id) {
  return fail(Error::Kind::not_found, std::string("there is no ") + what + " " + id);
}

// A row of list_channels or bound_channels.
template <class OneRow>
ChannelView read_channel(const OneRow& row) {
  return {.id = text_or_empty(row.channel_id()),
          .name = text_or_empty(row.name()),
          .type = text_or_empty(row.type()),
          .config = text_or_empty(row.config()),
          .created = row.created(),
          .updated = row.updated(),
          .has_secondary = row.has_secondary(),
          .disabled = row.disabled(),
          .disabled_reason = text_or_empty(row.disabled_reason())};
}

template <class OneRow>
std::vector<ChannelView> read_channels(const RowsOf<OneRow>& rows) {
  std::vector<ChannelView> all;
  for (const auto row : rows) all.push_back(read_channel(row));
  return all;
}

// A row of list_rules or find_rule.
template <class OneRow>
RuleView read_rule(const OneRow& row) {
  return {.id = text_or_empty(row.rule_id()),
          .name = text_or_empty(row.name()),
          .status = text_or_empty(row.status()),
          .created = row.created(),
          .updated = row.updated()};
}

class PgNotifyStore final : public NotifyStore {
 public:
  PgNotifyStore(const DatabaseAddress& address, int shards, NotifyStoreSettings settings)
      : link_(address, "notify"), shards_(shards), settings_(std::move(settings)) {}

  Result<CreatedChannel> add_channel(OrgId org, const NewChannel& channel) override {
    TRY(check_master());
    const Secret secret = make_signing_secret();
    const std::string id = random_uuid();
    auto added = tenant_.transact(org, [&](Connection& connection) -> Result<ChannelView> {
      TRY(check_number(connection, org, sql::count_channels, kMaxChannels, "channels"));
      const auto key = newest_data_key(connection, org, *settings_.vault);
      TRY(key);
      const auto sealed = settings_.vault->seal(org, key->id, key->sealed, {org, id, kSecretField}, secret);
      TRY(sealed);
      const auto route = route_of(connection, org, contract_of(id, channel.type));
      TRY(route);
      const auto row = connection.run(sql::add_channel,
                                      {text(org), id, std::to_string(shard_for(org, id, shards_)), std::to_string(route->value),
                                       channel.name, channel.type, channel.config, std::to_string(key->id), bytea(*sealed)});
      if (!row && is_foreign_key_violation(row.error())) return fail(Error::Kind::invalid, no_channel_type(channel.type));
      TRY(row);
      if (row->empty()) return fail(Error::Kind::conflict, "there is a channel of this name");
      return find_channel(connection, org, id);
    });
    TRY(added);
    return CreatedChannel{std::move(*added), secret};
  }

  Result<std::vector<ChannelView>> channels(OrgId org, const std::optional<std::string>& after, std::size_t most) override {
    const auto rows = tenant_.read(org, sql::list_channels, {text(org), after, std::to_string(most), std::nullopt});
    TRY(rows);
    return read_channels(*rows);
  }

  Result<ChannelView> channel(OrgId org, const std::string& id) override {
    return tenant_.transact(org, [&](Connection& connection) { return find_channel(connection, org, id); });
  }

  Result<ChannelView> change_channel(OrgId org, const std::string& id, const ChannelChange& change) override {
    if (!is_uuid(id)) return missing("channel", id);
    auto changed = tenant_.transact(org, [&](Connection& connection) -> Result<ChannelView> {
      const auto rows =
          connection.run(sql::change_channel, {text(org), id, change.name, change.config, change.enable ? "true" : "false"});
      if (!rows && is_unique_violation(rows.error())) return fail(Error::Kind::conflict, "there is a channel of this name");
      TRY(rows);
      return find_channel(connection, org, id);
    });
    TRY(changed);
    if (change.config || change.enable) TRY(wake(org, id));
    return changed;
  }

  // The channel is locked first, so that the second statement sees a binding that was made meanwhile.
  Result<void> delete_channel(OrgId org, const std::string& id) override {
    if (!is_uuid(id)) return missing("channel", id);
    const auto deleted = tenant_.transact(org, [&](Connection& connection) -> Result<void> {
      TRY(connection.run(sql::channel_secrets, {text(org), id}));
      const auto rows = connection.run(sql::delete_channel, {text(org), id});
      TRY(rows);
      if (!rows->front().is_there()) return missing("channel", id);
      if (!rows->front().is_deleted()) return fail(Error::Kind::conflict, "an active alert rule is bound to this channel");
      return {};
    });
    TRY(deleted);
    return wake(org, id);
  }

  Result<CreatedChannel> rotate_secret(OrgId org, const std::string& id) override {
    if (!is_uuid(id)) return missing("channel", id);
    const Secret secret = make_signing_secret();
    auto rotated = tenant_.transact(org, [&](Connection& connection) -> Result<ChannelView> {
      const auto now = connection.run(sql::channel_secrets, {text(org), id});
      TRY(now);
      if (now->empty()) return missing("channel", id);
      const auto former = static_cast<std::int32_t>(now->front().key_id());
      const auto former_key = data_key(connection, org, former);
      TRY(former_key);
      const auto key = newest_data_key(connection, org, *settings_.vault);
      TRY(key);
      const SealedFor owner{org, id, kSecretField};
      const auto old = settings_.vault->open(org, former, former_key->sealed, owner, from_hex(now->front().secret()));
      TRY(old);
      const auto sealed_old = settings_.vault->seal(org, key->id, key->sealed, owner, *old);
      TRY(sealed_old);
      const auto sealed = settings_.vault->seal(org, key->id, key->sealed, owner, secret);
      TRY(sealed);
      TRY(connection.run(sql::rotate_secret, {text(org), id, bytea(*sealed), std::to_string(key->id), bytea(*sealed_old)}));
      return find_channel(connection, org, id);
    });
    TRY(rotated);
    return CreatedChannel{std::move(*rotated), secret};
  }

  Result<void> clear_secondary(OrgId org, const std::string& id) override {
    if (!is_uuid(id)) return missing("channel", id);
    return one_row(run(org, sql::clear_secondary, {text(org), id}), "channel", id);
  }

  Result<RuleView> add_rule(OrgId org, const std::string& name, const std::string& status) override {
    const auto added = tenant_.transact(org, [&](Connection& connection) -> Result<RowsOf<sql::add_rule_row>> {
      TRY(check_number(connection, org, sql::count_rules, kMaxRules, "alert rules"));
      return connection.run(sql::add_rule, {text(org), name, status});
    });
    TRY(added);
    return rule(org, text_or_empty(added->front().rule_id()));
  }

  Result<std::vector<RuleView>> rules(OrgId org, const std::optional<RuleCursor>& after, std::size_t most) override {
    const auto rows = tenant_.read(org, sql::list_rules,
                                   {text(org), after ? std::optional(std::to_string(after->created.micros)) : std::nullopt,
                                    after ? std::optional(after->id) : std::nullopt, std::to_string(most)});
    TRY(rows);
    std::vector<RuleView> all;
    for (const auto row : *rows) all.push_back(read_rule(row));
    return all;
  }

  Result<RuleView> rule(OrgId org, const std::string& id) override {
    if (!is_uuid(id)) return missing("alert rule", id);
    const auto rows = tenant_.read(org, sql::find_rule, {text(org), id});
    TRY(rows);
    if (rows->empty()) return missing("alert rule", id);
    return read_rule(rows->front());
  }

  Result<RuleView> change_rule(OrgId org, const std::string& id, const std::optional<std::string>& name,
                               const std::optional<std::string>& status) override {
    if (!is_uuid(id)) return missing("alert rule", id);
    TRY(one_row(run(org, sql::change_rule, {text(org), id, name, status}), "alert rule", id));
    return rule(org, id);
  }

  Result<void> delete_rule(OrgId org, const std::string& id) override {
    if (!is_uuid(id)) return missing("alert rule", id);
    return one_row(run(org, sql::delete_rule, {text(org), id}), "alert rule", id);
  }

  Result<std::vector<ChannelView>> bound(OrgId org, const std::string& of, const std::optional<std::string>& after,
                                         std::size_t most) override {
    TRY(rule(org, of));
    const auto rows = tenant_.read(org, sql::bound_channels, {text(org), of, after, std::to_string(most)});
    TRY(rows);
    return read_channels(*rows);
  }

  Result<void> bind(OrgId org, const std::string& of, const std::string& to) override {
    TRY(rule(org, of));
    if (!is_uuid(to)) return missing("channel", to);
    const auto rows = run(org, sql::bind_channel, {text(org), of, to});
    TRY(rows);
    if (!rows->front().is_there()) return missing("channel", to);
    return {};
  }

  Result<void> unbind(OrgId org, const std::string& of, const std::string& to) override {
    if (!is_uuid(of)) return missing("alert rule", of);
    if (!is_uuid(to)) return missing("channel", to);
    return one_row(run(org, sql::unbind_channel, {text(org), of, to}), "binding to channel", to);
  }

  Result<EventOutcome> add_event(OrgId org, const NewEvent& event) override {
    TRY(rule(org, event.rule));
    return link_.transact([&](Connection& connection) -> Result<EventOutcome> {
      const auto added = connection.run(
          sql::add_event, {text(org), event.rule, event.event_id, event.snapshot, event.suppressed ? "true" : "false",
                           event.trace ? std::optional(stored_trace(*event.trace)) : std::nullopt});
      TRY(added);
      if (added->empty()) {
        const auto same = connection.run(
            sql::is_same_event, {text(org), event.rule, event.event_id, event.snapshot, event.suppressed ? "true" : "false"});
        TRY(same);
        if (same->size() == 1 && !same->front().is_same())
          return fail(Error::Kind::conflict,
                      "eventId \"" + event.event_id + "\" was handed in before with another snapshot or suppressDelivery");
        return EventOutcome{};
      }
      const auto channels = fan_out(connection, org, added->front().event_no());
      TRY(channels);
      return EventOutcome{true, *channels};
    });
  }

  Result<NotificationPage> notifications(OrgId org, const NotificationFilter& filter, const std::optional<DeliveryCursor>& after,
                                         std::size_t most) override {
    return list_notifications(tenant_, org, filter, after, most);
  }
  Result<NotificationDetail> notification(OrgId org, DeliveryId id) override { return find_notification(tenant_, org, id); }
  Result<NotificationStanding> standing(OrgId org, DeliveryId id) override {
    return notification_standing(link_, tenant_, org, id, settings_.vault.get());
  }
  Result<NotificationReplay> replay(OrgId org, DeliveryId id, const std::string& actor) override {
    return replay_notification(link_, org, id, actor);
  }

  Result<Recovery> recover(OrgId org, const std::string& of, const RecoveryWindow& window, const std::string& actor) override {
    TRY(usable_channel(org, of));
    return recover_notifications(link_, org, of, window, actor, settings_.replay_rate);
  }

  Result<DeliveryId> test(OrgId org, const std::string& of) override {
    const auto channel = usable_channel(org, of);
    TRY(channel);
    TRY(end_channel_cooldown(link_, org, of));
    return link_.transact([&](Connection& connection) -> Result<DeliveryId> {
      Contract contract = contract_of(of, channel->type);
      contract.policy = Policy::one_shot;
      contract.max_attempts = 0;
      const auto route = route_of(connection, org, contract);
      TRY(route);
      const auto rows = connection.run(sql::test_channel, {text(org), of, std::to_string(route->value), R"([{"type":"test"}])"});
      TRY(rows);
      if (rows->empty()) return missing("channel", of);
      return DeliveryId{rows->front().id()};
    });
  }

  Result<void> wake(OrgId org, const std::string& of) override { return wake_channel(link_, org, of); }

  // A transaction for each organisation's turn. One event that cannot be fanned out now keeps none of the others waiting.
  Result<Adoption> adopt_orphans(Millis age, OrphanTurns& turns) override {
    const auto orphans = orphans_left(age, turns);
    TRY(orphans);
    const bool is_page_full = orphans->size() == kOrgsAtOnce;
    const bool began_anew = turns.behind == OrgId{};
    Adoption adoption;
    for (const auto& [org, events] : *orphans)
      if (!events.empty()) TRY(adopt(org, events, turns, adoption));
    turns.behind = is_page_full ? orphans->rbegin()->first : OrgId{};
    adoption.more = is_page_full || !began_anew || adoption.events + adoption.failures.size() > 0;
    return adoption;
  }

  Result<void> remind_of_old_secrets() override {
    TRY(link_.run(sql::old_secondaries, {std::to_string(settings_.secret_grace.count())}));
    return {};
  }

  Result<std::vector<std::string>> master_keys() override { return used_master_keys(link_); }
  Result<std::size_t> rewrap(std::size_t most) override { return rewrap_data_keys(link_, *settings_.vault, most); }
  Result<std::vector<LostKey>> lost_keys() override { return lost_data_keys(link_, *settings_.vault); }
  Result<std::size_t> give_up(const LostKey& lost, const std::string& actor) override {
    return give_up_data_key(link_, *settings_.vault, lost, actor);
  }

 private:
  // A host with the wrong master key must not seal anything with it: nobody would see then that it is wrong.
  Result<void> check_master() {
    const auto masters = master_keys();
    TRY(masters);
    if (!settings_.vault->fits(*masters)) return fail(Error::Kind::locked, kWrongMasterKey);
    return {};
  }
  // `count` answers a `count`.
  template <class OneRow>
  static Result<void> check_number(Connection& connection, OrgId org, const Query<OneRow>& count, std::size_t most,
                                   const char* of) {
    TRY(connection.run(sql::lock_numbers, {text(org)}));
    const auto counted = connection.run(count, {text(org)});
    TRY(counted);
    if (static_cast<std::size_t>(counted->front().count()) < most) return {};
    return fail(Error::Kind::conflict, "an organisation may have " + std::to_string(most) + ' ' + of);
  }
  // Error::conflict: it is disabled.
  Result<ChannelView> usable_channel(OrgId org, const std::string& id) {
    auto found = channel(org, id);
    TRY(found);
    if (found->disabled) return fail(Error::Kind::conflict, "the channel is disabled");
    return found;
  }

  // One statement of an organisation that may write.
  template <class OneRow>
  Result<RowsOf<OneRow>> run(OrgId org, const Query<OneRow>& query, const Parameters& parameters) {
    return tenant_.transact(org, [&](Connection& connection) { return connection.run(query, parameters); });
  }

  static std::string text(OrgId org) { return std::to_string(org.value); }

  template <class OneRow>
  static Result<void> one_row(const Result<RowsOf<OneRow>>& rows, const char* what, const std::string& id) {
    TRY(rows);
    if (rows->empty()) return missing(what, id);
    return {};
  }

  static Result<ChannelView> find_channel(Connection& connection, OrgId org, const std::string& id) {
    if (!is_uuid(id)) return missing("channel", id);
    const auto rows = connection.run(sql::list_channels, {text(org), std::nullopt, "1", id});
    TRY(rows);
    if (rows->empty()) return missing("channel", id);
    return read_channel(rows->front());
  }

  Contract contract_of(const std::string& id, const std::string& type) const {
    return {.target = channel_target(id),
            .action_type = type,
            .url = {},
            .destination = "{}",
            .policy = Policy::max_attempts,
            .max_attempts = settings_.attempts,
            .terminal_outcomes = {kGone, kChannelDeleted, kChannelDisabled},
            .duplicate_reasons = {},
            .form_id = {},
            .form_name = {},
            .channel = id};
  }

  Result<std::size_t> fan_out(Connection& connection, OrgId org, std::int64_t event) const {
    const auto rows =
        connection.run(sql::fan_out_event, {text(org), std::to_string(event), std::to_string(settings_.debounce.count()),
                                            std::to_string(settings_.max_bytes), std::to_string(settings_.max_wait.count())});
    TRY(rows);
    return static_cast<std::size_t>(rows->front().channels());
  }

  // By organisation. Empty: it has none that is old enough.
  using Orphans = std::map<OrgId, std::vector<std::int64_t>>;
  Result<Orphans> orphans_left(Millis age, const OrphanTurns& turns) {
    ArrayText org, behind;
    for (const auto& [of, event] : turns.refused) {
      org.add(of.value);
      behind.add(event);
    }
    const auto left = link_.run(sql::events_left, {std::to_string(age.count()), text(turns.behind), std::to_string(kOrgsAtOnce),
                                                   std::to_string(kOrphansOfOrg), org.take(), behind.take()});
    TRY(left);
    Orphans orphans;
    for (const auto row : *left) {
      auto& events = orphans[{row.org_id()}];
      if (row.event_no()) events.push_back(*row.event_no());
    }
    return orphans;
  }

  Result<void> adopt(OrgId org, const std::vector<std::int64_t>& events, OrphanTurns& turns, Adoption& adoption) {
    ArrayText numbers;
    for (const auto event : events) numbers.add(event);
    const auto refused =
        link_.run(sql::adopt_events, {text(org), numbers.take(), std::to_string(settings_.debounce.count()),
                                      std::to_string(settings_.max_bytes), std::to_string(settings_.max_wait.count())});
    const bool is_lost = !refused && refused.error().kind == Error::Kind::unavailable && !is_lock_timeout(refused.error());
    if (is_lost) return tl::unexpected(refused.error());
    if (!refused || !refused->empty()) turns.refused[org] = events.back();
    if (!refused) {
      adoption.failures.push_back("organisation " + text(org) + ": " + refused.error().what);
      return {};
    }
    adoption.events += events.size() - refused->size();
    for (const auto row : *refused)
      adoption.failures.push_back("event " + std::to_string(row.refused()) + ": " + text_or_empty(row.why()));
    return {};
  }

  Link link_;
  TenantLink tenant_{link_, WithoutTenantRole::refuse};  // for what an organisation asks; events and replays go to the queue
  const int shards_;
  const NotifyStoreSettings settings_;
};

}  // namespace

std::string no_channel_type(const std::string& type) { return "type: there are no channels of type \"" + type + '"'; }

std::unique_ptr<NotifyStore> make_notify_store(const DatabaseAddress& address, int shards, NotifyStoreSettings settings) {
  return std::make_unique<PgNotifyStore>(address, shards, std::move(settings));
}

}  // namespace waybill
