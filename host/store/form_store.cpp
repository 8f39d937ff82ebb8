// Submissions of forms on their way in, and what their surface asks.
#include "store/form_loading.h"
#include "store/form_rows.h"
#include "store/forms.h"
#include "store/purge_order.h"
#include "store/read_rows.h"
#include "store/routes.h"

namespace waybill {
namespace {

constexpr Statement kNow{"now", "SELECT micros(now())"};

// All of a submission at once; nothing if its key is taken.
constexpr Statement kSubmit{"submit_form", R"(
  WITH made AS (
    INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
    VALUES ($1, nextval('object_ids') * 1024 + $1::smallint, $2, 'form', $3, 'form', $4, 'received', $5, now(), convert_to($6, 'UTF8'))
    ON CONFLICT DO NOTHING RETURNING id),
  more AS (
    INSERT INTO form_submissions (shard, submission_id, org_id, retention_expires_at) SELECT $1, id, $2, at_micros($7) FROM made),
  queued AS (
    INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued)
    SELECT $1, nextval('object_ids') * 1024 + $1::smallint, $2, made.id, t.place, t.route, now(), 'waiting', false
    FROM made, unnest($8::smallint[], $9::int[]) AS t(place, route))
  SELECT id, micros(now()) FROM made)"};

constexpr Statement kAttach{"attach", R"(
  INSERT INTO attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri)
  SELECT $1, t.id, $2, $3, t.place, t.name, t.type, t.size, t.uri
  FROM unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[]) WITH ORDINALITY AS t(id, name, type, size, uri, place)
  ON CONFLICT DO NOTHING RETURNING attachment_id)"};

constexpr Statement kFind{"find_form_submission", R"(
  SELECT s.id, s.org_id, s.client_ref, s.target, s.state, coalesce(s.reason, ''), micros(s.created_at), micros(s.completed_at),
         s.payload_hash = $4, micros(f.finalized_at), micros(f.retention_expires_at)
  FROM submissions s JOIN form_submissions f ON f.shard = s.shard AND f.submission_id = s.id
  WHERE s.shard = $1 AND s.org_id = $2 AND s.kind = 'form' AND s.client_ref = $3)"};
constexpr Statement kLock{"lock_form_submission", R"(
  SELECT id, state, client_ref FROM submissions WHERE shard = $1 AND org_id = $2 AND kind = 'form' AND client_ref = $3 FOR UPDATE)"};
constexpr Statement kLockById{"lock_form_submission_by_id",
                              "SELECT id, state, client_ref FROM submissions WHERE shard = $1 AND id = $2 FOR UPDATE"};

constexpr Statement kFinalize{
    "finalize",
    "UPDATE form_submissions SET finalized_at = coalesce(finalized_at, now()) WHERE shard = $1 AND submission_id = $2"};

constexpr Statement kFindAttachment{"find_attachment",
                                    "SELECT shard, submission_id FROM attachments WHERE org_id = $1 AND attachment_id = $2"};
constexpr Statement kScan{"scan_result", R"(
  UPDATE attachments SET scan = $3, scanned_at = coalesce(CASE WHEN scan = $3 THEN scanned_at END, now())
  WHERE org_id = $1 AND attachment_id = $2 AND (scan <> 'infected' OR $3 = 'infected') RETURNING scan)"};
constexpr Statement kTooLate{"infected_too_late", R"(
  SELECT raise_alert(org_id, 'infected_attachment', target || ':late', 'form submission ' || client_ref || ' of ' || target ||
                     ' has an attachment that was found infected when its actions were under way or done')
  FROM submissions WHERE shard = $1 AND id = $2)"};

constexpr Statement kAttachments{"attachments_of", R"(
  SELECT attachment_id, name, content_type, size, scan, micros(scanned_at) FROM attachments
  WHERE shard = $1 AND submission_id = $2 ORDER BY position)"};
