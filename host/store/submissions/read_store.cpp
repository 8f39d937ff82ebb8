// Reads submissions, their attempts and their positions in the queue.
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/submissions/read.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

Result<QueuePosition> read_position(const Rows& rows, std::size_t row, OrgId org, const Rows& cooldowns, const Rows& findings) {
  const auto contract = contract_from_json(rows.text(row, 13));
  TRY(contract);
  QueuePosition position{.delivery = {rows.number(row, 1)},
                         .route = {rows.number(row, 2)},
                         .target = contract->target,
                         .action_order = static_cast<int>(rows.number(row, 12)),
                         .action_type = text_of(rows, row, 3),
                         .status = status_from(rows.text(row, 4)).value_or(Status::due),
                         .due = rows.time(row, 5),
                         .attempt_count = static_cast<std::uint32_t>(rows.number(row, 6)),
                         .lease_lost = static_cast<std::uint32_t>(rows.number(row, 7)),
                         .claimed_by = text_of(rows, row, 8),
                         .claimer_lives = rows.flag(row, 14),
                         .lease_until = time_of(rows, row, 9),
                         .due_before = {},
                         .rate = contract->rate,
                         .permits_until = time_of(rows, row, 10),
                         .host_name = host_name_of(contract->url),
                         .in_flight = {},
                         .cooldown = {}};
  for (std::size_t i = 0; i < cooldowns.size(); ++i)
    if (cooldowns.text(i, 0) == contract->cooldown_key())
      position.cooldown =
          Cooldown{org, contract->cooldown_key(), cooldowns.time(i, 1), text_of(cooldowns, i, 2), cooldowns.time(i, 3)};
  for (std::size_t i = 0; i < findings.size(); ++i)
    if (findings.text(i, 1) == contract->cooldown_key())
      position.findings.push_back({text_of(findings, i, 0), findings.time(i, 2), text_of(findings, i, 3)});
  return position;
}

// `rows`: of the statement in_flight.
void count_in_flight(const Rows& rows, OrgId org, std::vector<QueuePosition>& positions) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool is_of_org = rows.number(row, 0) == org.value;
    const auto host_name = host_name_of(text_of(rows, row, 3));
    const auto count = static_cast<std::uint64_t>(rows.number(row, 5));
    for (auto& position : positions) {
      auto& in_flight = position.in_flight;
      in_flight.all += count;
      if (is_of_org) in_flight.of_org += count;
      if (is_of_org && rows.text(row, 1) == position.target) in_flight.of_target += count;
      if (rows.text(row, 2) == position.action_type) in_flight.of_action_type += count;
      if (!rows.flag(row, 4) && host_name == position.host_name) in_flight.of_host_name += count;
    }
  }
}

class PgReadStore final : public ReadStore {
 public:
  PgReadStore(const DatabaseAddress& address, int shards) : link_(address, "read"), shards_(shards) {}

  Result<std::optional<SubmissionView>> find(OrgId org, std::string_view kind, std::string_view client_ref) override {
    auto rows = tenant_.read(org, sql::find_submission, key(org, kind, client_ref));
    TRY(rows);
    if (rows->size() == 0) return std::nullopt;
    return read_submission(*rows, 0);
  }

  Result<std::vector<std::optional<SubmitResult>>> compare(OrgId org, std::string_view kind,
                                                           std::span<const SubmissionKey> keys) override {
    ArrayText shard, client_ref, target, hash;
    for (const auto& key : keys) {
      shard.add(static_cast<std::int64_t>(shard_for(org, key.client_ref, shards_)));
      client_ref.add(key.client_ref);
      target.add(key.target);
      hash.add(bytea(as_view(key.payload_hash)));
    }
    auto rows =
        tenant_.read(org, sql::compare_submissions,
                     {std::to_string(org.value), std::string(kind), shard.take(), client_ref.take(), target.take(), hash.take()});
    TRY(rows);
    std::vector<std::optional<SubmitResult>> found(keys.size());
    for (std::size_t row = 0; row < rows->size(); ++row)
      found[static_cast<std::size_t>(rows->number(row, 9)) - 1] = SubmitResult{
          rows->flag(row, 8) ? SubmitResult::How::existing : SubmitResult::How::conflict, read_submission(*rows, row)};
    return found;
  }

  Result<std::optional<HistoryView>> history(OrgId org, std::string_view kind, std::string_view client_ref) override {
    auto rows = tenant_.read(org, sql::history, key(org, kind, client_ref));
    TRY(rows);
    if (rows->size() == 0) return std::nullopt;
    HistoryView history{.submission = read_submission(*rows, 0), .attempts = {}};
    for (std::size_t row = 0; row < rows->size(); ++row) {
      if (rows->is_null(row, 8)) continue;
      history.attempts.push_back(read_attempt(*rows, row, 8));
    }
    if (kind == "intent" && history.submission.state == "accepted") TRY(add_late_failures(org, history));
    return history;
  }

  Result<SubmissionPage> intents(OrgId org, const SubmissionFilter& filter, std::size_t most,
                                 const std::optional<DeliveryCursor>& after) override {
    return list_intents(tenant_, org, shards_, filter, most, after);
  }

