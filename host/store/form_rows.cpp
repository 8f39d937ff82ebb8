// Moving submissions of forms: rows in, a pure decision of domain/form_pipeline, rows out.
#include "store/form_rows.h"

#include <algorithm>

#include "domain/form_pipeline.h"
#include "store/read_rows.h"
#include "store/sql/form_rows.h"

namespace waybill {
namespace {

constexpr Statement kFollowEnds = sql::follow_ends;
constexpr Statement kRaise = sql::raise_dead_letters;
constexpr Statement kLockProcessing = sql::lock_processing;
constexpr Statement kActions = sql::form_actions_standing;
constexpr Statement kOpen = sql::open_actions;
constexpr Statement kEnd = sql::end_forms;
constexpr Statement kScans = sql::scans_of;
constexpr Statement kBegin = sql::begin_form;
constexpr Statement kInfected = sql::infected_form;
constexpr Statement kCancel = sql::cancel_open;
constexpr Statement kHeld = sql::held_of;

Result<void> follow_ends(Connection& connection, const std::string& shard, std::span<const SettlementRow> rows,
                         std::vector<Parameters>& alerts) {
  ArrayText delivery, status, reason, ended, trigger, actor, metadata, dead;
  bool any = false;
  for (const auto& row : rows) {
    const Settlement& s = *row.settlement;
    if (s.status == Status::due || !(s.of_form || s.dead_letter)) continue;
    any = true;
    delivery.add(s.delivery.value);
    status.add(to_string(s.status));
    reason.add(s.reason);
    ended.add(s.ended.micros);
    trigger.add(s.trigger);
    actor.add(s.actor);
    metadata.add(s.metadata);
    dead.add_flag(s.dead_letter);
  }
  if (!any) return {};
  auto died = connection.run(kFollowEnds, {shard, delivery.take(), status.take(), reason.take(), ended.take(), trigger.take(),
                                           actor.take(), metadata.take(), dead.take()});
  if (!died) return tl::unexpected(died.error());
  if (died->size() == 0) return {};
  ArrayText org, about, words;
  for (std::size_t row = 0; row < died->size(); ++row) {
    org.add(died->number(row, 0));
    about.add(died->text(row, 1));
    words.add(died->text(row, 2));
  }
  alerts.push_back({org.take(), about.take(), words.take()});
  return {};
}

Status status_of(const Rows& rows, std::size_t row, int column) {
  return status_from(rows.text(row, column)).value_or(Status::due);
}

}  // namespace

Result<std::vector<std::string>> follow_up(Connection& connection, Shard shard, std::span<const SettlementRow> rows) {
  std::vector<Parameters> alerts;
  if (auto done = follow_ends(connection, std::to_string(shard), rows, alerts); !done) return tl::unexpected(done.error());
  std::vector<SubmissionId> forms;
  for (const auto& row : rows)
    if (row.settlement->of_form) forms.push_back(row.submission);
  auto advanced = advance(connection, shard, forms);
  if (!advanced) return tl::unexpected(advanced.error());
  for (const auto& alert : alerts)  // last: incidents are rows that many transactions want
    if (auto raised = connection.run(kRaise, alert); !raised) return tl::unexpected(raised.error());
  return std::move(advanced->ended);
}

Result<FormAdvance> advance(Connection& connection, Shard shard, const std::vector<SubmissionId>& submissions) {
  if (submissions.empty()) return FormAdvance{};
  const std::string shard_text = std::to_string(shard);
  ArrayText wanted;
  for (const auto id : submissions) wanted.add(id.value);
  auto locked = connection.run(kLockProcessing, {shard_text, wanted.take()});
  if (!locked) return tl::unexpected(locked.error());
  if (locked->size() == 0) return FormAdvance{};
  ArrayText org, id;
  for (std::size_t row = 0; row < locked->size(); ++row) {
    id.add(locked->number(row, 0));
    org.add(locked->number(row, 1));
  }
  auto rows = connection.run(kActions, {shard_text, org.take(), id.take()});
  if (!rows) return tl::unexpected(rows.error());
  const Timestamp now = locked->time(0, 2);

  FormAdvance advanced;
  ArrayText open, end, state;
  bool any_open = false, any_end = false;
  for (std::size_t row = 0; row < rows->size();) {
    const std::int64_t submission = rows->number(row, 0);
    std::vector<ActionState> actions;
    for (; row < rows->size() && rows->number(row, 0) == submission; ++row)
      actions.push_back({.order = static_cast<int>(rows->number(row, 1)),
                         .delivery = {rows->number(row, 2)},
                         .status = status_of(*rows, row, 3),
                         .attempts = static_cast<std::uint32_t>(rows->number(row, 4)),
                         .due = rows->time(row, 5)});
    const FormStep step = next_step(actions, now);
    if (step.open) {
      open.add(step.open->value);
      any_open = true;
    }
    if (!step.end.empty()) {
      end.add(submission);
      state.add(step.end);
      any_end = true;
    }
  }
  if (any_open) {
    auto opened = connection.run(kOpen, {shard_text, open.take()});
    if (!opened) return tl::unexpected(opened.error());
    advanced.moved += opened->size();
  }
  if (any_end) {
    auto ended = connection.run(kEnd, {shard_text, end.take(), state.take()});
    if (!ended) return tl::unexpected(ended.error());
    for (std::size_t row = 0; row < ended->size(); ++row) advanced.ended.emplace_back(ended->text(row, 0));
    advanced.moved += ended->size();
  }
  return advanced;
}

Result<std::string> begin_if_ready(Connection& connection, SubmissionId submission, const std::string& actor) {
  const Parameters key{std::to_string(shard_of(submission)), std::to_string(submission.value)};
  auto scans = connection.run(kScans, key);
  if (!scans) return tl::unexpected(scans.error());
  if (scans->size() != 1) return fail(Error::Kind::bug, "a form's submission has no row in form_submissions");
  const auto count = [&](int column) { return static_cast<std::size_t>(scans->number(0, column)); };
  switch (readiness_of(scans->flag(0, 0), {.attachments = count(1), .clean = count(2), .infected = count(3)})) {
    case Readiness::wait:
      return "received";
    case Readiness::run: {
      if (auto begun = connection.run(kBegin, key); !begun) return tl::unexpected(begun.error());
      auto advanced = advance(connection, shard_of(submission), {submission});
      if (!advanced) return tl::unexpected(advanced.error());
      return "processing";
    }
    case Readiness::infected: {
      if (auto cancelled = cancel_open(connection, submission); !cancelled) return tl::unexpected(cancelled.error());
      Parameters parameters = key;
      parameters.emplace_back(actor);
      if (auto failed = connection.run(kInfected, parameters); !failed) return tl::unexpected(failed.error());
      return "failed";
    }
  }
  return "received";
}

Result<bool> cancel_open(Connection& connection, SubmissionId submission) {
  const Parameters key{std::to_string(shard_of(submission)), std::to_string(submission.value)};
  if (auto cancelled = connection.run(kCancel, key); !cancelled) return tl::unexpected(cancelled.error());
  auto held = connection.run(kHeld, key);
  if (!held) return tl::unexpected(held.error());
  return held->number(0, 0) == 0;
}

}  // namespace waybill
