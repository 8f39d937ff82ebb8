// Failed deliveries on PostgreSQL. What is sent again becomes a dead letter, if it is none, and goes the way of all replays.
#include "store/operations/failed_store.h"

#include <algorithm>
#include <map>
#include <set>

#include "store/operations/dead_rows.h"
#include "store/operations/failed.sql.h"
#include "store/pg/tenant_link.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxFailedWalked = 5000;  // for a page: each is looked at with its submission and its contract

Parameters filter_parameters(OrgId org, const FailedFilter& filter) {
  return {std::to_string(org.value),   null_if_empty(filter.reference),  null_if_empty(filter.target),
          null_if_empty(filter.kind),  null_if_empty(filter.belongs_to), null_if_empty(filter.reason),
          null_if_empty(filter.status)};
}

// The columns of the part `failed_columns`.
template <class OneRow>
FailedDelivery read_failed(const OneRow& row) {
  return {.id = {row.id()},
          .kind = std::string(row.kind()),
          .reference = std::string(row.client_ref()),
          .belongs_to = std::string(row.belongs_to()),
          .target = std::string(row.target()),
          .action_order = static_cast<int>(row.action_order()),
          .action_type = std::string(row.action_type()),
          .status = std::string(row.status()),
          .reason = std::string(row.reason()),
          .ended = row.ended(),
          .attempts = static_cast<std::uint32_t>(row.attempts()),
          .is_sent_again = row.is_sent_again(),
          .tried = {},
          .outcome = {},
          .error = {},
          .code = {}};
}

Result<FailedPage> failed_page(Connection& connection, OrgId org, const FailedFilter& filter, std::size_t most,
                               const std::optional<DeliveryCursor>& after) {
  auto from = after.value_or(DeliveryCursor{kEndOfTime, {}});
  if (filter.until && *filter.until <= from.at) from = {*filter.until, {}};
  Parameters parameters = filter_parameters(org, filter);
  for (const auto number : {filter.since.value_or(Timestamp{}).micros, from.at.micros, from.id.value,
                            static_cast<std::int64_t>(most + 1), static_cast<std::int64_t>(kMaxFailedWalked)})
    parameters.emplace_back(std::to_string(number));
  const auto rows = connection.run(sql::failed_deliveries, parameters);
  TRY(rows);
  FailedPage page;
  for (const auto row : *rows) {
    auto failed = read_failed(row);
    if (row.fits() && page.items.size() == most) {
      page.next = DeliveryCursor{page.items.back().ended, page.items.back().id};
      return page;
    }
    if (row.walk_stopped()) page.next = DeliveryCursor{failed.ended, failed.id};
    failed.tried = row.tried();
    failed.outcome = row.outcome();
    failed.error = row.error();
    failed.code = row.code();
    if (row.fits()) page.items.push_back(std::move(failed));
  }
  return page;
}

// What is asked here, and not of dead letters.
template <class OneRow>
std::string why_not_resent(const OneRow& row, const ResendOrder& order) {
  if (row.kind() == "notification")
    return "deliveries to channels are sent again by POST /orgs/{org}/channels/{channel}/recover, or one by one by "
           "POST /orgs/{org}/deliveries/{delivery}/replay";
  if (row.is_sent_again()) return "it was sent again already";
  if (row.status() == "rejected" && !order.include_rejected)
    return "its destination rejected it (" + std::string(row.reason()) + "): ask for rejected ones too, if that is mended";
  if (row.policy().value_or("") == "one_shot" && row.may_be_sent() && !order.include_maybe_sent)
    return "it is a one_shot that may have been sent: ask for such ones too, if it may be sent twice";
  return {};
}

struct JudgedFailed {
  FailedDelivery failed;
  std::string refused;  // why it is not sent again; empty: it is
};
struct FoundFailed {
  std::vector<JudgedFailed> all;
  std::optional<DeliveryCursor> next;  // where the walk stopped before its end
  Timestamp asked{};                   // of the last page, if there is a next one
};

Result<FoundFailed> failed_of_ids(Connection& connection, OrgId org, const ResendOrder& order) {
  Parameters parameters = filter_parameters(org, order.filter);
  for (const auto& time : {order.filter.since.value_or(Timestamp{}), order.filter.until.value_or(kEndOfTime)})
    parameters.emplace_back(std::to_string(time.micros));
  ArrayText ids;
  for (const auto id : order.filter.ids) ids.add(id.value);
  parameters.emplace_back(ids.take());
  const auto rows = connection.run(sql::failed_of_ids, parameters);
  TRY(rows);
  FoundFailed found;
  for (const auto row : *rows) found.all.push_back({read_failed(row), why_not_resent(row, order)});
  return found;
}