constexpr Statement kDeliveries{"form_deliveries_of", R"(
  SELECT d.id, d.action_order, d.replay, d.action_type, d.status, coalesce(d.reason, ''), d.attempt_count, coalesce(d.provider_ref, ''),
         coalesce(d.result, ''), micros(d.due_at), micros(d.ended_at), coalesce(w.status_field, ''), coalesce(w.ref_field, '')
  FROM (
    SELECT r.delivery_id AS id, r.action_order, r.replay, c.contract::jsonb ->> 'actionType' AS action_type, r.status, NULL AS reason,
           r.attempt_count, NULL AS provider_ref, r.progress AS result, r.due_at, NULL::timestamptz AS ended_at
    FROM ready r JOIN contract_snapshots c ON c.route_id = r.route_id
    WHERE r.shard = $1 AND r.org_id = $2 AND r.submission_id = $3 AND r.delivery_id <> r.submission_id
    UNION ALL
    SELECT id, action_order, replay, action_type, status, reason, attempt_count, provider_ref, result::text, NULL, ended_at
    FROM deliveries WHERE shard = $1 AND org_id = $2 AND submission_id = $3 AND id <> submission_id) d
  LEFT JOIN action_words w ON w.action_type = d.action_type
  ORDER BY d.action_order, d.replay)"};
constexpr Statement kAudit{"audit_of", R"(
  SELECT a.action, coalesce(a.from_state, ''), coalesce(a.to_state, ''), a.trigger, a.actor, a.actor_type, coalesce(a.metadata::text, ''),
         micros(a.created_at), coalesce(e.field, ''), coalesce(e.before, ''), coalesce(e.after, '')
  FROM audit_log a
  LEFT JOIN dead_letter_edits e ON e.shard = a.shard AND e.submission_id = a.submission_id
    AND a.action = 'dead_letter_edited' AND e.id::text = a.metadata ->> 'editId'
  WHERE a.shard = $1 AND a.submission_id = $2 ORDER BY a.created_at, a.id)"};

// Sweeping and purging.
constexpr Statement kStuck{"forms_in_processing", R"(
  SELECT submission_id, micros(processing_since) FROM form_submissions
  WHERE shard = $1 AND processing_since < now() - $2::bigint * interval '1 second'
    AND (processing_since, submission_id) > (at_micros($3), $4)
  ORDER BY processing_since, submission_id LIMIT $5)"};
constexpr Statement kAlive{"forms_alive", "SELECT 1"};
constexpr Statement kExpired{"expired_forms", R"(
  SELECT submission_id, micros(retention_expires_at) FROM form_submissions
  WHERE shard = $1 AND purged_at IS NULL AND retention_expires_at <= now()
    AND retention_expires_at >= at_micros($3) AND (retention_expires_at, submission_id) > (at_micros($3), $4)
  ORDER BY retention_expires_at, submission_id LIMIT $2)"};
// What was handed in, and what was made of it, goes; what happened stays.
constexpr Statement kPurge{"purge_form", R"(
  WITH moved AS (
    UPDATE submissions SET state = 'purged', body = NULL, completed_at = coalesce(completed_at, now())
    WHERE shard = $1 AND id = $2 AND state IN ('received', 'routed', 'failed') RETURNING id, org_id),
  done AS (
    UPDATE form_submissions f SET purged_at = now(), processing_since = NULL FROM moved m WHERE f.shard = $1 AND f.submission_id = m.id),
  stored AS (DELETE FROM attachments a USING moved m WHERE a.shard = $1 AND a.submission_id = m.id),
  edit AS (DELETE FROM dead_letter_edits e USING moved m WHERE e.shard = $1 AND e.submission_id = m.id),
  dead AS (DELETE FROM dead_letters l USING moved m WHERE l.shard = $1 AND l.submission_id = m.id),
  sent AS (
    UPDATE deliveries d SET result = NULL FROM moved m WHERE d.shard = $1 AND d.org_id = m.org_id AND d.submission_id = m.id
                                                     AND d.id <> d.submission_id RETURNING d.id),
  mail AS (DELETE FROM artifacts a USING sent s WHERE a.shard = $1 AND a.delivery_id = s.id),
  changed AS (DELETE FROM edited_payloads e USING sent s WHERE e.shard = $1 AND e.delivery_id = s.id),
  audit AS (
    INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
    SELECT $1, id, now(), org_id, 'submission_purged', $3, 'purged', 'retention', 'waybill', 'system' FROM moved)
  SELECT id FROM moved)"};
