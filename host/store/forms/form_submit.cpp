// Submissions of forms on their way in: stored with their attachments, finalized, scanned.
#include "domain/form_pipeline.h"
#include "store/forms/form_rows.h"
#include "store/forms/form_transactions.h"
#include "store/forms/forms.sql.h"
#include "store/queue/routes.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

Result<void> attach(Connection& connection, SubmissionId id, const NewFormSubmission& submission) {
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
      connection.run(sql::attach, {std::to_string(submission.org.value), std::to_string(shard_of(id)), std::to_string(id.value),
                                   ids.take(), names.take(), types.take(), sizes.take(), uris.take()});
  TRY(attached);
  for (const auto& one : submission.attachments) {
    bool there = false;
    for (const auto row : *attached) there |= row.attachment_id() == one.id;
    if (!there) return fail(Error::Kind::conflict, "attachmentId \"" + one.id + "\" belongs to another submission");
  }
  return {};
}

// The caller has locked the submission's row.
Result<std::optional<FormState>> finalize_locked(Connection& connection, SubmissionId id, const std::string& state,
                                                 const std::string& client_ref) {
  TRY(connection.run(sql::finalize, {std::to_string(shard_of(id)), std::to_string(id.value)}));
  if (state != "received") return FormState{client_ref, state};
  auto begun = begin_if_ready(connection, id, "waybill");
  TRY(begun);
  return FormState{client_ref, std::move(*begun)};
}

Result<SubmitResult> finalized_if_wanted(Connection& connection, const NewFormSubmission& submission, SubmitResult answer) {
  if (!submission.finalize || answer.view.state != "received") return answer;
  auto locked = connection.run(sql::lock_form_submission_by_id,
                               {std::to_string(shard_of(answer.view.id)), std::to_string(answer.view.id.value)});
  TRY(locked);
  auto state = finalize_locked(connection, answer.view.id, std::string(locked->front().state()), submission.client_ref);
  TRY(state);
  answer.view.state = (*state)->state;
  return answer;
}

// Where the key is taken: the same submission again, or another one. Else the error is `absent`.
Result<SubmitResult> compare_with_existing(Connection& connection, Shard shard, const NewFormSubmission& submission,
                                           const Error& absent) {
  auto found = connection.run(sql::find_form_submission, {std::to_string(shard), std::to_string(submission.org.value),
                                                          submission.client_ref, bytea(as_view(submission.hash))});
  TRY(found);
  if (found->empty()) return tl::unexpected(absent);
  SubmitResult answer{SubmitResult::How::existing, read_submission(found->front())};
  if (answer.view.target != submission.form_id || !found->front().is_same().value_or(false)) {
    answer.how = SubmitResult::How::conflict;
    return answer;
  }
  return finalized_if_wanted(connection, submission, std::move(answer));
}

}  // namespace

Result<SubmitResult> submit_form(Connection& connection, Shard shard, const NewFormSubmission& submission, Millis kept) {
  auto clock = connection.run(sql::now);
  TRY(clock);
  const Timestamp now = clock->front().now();
  const Timestamp begins = begins_at(now, submission.terms);
  const Timestamp kept_until = submission.kept_until.value_or(begins + kept);
  auto fault = submission.fault.empty() ? fault_in_retention(kept_until, begins) : submission.fault;
  if (fault.empty()) fault = terms_fault(submission.terms, now);
  if (!fault.empty()) return compare_with_existing(connection, shard, submission, {Error::Kind::invalid, fault});
  ArrayText order, route;
  for (std::size_t i = 0; i < submission.actions.size(); ++i) {
    auto id = route_of(connection, submission.org, submission.contracts[i]);
    TRY(id);
    order.add(static_cast<std::int64_t>(submission.actions[i].order));
    route.add(id->value);
  }
  auto made =
      connection.run(sql::submit_form,
                     {std::to_string(shard), std::to_string(submission.org.value), submission.client_ref, submission.form_id,
                      bytea(as_view(submission.hash)), form_payload(submission.fields, submission.attachments_json, kept_until),
                      std::to_string(kept_until.micros), order.take(), route.take(),
                      submission.trace ? std::optional(stored_trace(*submission.trace)) : std::nullopt,
                      not_before_of(submission.terms), expires_of(submission.terms), producer_of(submission.terms)});
  TRY(made);
  if (made->empty())
    return compare_with_existing(connection, shard, submission,
                                 {Error::Kind::unavailable, "a submission neither was inserted nor is there"});
  SubmitResult answer{SubmitResult::How::created,
                      {.id = {made->front().id()},
                       .org = submission.org,
                       .client_ref = submission.client_ref,
                       .target = submission.form_id,
                       .state = "received",
                       .created = made->front().created(),
                       .terms = submission.terms}};
  TRY(attach(connection, answer.view.id, submission));
  return finalized_if_wanted(connection, submission, std::move(answer));
}

Result<std::optional<FormState>> finalize_form(Connection& connection, Shard shard, OrgId org, const std::string& client_ref) {
  auto locked = connection.run(sql::lock_form_submission, {std::to_string(shard), std::to_string(org.value), client_ref});
  TRY(locked);
  if (locked->empty()) return std::optional<FormState>{};
  const auto submission = locked->front();
  if (submission.state() == "purged")
    return fail(Error::Kind::conflict, "submission \"" + client_ref + "\" is purged: what it held is not kept any more");
  return finalize_locked(connection, {submission.id()}, std::string(submission.state()), client_ref);
}

Result<std::optional<FormState>> scan_attachment(Connection& connection, OrgId org, const std::string& attachment, Scan result,
                                                 const std::string& actor) {
  const std::string org_text = std::to_string(org.value);
  auto found = connection.run(sql::find_attachment, {org_text, attachment});
  TRY(found);
  if (found->empty()) return std::optional<FormState>{};
  auto locked = connection.run(sql::lock_form_submission_by_id,
                               {std::to_string(found->front().shard()), std::to_string(found->front().submission_id())});
  TRY(locked);
  auto scanned =
      connection.run(sql::scan_result, {org_text, attachment, std::string(result == Scan::clean ? "clean" : "infected")});
  TRY(scanned);
  if (scanned->empty())
    return fail(Error::Kind::conflict, "attachment \"" + attachment + "\" was found infected before; it stays that");
  const auto submission = locked->front();
  const SubmissionId id{submission.id()};
  FormState answer{std::string(submission.client_ref()), std::string(submission.state())};
  if (answer.state == "received") {
    auto begun = begin_if_ready(connection, id, actor);
    TRY(begun);
    answer.state = std::move(*begun);
  } else if (result == Scan::infected && answer.state != "failed") {
    const auto alert = infected_too_late_alert(answer.client_ref, submission.target());
    TRY(raise(connection, org, alert));
  }
  return answer;
}

}  // namespace waybill
