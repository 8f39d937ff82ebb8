// The statements of periodic tasks on PostgreSQL: counts of the queue, unregistered claims, partitions, old outages.
#include <algorithm>
#include <cmath>

#include "store/intake/intent_listing.sql.h"
#include "store/operations/maintenance.sql.h"
#include "store/operations/retention.sql.h"
#include "store/pg/sampling.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

class PgMaintenanceStore final : public MaintenanceStore {
 public:
  explicit PgMaintenanceStore(const DatabaseAddress& address) : link_(address, "tasks") {}

  Result<std::uint64_t> find_unregistered_claims() override {
    auto found = link_.run(sql::find_unregistered_claims);
    TRY(found);
    return static_cast<std::uint64_t>(found->number(0, 0));
  }

  Result<QueueState> queue_state() override {
    auto pages = link_.run(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->number(0, 0));
    auto counts = size <= kMaxPagesCounted ? counted(sql::queue_state, {}, 1.0) : estimated(size);
    TRY(counts);
    auto oldest = link_.run(sql::oldest_due);
    TRY(oldest);
    QueueState state{.by_status = std::move(*counts), .oldest_due = {}};
    if (oldest->size() == 1) state.oldest_due = Micros{oldest->number(0, 0)};
    return state;
  }

  Result<std::uint64_t> forget_outages(Millis over_for) override {
    auto gone = link_.run(sql::forget_outages, {std::to_string(over_for.count())});
    TRY(gone);
    return static_cast<std::uint64_t>(gone->number(0, 0));
  }

  Result<RetentionStep> delete_old(Shard shard, SubmissionId after, std::span<const KeptKind> kinds, std::size_t most) override {
    ArrayText kind, age;
    for (const auto& one : kinds) {
      kind.add(one.kind);
      age.add(one.age.count());
    }
    const std::string in = std::to_string(shard);
    return link_.transact([&](Connection& connection) -> Result<RetentionStep> {
      const auto old =
          connection.run(sql::lock_old, {in, std::to_string(after.value), std::to_string(most), kind.take(), age.take()});
      TRY(old);
      RetentionStep step{.last = {old->number(0, 0)}, .is_over = old->flag(0, 1)};
      const auto deleted = connection.run(sql::delete_old, {in, std::string(old->text(0, 2))});
      TRY(deleted);
      step.deleted = static_cast<std::uint64_t>(deleted->number(0, 0));
      return step;
    });
  }

  Result<std::uint64_t> delete_old_events(Millis age, std::size_t most) override {
    const auto gone = link_.run(sql::delete_old_events, {std::to_string(age.count()), std::to_string(most)});
    TRY(gone);
    return static_cast<std::uint64_t>(gone->number(0, 0));
  }

  Result<bool> list_intents() override { return listing_.extend(link_); }

  Result<std::optional<ListedPlace>> forget_listed(ListedPlace after, Millis age, std::size_t most) override {
    const auto last = link_.run(sql::forget_listed, {std::to_string(after.org), std::to_string(after.above),
                                                     std::to_string(age.count()), std::to_string(most)});
    TRY(last);
    if (last->size() == 0) return std::nullopt;
    return ListedPlace{last->number(0, 0), last->number(0, 1)};
  }

  Result<void> try_to_store() override {
    bool is_stored = false;
    auto taken_back = link_.transact(
        [&](Connection& connection) -> Result<void> {
          TRY(connection.run(sql::try_to_store));
          is_stored = true;
          return fail(Error::Kind::bug, "it is rolled back");
        },
        "BEGIN; SET LOCAL lock_timeout = '1s'");
    return is_stored ? Result<void>() : taken_back;
  }

  Result<bool> end_outage(OrgId org, const std::string& cooldown_key) override {
    auto gone = link_.run(sql::end_outage, {std::to_string(org.value), cooldown_key});
    TRY(gone);
    return gone->number(0, 0) > 0;
  }

  Result<void> cut_off(HostId host, Timestamp since, const std::string& target) override {
    TRY(link_.run(sql::cut_off, {std::to_string(host.value), std::to_string(since.micros), target}));
    return {};
  }

  Result<void> reaches_again(HostId host) override {
    TRY(link_.run(sql::reaches_again, {std::to_string(host.value)}));
    return {};
  }

  Result<bool> is_alone(HostId host) override {
    auto alone = link_.run(sql::is_alone, {std::to_string(host.value)});
    TRY(alone);
    return alone->flag(0, 0);
  }

  Result<void> tell(HostId host, const std::string& facts) override {
    return done(link_.run(sql::tell_host_facts, {std::to_string(host.value), facts}));
  }

  Result<void> make_partitions() override {
    const auto rows = link_.run(sql::make_partitions);
    TRY(rows);
    if (!rows->is_null(0, 0)) return fail(Error::Kind::unavailable, std::string(rows->text(0, 0)));
    return {};
  }

 private:
  using Counts = std::map<std::string, std::uint64_t>;

  Result<Counts> counted(const Statement& statement, const Parameters& parameters, double times) {
    auto rows = link_.run(statement, parameters);
    TRY(rows);
    Counts counts;
    for (std::size_t row = 0; row < rows->size(); ++row)
      counts[std::string(rows->text(row, 0))] =
          static_cast<std::uint64_t>(std::llround(static_cast<double>(rows->number(row, 1)) * times));
    return counts;
  }

  Result<Counts> estimated(double pages) {
    auto counts = counted(sql::queue_sample, {std::to_string(100.0 * kPagesSampled / pages)}, pages / kPagesSampled);
    if (!counts) return counts;
    auto claimed = link_.run(sql::claimed_now);
    TRY(claimed);
    auto queued = link_.run(sql::queued, {std::to_string(kMaxCounted + 1)});
    TRY(queued);
    const auto in_hands = static_cast<std::uint64_t>(claimed->number(0, 0));
    const auto all = static_cast<std::uint64_t>(queued->number(0, 0));
    auto& due = (*counts)["due"];
    const auto scheduled = (*counts)["scheduled"];     // of a sample, as `due` is if there are many
    const auto exact = all - std::min(all, in_hands);  // both together
    const auto is_exact = all <= kMaxCounted || due + scheduled < exact;
    if (is_exact) due = exact - std::min(exact, scheduled);
    (*counts)["claimed"] = in_hands;
    return counts;
  }

  static Result<void> done(const Result<Rows>& rows) {
    TRY(rows);
    return {};
  }

  Link link_;
  IntentListing listing_;
};

}  // namespace

std::unique_ptr<MaintenanceStore> make_maintenance_store(const DatabaseAddress& address) {
  return std::make_unique<PgMaintenanceStore>(address);
}

}  // namespace waybill
