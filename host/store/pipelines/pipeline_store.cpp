// Pipelines' submissions on PostgreSQL: each call is a transaction of the tenant.
#include "store/pipelines/pipeline_store.h"

#include <algorithm>
#include <limits>
#include <map>

#include "store/forms/forms.sql.h"
#include "store/pg/sqlstate.h"
#include "store/pg/tenant_link.h"
#include "store/pg_stores.h"
#include "store/pipelines/pipeline_rows.h"
#include "store/pipelines/pipeline_walk.h"
#include "store/pipelines/pipelines.sql.h"

namespace waybill {
namespace {

constexpr std::string_view kConflict = "conflict", kTakenBack = "taken back";

PipelineDeliveryView read_delivery(const sql::pipeline_deliveries_of_row& row) {
  return {read_action_delivery(row), std::string(row.state()), text_or_empty(row.target()), {}, {}};
}

void add_attempts(const RowsOf<sql::pipeline_attempts_of_row>& attempts, std::vector<PipelineDeliveryView>& deliveries) {
  for (const auto row : attempts) {
    const auto of = std::find_if(deliveries.begin(), deliveries.end(),
                                 [&](const auto& delivery) { return delivery.delivery.value == row.delivery_id(); });
    if (of == deliveries.end()) continue;
    auto attempt = read_attempt(row);
    if (attempt.outcome != "accepted")
      of->failures.push_back({.number = attempt.number,
                              .started = attempt.started,
                              .outcome = attempt.outcome,
                              .reason = attempt.reason,
                              .error = attempt.error,
                              .code = attempt.code});
    of->history.push_back(std::move(attempt));
  }
}

// The columns of pipeline_list_columns.
template <class OneRow>
PipelineListItem read_listed(const OneRow& row) {
  return {.id = {row.id()},
          .client_ref = std::string(row.client_ref()),
          .pipeline = std::string(row.pipeline()),
          .version = static_cast<int>(row.version()),
          .state = std::string(row.state()),
          .metadata = std::string(row.metadata()),
          .created = row.created(),
          .ended = row.ended(),
          .blocked = row.blocked()};
}

// Of pipeline_shares or pipeline_shares_of.
template <class OneRow>
Result<PipelineShares> read_shares(const Result<RowsOf<OneRow>>& rows) {
  TRY(rows);
  PipelineShares shares;
  for (const auto row : *rows) {
    shares.came_to[std::string(row.state())] = row.came_to();
    shares.begun = row.begun();
    shares.is_lower_bound = row.is_lower_bound();
  }
  return shares;
}

class PgPipelineStore final : public PipelineStore {
 public:
  PgPipelineStore(const DatabaseAddress& address, int shards) : link_(address, "pipelines"), shards_(shards) {}

  Result<std::vector<SubmitResult>> submit(std::span<const NewPipelineSubmission> submissions) override {
    std::vector<PipelineVersion> versions;
    for (const auto& one : submissions) {
      auto version = versions_.store(link_, one.pipeline);
      TRY(version);
      versions.push_back(std::move(*version));
    }
    std::vector<SubmitResult> refused;  // what a rolled back transaction found
    auto stored = tenant_.transact(submissions.front().org, [&](Connection& connection) -> Result<std::vector<SubmitResult>> {
      std::vector<SubmitResult> results;
      for (std::size_t i = 0; i < submissions.size(); ++i) {
        auto one = submit_one(connection, submissions[i], versions[i]);
        TRY(one);
        results.push_back(std::move(*one));
        if (results.back().how != SubmitResult::How::conflict) continue;
        refused = std::move(results);
        return fail(Error::Kind::conflict, std::string(kConflict));
      }
      return results;
    });
    if (!stored) rows_.take_moves();  // they were taken back
    if (!stored && !refused.empty()) return refused;
    return stored;
  }