constexpr Statement kOverdue{"overdue_form", R"(
  WITH moved AS (
    UPDATE submissions SET state = 'failed', reason = 'retention_expired', completed_at = now()
    WHERE shard = $1 AND id = $2 AND state = 'processing' RETURNING id, org_id),
  rest AS (UPDATE form_submissions f SET processing_since = NULL FROM moved m WHERE f.shard = $1 AND f.submission_id = m.id)
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, action, from_state, to_state, trigger, actor, actor_type)
  SELECT $1, id, now(), org_id, 'submission_route_failed', 'processing', 'failed', 'retention', 'waybill', 'system' FROM moved)"};

class PgFormStore final : public FormStore {
 public:
  PgFormStore(const DatabaseAddress& address, int shards, Millis kept, Millis try_again)
      : link_(address, "forms"), shards_(shards), kept_(kept), purge_order_(try_again), not_swept_(try_again) {}

  Result<SubmitResult> submit(const NewFormSubmission& submission) override {
    return link_.transact([&](Connection& connection) { return submit_in(connection, submission); });
  }

  Result<std::optional<FormState>> finalize(OrgId org, const std::string& client_ref) override {
    return link_.transact([&](Connection& connection) -> Result<std::optional<FormState>> {
      auto locked = connection.run(kLock, {shard_text(org, client_ref), std::to_string(org.value), client_ref});
      if (!locked) return tl::unexpected(locked.error());
      if (locked->size() == 0) return std::optional<FormState>{};
      if (locked->text(0, 1) == "purged")
        return fail(Error::Kind::conflict, "submission \"" + client_ref + "\" is purged: what it held is not kept any more");
      return finalize_in(connection, {locked->number(0, 0)}, text_of(*locked, 0, 1), client_ref);
    });
  }

  Result<std::optional<FormState>> scan(OrgId org, const std::string& attachment, Scan result,
                                        const std::string& actor) override {
    return link_.transact([&](Connection& connection) { return scan_in(connection, org, attachment, result, actor); });
  }

