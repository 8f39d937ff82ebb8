// Alerts on PostgreSQL: incidents until they are closed, stuck work, failures until their digest.
#include "store/operations/alerts.sql.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

Result<void> done(const Result<Rows>& rows) {
  TRY(rows);
  return {};
}

std::uint64_t count_at(const Rows& rows, std::size_t row, int column) {
  return static_cast<std::uint64_t>(rows.number(row, column));
}

void add_forms(std::vector<StuckWork>& all, StuckWork::What what, const Rows& forms) {
  for (std::size_t row = 0; row < forms.size(); ++row)
    all.push_back({.what = what,
                   .org = {forms.number(row, 0)},
                   .about = std::string(forms.text(row, 1)),
                   .action_type = {},
                   .reference = std::string(forms.text(row, 2)),
                   .now = forms.time(row, 3),
                   .since = forms.time(row, 4),
                   .count = count_at(forms, row, 5)});
}

class PgAlertStore final : public AlertStore {
 public:
  explicit PgAlertStore(const DatabaseAddress& address) : link_(address, "alerts") {}

  Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                      Millis apart) override {
    return done(link_.run(sql::remind_alert, {std::to_string(org.value), kind, about, words, std::to_string(apart.count())}));
  }

  Result<std::map<std::string, std::uint64_t>> count_new() override {
    const auto rows = link_.run(sql::count_new_alerts);
    TRY(rows);
    std::map<std::string, std::uint64_t> counts;
    for (std::size_t row = 0; row < rows->size(); ++row) counts[std::string(rows->text(row, 0))] = count_at(*rows, row, 1);
    return counts;
  }

  Result<std::vector<Notification>> notifications(const NotificationRules& rules) override {
    TRY(link_.run(sql::reserve_alerts, {std::to_string(rules.quiet.count()), std::to_string(rules.most_messages),
                                        std::to_string(rules.between_summaries.count()), std::to_string(kDefaultOrg.value)}));
    const auto rows = link_.run(sql::reserved_alerts);
    TRY(rows);
    std::vector<Notification> all;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      if (all.empty() || all.back().reference != rows->text(row, 0)) all.push_back({std::string(rows->text(row, 0)), {}});
      all.back().incidents.push_back({.org = {rows->number(row, 1)},
                                      .name = std::string(rows->text(row, 2)),
                                      .kind = std::string(rows->text(row, 3)),
                                      .words = std::string(rows->text(row, 4)),
                                      .count = count_at(*rows, row, 5),
                                      .first = rows->time(row, 6),
                                      .last = rows->time(row, 7)});
    }
    return all;
  }

  Result<bool> mark_sent(const std::string& reference) override {
    const auto rows = link_.run(sql::mark_notification_sent, {reference});
    TRY(rows);
    return rows->number(0, 0) > 0;
  }

  Result<void> close(Millis after) override { return done(link_.run(sql::close_alerts, {std::to_string(after.count())})); }

  Result<std::vector<StuckWork>> stuck(Millis longer_than) override {
    const std::string length = std::to_string(longer_than.count());
    const auto deliveries = link_.run(sql::stuck_deliveries, {length, std::to_string(kMaxStuckCounted + 1)});
    TRY(deliveries);
    const auto forms = link_.run(sql::stuck_forms, {length});
    TRY(forms);
    const auto scans = link_.run(sql::stuck_scans, {length});
    TRY(scans);
    std::vector<StuckWork> all;
    for (std::size_t row = 0; row < deliveries->size(); ++row)
      all.push_back({.what = StuckWork::What::deliveries,
                     .org = {deliveries->number(row, 0)},
                     .about = std::string(deliveries->text(row, 1)),
                     .action_type = std::string(deliveries->text(row, 2)),
                     .reference = std::string(deliveries->text(row, 3)),
                     .now = deliveries->time(row, 4),
                     .since = deliveries->time(row, 5),
                     .count = count_at(*deliveries, row, 6),
                     .in_flight = count_at(*deliveries, row, 7)});
    add_forms(all, StuckWork::What::form, *forms);
    add_forms(all, StuckWork::What::scan, *scans);
    return all;
  }

  Result<std::vector<ProviderFailure>> finished_failures() override {
    const auto rows = link_.run(sql::finished_failures);
    TRY(rows);
    std::vector<ProviderFailure> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({.org = {rows->number(row, 0)},
                     .since = rows->time(row, 1),
                     .until = rows->time(row, 2),
                     .action_type = std::string(rows->text(row, 3)),
                     .target = std::string(rows->text(row, 4)),
                     .reason = std::string(rows->text(row, 5)),
                     .count = count_at(*rows, row, 6)});
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
    return done(link_.run(sql::digest_failures, {std::to_string(failures.front().org.value), until.take(), action_type.take(),
                                                 target.take(), reason.take(), count.take(), about, words}));
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<AlertStore> make_alert_store(const DatabaseAddress& address) { return std::make_unique<PgAlertStore>(address); }

}  // namespace waybill
