// Moves submissions of forms: reads rows, asks domain/form_pipeline, writes rows.
#include "store/forms/form_rows.h"

#include <algorithm>

#include "store/forms/form_rows.sql.h"
#include "store/operations/alerts.sql.h"

namespace waybill {
namespace {

Result<void> follow_ends(Connection& connection, const std::string& shard, std::span<const SettlementRow> rows,
                         std::vector<Parameters>& alerts) {
  ArrayText delivery, status, reason, ended, action, trigger, actor, metadata, dead, about, message;
  bool any = false;
  for (const auto& row : rows) {
    const Settlement& s = *row.settlement;
    const bool is_dead = s.dead_letter && !row.is_handled;
    if (s.status == Status::due || !(s.of_form || is_dead)) continue;
    any = true;
    delivery.add(s.delivery.value);
    status.add(to_string(s.status));
    reason.add(s.reason);
    ended.add(s.ended.micros);
    s.of_form && !s.action.empty() ? action.add(s.action) : action.add_null();  // an intent's is written with its settlement
    trigger.add(s.trigger);
    actor.add(s.actor);
    metadata.add(s.metadata);
    dead.add_flag(is_dead);
    s.alert ? about.add(s.alert->about) : about.add_null();
    s.alert ? message.add(s.alert->message) : message.add_null();
  }
  if (!any) return {};
  auto died = connection.run(sql::follow_ends,
                             {shard, delivery.take(), status.take(), reason.take(), ended.take(), action.take(), trigger.take(),
                              actor.take(), metadata.take(), dead.take(), about.take(), message.take()});
  TRY(died);
  if (died->empty()) return {};
  ArrayText org, incident, text;
  for (const auto row : *died) {
    org.add(row.org_id());
    incident.add(row.about().value_or(""));
    text.add(row.message().value_or(""));
  }
  alerts.push_back({org.take(), incident.take(), text.take()});
  return {};
}

ActionState read_action_state(const sql::form_action_states_row& row) {
  return {.order = static_cast<int>(row.action_order()),
          .delivery = {row.delivery_id()},
          .status = status_from(row.status()).value_or(Status::due),
          .attempts = static_cast<std::uint32_t>(row.attempts()),
          .due = row.due()};
}

}  // namespace

Result<std::vector<std::string>> follow_up(Connection& connection, Shard shard, std::span<const SettlementRow> rows) {
  std::vector<Parameters> alerts;
  TRY(follow_ends(connection, std::to_string(shard), rows, alerts));
  std::vector<SubmissionId> forms;
  for (const auto& row : rows)
    if (row.settlement->of_form) forms.push_back(row.submission);
  auto advanced = advance_forms(connection, shard, forms);
  TRY(advanced);
  for (const auto& alert : alerts)  // last: incidents are rows that many transactions want
    TRY(connection.run(sql::raise_dead_letters, alert));
  return std::move(advanced->ended);
}

Result<FormAdvance> advance_forms(Connection& connection, Shard shard, const std::vector<SubmissionId>& submissions) {
  if (submissions.empty()) return FormAdvance{};
  const std::string shard_text = std::to_string(shard);
  ArrayText wanted;
  for (const auto id : submissions) wanted.add(id.value);
  auto locked = connection.run(sql::lock_processing, {shard_text, wanted.take()});
  TRY(locked);
  if (locked->empty()) return FormAdvance{};
  ArrayText org, id;
  for (const auto row : *locked) {
    id.add(row.id());
    org.add(row.org_id());
  }
  auto rows = connection.run(sql::form_action_states, {shard_text, org.take(), id.take()});
  TRY(rows);
  const Timestamp now = locked->front().now();

  FormAdvance advanced;
  ArrayText open, end, state, action, reason;
  std::string trigger;
  bool any_open = false, any_end = false;
  for (std::size_t at = 0; at < rows->size();) {
    const std::int64_t submission = (*rows)[at].submission_id();
    std::vector<ActionState> actions;
    for (; at < rows->size() && (*rows)[at].submission_id() == submission; ++at)
      actions.push_back(read_action_state((*rows)[at]));
    const FormStep step = next_form_step(actions, now);
    if (step.open) {
      open.add(step.open->value);
      any_open = true;
    }
    if (!step.end.empty()) {
      const auto& move = end_of_form(step.end);
      end.add(submission);
      trigger = move.trigger;
      state.add(move.to);
      action.add(move.audit);
      move.reason.empty() ? reason.add_null() : reason.add(move.reason);
      any_end = true;
    }
  }
  if (any_open) {
    auto opened = connection.run(sql::open_actions, {shard_text, open.take()});
    TRY(opened);
    advanced.moved += opened->size();
  }
  if (any_end) {
    auto ended = connection.run(sql::end_forms, {shard_text, end.take(), state.take(), action.take(), reason.take(), trigger});
    TRY(ended);
    for (const auto row : *ended) advanced.ended.push_back(text_or_empty(row.to_state()));
    advanced.moved += ended->size();
  }
  return advanced;
}

Result<std::string> begin_if_ready(Connection& connection, SubmissionId submission, const std::string& actor) {
  const Parameters key{std::to_string(shard_of(submission)), std::to_string(submission.value)};
  auto scans = connection.run(sql::scans_of, key);
  TRY(scans);
  if (scans->size() != 1) return fail(Error::Kind::bug, "a form's submission has no row in form_submissions");
  const auto scanned = scans->front();
  switch (readiness_of(scanned.is_final(), {.attachments = static_cast<std::size_t>(scanned.attachments()),
                                            .clean = static_cast<std::size_t>(scanned.clean()),
                                            .infected = static_cast<std::size_t>(scanned.infected())})) {
    case Readiness::wait:
      return "received";
    case Readiness::run: {
      TRY(connection.run(sql::begin_form, key));
      TRY(advance_forms(connection, shard_of(submission), {submission}));
      return "processing";
    }
    case Readiness::infected: {
      TRY(cancel_open(connection, submission));
      const auto& move = form_infected();
      auto failed = connection.run(sql::infected_form, {key[0], key[1], move.reason, move.audit, move.trigger, actor});
      TRY(failed);
      for (const auto row : *failed) {
        const auto alert = infected_alert(row.client_ref(), row.target());
        TRY(raise(connection, {row.org_id()}, alert));
      }
      return move.to;
    }
  }
  return "received";
}

Result<void> raise(Connection& connection, OrgId org, const FormAlert& alert) {
  TRY(connection.run(sql::raise_alert, {std::to_string(org.value), std::string(alert.kind), alert.about, alert.message}));
  return {};
}

Result<bool> cancel_open(Connection& connection, SubmissionId submission) {
  const Parameters key{std::to_string(shard_of(submission)), std::to_string(submission.value)};
  TRY(connection.run(sql::cancel_open, key));
  auto held = connection.run(sql::held_of, key);
  TRY(held);
  return held->front().count() == 0;
}

}  // namespace waybill
