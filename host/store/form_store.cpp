// Submissions of forms on their way in, and what their surface asks.
#include "store/form_loading.h"
#include "store/form_rows.h"
#include "store/forms.h"
#include "store/purge_order.h"
#include "store/read_rows.h"
#include "store/routes.h"
#include "store/sql/forms.h"

namespace waybill {
namespace {

constexpr Statement kNow = sql::now;
constexpr Statement kSubmit = sql::submit_form;
constexpr Statement kAttach = sql::attach;
constexpr Statement kFind = sql::find_form_submission;
constexpr Statement kLock = sql::lock_form_submission;
constexpr Statement kLockById = sql::lock_form_submission_by_id;
constexpr Statement kFinalize = sql::finalize;
constexpr Statement kFindAttachment = sql::find_attachment;
constexpr Statement kScan = sql::scan_result;
constexpr Statement kTooLate = sql::infected_too_late;
constexpr Statement kAttachments = sql::attachments_of;
constexpr Statement kDeliveries = sql::form_deliveries_of;
constexpr Statement kAudit = sql::audit_of;
constexpr Statement kStuck = sql::forms_in_processing;
constexpr Statement kAlive = sql::forms_alive;
constexpr Statement kExpired = sql::expired_forms;
constexpr Statement kPurge = sql::purge_form;
constexpr Statement kOverdue = sql::overdue_form;

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
