// Targets as operators see them, on PostgreSQL.
#include "store/operations/target_store.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "store/operations/queue_health.h"
#include "store/operations/targets.sql.h"
#include "store/submissions/read.sql.h"

namespace waybill {
namespace {

struct Cursor {
  int org = 0;
  std::string target;
};

Result<Cursor> read_cursor(const std::string& text) {
  if (text.empty()) return Cursor{};
  Cursor cursor;
  if (!is_clean_utf8(text)) return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
  const auto colon = text.find(':');
  const char* end = text.data() + std::min(colon, text.size());
  const auto [read, error] = std::from_chars(text.data(), end, cursor.org);
  if (colon == std::string::npos || error != std::errc{} || read != end)
    return fail(Error::Kind::invalid, "cursor must be the \"next\" of an answer");
  cursor.target = text.substr(colon + 1);
  return cursor;
}

std::string words_of(const TargetName& name) { return "target \"" + name.target + "\" of organisation \"" + name.org + "\""; }

tl::unexpected<Error> no_target(const TargetName& name) {
  return fail(Error::Kind::not_found,
              "there is no " + words_of(name) + ": the registry has none of this name, and nothing was ever submitted to one");
}

template <class OneRow>
RateOrder order_of(const OneRow& row) {
  return {{static_cast<std::uint32_t>(row.count()), std::chrono::duration_cast<Millis>(Micros(row.per()))},
          row.since(),
          row.until(),
          std::string(row.actor())};
}

class PgTargetStore final : public TargetStore {
 public:
  explicit PgTargetStore(const DatabaseAddress& address) : address_(address) {}

  Result<TargetPause> pause(const TargetName& name, const std::string& reason, bool is_in_registry, const Operator& by) override {
    TRY(check_text("reason", reason));
    TRY(check_text("target", name.target));
    auto opened = open_for(name.org);
    TRY(opened);
    auto& [session, org] = *opened;
    const auto clean = clean_text(reason, kMaxReason);
    const auto made = session.run(
        sql::pause_target, {org, name.target, clean, by.actor, by.trigger, std::string(is_in_registry ? "true" : "false")});
    TRY(made);
    if (const auto since = made->front().since()) return TargetPause{*since, clean, by.actor};
    if (!made->front().is_known()) return no_target(name);
    const auto there = session.run(sql::pause_of_target, {org, name.target});
    TRY(there);
    if (there->empty()) return fail(Error::Kind::conflict, "somebody else has just resumed " + words_of(name));
    const auto row = there->front();
    return fail(Error::Kind::conflict, words_of(name) + " is paused already, since " + format_rfc3339(row.since()) + " by " +
                                           std::string(row.actor()) + ": " + std::string(row.reason()));
  }

  Result<ResumedTarget> resume(const TargetName& name, const Operator& by) override {
    TRY(check_text("target", name.target));
    auto opened = open_for(name.org);
    TRY(opened);
    auto& [session, org] = *opened;
    const auto rows = session.run(sql::resume_target, {org, name.target, by.actor, by.trigger});
    TRY(rows);
    const auto row = rows->front();
    ResumedTarget resumed{.pause = {}, .outage = {}, .findings = row.findings(), .made_due = row.made_due()};
    if (const auto since = row.paused())
      resumed.pause = {*since, text_or_empty(row.pause_reason()), text_or_empty(row.pause_actor())};
    if (const auto since = row.outage()) resumed.outage = {*since, text_or_empty(row.outage_reason()), {}};
    if (!resumed.pause && !resumed.outage && resumed.findings == 0)
      return fail(Error::Kind::not_found,
                  "organisation \"" + name.org + "\" has no target \"" + name.target + "\" that is paused or in an outage");
    return resumed;
  }

