// Ends and retries on their way back: state, schedule, attempt and audit in one transaction, guarded by the claim token.
#include <algorithm>
#include <map>

#include "store/form_rows.h"
#include "store/pg_stores.h"
#include "store/read_rows.h"
#include "store/settle_statement.h"
#include "store/sql/settle.h"

namespace waybill {
namespace {

constexpr Statement kKeep = sql::keep;
constexpr Statement kLocked = sql::locked_deliveries;
constexpr Statement kBlame = sql::blame_targets;
constexpr Statement kEndOutages = sql::end_outages;
constexpr Statement kEndProbes = sql::end_probes;
constexpr Statement kAddFailures = sql::add_failures;

class PgSettleStore final : public SettleStore {
 public:
  explicit PgSettleStore(const DatabaseAddress& address) : link_(address, "settle") {}

  Result<SettleResult> settle(Shard shard, std::span<const Settlement> batch) override {
    SettleBatch form(batch);
    const Statement& statement = form.statement();
    const Parameters parameters = form.take(shard);
    const bool has_more = std::any_of(batch.begin(), batch.end(), [](const auto& s) { return s.of_form || s.dead_letter; });
    if (!has_more) return held_by(link_.run(statement, parameters));
    return link_.transact(
        [&](Connection& connection) { return settle_with_more(connection, shard, batch, statement, parameters); });
  }

  Result<std::vector<DeliveryId>> save_artifacts(Shard shard, std::span<const ComposeRow> batch) override {
    ArrayText delivery, token, type, body;
    for (const auto& one : batch) {
      delivery.add(one.delivery.value);
      token.add(one.token.value);
      type.add(one.artifact.type);
      body.add(bytea(one.artifact.bytes));
    }
    return deliveries(link_.run(kKeep, {std::to_string(shard), delivery.take(), token.take(), type.take(), body.take()}));
  }

  Result<std::vector<DeliveryId>> locked(Shard shard, std::span<const DeliveryId> wanted) override {
    ArrayText ids;
    for (const auto id : wanted) ids.add(id.value);
    return deliveries(link_.run(kLocked, {std::to_string(shard), ids.take()}));
  }

  Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget> blames, Millis most) override {
    ArrayText org, target, at, asked, reason;
    for (const auto& one : blames) {
      org.add(one.org.value);
      target.add(one.target);
      at.add(one.at.micros);
      asked.add(Micros(one.asked).count());
      reason.add(one.reason);
    }
    return cooldowns(link_.run(
        kBlame, {org.take(), target.take(), at.take(), asked.take(), reason.take(), std::to_string(Micros(most).count()),
                 std::to_string(Micros(kMinCooldown).count()), std::to_string(kCooldownShare)}));
  }

  Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown> cleared) override {
    const auto known = [&](bool is_over) -> Parameters {
      ArrayText org, target, since;
      for (const auto& one : cleared) {
        if (one.is_over != is_over) continue;
        org.add(one.org.value);
        target.add(one.target);
        since.add(one.since.micros);
      }
      return {org.take(), target.take(), since.take()};
    };
    const auto over =
        static_cast<std::size_t>(std::count_if(cleared.begin(), cleared.end(), [](const auto& c) { return c.is_over; }));
    if (over < cleared.size())
      if (auto done = link_.run(kEndProbes, known(false)); !done) return tl::unexpected(done.error());
    if (over == 0) return std::vector<Cooldown>{};
    return cooldowns(link_.run(kEndOutages, known(true)));
  }

  Result<void> add_failures(std::span<const FailedAttempts> failures, Millis period) override {
    ArrayText org, action_type, target, reason, count;
    for (const auto& one : failures) {
      org.add(one.org.value);
      action_type.add(one.action_type);
      target.add(one.target);
      reason.add(one.reason);
      count.add(static_cast<std::int64_t>(one.count));
    }
    auto rows = link_.run(kAddFailures, {org.take(), action_type.take(), target.take(), reason.take(), count.take(),
                                         std::to_string(Micros(period).count())});
    if (!rows) return tl::unexpected(rows.error());
    return {};
  }

 private:
  // What concerns more than the settled rows goes into the same transaction.
  static Result<SettleResult> settle_with_more(Connection& connection, Shard shard, std::span<const Settlement> batch,
                                               const Statement& statement, const Parameters& parameters) {
    auto rows = connection.run(statement, parameters);
    if (!rows) return tl::unexpected(rows.error());
    std::map<std::pair<DeliveryId, ClaimToken>, SubmissionId> submission_of;
    for (std::size_t row = 0; row < rows->size(); ++row)
      submission_of[{{rows->number(row, SettleBatch::kDelivery)}, {rows->number(row, SettleBatch::kToken)}}] = {
          rows->number(row, SettleBatch::kSubmission)};
    SettleResult settled;
    std::vector<SettlementRow> held;
    for (const auto& settlement : batch) {
      const auto found = submission_of.find({settlement.delivery, settlement.token});
      if (found == submission_of.end()) continue;
      settled.held.push_back(settlement.delivery);
      settled.tokens.push_back(settlement.token);
      held.push_back({&settlement, found->second});
      submission_of.erase(found);
    }
    auto ended = follow_up(connection, shard, held);
    if (!ended) return tl::unexpected(ended.error());
    settled.form_states = std::move(*ended);
    return settled;
  }

  static Result<std::vector<Cooldown>> cooldowns(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    std::vector<Cooldown> all;
    for (std::size_t row = 0; row < rows->size(); ++row)
      all.push_back({{rows->number(row, 0)},
                     std::string(rows->text(row, 1)),
                     rows->time(row, 2),
                     std::string(rows->text(row, 3)),
                     rows->time(row, 4)});
    return all;
  }

  static Result<SettleResult> held_by(const Result<Rows>& rows) {
    auto held = deliveries(rows);
    if (!held) return tl::unexpected(held.error());
    SettleResult settled{std::move(*held), {}, {}};
    for (std::size_t row = 0; row < rows->size(); ++row) settled.tokens.push_back({rows->number(row, SettleBatch::kToken)});
    return settled;
  }

  static Result<std::vector<DeliveryId>> deliveries(const Result<Rows>& rows) {
    if (!rows) return tl::unexpected(rows.error());
    std::vector<DeliveryId> held(rows->size());
    for (std::size_t row = 0; row < held.size(); ++row) held[row] = {rows->number(row, 0)};
    return held;
  }

  Link link_;
};

}  // namespace

std::unique_ptr<SettleStore> make_settle_store(const DatabaseAddress& address) {
  return std::make_unique<PgSettleStore>(address);
}

}  // namespace waybill