  Result<std::optional<FormView>> find(OrgId org, const std::string& client_ref) override {
    return link_.transact([&](Connection& connection) { return find_in(connection, org, client_ref); },
                          "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
  }

  Result<SweepResult> sweep(Shard shard, Seconds age) override {
    constexpr std::size_t kPage = 500, kMaxFailures = 20;
    SweepResult swept;
    Timestamp after;
    SubmissionId after_id;
    for (;;) {
      auto page = link_.run(kStuck, {std::to_string(shard), std::to_string(age.count()), std::to_string(after.micros),
                                     std::to_string(after_id.value), std::to_string(kPage)});
      if (!page) return tl::unexpected(page.error());
      std::vector<SubmissionId> submissions;
      for (std::size_t row = 0; row < page->size(); ++row) {
        after_id = {page->number(row, 0)};
        after = page->time(row, 1);
        if (!not_swept_.is_to_wait(after_id)) submissions.push_back(after_id);
      }
      if (auto done = advance_each(shard, submissions, kMaxFailures, swept); !done) return tl::unexpected(done.error());
      if (swept.failures.size() >= kMaxFailures) return swept;  // each may have waited long for a lock
      if (page->size() < kPage) break;
    }
    not_swept_.forget_settled();
    return swept;
  }

  Result<PurgeResult> purge(Shard shard, std::size_t most) override {
    const auto behind = purge_order_.behind(shard);
    auto expired = link_.run(kExpired, {std::to_string(shard), std::to_string(most), std::to_string(behind.expires.micros),
                                        std::to_string(behind.id.value)});
    if (!expired) return tl::unexpected(expired.error());
    PurgeResult purged;
    for (std::size_t row = 0; row < expired->size(); ++row) {
      const SubmissionId id{expired->number(row, 0)};
      purge_order_.went_on(shard, {expired->time(row, 1), id});  // also when the database goes away meanwhile
      if (purge_order_.is_to_wait(id)) continue;
      auto done = link_.transact([&](Connection& connection) { return purge_in(connection, id); });
      if (!done && done.error().kind == Error::Kind::unavailable && !link_.run(kAlive)) {
        if (purged.count == 0 && purged.failures.empty()) return tl::unexpected(done.error());
        return purged;  // the next call meets the same trouble, or goes on behind it
      }
      if (!done) {
        purge_order_.failed(id);
        purged.failures.push_back({id, done.error().what});
        continue;
      }
      purge_order_.done(id);
      purged.count += *done ? 1 : 0;
    }
    if (expired->size() < most) {
      purge_order_.begin_again(shard);
      purge_order_.forget_settled();
    }
    return purged;
  }

  Result<LoadedForms> load(std::span<const Form> forms, const LoadActor& actor) override {
    return link_.transact([&](Connection& connection) { return load_forms(connection, forms, actor); });
  }

 private:
  // All at once, or each on its own when they cannot be.
  Result<void> advance_each(Shard shard, const std::vector<SubmissionId>& submissions, std::size_t max_failures,
                            SweepResult& swept) {
    const auto move = [&](const std::vector<SubmissionId>& some) {
      return link_.transact([&](Connection& connection) { return advance(connection, shard, some); });
    };
    if (submissions.empty()) return {};
    auto all = move(submissions);
    if (all) {
      swept.moved += all->moved;
      for (const auto id : submissions) not_swept_.done(id);
      return {};
    }
    for (const auto id : submissions) {
      auto done = move({id});
      if (done) {
        swept.moved += done->moved;
        not_swept_.done(id);
        continue;
      }
      if (done.error().kind == Error::Kind::unavailable && !link_.run(kAlive)) return tl::unexpected(done.error());
      not_swept_.failed(id);
      swept.failures.push_back({id, done.error().what});
      if (swept.failures.size() >= max_failures) return {};
    }
    return {};
  }

  std::string shard_text(OrgId org, const std::string& client_ref) const {
    return std::to_string(shard_for(org, client_ref, shards_));
  }

  Result<SubmitResult> submit_in(Connection& connection, const NewFormSubmission& submission) {
    const Shard shard = shard_for(submission.org, submission.client_ref, shards_);
    auto now = connection.run(kNow);
    if (!now) return tl::unexpected(now.error());
    const Timestamp kept_until = submission.kept_until.value_or(now->time(0, 0) + kept_);
    ArrayText order, route;
    for (std::size_t i = 0; i < submission.actions.size(); ++i) {
      auto id = route_of(connection, submission.org, submission.contracts[i]);
      if (!id) return tl::unexpected(id.error());
      order.add(static_cast<std::int64_t>(submission.actions[i].order));
      route.add(id->value);
    }
    auto made = connection.run(
        kSubmit, {std::to_string(shard), std::to_string(submission.org.value), submission.client_ref, submission.form_id,
                  bytea(as_view(submission.hash)), form_payload(submission.fields, submission.attachments_json, kept_until),
                  std::to_string(kept_until.micros), order.take(), route.take()});
    if (!made) return tl::unexpected(made.error());
    if (made->size() == 0) return known(connection, shard, submission);
    SubmitResult answer{SubmitResult::How::created,
                        {.id = {made->number(0, 0)},
                         .org = submission.org,
                         .client_ref = submission.client_ref,
                         .target = submission.form_id,
                         .state = "received",
                         .created = made->time(0, 1)}};
    if (auto attached = attach(connection, answer.view.id, submission); !attached) return tl::unexpected(attached.error());
    return finalized_if_wanted(connection, submission, std::move(answer));
  }

  // The key is taken: the same submission again, or another one.
  Result<SubmitResult> known(Connection& connection, Shard shard, const NewFormSubmission& submission) {
    auto found = connection.run(kFind, {std::to_string(shard), std::to_string(submission.org.value), submission.client_ref,
                                        bytea(as_view(submission.hash))});
    if (!found) return tl::unexpected(found.error());
    if (found->size() == 0) return fail(Error::Kind::unavailable, "a submission neither was inserted nor is there");
    SubmitResult answer{SubmitResult::How::existing, read_submission(*found, 0)};
    if (answer.view.target != submission.form_id || !found->flag(0, 8)) {
      answer.how = SubmitResult::How::conflict;
      return answer;
    }
    return finalized_if_wanted(connection, submission, std::move(answer));
  }

  Result<SubmitResult> finalized_if_wanted(Connection& connection, const NewFormSubmission& submission, SubmitResult answer) {
    if (!submission.finalize || answer.view.state != "received") return answer;
    auto locked = connection.run(kLockById, {std::to_string(shard_of(answer.view.id)), std::to_string(answer.view.id.value)});
    if (!locked) return tl::unexpected(locked.error());
    auto state = finalize_in(connection, answer.view.id, text_of(*locked, 0, 1), submission.client_ref);
    if (!state) return tl::unexpected(state.error());
    answer.view.state = (*state)->state;
    return answer;
  }

  static Result<void> attach(Connection& connection, SubmissionId id, const NewFormSubmission& submission) {
    if (submission.attachments.empty()) return {};
    ArrayText ids, names, types, sizes, uris;
    for (const auto& one : submission.attachments) {
      ids.add(one.id);
      names.add(one.name);
      types.add(one.content_type);
      sizes.add(one.size);
      uris.add(one.object_uri);
    }
    auto attached =
        connection.run(kAttach, {std::to_string(submission.org.value), std::to_string(shard_of(id)), std::to_string(id.value),
                                 ids.take(), names.take(), types.take(), sizes.take(), uris.take()});
    if (!attached) return tl::unexpected(attached.error());
    for (const auto& one : submission.attachments) {
      bool there = false;
      for (std::size_t row = 0; row < attached->size(); ++row) there |= attached->text(row, 0) == one.id;
      if (!there) return fail(Error::Kind::conflict, "attachmentId \"" + one.id + "\" belongs to another submission");
    }
    return {};
  }

  // The caller has locked the submission's row.
  static Result<std::optional<FormState>> finalize_in(Connection& connection, SubmissionId id, const std::string& state,
                                                      const std::string& client_ref) {
    auto done = connection.run(kFinalize, {std::to_string(shard_of(id)), std::to_string(id.value)});
    if (!done) return tl::unexpected(done.error());
    if (state != "received") return FormState{client_ref, state};
    auto begun = begin_if_ready(connection, id, "waybill");
    if (!begun) return tl::unexpected(begun.error());
    return FormState{client_ref, std::move(*begun)};
  }

  static Result<std::optional<FormState>> scan_in(Connection& connection, OrgId org, const std::string& attachment, Scan result,
                                                  const std::string& actor) {
    const std::string org_text = std::to_string(org.value);
    auto found = connection.run(kFindAttachment, {org_text, attachment});
    if (!found) return tl::unexpected(found.error());
    if (found->size() == 0) return std::optional<FormState>{};
    const Parameters key{text_of(*found, 0, 0), text_of(*found, 0, 1)};
    auto locked = connection.run(kLockById, key);
    if (!locked) return tl::unexpected(locked.error());
    auto scanned = connection.run(kScan, {org_text, attachment, std::string(result == Scan::clean ? "clean" : "infected")});
    if (!scanned) return tl::unexpected(scanned.error());
    if (scanned->size() == 0)
      return fail(Error::Kind::conflict, "attachment \"" + attachment + "\" was found infected before; it stays that");
    FormState answer{text_of(*locked, 0, 2), text_of(*locked, 0, 1)};
    if (answer.state == "received") {
      auto begun = begin_if_ready(connection, {locked->number(0, 0)}, actor);
      if (!begun) return tl::unexpected(begun.error());
      answer.state = std::move(*begun);
    } else if (result == Scan::infected && answer.state != "failed") {
      if (auto told = connection.run(kTooLate, key); !told) return tl::unexpected(told.error());
    }
    return answer;
  }

  Result<std::optional<FormView>> find_in(Connection& connection, OrgId org, const std::string& client_ref) const {
    auto found = connection.run(kFind, {shard_text(org, client_ref), std::to_string(org.value), client_ref, std::nullopt});
    if (!found) return tl::unexpected(found.error());
    if (found->size() == 0) return std::optional<FormView>{};
    FormView view{
        .submission = read_submission(*found, 0), .finalized = time_of(*found, 0, 9), .kept_until = time_of(*found, 0, 10)};
    const std::string shard = std::to_string(shard_of(view.submission.id)), id = std::to_string(view.submission.id.value);
    auto attachments = connection.run(kAttachments, {shard, id});
    if (!attachments) return tl::unexpected(attachments.error());
    for (std::size_t row = 0; row < attachments->size(); ++row)
      view.attachments.push_back({.id = text_of(*attachments, row, 0),
                                  .name = text_of(*attachments, row, 1),
                                  .content_type = text_of(*attachments, row, 2),
                                  .size = attachments->number(row, 3),
                                  .scan = text_of(*attachments, row, 4),
                                  .scanned = time_of(*attachments, row, 5)});
    auto deliveries = connection.run(kDeliveries, {shard, std::to_string(org.value), id});
    if (!deliveries) return tl::unexpected(deliveries.error());
    for (std::size_t row = 0; row < deliveries->size(); ++row)
      view.deliveries.push_back({.delivery = {deliveries->number(row, 0)},
                                 .action_order = static_cast<int>(deliveries->number(row, 1)),
                                 .replay = static_cast<int>(deliveries->number(row, 2)),
                                 .action_type = text_of(*deliveries, row, 3),
                                 .status = status_from(deliveries->text(row, 4)).value_or(Status::due),
                                 .reason = text_of(*deliveries, row, 5),
                                 .attempts = static_cast<std::uint32_t>(deliveries->number(row, 6)),
                                 .provider_ref = text_of(*deliveries, row, 7),
                                 .result = text_of(*deliveries, row, 8),
                                 .due = time_of(*deliveries, row, 9),
                                 .ended = time_of(*deliveries, row, 10),
                                 .status_field = text_of(*deliveries, row, 11),
                                 .ref_field = text_of(*deliveries, row, 12)});
    auto audit = connection.run(kAudit, {shard, id});
    if (!audit) return tl::unexpected(audit.error());
    for (std::size_t row = 0; row < audit->size(); ++row)
      view.audit.push_back({text_of(*audit, row, 0), text_of(*audit, row, 1), text_of(*audit, row, 2), text_of(*audit, row, 3),
                            text_of(*audit, row, 4), text_of(*audit, row, 5), text_of(*audit, row, 6), audit->time(row, 7),
                            text_of(*audit, row, 8), text_of(*audit, row, 9), text_of(*audit, row, 10)});
    return view;
  }

  // False while a host still holds a delivery of it: next time.
  static Result<bool> purge_in(Connection& connection, SubmissionId id) {
    const Parameters key{std::to_string(shard_of(id)), std::to_string(id.value)};
    auto locked = connection.run(kLockById, key);
    if (!locked) return tl::unexpected(locked.error());
    auto free = cancel_open(connection, id);
    if (!free) return tl::unexpected(free.error());
    if (!*free) return false;
    std::string state = text_of(*locked, 0, 1);
    if (state == "processing") {
      if (auto ended = connection.run(kOverdue, key); !ended) return tl::unexpected(ended.error());
      state = "failed";
    }
    auto purged = connection.run(kPurge, {key[0], key[1], state});
    if (!purged) return tl::unexpected(purged.error());
    return purged->size() == 1;
  }

  Link link_;
  int shards_;
  Millis kept_;
  PurgeOrder purge_order_;
  FailedForms not_swept_;
};

}  // namespace

std::unique_ptr<FormStore> make_form_store(const DatabaseAddress& address, int shards, Millis kept, Millis try_again) {
  return std::make_unique<PgFormStore>(address, shards, kept, try_again);
}

}  // namespace waybill