  Result<TransitionResult> transition(OrgId org, const std::string& client_ref, const ManualTransition& wanted) override {
    using How = TransitionResult::How;
    const Shard shard = shard_for(org, client_ref, shards_);
    const Parameters key{std::to_string(shard), std::to_string(org.value), client_ref, std::nullopt};
    auto seen = tenant_.read(org, sql::find_pipeline_submission, key);
    TRY(seen);
    if (seen->empty()) return TransitionResult{How::unknown};
    const std::string state(seen->front().state());
    auto moved = tenant_.transact(org, [&](Connection& connection) -> Result<TransitionResult> {
      auto locked = lock(connection, shard, org, client_ref);
      TRY(locked);
      if (!*locked) return TransitionResult{How::unknown};
      return rows_.transition(connection, shard, **locked, state, wanted);
    });
    if (!moved) rows_.take_moves();
    if (!moved && moved.error().kind == Error::Kind::conflict) return TransitionResult{How::conflict, state, moved.error().what};
    return moved;
  }

  Result<Repairs> repair(OrgId org, const RepairFilter& filter, const PipelineRepair& order) override {
    Repairs repairs;
    auto wanted = filter.ids;
    if (wanted.empty()) {
      auto rows = tenant_.read(org, sql::repairable_pipelines,
                               {std::to_string(org.value), filter.pipeline, filter.state, filter.reference, filter.reason,
                                std::to_string(kMaxRepairs + 1)});
      TRY(rows);
      for (const auto row : *rows) wanted.emplace_back(row.client_ref());
    }
    repairs.more = wanted.size() > kMaxRepairs;
    if (repairs.more) wanted.resize(kMaxRepairs);
    for (const auto& client_ref : wanted) {
      auto item = repair_one(org, client_ref, order, repairs.moves);
      if (!item && repairs.count == 0) return tl::unexpected(item.error());
      if (!item) {  // those before it are done
        repairs.items.push_back({.client_ref = client_ref, .refused = item.error().what});
        repairs.more = true;
        break;
      }
      repairs.count += item->refused.empty() ? 1 : 0;
      repairs.items.push_back(std::move(*item));
    }
    return repairs;
  }

