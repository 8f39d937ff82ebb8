// Sending dead letters again: who may, at which turn, and the new deliveries.
#include <set>

#include "store/dead_rows.h"
#include "store/read_rows.h"
#include "store/routes.h"

namespace waybill {
namespace {

constexpr std::uint32_t kReplayAttempts = 5;

// The first of $2 turns, $3 microseconds apart and as far from the latest one given before. Whoever takes turns holds the row
// until its transaction ends, so that nobody is given the same ones.
constexpr Statement kTurns{"replay_turns", R"(
  INSERT INTO replay_turns AS t (org_id, last_at)
  VALUES ($1, clock_timestamp() + ($2::bigint - 1) * $3::bigint * interval '1 microsecond')
  ON CONFLICT (org_id) DO UPDATE SET last_at = greatest(t.last_at + $3::bigint * interval '1 microsecond', clock_timestamp())
                                               + ($2::bigint - 1) * $3::bigint * interval '1 microsecond'
  RETURNING micros(last_at) - ($2::bigint - 1) * $3::bigint)"};

// Each becomes a delivery of its own. Attempts before it may have been sent, so its plugin searches before it sends; what they
// left behind goes along, so that whoever has it already does not get it again.
constexpr Statement kReplay{"replay_dead", R"(
  WITH fact AS MATERIALIZED (
    SELECT t.*, nextval('object_ids') * 1024 + t.shard AS delivery,
           at_micros($4::bigint + (t.place - 1) * $5::bigint) AS due
    FROM unnest($1::smallint[], $2::bigint[], $3::int[]) WITH ORDINALITY AS t(shard, letter, route, place)),
  more AS MATERIALIZED (
    SELECT f.*, l.org_id, l.submission_id, l.action_order, l.reason, l.kind, s.state, d.result::text AS progress,
           coalesce(l.payload, e.body) AS body,
           (SELECT coalesce(max(o.replay), 0) + 1 FROM deliveries o WHERE o.shard = f.shard AND o.org_id = l.org_id
              AND o.submission_id = l.submission_id AND o.id <> o.submission_id AND o.action_order = l.action_order) AS replay
    FROM fact f
    JOIN dead_letters l ON l.shard = f.shard AND l.id = f.letter
    JOIN submission_states s ON s.shard = f.shard AND s.id = l.submission_id
    JOIN deliveries d ON d.shard = f.shard AND d.id = f.letter
    LEFT JOIN edited_payloads e ON e.shard = f.shard AND e.delivery_id = f.letter),
  queued AS (
    INSERT INTO ready (shard, delivery_id, org_id, submission_id, action_order, replay, route_id, due_at, status, maybe_sent, progress, edited)
    SELECT shard, delivery, org_id, submission_id, action_order, replay, route, due, 'due', true, progress, body IS NOT NULL FROM more),
  body AS (
    INSERT INTO edited_payloads (shard, delivery_id, org_id, body)
    SELECT shard, delivery, org_id, body FROM more WHERE body IS NOT NULL),
  moved AS (
    UPDATE submissions s SET state = 'processing', reason = NULL, completed_at = NULL
    FROM (SELECT DISTINCT shard, submission_id FROM more) m
    WHERE s.shard = m.shard AND s.id = m.submission_id AND s.state = 'failed' RETURNING s.shard, s.id),
  begun AS (
    UPDATE form_submissions f SET processing_since = now() FROM moved m WHERE f.shard = m.shard AND f.submission_id = m.id),
  marked AS (
    UPDATE dead_letters l SET replayed_at = now(), replayed_by = $6, replay_delivery = m.delivery
    FROM more m WHERE l.shard = m.shard AND l.id = m.letter),
  audit AS (
    INSERT INTO audit_log (shard, submission_id, created_at, org_id, delivery_id, action, from_state, to_state, trigger, actor, actor_type,
                           metadata)
    SELECT shard, submission_id, clock_timestamp(), org_id, delivery, 'dead_letter_replayed', state,
           CASE kind WHEN 'form' THEN 'processing' ELSE 'pending' END, 'replay', $6, 'admin',
           jsonb_build_object('deadLetterId', letter::text, 'actionOrder', action_order, 'reason', reason, 'replay', replay)
    FROM more)
  SELECT delivery, micros(due) FROM more ORDER BY place)"};

std::string refusal_of(const DeadLetterState& s) {
  const bool intent = s.letter.kind == "intent";
  if (s.letter.kind != "form" && !intent) return "a submission of kind " + s.letter.kind + " cannot be replayed";
  if (s.letter.replayed) return "it was replayed already, by " + s.letter.replayed_by;
  if (s.state == "purged" || !s.kept) return "its submission is purged: what it held is not kept any more";
  if (s.unfinished) return "another delivery of the same action has not ended yet";
  if (s.infected) return "an attachment of its submission was found infected";
  const bool may_move = intent ? s.state == "exhausted" : s.state == "failed" || s.state == "processing";
  if (!may_move) return "its submission is " + s.state;
  return {};
}

// An intent whose contract is a deadline has seen it pass by the time that somebody looks: its replay gets attempts instead, as
// many as a form's action has.
std::optional<Contract> renewed(const DeadLetterState& s) {
  Contract contract = s.contract;
  if (contract.policy == Policy::deadline) {
    contract.policy = Policy::max_attempts;
    contract.max_attempts = kReplayAttempts;
    contract.max_acceptance = {};
  } else if (!s.letter.destination_edited) {
    return std::nullopt;
  }
  return contract;
}

struct Selection {
  std::size_t item;  // its place in Replays::items
  const DeadLetterState* standing;
};

// With ids, letters that are not there are told as well, and in the order of the ids.
Replays judged(const std::vector<DeliveryId>& ids, const std::vector<DeadLetterState>& standings,
               std::vector<Selection>& chosen) {
  Replays replays;
  std::set<std::pair<SubmissionId, int>> taken;
  std::size_t next = 0;
  for (const auto id : ids) {
    if (next == standings.size() || standings[next].letter.id != id) {
      replays.items.push_back({.letter = {.id = id}, .refused = no_such_letter(id)});
      continue;
    }
    const DeadLetterState& standing = standings[next++];
    ReplayItem item{.letter = standing.letter, .refused = refusal_of(standing)};
    if (item.refused.empty() && !taken.emplace(standing.letter.submission, standing.letter.action_order).second)
      item.refused = "another letter of the same action comes before it";
    if (item.refused.empty()) chosen.push_back({replays.items.size(), &standing});
    replays.items.push_back(std::move(item));
  }
  replays.count = chosen.size();
  return replays;
}

Result<void> carry_out(Connection& connection, const ReplayOrder& order, const std::vector<Selection>& chosen, Replays& replays) {
  const std::string gap = std::to_string((1'000'000 + order.rate - 1) / order.rate);
  auto first = connection.run(kTurns, {std::to_string(order.org.value), std::to_string(chosen.size()), gap});
  if (!first) return tl::unexpected(first.error());
  ArrayText shard, letter, route;
  for (const auto& [item, standing] : chosen) {
    RouteId taken = standing->route;
    if (const auto contract = renewed(*standing)) {
      auto made = route_of(connection, order.org, *contract);
      if (!made) return tl::unexpected(made.error());
      taken = *made;
    }
    shard.add(static_cast<std::int64_t>(shard_of(standing->letter.id)));
    letter.add(standing->letter.id.value);
    route.add(taken.value);
  }
  auto rows = connection.run(kReplay, {shard.take(), letter.take(), route.take(), text_of(*first, 0, 0), gap, order.actor});
  if (!rows) return tl::unexpected(rows.error());
  if (rows->size() != chosen.size()) return fail(Error::Kind::bug, "a dead letter went while its submission was locked");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    replays.items[chosen[i].item].replay = {rows->number(i, 0)};
    replays.items[chosen[i].item].due = rows->time(i, 1);
  }
  return {};
}

}  // namespace

Result<Replays> replay_in(Connection& connection, const ReplayOrder& order) {
  bool more = false;
  std::vector<DeliveryId> ids = order.filter.ids;
  if (ids.empty()) {
    auto found = to_be_replayed(connection, order.org, order.filter, kMaxReplays + 1);
    if (!found) return tl::unexpected(found.error());
    ids = std::move(*found);
    more = ids.size() > kMaxReplays;
    if (more) ids.pop_back();
  }
  if (!order.dry_run)
    if (auto locked = lock_submissions_of(connection, order.org, ids); !locked) return tl::unexpected(locked.error());
  auto standings = standings_of(connection, order.org, ids, Payloads::leave);
  if (!standings) return tl::unexpected(standings.error());
  std::vector<Selection> chosen;
  Replays replays = judged(ids, *standings, chosen);
  replays.more = more;
  if (order.dry_run || chosen.empty()) return replays;
  if (auto done = carry_out(connection, order, chosen, replays); !done) return tl::unexpected(done.error());
  return replays;
}

}  // namespace waybill
