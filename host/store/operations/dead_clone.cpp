// Clones the submission of a dead letter under another reference.
#include "domain/idempotency.h"
#include "store/forms/form_rows.h"
#include "store/operations/dead_letters.sql.h"
#include "store/operations/dead_rows.h"
#include "store/queue/routes.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

std::string why_not_cloned(const DeadLetterState& s) {
  const auto& kind = s.letter.kind;
  if (kind != "form" && kind != "intent") return "a submission of kind " + kind + " cannot be cloned";
  if (!s.kept) return "its submission is purged: what it held is not kept any more";
  if (kind == "form" && !s.clean) return "not every attachment of its submission is clean";
  return {};
}

Result<SubmissionId> hand_in(Connection& connection, const CloneOrder& order, const DeadLetterState& old) {
  const bool form = old.letter.kind == "form";
  ArrayText place, route;
  for (const auto& action : order.actions) {
    auto id = route_of(connection, order.org, action.contract);
    TRY(id);
    place.add(static_cast<std::int64_t>(action.order));
    route.add(id->value);
  }
  const std::string org = std::to_string(order.org.value), shard = std::to_string(order.shard),
                    old_shard = std::to_string(shard_of(old.letter.submission)),
                    old_id = std::to_string(old.letter.submission.value);
  auto made = connection.run(sql::clone_submission, {shard, org, order.reference, std::string(form ? "received" : "as_delivery"),
                                                     bytea(as_view(sha256(old.payload))), old_shard, old_id, old.payload,
                                                     place.take(), route.take(), std::string(form ? "waiting" : "due")});
  TRY(made);
  if (made->empty()) return fail(Error::Kind::conflict, "reference \"" + order.reference + "\" is taken");
  const SubmissionId id{made->front().id()};
  if (!form) return id;
  auto more = connection.run(sql::clone_form_submission, {shard, std::to_string(id.value), order.reference, old_shard, old_id});
  TRY(more);
  if (!more->front().all_attached())
    return fail(Error::Kind::conflict, "an attachmentId that ends with \"~" + order.reference + "\" is taken");
  return id;
}

}  // namespace

Result<CloneResult> clone_in(Connection& connection, const CloneOrder& order) {
  TRY(lock_submissions_of(connection, order.org, {order.id}));
  auto states = states_of(connection, order.org, {order.id}, Payloads::read);
  TRY(states);
  if (states->empty()) return fail(Error::Kind::not_found, no_such_letter(order.id));
  const DeadLetterState& old = states->front();
  if (auto refused = why_not_cloned(old); !refused.empty()) return fail(Error::Kind::conflict, refused);
  auto id = hand_in(connection, order, old);
  TRY(id);
  CloneResult cloned{order.reference, old.letter.kind, "pending"};
  if (old.letter.kind == "form") {
    auto begun = begin_if_ready(connection, *id, order.actor);
    TRY(begun);
    cloned.state = std::move(*begun);
  }
  TRY(connection.run(sql::audit_clone,
                     {std::to_string(shard_of(old.letter.id)), std::to_string(old.letter.submission.value),
                      std::to_string(order.org.value), std::to_string(old.letter.id.value), order.actor, order.reference}));
  return cloned;
}

}  // namespace waybill