  Result<RateOrder> order_rate(const TargetName& name, const Rate& rate, std::optional<Seconds> lasts, bool is_in_registry,
                               const Operator& by) override {
    TRY(check_text("target", name.target));
    if (rate.count == 0 || rate.count > kMaxRateCount || rate.per <= Millis(0))
      return fail(Error::Kind::invalid,
                  "a rate is from 1 to " + std::to_string(kMaxRateCount) + " in a second, a minute or an hour");
    if (lasts && (*lasts <= Seconds(0) || *lasts > kLongestRate))
      return fail(Error::Kind::invalid, "a rate lasts from a second to a year");
    auto opened = open_for(name.org);
    TRY(opened);
    auto& [session, org] = *opened;
    const auto rows =
        session.run(sql::order_rate, {org, name.target, std::to_string(rate.count), std::to_string(Micros(rate.per).count()),
                                      lasts ? std::optional(std::to_string(lasts->count())) : std::nullopt, by.actor, by.trigger,
                                      std::string(is_in_registry ? "true" : "false")});
    TRY(rows);
    const auto row = rows->front();
    if (const auto since = row.since()) return RateOrder{rate, *since, row.until(), by.actor};
    return no_target(name);
  }

  Result<RateOrder> clear_rate(const TargetName& name, const Operator& by) override {
    TRY(check_text("target", name.target));
    auto opened = open_for(name.org);
    TRY(opened);
    auto& [session, org] = *opened;
    const auto rows = session.run(sql::clear_rate, {org, name.target, by.actor, by.trigger});
    TRY(rows);
    if (rows->empty()) return fail(Error::Kind::not_found, words_of(name) + " has no rate that an operator gave it");
    return order_of(rows->front());
  }

  Result<std::vector<TargetRate>> rates() override {
    auto session = Connection::open(address_, "targets");
    TRY(session);
    return rates_in_force(*session);
  }

  Result<StoppedTargets> stopped(const std::string& after, std::size_t most) override {
    const auto cursor = read_cursor(after);
    TRY(cursor);
    auto session = Connection::open(address_, "targets");
    TRY(session);
    const auto rows = session->run(sql::stopped_targets, {std::to_string(cursor->org), cursor->target, std::to_string(most + 1)});
    TRY(rows);
    StoppedTargets page;
    std::string last;
    for (const auto row : *rows) {
      if (page.items.size() == most) {
        page.next = last;
        break;
      }
      StoppedTarget one{.name = {std::string(row.org()), std::string(row.target())}, .pause = {}, .outage = {}};
      if (const auto since = row.paused())
        one.pause = {*since, text_or_empty(row.pause_reason()), text_or_empty(row.pause_actor())};
      if (const auto since = row.outage()) one.outage = {*since, text_or_empty(row.outage_reason()), row.cooldown_until()};
      const auto waiting = count_waiting(*session, one.name.org, one.name.target);
      TRY(waiting);
      one.waiting = *waiting;
      last = std::to_string(row.org_id()) + ":" + one.name.target;
      page.items.push_back(std::move(one));
    }
    return page;
  }

 private:
  struct Opened {
    Connection session;
    std::string org;
  };
  Result<Opened> open_for(const std::string& org) const {
    auto session = Connection::open(address_, "targets");
    TRY(session);
    const auto rows = session->run(sql::organisation, {org});
    TRY(rows);
    if (rows->empty()) return fail(Error::Kind::not_found, "there is no organisation \"" + org + "\"");
    return Opened{std::move(*session), std::to_string(rows->front().org_id())};
  }

  const DatabaseAddress address_;
};

}  // namespace

Result<std::vector<TargetRate>> rates_in_force(Connection& connection) {
  const auto rows = connection.run(sql::rates_in_force, {std::to_string(kMaxStoppedListed)});
  TRY(rows);
  std::vector<TargetRate> all;
  for (const auto row : *rows) all.push_back({{std::string(row.org()), std::string(row.target())}, order_of(row)});
  return all;
}

std::unique_ptr<TargetStore> make_target_store(const DatabaseAddress& address) {
  return std::make_unique<PgTargetStore>(address);
}

}  // namespace waybill