// The next page into `found`. False: there is no more to be looked at, or no more room.
Result<bool> add_failed_page(Connection& connection, OrgId org, const ResendOrder& order, const DeliveryCursor& behind,
                             std::size_t most_walked, FoundFailed& found) {
  Parameters parameters = filter_parameters(org, order.filter);
  for (const auto number : {behind.at.micros, behind.id.value, order.filter.until.value_or(kEndOfTime).micros,
                            static_cast<std::int64_t>(most_walked)})
    parameters.emplace_back(std::to_string(number));
  const auto rows = connection.run(sql::failed_to_be_resent, parameters);
  TRY(rows);
  found.next.reset();
  for (const auto row : *rows) {
    found.asked = row.now();
    auto failed = read_failed(row);
    if (row.fits() && found.all.size() == kMaxReplays) {
      found.next = DeliveryCursor{found.all.back().failed.ended, found.all.back().failed.id};
      return false;
    }
    if (row.walk_stopped()) found.next = DeliveryCursor{failed.ended, failed.id};
    if (row.fits()) found.all.push_back({std::move(failed), why_not_resent(row, order)});
  }
  return found.next.has_value();
}

Result<FoundFailed> walk_failed(Connection& connection, OrgId org, const ResendOrder& order, std::size_t most_walked) {
  FoundFailed found;
  auto behind = order.after.value_or(DeliveryCursor{order.filter.since.value_or(Timestamp{}), {}});
  for (std::size_t left = most_walked; left > 0;) {
    const auto walked = std::min(left, kMaxFailedWalked);
    const auto goes_on = add_failed_page(connection, org, order, behind, walked, found);
    TRY(goes_on);
    if (!*goes_on) break;
    behind = *found.next;
    left -= walked;
  }
  return found;
}

ReplayItem refused_item(const FailedDelivery& failed, const std::string& why) {
  return {.letter = {.id = failed.id,
                     .submission = {},
                     .kind = failed.kind,
                     .reference = failed.reference,
                     .target = failed.kind == "intent" ? failed.target : failed.belongs_to,
                     .action_order = failed.action_order,
                     .action_type = failed.action_type,
                     .reason = failed.reason,
                     .died = failed.ended,
                     .replayed = {},
                     .replayed_by = {},
                     .replay = {}},
          .refused = why,
          .replay = {},
          .due = {}};
}

Result<void> bury(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids) {
  ArrayText shard, id;
  for (const auto one : ids) {
    shard.add(static_cast<std::int64_t>(shard_of(one)));
    id.add(one.value);
  }
  TRY(connection.run(sql::bury_failed, {std::to_string(org.value), shard.take(), id.take()}));
  return {};
}

Result<Replays> resend_in(Connection& connection, OrgId org, const ResendOrder& order, std::size_t rate,
                          std::size_t most_walked) {
  auto found =
      order.filter.ids.empty() ? walk_failed(connection, org, order, most_walked) : failed_of_ids(connection, org, order);
  TRY(found);
  std::stable_partition(found->all.begin(), found->all.end(), [](const auto& one) { return one.refused.empty(); });
  std::vector<DeliveryId> chosen;
  for (const auto& one : found->all)
    if (one.refused.empty()) chosen.push_back(one.failed.id);
  std::map<DeliveryId, ReplayItem> replayed;
  Replays all{.more = found->next.has_value(), .next = found->next, .asked = found->asked};
  if (!chosen.empty()) {
    TRY(bury(connection, org, chosen));
    DeadFilter letters;
    letters.ids = chosen;
    letters.replayed = true;
    auto done =
        replay_in(connection, {.org = org, .filter = letters, .actor = order.actor, .dry_run = order.dry_run, .rate = rate});
    TRY(done);
    all.count = done->count;
    for (auto& item : done->items) replayed.emplace(item.letter.id, std::move(item));
  }
  std::set<DeliveryId> known;
  for (const auto& [failed, why] : found->all) {
    all.items.push_back(why.empty() ? std::move(replayed.at(failed.id)) : refused_item(failed, why));
    known.insert(failed.id);
  }
  for (const auto id : order.filter.ids)
    if (!known.contains(id)) all.items.push_back({.letter = {.id = id}, .refused = "there is no failed delivery of this id"});
  return all;
}

class PgFailedStore final : public FailedStore {
 public:
  PgFailedStore(const DatabaseAddress& address, std::size_t rate, std::size_t most_walked)
      : address_(address), rate_(rate), most_walked_(most_walked) {}

  Result<FailedPage> list(OrgId org, const FailedFilter& filter, std::size_t most, std::optional<DeliveryCursor> after) override {
    Link link(address_, "failed");
    return TenantLink(link, WithoutTenantRole::rely_on_statements)
        .transact(
            org, [&](Connection& connection) { return failed_page(connection, org, filter, most, after); }, kReadOnlySnapshot);
  }

  Result<Replays> resend(OrgId org, const ResendOrder& order) override {
    Link link(address_, "failed");
    return TenantLink(link, WithoutTenantRole::rely_on_statements).transact(org, [&](Connection& connection) -> Result<Replays> {
      if (order.dry_run) TRY(connection.script("SAVEPOINT as_it_was"));
      auto done = resend_in(connection, org, order, order.rate == 0 ? rate_ : order.rate, most_walked_);
      TRY(done);
      if (order.dry_run) TRY(connection.script("ROLLBACK TO SAVEPOINT as_it_was"));
      return done;
    });
  }

 private:
  const DatabaseAddress address_;
  const std::size_t rate_;
  const std::size_t most_walked_;
};

}  // namespace

std::unique_ptr<FailedStore> make_failed_store(const DatabaseAddress& address, std::size_t rate, std::size_t most_walked) {
  return std::make_unique<PgFailedStore>(address, rate, most_walked);
}

}  // namespace waybill
