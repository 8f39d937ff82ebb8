// The statements of periodic tasks on PostgreSQL: counts of the queue, unregistered claims, partitions, old outages.
#include <algorithm>
#include <cmath>

#include "store/intake/intent_listing.sql.h"
#include "store/operations/hosts.sql.h"
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
    return static_cast<std::uint64_t>(found->front().deliveries());
  }

  Result<QueueState> queue_state() override {
    auto pages = link_.run(sql::queue_pages);
    TRY(pages);
    const auto size = static_cast<double>(pages->front().pages());
    auto counts = size <= kMaxPagesCounted ? counted(sql::queue_state, {}, 1.0) : estimated(size);
    TRY(counts);
    auto oldest = link_.run(sql::oldest_due);
    TRY(oldest);
    QueueState state{.by_status = std::move(*counts), .oldest_due = {}};
    if (!oldest->empty()) state.oldest_due = Micros{oldest->front().waited()};
    return state;
  }

  Result<std::vector<Shard>> expired_shards() override {
    const auto rows = link_.read(sql::expired_shards);
    TRY(rows);
    std::vector<Shard> all;
    for (const auto row : *rows) all.push_back(static_cast<Shard>(row.shard()));
    return all;
  }

  Result<std::uint64_t> forget_outages(Millis over_for) override {
    auto gone = link_.run(sql::forget_outages, {std::to_string(over_for.count())});
    TRY(gone);
    return static_cast<std::uint64_t>(gone->front().outages());
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
      const auto looked_at = old->front();
      RetentionStep step{.last = {looked_at.last()}, .is_over = looked_at.is_over()};
      const auto deleted = connection.run(sql::delete_old, {in, std::string(looked_at.locked())});
      TRY(deleted);
      step.deleted = static_cast<std::uint64_t>(deleted->front().deleted());
      return step;
    });
  }

  Result<std::uint64_t> delete_old_events(Millis age, std::size_t most) override {
    const auto gone = link_.run(sql::delete_old_events, {std::to_string(age.count()), std::to_string(most)});
    TRY(gone);
    return static_cast<std::uint64_t>(gone->front().deleted());
  }

  Result<bool> list_intents() override { return listing_.extend(link_); }

  Result<std::optional<ListedPlace>> forget_listed(ListedPlace after, Millis age, std::size_t most) override {
    const auto last = link_.run(sql::forget_listed, {std::to_string(after.org), std::to_string(after.above),
                                                     std::to_string(age.count()), std::to_string(most)});
    TRY(last);
    if (last->empty()) return std::nullopt;
    return ListedPlace{last->front().org_id(), last->front().above()};
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
    return alone->front().is_alone();
  }

  Result<void> tell(HostId host, const std::string& facts) override {
    TRY(link_.run(sql::tell_host_facts, {std::to_string(host.value), facts}));
    return {};
  }

  Result<std::optional<HostDrain>> hear(const HeardHost& host) override {
    const auto succeeded = host.succeeded_at ? std::optional(std::to_string(host.succeeded_at->micros)) : std::nullopt;
    auto heard = link_.run(sql::hear_host, {host.name, host.process, host.version, succeeded});
    TRY(heard);
    const auto row = heard->front();
    if (!row.since()) return std::nullopt;
    return HostDrain{*row.since(), text_or_empty(row.reason()), text_or_empty(row.actor())};
  }

  Result<void> make_partitions() override {
    const auto rows = link_.run(sql::make_partitions);
    TRY(rows);
    if (const auto postponed = rows->front().postponed()) return fail(Error::Kind::unavailable, std::string(*postponed));
    return {};
  }

 private:
  using Counts = std::map<std::string, std::uint64_t>;

  template <class OneRow>
  Result<Counts> counted(const Query<OneRow>& query, const Parameters& parameters, double times) {
    auto rows = link_.run(query, parameters);
    TRY(rows);
    Counts counts;
    for (const auto row : *rows)
      counts[std::string(row.state())] = static_cast<std::uint64_t>(std::llround(static_cast<double>(row.count()) * times));
    return counts;
  }

  Result<Counts> estimated(double pages) {
    auto counts = counted(sql::queue_sample, {std::to_string(100.0 * kPagesSampled / pages)}, pages / kPagesSampled);
    if (!counts) return counts;
    auto claimed = link_.run(sql::claimed_now);
    TRY(claimed);
    auto queued = link_.run(sql::queued, {std::to_string(kMaxCounted + 1)});
    TRY(queued);
    const auto in_hands = static_cast<std::uint64_t>(claimed->front().count());
    const auto all = static_cast<std::uint64_t>(queued->front().count());
    auto& due = (*counts)["due"];
    const auto scheduled = (*counts)["scheduled"];     // of a sample, as `due` is if there are many
    const auto exact = all - std::min(all, in_hands);  // both together
    const auto is_exact = all <= kMaxCounted || due + scheduled < exact;
    if (is_exact) due = exact - std::min(exact, scheduled);
    (*counts)["claimed"] = in_hands;
    return counts;
  }

  Link link_;
  IntentListing listing_;
};

}  // namespace

std::unique_ptr<MaintenanceStore> make_maintenance_store(const DatabaseAddress& address) {
  return std::make_unique<PgMaintenanceStore>(address);
}

}  // namespace waybill
