// Handing in the submission of a dead letter anew, under another reference.
#include "domain/idempotency.h"
#include "store/dead_rows.h"
#include "store/form_rows.h"
#include "store/read_rows.h"
#include "store/routes.h"

namespace waybill {
namespace {

// Kind, pipeline and target are the old one's. Nothing if the reference is taken.
constexpr Statement kClone{"clone_submission", R"(
  WITH made AS (
    INSERT INTO submissions (shard, id, org_id, kind, client_ref, pipeline, target, state, payload_hash, created_at, body)
    SELECT $1, nextval('object_ids') * 1024 + $1::smallint, $2, kind, $3, pipeline, target, $4, $5, now(), convert_to($8, 'UTF8')
    FROM submissions WHERE shard = $6 AND id = $7
    ON CONFLICT DO NOTHING RETURNING id),
  queued AS (
    INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, route_id, due_at, status, queued)
    SELECT $1, nextval('object_ids') * 1024 + $1::smallint, $2, made.id, t.place, t.route, now(), $11::delivery_status, $11 = 'due'
    FROM made, unnest($9::smallint[], $10::int[]) AS t(place, route))
  SELECT id FROM made)"};

// It is kept no longer than the old one. The objects are the same, so are the scanner's words about them.
constexpr Statement kCloneForm{"clone_form_submission", R"(
  WITH form AS (
    INSERT INTO form_submissions (shard, submission_id, org_id, finalized_at, retention_expires_at)
    SELECT $1, $2, org_id, now(), retention_expires_at FROM form_submissions WHERE shard = $4 AND submission_id = $5),
  attached AS (
    INSERT INTO attachments (org_id, attachment_id, shard, submission_id, position, name, content_type, size, object_uri, scan, scanned_at)
    SELECT org_id, attachment_id || '~' || $3::text, $1, $2, position, name, content_type, size, object_uri, scan, scanned_at
    FROM attachments WHERE shard = $4 AND submission_id = $5
    ON CONFLICT DO NOTHING RETURNING 1)
  SELECT (SELECT count(*) FROM attached) = (SELECT count(*) FROM attachments WHERE shard = $4 AND submission_id = $5))"};

constexpr Statement kAudit{"audit_clone", R"(
  INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, trigger, actor, actor_type, metadata)
  VALUES ($1, $2, clock_timestamp(), $3, $4, 'dead_letter_cloned', 'clone', $5, 'admin',
          jsonb_build_object('deadLetterId', $4::bigint::text, 'reference', $6::text)))"};

std::string refusal_of(const DeadLetterState& s) {
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
    if (!id) return tl::unexpected(id.error());
    place.add(static_cast<std::int64_t>(action.order));
    route.add(id->value);
  }
  const std::string org = std::to_string(order.org.value), shard = std::to_string(order.shard),
                    old_shard = std::to_string(shard_of(old.letter.submission)),
                    old_id = std::to_string(old.letter.submission.value);
  auto made = connection.run(
      kClone, {shard, org, order.reference, std::string(form ? "received" : "as_delivery"), bytea(as_view(sha256(old.payload))),
               old_shard, old_id, old.payload, place.take(), route.take(), std::string(form ? "waiting" : "due")});
  if (!made) return tl::unexpected(made.error());
  if (made->size() == 0) return fail(Error::Kind::conflict, "reference \"" + order.reference + "\" is taken");
  const SubmissionId id{made->number(0, 0)};
  if (!form) return id;
  auto more = connection.run(kCloneForm, {shard, std::to_string(id.value), order.reference, old_shard, old_id});
  if (!more) return tl::unexpected(more.error());
  if (!more->flag(0, 0))
    return fail(Error::Kind::conflict, "an attachmentId that ends with \"~" + order.reference + "\" is taken");
  return id;
}

}  // namespace

Result<CloneResult> clone_in(Connection& connection, const CloneOrder& order) {
  if (auto locked = lock_submissions_of(connection, order.org, {order.id}); !locked) return tl::unexpected(locked.error());
  auto standings = standings_of(connection, order.org, {order.id}, Payloads::read);
  if (!standings) return tl::unexpected(standings.error());
  if (standings->empty()) return fail(Error::Kind::not_found, no_such_letter(order.id));
  const DeadLetterState& old = standings->front();
  if (auto refused = refusal_of(old); !refused.empty()) return fail(Error::Kind::conflict, refused);
  auto id = hand_in(connection, order, old);
  if (!id) return tl::unexpected(id.error());
  CloneResult cloned{order.reference, old.letter.kind, "pending"};
  if (old.letter.kind == "form") {
    auto begun = begin_if_ready(connection, *id, order.actor);
    if (!begun) return tl::unexpected(begun.error());
    cloned.state = std::move(*begun);
  }
  auto audited = connection.run(
      kAudit, {std::to_string(shard_of(old.letter.id)), std::to_string(old.letter.submission.value),
               std::to_string(order.org.value), std::to_string(old.letter.id.value), order.actor, order.reference});
  if (!audited) return tl::unexpected(audited.error());
  return cloned;
}

}  // namespace waybill
