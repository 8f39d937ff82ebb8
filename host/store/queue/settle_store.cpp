// Settlements on PostgreSQL: state, schedule, attempt and audit in one transaction, guarded by the claim token.
#include <algorithm>
#include <map>
#include <set>

#include "store/notifications/notify.sql.h"
#include "store/pg/sqlstate.h"
#include "store/pg_stores.h"
#include "store/queue/cooldown_rows.h"
#include "store/queue/settle.sql.h"
#include "store/queue/settle_in.h"
#include "store/queue/settle_statement.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

class PgSettleStore final : public SettleStore {
 public:
  PgSettleStore(const DatabaseAddress& address, int shards) : link_(address, "settle"), pipelines_(versions_, shards) {}

  Result<SettleResult> settle(Shard shard, std::span<const Settlement> batch) override {
    const bool has_more =
        std::any_of(batch.begin(), batch.end(), [](const auto& s) { return s.of_form || s.of_stage || s.dead_letter; });
    if (has_more) return link_.transact([&](Connection& connection) { return settle_in(connection, pipelines_, shard, batch); });
    SettleBatch columns(batch);
    return held_by(link_.run(columns.statement(), columns.take(shard)));
  }

  Result<std::vector<DeliveryId>> save_artifacts(Shard shard, std::span<const ComposeRow> batch) override {
    ArrayText delivery, token, type, body;
    for (const auto& one : batch) {
      delivery.add(one.delivery.value);
      token.add(one.token.value);
      type.add(one.artifact.type);
      body.add(bytea(one.artifact.bytes));
    }
    return deliveries(
        link_.run(sql::save_artifacts, {std::to_string(shard), delivery.take(), token.take(), type.take(), body.take()}));
  }

  Result<std::vector<DeliveryId>> locked(Shard shard, std::span<const DeliveryId> wanted) override {
    ArrayText ids;
    for (const auto id : wanted) ids.add(id.value);
    return deliveries(link_.run(sql::locked_deliveries, {std::to_string(shard), ids.take()}));
  }

  Result<std::vector<DisabledChannel>> record_channel_results(std::span<const ChannelResult> results, Millis patience) override {
    constexpr std::string_view kWords[] = {"accepted", "failed", "gone"};
    ArrayText org, channel, how;
    for (const auto& one : results) {
      org.add(one.org.value);
      channel.add(one.channel);
      how.add(kWords[static_cast<std::size_t>(one.how)]);
    }
    const auto rows =
        link_.run(sql::record_channel_results, {org.take(), channel.take(), how.take(), std::to_string(patience.count())});
    TRY(rows);
    std::vector<DisabledChannel> disabled;
    for (const auto row : *rows) disabled.push_back({std::string(row.disabled_channel()), std::string(row.why())});
    return disabled;
  }

  Result<std::vector<Cooldown>> blame(std::span<const BlamedTarget> blames, Millis most) override {
    return without_locked(blames, begin_outages(blames, most),
                          [&](std::span<const BlamedTarget> free) { return blame(free, most); });
  }

  Result<std::vector<Cooldown>> clear(std::span<const ClearedCooldown> cleared) override {
    const auto known = [&](bool is_over) -> Parameters {
      ArrayText org, target, since, host;
      for (const auto& one : cleared) {
        if (one.is_over != is_over) continue;
        org.add(one.org.value);
        target.add(one.target);
        since.add(one.since.micros);
        host.add(one.host.value);
      }
      return {org.take(), target.take(), since.take(), host.take()};
    };
    const auto over =
        static_cast<std::size_t>(std::count_if(cleared.begin(), cleared.end(), [](const auto& c) { return c.is_over; }));
    Result<std::vector<Cooldown>> ended;
    if (over < cleared.size())
      if (const auto written = briefly(sql::end_probes, known(false)); !written) ended = tl::unexpected(written.error());
    if (ended && over > 0) ended = cooldowns(briefly(sql::end_outages, known(true)));
    return without_locked(cleared, std::move(ended), [&](std::span<const ClearedCooldown> free) { return clear(free); });
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
    TRY(link_.run(sql::add_failures, {org.take(), action_type.take(), target.take(), reason.take(), count.take(),
                                      std::to_string(Micros(period).count())}));
    return {};
  }

 private:
  template <class OneStatement>
  AnswerOf<OneStatement> briefly(const OneStatement& statement, const Parameters& parameters) {
    return link_.use_briefly([&](Connection& connection) { return connection.run(statement, parameters); });
  }