  Result<std::optional<PipelineView>> find(OrgId org, const std::string& client_ref) override {
    const Shard shard = shard_for(org, client_ref, shards_);
    return tenant_.transact(
        org, [&](Connection& connection) { return read(connection, shard, org, client_ref); },
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

  Result<PipelinePage> list(OrgId org, const PipelineFilter& filter) override {
    if (filter.reference) return list(org, sql::list_pipeline_reference, filter);
    if (filter.pipeline && filter.state) return list(org, sql::list_pipeline_state, filter);
    return list(org, sql::list_pipeline_submissions, filter);
  }

  Result<std::vector<PipelineCount>> counts(OrgId org) override {
    auto rows = tenant_.read(org, sql::pipeline_counts, {std::to_string(org.value), std::to_string(kMaxCountedOfState)});
    TRY(rows);
    std::vector<PipelineCount> all;
    for (const auto row : *rows)
      all.push_back({std::string(row.pipeline()), std::string(row.state()), row.submissions(), row.blocked(),
                     row.submissions() >= kMaxCountedOfState});
    return all;
  }

  Result<PipelineShares> shares(const std::string& pipeline, std::optional<OrgId> org, Seconds window) override {
    Parameters asked{pipeline, std::to_string(window.count()), std::to_string(kMaxShared)};
    if (!org) return read_shares(link_.read(sql::pipeline_shares, asked));
    asked.insert(asked.begin(), std::to_string(org->value));
    return read_shares(tenant_.read(*org, sql::pipeline_shares_of, asked));
  }

  Result<LevelMeasure> measure(OrgId org, const std::string& pipeline, const ServiceLevel& level, Seconds window,
                               std::size_t most) override {
    ArrayText to, except;
    for (const auto& state : level.to) to.add(state);
    for (const auto& state : level.except) except.add(state);
    auto rows = tenant_.read(
        org, sql::pipeline_level,
        {std::to_string(org.value), pipeline, null_if_empty(level.from), to.take(), except.take(),
         std::to_string(level.target.count()), std::to_string(window.count()), std::to_string(most), std::to_string(10 * most)});
    TRY(rows);
    const auto measured = rows->front();
    return LevelMeasure{measured.through(), measured.within(), measured.p95_ms(), measured.open(), measured.oldest_open_ms()};
  }

  std::vector<PipelineMoved> take_moves() override { return rows_.take_moves(); }

  Result<std::size_t> sweep(Shard shard, std::size_t most) override {
    auto& behind = swept_[shard];
    auto page = link_.run(sql::blocked_pipelines, {std::to_string(shard), std::to_string(behind.first.micros),
                                                   std::to_string(behind.second.value), std::to_string(most)});
    TRY(page);
    std::size_t moved = 0;
    for (const auto row : *page) {
      behind = {row.blocked(), {row.submission_id()}};
      auto done = link_.transact([&](Connection& connection) { return rows_.advance(connection, shard, {behind.second}); });
      if (!done && done.error().kind == Error::Kind::unavailable) return tl::unexpected(done.error());
      moved += !rows_.take_moves().empty() && done ? 1 : 0;  // what cannot be written stays blocked
    }
    if (page->size() < most) behind = {};
    return moved;
  }

 private:
  template <class OneRow>
  Result<PipelinePage> list(OrgId org, const Query<OneRow>& statement, const PipelineFilter& filter) {
    auto rows =
        tenant_.read(org, statement,
                     {std::to_string(org.value), filter.pipeline, filter.state, filter.reference,
                      std::to_string(filter.before.value_or(SubmissionId{std::numeric_limits<std::int64_t>::max()}).value),
                      std::to_string(filter.limit + 1), std::to_string(filter.max_walked)});
    TRY(rows);
    PipelinePage page;
    for (const auto row : *rows) {
      const bool fits = row.fits().value_or(false);
      if (fits && page.items.size() == filter.limit) {
        page.next = page.items.back().id;
        return page;
      }
      if (row.walk_stopped()) page.next = SubmissionId{row.id()};
      if (fits) page.items.push_back(read_listed(row));
    }
    return page;
  }

  // None: there is no such submission. Who waited would hold a session that others need.
  static Result<std::optional<SubmissionId>> lock(Connection& connection, Shard shard, OrgId org, const std::string& client_ref) {
    auto locked = connection.run(sql::lock_pipeline_submission, {std::to_string(shard), std::to_string(org.value), client_ref});
    if (!locked && is_lock_timeout(locked.error()))
      return fail(Error::Kind::conflict, "the submission is being changed at this moment; look at it and try again");
    TRY(locked);
    return locked->empty() ? std::nullopt : std::optional(SubmissionId{locked->front().id()});
  }

  Result<Repairs::Item> repair_one(OrgId org, const std::string& client_ref, const PipelineRepair& order,
                                   std::vector<PipelineMoved>& moves) {
    using How = TransitionResult::How;
    const Shard shard = shard_for(org, client_ref, shards_);
    std::optional<TransitionResult> found;  // also of a transaction that is taken back
    rows_.take_moves();
    auto done = tenant_.transact(org, [&](Connection& connection) -> Result<bool> {
      auto locked = lock(connection, shard, org, client_ref);
      TRY(locked);
      if (!*locked) {
        found = TransitionResult{How::unknown};
        return false;
      }
      auto repaired = rows_.repair(connection, shard, **locked, order);
      TRY(repaired);
      found = std::move(*repaired);
      if (order.dry_run || found->how != How::moved) return fail(Error::Kind::conflict, std::string(kTakenBack));
      return true;
    });
    auto made = rows_.take_moves();
    if (!done && done.error().kind != Error::Kind::conflict) return tl::unexpected(done.error());
    if (!done && done.error().what != kTakenBack) return Repairs::Item{.client_ref = client_ref, .refused = done.error().what};
    if (done) moves.insert(moves.end(), made.begin(), made.end());
    if (found->how == How::unknown)
      return Repairs::Item{.client_ref = client_ref, .refused = "there is no such submission of a pipeline", .is_known = false};
    return Repairs::Item{.client_ref = client_ref, .state = found->state, .refused = found->why};
  }

  Result<SubmitResult> submit_one(Connection& connection, const NewPipelineSubmission& submission,
                                  const PipelineVersion& version) {
    const PipelineBegin begun{.org = submission.org,
                              .client_ref = submission.client_ref,
                              .payload = submission.payload,
                              .metadata = submission.metadata,
                              .trace = submission.trace,
                              .terms = submission.terms};
    auto made = rows_.begin(connection, version, begun);
    TRY(made);
    if (*made) return SubmitResult{SubmitResult::How::created, std::move(**made)};
    const Shard shard = shard_for(submission.org, submission.client_ref, shards_);
    auto found = connection.run(sql::find_pipeline_submission, {std::to_string(shard), std::to_string(submission.org.value),
                                                                submission.client_ref, bytea(as_view(content_hash(begun)))});
    TRY(found);
    if (found->empty()) {
      auto archived = connection.run(sql::who_has_pipeline_id, {std::to_string(submission.org.value), submission.client_ref});
      TRY(archived);
      return fail(Error::Kind::conflict, "submissionId \"" + submission.client_ref + "\" is " +
                                             (archived->front().is_archived() ? "that of an archived submission" : "a form's"));
    }
    const auto known = found->front();
    SubmitResult answer{SubmitResult::How::existing, read_submission(known)};
    if (answer.view.target != version.definition->pipeline.name || !known.is_same().value_or(false))
      answer.how = SubmitResult::How::conflict;
    return answer;
  }

  Result<std::optional<PipelineView>> read(Connection& connection, Shard shard, OrgId org, const std::string& client_ref) {
    const std::string shard_text = std::to_string(shard), org_text = std::to_string(org.value);
    auto found = connection.run(sql::find_pipeline_submission, {shard_text, org_text, client_ref, std::nullopt});
    TRY(found);
    if (found->empty()) return std::optional<PipelineView>{};
    const auto known = found->front();
    PipelineView view{.submission = read_submission(known),
                      .version = static_cast<int>(known.version()),
                      .metadata = std::string(known.metadata()),
                      .payload = text_or_empty(known.payload()),
                      .blocked = known.blocked(),
                      .ended = known.ended()};
    const std::string id = std::to_string(view.submission.id.value);
    auto walks = read_walks(connection, versions_, shard, {view.submission.id});
    TRY(walks);
    auto& walk = walks->front();
    walk.keep_result();
    view.results = walk.results;
    for (const auto* one : open_decisions(walk.place())) view.decisions.push_back({one->to, one->trigger, one->role});
    auto deliveries = connection.run(sql::pipeline_deliveries_of, {shard_text, org_text, id});
    TRY(deliveries);
    ArrayText wanted;
    for (const auto row : *deliveries) {
      view.deliveries.push_back(read_delivery(row));
      wanted.add(view.deliveries.back().delivery.value);
    }
    auto attempts = connection.run(sql::pipeline_attempts_of, {shard_text, wanted.take()});
    TRY(attempts);
    add_attempts(*attempts, view.deliveries);
    auto audit = connection.run(sql::audit_of, {shard_text, id});
    TRY(audit);
    for (const auto row : *audit) view.audit.push_back(read_audit_event(row));
    return std::optional(std::move(view));
  }

  Link link_;
  TenantLink tenant_{link_, WithoutTenantRole::rely_on_statements};
  const int shards_;
  PipelineVersions versions_;
  PipelineRows rows_{versions_, shards_};
  std::map<Shard, std::pair<Timestamp, SubmissionId>> swept_;  // where the next sweep begins
};

}  // namespace

std::unique_ptr<PipelineStore> make_pipeline_store(const DatabaseAddress& address, int shards) {
  return std::make_unique<PgPipelineStore>(address, shards);
}

}  // namespace waybill
