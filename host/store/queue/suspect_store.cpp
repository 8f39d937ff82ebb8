// Suspects on PostgreSQL: an index of them alone, and an advisory lock.
#include "domain/decide.h"
#include "store/operations/alerts.sql.h"
#include "store/pg_stores.h"
#include "store/queue/claimed_channels.h"
#include "store/queue/claimed_rows.h"
#include "store/queue/suspects.sql.h"

namespace waybill {
namespace {

class PgSuspectStore final : public SuspectStore {
 public:
  explicit PgSuspectStore(const DatabaseAddress& address) : link_(address, "suspects") {}

  Result<bool> is_help_wanted() override {
    return link_.run(sql::suspects_wanted).map([](const auto& rows) { return rows.front().is_wanted(); });
  }
  Result<bool> lead() override {
    return link_.run(sql::suspects_lead).map([](const auto& rows) { return rows.front().is_taken(); });
  }

  Result<bool> end_silent_lead(Millis lease) override {
    const auto ended = link_.run(sql::suspects_end_silent_lead, {std::to_string(lease.count())});
    TRY(ended);
    return ended->front().ended() > 0;
  }

  Result<std::optional<Micros>> next_due() override {
    auto rows = link_.run(sql::suspects_next_due);
    TRY(rows);
    if (rows->empty()) return std::nullopt;
    return Micros{rows->front().wait()};
  }

  Result<ClaimResult> claim(Shard shard, HostId host, ClaimToken token, Millis lease) override {
    auto rows = link_.run(sql::claim_suspect, {std::to_string(shard), std::to_string(token.value), std::to_string(host.value),
                                               std::to_string(lease.count())});
    TRY(rows);
    ClaimResult claimed{};
    for (const auto row : *rows) {
      claimed.now = row.now();
      claimed.rows.push_back(read_claimed(row));
    }
    TRY(add_channels(link_, shard, claimed.rows));
    return claimed;
  }

  Result<Accusation> accuse(const HostDeath& death, Millis apart) override {
    auto rows =
        link_.run(sql::accuse, {std::to_string(shard_of(death.delivery)), std::to_string(death.delivery.value),
                                std::to_string(death.attempt), std::to_string(death.counted), std::to_string(death.losses),
                                std::to_string(kMaxLeasesLost), std::to_string(apart.count())});
    TRY(rows);
    const auto answer = rows->front().verdict();
    return answer == 1 ? Accusation::yes : answer == 0 ? Accusation::too_early : Accusation::too_late;
  }

  Result<void> remind(OrgId org, const std::string& kind, const std::string& about, const std::string& words,
                      Millis apart) override {
    TRY(link_.run(sql::remind_alert, {std::to_string(org.value), kind, about, words, std::to_string(apart.count())}));
    return {};
  }

  Result<void> raise_alert(OrgId org, const std::string& kind, const std::string& about, const std::string& words) override {
    TRY(link_.run(sql::raise_alert, {std::to_string(org.value), kind, about, words}));
    return {};
  }

 private:
  Link link_;
};

}  // namespace

std::unique_ptr<SuspectStore> make_suspect_store(const DatabaseAddress& address) {
  return std::make_unique<PgSuspectStore>(address);
}

}  // namespace waybill