  // If a lock was in the way, writes anew what concerns the other targets: no settlement waits for a row that somebody holds
  // locked.
  template <class One, class Write>
  Result<std::vector<Cooldown>> without_locked(std::span<const One> all, Result<std::vector<Cooldown>> written, Write write) {
    if (written || !is_lock_timeout(written.error())) return written;
    ArrayText org, target;
    for (const auto& one : all) {
      org.add(one.org.value);
      target.add(one.target);
    }
    const auto rows = briefly(sql::locked_outages, {org.take(), target.take()});
    TRY(rows);
    std::set<std::pair<std::int64_t, std::string>> locked;
    for (const auto row : *rows) locked.emplace(row.org_id(), row.target());
    std::vector<One> free;
    for (const auto& one : all)
      if (!locked.contains({one.org.value, one.target})) free.push_back(one);
    if (free.size() == all.size()) return written;  // it was another lock
    return free.empty() ? Result<std::vector<Cooldown>>{} : write(std::span<const One>(free));
  }

  template <class OneRow>
  static Result<std::vector<Cooldown>> cooldowns(const Result<RowsOf<OneRow>>& rows) {
    return rows.map(read_cooldowns<OneRow>);
  }

  static Parameters columns_of(std::span<const BlamedTarget> blames, Millis most) {
    ArrayText org, target, at, asked, reason;
    for (const auto& one : blames) {
      org.add(one.org.value);
      target.add(one.target);
      at.add(one.at.micros);
      asked.add(Micros(one.asked).count());
      reason.add(one.reason);
    }
    return {org.take(),
            target.take(),
            at.take(),
            asked.take(),
            reason.take(),
            std::to_string(Micros(most).count()),
            std::to_string(Micros(kMinCooldown).count()),
            std::to_string(kCooldownShare)};
  }

  // Writes what a host finds, and returns what concerns that host alone.
  Result<std::vector<Cooldown>> find_unreachable(HostId host, std::span<const BlamedTarget> blames, Millis most) {
    auto parameters = columns_of(blames, most);
    parameters.push_back(std::to_string(host.value));
    ArrayText others_connected;
    for (const auto& one : blames) others_connected.add_flag(one.others_connected);
    parameters.push_back(others_connected.take());
    auto own = cooldowns(briefly(sql::find_unreachable, parameters));
    if (own)
      for (auto& one : *own) one.of_this_host = true;
    return own;
  }

  Result<std::vector<Cooldown>> begin_outages(std::span<const BlamedTarget> blames, Millis most) {
    std::vector<BlamedTarget> outages;
    std::map<HostId, std::vector<BlamedTarget>> found;  // by the host that found them unreachable
    for (const auto& one : blames) (one.is_answered ? outages : found[one.host]).push_back(one);
    std::vector<Cooldown> all;
    for (const auto& [host, unreachable] : found) {
      auto findings = find_unreachable(host, unreachable, most);
      TRY(findings);
      std::set<std::pair<OrgId, std::string>> own;
      for (const auto& one : *findings) own.emplace(one.org, one.target);
      std::move(findings->begin(), findings->end(), std::back_inserter(all));
      for (const auto& one : unreachable)
        if (!own.contains({one.org, one.target})) outages.push_back(one);
    }
    if (outages.empty()) return all;
    auto parameters = columns_of(outages, most);
    ArrayText answered;
    for (const auto& one : outages) answered.add_flag(one.is_answered);
    parameters.push_back(answered.take());
    auto shared = cooldowns(briefly(sql::blame_targets, parameters));
    TRY(shared);
    std::move(shared->begin(), shared->end(), std::back_inserter(all));
    return all;
  }

  static Result<SettleResult> held_by(const Result<RowsOf<sql::settle_row>>& rows) {
    TRY(rows);
    SettleResult settled;
    for (const auto row : *rows) {
      settled.held.push_back({row.delivery()});
      settled.tokens.push_back({row.token()});
    }
    return settled;
  }

  template <class OneRow>
  static Result<std::vector<DeliveryId>> deliveries(const Result<RowsOf<OneRow>>& rows) {
    TRY(rows);
    std::vector<DeliveryId> all;
    for (const auto row : *rows) all.push_back({row.delivery_id()});
    return all;
  }

  Link link_;
  PipelineVersions versions_;
  PipelineRows pipelines_;
};

}  // namespace

std::unique_ptr<SettleStore> make_settle_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgSettleStore>(address, shards);
}

}  // namespace waybill
