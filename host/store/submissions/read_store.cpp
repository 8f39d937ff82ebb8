// Reads submissions, their attempts and their positions in the queue.
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/submissions/read.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

using CooldownRows = RowsOf<sql::cooldowns_of_row>;
using PauseRows = RowsOf<sql::pauses_of_row>;
using FindingRows = RowsOf<sql::host_findings_of_row>;

// Of a row with a delivery.
Result<QueuePosition> read_position(const sql::queue_positions_row& row, OrgId org, const CooldownRows& cooldowns,
                                    const PauseRows& pauses, const FindingRows& findings) {
  const auto contract = contract_from_json(row.contract().value_or(""));
  TRY(contract);
  QueuePosition position{.delivery = {value_or_zero(row.delivery_id())},
                         .route = {value_or_zero(row.route_id())},
                         .target = contract->target,
                         .action_order = static_cast<int>(value_or_zero(row.action_order())),
                         .action_type = text_or_empty(row.action_type()),
                         .status = status_from(row.status().value_or("")).value_or(Status::due),
                         .due = value_or_zero(row.due()),
                         .attempt_count = static_cast<std::uint32_t>(value_or_zero(row.attempts())),
                         .lease_lost = static_cast<std::uint32_t>(value_or_zero(row.lease_lost())),
                         .claimed_by = std::string(row.claimed_by()),
                         .claimer_lives = row.claimer_lives(),
                         .lease_until = row.lease_until(),
                         .due_before = {},
                         .rate = contract->rate,
                         .permits_until = row.permits_until(),
                         .host_name = host_name_of(contract->url),
                         .in_flight = {},
                         .cooldown = {}};
  if (const auto count = row.ordered_count()) {
    const Micros per(value_or_zero(row.ordered_per()));
    position.rate = Rate{static_cast<std::uint32_t>(*count), std::chrono::duration_cast<Millis>(per)};
    position.ordered_rate = {text_or_empty(row.ordered_by()), row.ordered_until()};
  }
  for (const auto cooldown : cooldowns)
    if (cooldown.target() == contract->cooldown_key())
      position.cooldown =
          Cooldown{org, contract->cooldown_key(), cooldown.until(), std::string(cooldown.reason()), cooldown.since()};
  for (const auto pause : pauses)
    if (pause.target() == contract->cooldown_key())
      position.pause = {contract->cooldown_key(), pause.since(), std::string(pause.reason()), std::string(pause.actor())};
  for (const auto finding : findings)
    if (text_or_empty(finding.target()) == contract->cooldown_key())
      position.findings.push_back({std::string(finding.name()), value_or_zero(finding.since()), text_or_empty(finding.reason())});
  return position;
}

void count_in_flight(const RowsOf<sql::in_flight_row>& rows, OrgId org, std::vector<QueuePosition>& positions) {
  for (const auto row : rows) {
    const bool is_of_org = row.org_id() == org.value;
    const auto target = row.target().value_or(""), action_type = row.action_type().value_or("");
    const auto host_name = host_name_of(text_or_empty(row.url()));
    const auto count = static_cast<std::uint64_t>(row.count());
    for (auto& position : positions) {
      auto& in_flight = position.in_flight;
      in_flight.all += count;
      if (is_of_org) in_flight.of_org += count;
      if (is_of_org && target == position.target) in_flight.of_target += count;
      if (action_type == position.action_type) in_flight.of_action_type += count;
      if (!row.is_channel() && host_name == position.host_name) in_flight.of_host_name += count;
    }
  }
}

class PgReadStore final : public ReadStore {
 public:
  PgReadStore(const DatabaseAddress& address, int shards) : link_(address, "read"), shards_(shards) {}

  Result<std::optional<SubmissionView>> find(OrgId org, std::string_view kind, std::string_view client_ref) override {
    auto rows = tenant_.read(org, sql::find_submission, key(org, kind, client_ref));
    TRY(rows);
    if (rows->empty()) return std::nullopt;
    return read_submission(rows->front());
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
    for (const auto row : *rows)
      found[static_cast<std::size_t>(row.place()) - 1] =
          SubmitResult{row.is_same() ? SubmitResult::How::existing : SubmitResult::How::conflict, read_submission(row)};
    return found;
  }