  Result<std::optional<Explanation>> explain(OrgId org, std::string_view kind, std::string_view client_ref) override {
    auto known = history(org, kind, client_ref);
    TRY(known);
    if (!*known) return std::nullopt;
    const SubmissionView& submission = (*known)->submission;
    auto rows = link_.read(sql::queue_positions, {std::to_string(shard_of(submission.id)), std::to_string(org.value),
                                                  std::to_string(submission.id.value)});
    TRY(rows);
    auto cooldowns = link_.read(sql::cooldowns_of, {std::to_string(org.value)});
    TRY(cooldowns);
    Explanation explanation{.history = std::move(**known),
                            .now = rows->time(0, 0),
                            .positions = {},
                            .hosts = static_cast<std::uint64_t>(rows->number(0, 11))};
    auto findings = link_.read(sql::host_findings_of, {std::to_string(org.value)});
    TRY(findings);
    for (std::size_t row = 0; row < findings->size(); ++row)
      if (findings->is_null(row, 1)) explanation.cut_off.push_back(text_of(*findings, row, 0));
    for (std::size_t row = 0; row < rows->size(); ++row) {
      if (rows->is_null(row, 1)) continue;
      auto position = read_position(*rows, row, org, *cooldowns, *findings);
      TRY(position);
      explanation.positions.push_back(std::move(*position));
    }
    if (explanation.positions.empty()) return explanation;
    auto living = living_hosts();
    TRY(living);
    explanation.living = std::move(*living);
    auto in_flight = link_.read(sql::in_flight, {});
    TRY(in_flight);
    count_in_flight(*in_flight, org, explanation.positions);
    for (auto& position : explanation.positions)
      if (position.status == Status::due && position.due <= explanation.now) position.due_before = due_before(position);
    return explanation;
  }

  Result<std::vector<DeliveryView>> deliveries(OrgId org, std::string_view kind, std::string_view client_ref) override {
    auto rows = link_.read(sql::deliveries_of, key(org, kind, client_ref));
    TRY(rows);
    std::vector<DeliveryView> deliveries;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      auto contract = contract_from_json(rows->text(row, 8));
      TRY(contract);
      deliveries.push_back({.delivery = {rows->number(row, 0)},
                            .submission = {rows->number(row, 1)},
                            .action_order = static_cast<int>(rows->number(row, 2)),
                            .status = status_from(rows->text(row, 3)).value_or(Status::due),
                            .attempts = static_cast<std::uint32_t>(rows->number(row, 4)),
                            .provider_ref = std::string(rows->text(row, 5)),
                            .created = rows->time(row, 6),
                            .route = {rows->number(row, 7)},
                            .contract = std::move(*contract)});
    }
    return deliveries;
  }

  Result<std::vector<SubmissionId>> moved(std::span<const SubmissionId> ids) override {
    ArrayText shard, id;
    for (const auto one : ids) {
      shard.add(static_cast<std::int64_t>(shard_of(one)));
      id.add(one.value);
    }
    auto rows = link_.read(sql::moved, {shard.take(), id.take()});
    TRY(rows);
    std::vector<SubmissionId> moved(rows->size());
    for (std::size_t row = 0; row < moved.size(); ++row) moved[row] = {rows->number(row, 0)};
    return moved;
  }

  Result<std::vector<LivingHost>> living_hosts() override {
    auto rows = link_.read(sql::living_hosts, {});
    TRY(rows);
    std::vector<LivingHost> living;
    for (std::size_t row = 0; row < rows->size(); ++row) {
      const auto told_ago = rows->is_null(row, 1) ? std::nullopt : std::optional(Micros{rows->number(row, 1)});
      living.push_back({text_of(*rows, row, 0), told_ago, text_of(*rows, row, 2)});
    }
    return living;
  }

  Result<std::vector<HostView>> hosts() override {
    auto rows = link_.read(sql::hosts);
    TRY(rows);
    std::vector<HostView> hosts;
    for (std::size_t row = 0; row < rows->size(); ++row)
      hosts.push_back({{rows->number(row, 0)}, std::string(rows->text(row, 1))});
    return hosts;
  }

  Result<std::optional<OrgId>> organisation(const std::string& name) override {
    auto rows = link_.read(sql::organisation, {name});
    TRY(rows);
    return rows->size() == 0 ? std::nullopt : std::optional(OrgId{rows->number(0, 0)});
  }

 private:
  // None if that takes too long, as it may where many rows before it are dead: the rest is worth saying without it.
  Result<void> add_late_failures(OrgId org, HistoryView& history) {
    const auto id = history.submission.id;
    auto rows = tenant_.read(org, sql::late_failures_of,
                             {std::to_string(shard_of(id)), std::to_string(org.value), std::to_string(id.value)});
    TRY(rows);
    for (std::size_t row = 0; row < rows->size(); ++row)
      history.late_failures.push_back({.noticed = rows->time(row, 0),
                                       .status = text_of(*rows, row, 1),
                                       .failed = time_of(*rows, row, 2),
                                       .provider_ref = text_of(*rows, row, 3)});
    return {};
  }

  std::optional<std::uint64_t> due_before(const QueuePosition& position) {
    auto rows = link_.read(sql::due_before, {std::to_string(shard_of(position.delivery)), std::to_string(position.route.value),
                                             std::to_string(position.delivery.value), std::to_string(kMaxDueBefore)});
    if (!rows) return std::nullopt;
    return static_cast<std::uint64_t>(rows->number(0, 0));
  }

  Parameters key(OrgId org, std::string_view kind, std::string_view client_ref) const {
    return {std::to_string(shard_for(org, client_ref, shards_)), std::to_string(org.value), std::string(kind),
            std::string(client_ref)};
  }

  Link link_;
  TenantLink tenant_{link_, WithoutTenantRole::rely_on_statements};
  int shards_;
};

}  // namespace

std::unique_ptr<ReadStore> make_read_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgReadStore>(address, shards);
}

}  // namespace waybill
