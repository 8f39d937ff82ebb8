// Alerts on PostgreSQL: incidents until they are closed, stuck work, failures until their digest.
#include "store/operations/alerts.sql.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

// The rows of stuck_forms or stuck_scans.
template <class Forms>
void add_forms(std::vector<StuckWork>& all, StuckWork::What what, const Forms& forms) {
  for (const auto form : forms)
    all.push_back({.what = what,
                   .org = {form.org_id()},
                   .about = std::string(form.target()),
                   .action_type = {},
                   .reference = std::string(form.client_ref()),
                   .now = form.now(),
                   .since = form.since(),
                   .count = static_cast<std::uint64_t>(form.count())});
}

class PgAlertStore final : public AlertStore {
 public:
  explicit PgAlertStore(const DatabaseAddress& address) : link_(address, "alerts") {}

  Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                      Millis apart) override {
    TRY(link_.run(sql::remind_alert, {std::to_string(org.value), kind, about, words, std::to_string(apart.count())}));
    return {};
  }

  Result<std::map<std::string, std::uint64_t>> count_new() override {
    const auto rows = link_.run(sql::count_new_alerts);
    TRY(rows);
    std::map<std::string, std::uint64_t> counts;
    for (const auto row : *rows) counts[std::string(row.kind())] = static_cast<std::uint64_t>(row.occurrences());
    return counts;
  }

  Result<std::vector<Notification>> notifications(const NotificationRules& rules) override {
    TRY(link_.run(sql::reserve_alerts, {std::to_string(rules.quiet.count()), std::to_string(rules.most_messages),
                                        std::to_string(rules.between_summaries.count()), std::to_string(kDefaultOrg.value)}));
    const auto rows = link_.run(sql::reserved_alerts);
    TRY(rows);
    std::vector<Notification> all;
    for (const auto row : *rows) {
      const auto reference = text_or_empty(row.telling());
      if (all.empty() || all.back().reference != reference) all.push_back({reference, {}});
      all.back().incidents.push_back({.org = {row.org_id()},
                                      .name = std::string(row.incident()),
                                      .kind = std::string(row.kind()),
                                      .words = std::string(row.message()),
                                      .count = static_cast<std::uint64_t>(value_or_zero(row.telling_count())),
                                      .first = row.first(),
                                      .last = row.last()});
    }
    return all;
  }

  Result<bool> mark_sent(const std::string& reference) override {
    const auto rows = link_.run(sql::mark_notification_sent, {reference});
    TRY(rows);
    return rows->front().incidents() > 0;
  }

  Result<void> close(Millis after) override {
    TRY(link_.run(sql::close_alerts, {std::to_string(after.count())}));
    return {};
  }

  Result<std::vector<StuckWork>> stuck(Millis longer_than) override {
    const std::string length = std::to_string(longer_than.count());
    const auto deliveries = link_.run(sql::stuck_deliveries, {length, std::to_string(kMaxStuckCounted + 1)});
    TRY(deliveries);
    const auto forms = link_.run(sql::stuck_forms, {length});
    TRY(forms);
    const auto scans = link_.run(sql::stuck_scans, {length});
    TRY(scans);
    std::vector<StuckWork> all;
    for (const auto row : *deliveries)
      all.push_back({.what = StuckWork::What::deliveries,
                     .org = {row.org_id()},
                     .about = text_or_empty(row.target()),
                     .action_type = text_or_empty(row.action_type()),
                     .reference = std::string(row.client_ref()),
                     .now = row.now(),
                     .since = row.since(),
                     .count = static_cast<std::uint64_t>(row.count()),
                     .in_flight = static_cast<std::uint64_t>(row.in_flight())});
    add_forms(all, StuckWork::What::form, *forms);
    add_forms(all, StuckWork::What::scan, *scans);
    return all;
  }

  Result<std::vector<ProviderFailure>> finished_failures() override {
    const auto rows = link_.run(sql::finished_failures);
    TRY(rows);
    std::vector<ProviderFailure> all;
    for (const auto row : *rows)
      all.push_back({.org = {row.org_id()},
                     .since = row.since(),
                     .until = row.until_at(),
                     .action_type = std::string(row.action_type()),
                     .target = std::string(row.target()),
                     .reason = std::string(row.reason()),
                     .count = static_cast<std::uint64_t>(row.count())});
    return all;
  }

  Result<void> digest(std::span<const ProviderFailure> failures, const std::string& about, const std::string& words) override {
    ArrayText until, action_type, target, reason, count;
    for (const auto& one : failures) {
      until.add(one.until.micros);
      action_type.add(one.action_type);
      target.add(one.target);
      reason.add(one.reason);
      count.add(static_cast<std::int64_t>(one.count));
    }
    TRY(link_.run(sql::digest_failures, {std::to_string(failures.front().org.value), until.take(), action_type.take(),
                                         target.take(), reason.take(), count.take(), about, words}));
    return {};
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<AlertStore> make_alert_store(const DatabaseAddress& address) { return std::make_unique<PgAlertStore>(address); }

}  // namespace waybill