  Result<std::optional<HistoryView>> history(OrgId org, std::string_view kind, std::string_view client_ref) override {
    auto rows = tenant_.read(org, sql::history, key(org, kind, client_ref));
    TRY(rows);
    if (rows->empty()) return std::nullopt;
    HistoryView history{.submission = read_submission(rows->front()), .attempts = {}};
    for (const auto row : *rows) {
      if (!row.number()) continue;
      auto attempt = read_attempt(row);
      attempt.reason = row.attempt_reason();  // the plain one is the submission's
      history.attempts.push_back(std::move(attempt));
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
    const auto pauses = link_.read(sql::pauses_of, {std::to_string(org.value)});
    TRY(pauses);
    Explanation explanation{.history = std::move(**known),
                            .now = rows->front().now(),
                            .positions = {},
                            .hosts = static_cast<std::uint64_t>(rows->front().hosts())};
    auto findings = link_.read(sql::host_findings_of, {std::to_string(org.value)});
    TRY(findings);
    for (const auto finding : *findings)
      if (!finding.target()) explanation.cut_off.emplace_back(finding.name());
    for (const auto row : *rows) {
      if (!row.delivery_id()) continue;
      auto position = read_position(row, org, *cooldowns, *pauses, *findings);
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
    for (const auto row : *rows) {
      auto contract = contract_from_json(row.contract());
      TRY(contract);
      deliveries.push_back({.delivery = {row.delivery_id()},
                            .submission = {row.submission_id()},
                            .action_order = static_cast<int>(row.action_order()),
                            .status = status_from(row.status()).value_or(Status::due),
                            .attempts = static_cast<std::uint32_t>(row.attempts()),
                            .provider_ref = std::string(row.provider_ref()),
                            .created = row.created(),
                            .route = {row.route_id()},
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
    std::vector<SubmissionId> moved;
    for (const auto row : *rows) moved.push_back({row.id()});
    return moved;
  }

  Result<std::vector<LivingHost>> living_hosts() override {
    auto rows = link_.read(sql::living_hosts, {});
    TRY(rows);
    std::vector<LivingHost> living;
    for (const auto row : *rows) {
      const auto told_ago = row.told_ago() ? std::optional(Micros{*row.told_ago()}) : std::nullopt;
      living.push_back({std::string(row.name()), told_ago, std::string(row.facts())});
    }
    return living;
  }

  Result<std::vector<HostView>> hosts() override {
    auto rows = link_.read(sql::hosts);
    TRY(rows);
    std::vector<HostView> hosts;
    for (const auto row : *rows) hosts.push_back({{row.host_id()}, std::string(row.name())});
    return hosts;
  }

  Result<std::optional<OrgId>> organisation(const std::string& name) override {
    auto rows = link_.read(sql::organisation, {name});
    TRY(rows);
    return rows->empty() ? std::nullopt : std::optional(OrgId{rows->front().org_id()});
  }

 private:
  // None if that takes too long, as it may where many rows before it are dead: the rest is worth saying without it.
  Result<void> add_late_failures(OrgId org, HistoryView& history) {
    const auto id = history.submission.id;
    auto rows = tenant_.read(org, sql::late_failures_of,
                             {std::to_string(shard_of(id)), std::to_string(org.value), std::to_string(id.value)});
    TRY(rows);
    for (const auto row : *rows)
      history.late_failures.push_back({.noticed = row.noticed(),
                                       .status = std::string(row.status()),
                                       .failed = row.failed(),
                                       .provider_ref = std::string(row.provider_ref())});
    return {};
  }

  std::optional<std::uint64_t> due_before(const QueuePosition& position) {
    auto rows = link_.read(sql::due_before, {std::to_string(shard_of(position.delivery)), std::to_string(position.route.value),
                                             std::to_string(position.delivery.value), std::to_string(kMaxDueBefore)});
    if (!rows) return std::nullopt;
    return static_cast<std::uint64_t>(rows->front().count());
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
