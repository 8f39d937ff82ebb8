// Replays dead letters: which may be replayed, when each is due, and the new deliveries.
#include <set>

#include "store/operations/dead_letters.sql.h"
#include "store/operations/dead_rows.h"
#include "store/queue/routes.h"

namespace waybill {
namespace {

constexpr std::uint32_t kReplayAttempts = 5;

std::string why_not_replayed(const DeadLetterState& s) {
  const bool intent = s.letter.kind == "intent";
  const bool stage = s.letter.kind == "pipeline";
  if (s.letter.kind != "form" && !intent && !stage) return "a submission of kind " + s.letter.kind + " cannot be replayed";
  if (s.letter.replayed) return "it was replayed already, by " + s.letter.replayed_by;
  if (s.state == "purged" || !s.kept) return "its submission is purged: what it held is not kept any more";
  if (s.unfinished) return "another delivery of the same action has not ended yet";
  if (s.infected) return "an attachment of its submission was found infected";
  if (stage) return s.present_stage ? "" : "its submission has left that state: it is " + s.state;
  const bool may_move = intent ? s.state == "exhausted" || s.state == "rejected" : s.state == "failed" || s.state == "processing";
  if (!may_move) return "its submission is " + s.state;
  return {};
}

// The deadline of an intent has passed by the time that somebody replays it: its replay gets attempts instead, as many as a
// form's action has.
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
  const DeadLetterState* dead;
};

// One item for each id, in their order, also for letters that do not exist.
Replays judged(const std::vector<DeliveryId>& ids, const std::vector<DeadLetterState>& states, std::vector<Selection>& chosen) {
  Replays replays;
  std::set<std::pair<SubmissionId, int>> taken;
  std::size_t next = 0;
  for (const auto id : ids) {
    if (next == states.size() || states[next].letter.id != id) {
      replays.items.push_back({.letter = {.id = id}, .refused = no_such_letter(id)});
      continue;
    }
    const DeadLetterState& dead = states[next++];
    ReplayItem item{.letter = dead.letter, .refused = why_not_replayed(dead)};
    if (item.refused.empty() && !taken.emplace(dead.letter.submission, dead.letter.action_order).second)
      item.refused = "another letter of the same action comes before it";
    if (item.refused.empty()) chosen.push_back({replays.items.size(), &dead});
    replays.items.push_back(std::move(item));
  }
  replays.count = chosen.size();
  return replays;
}

Result<void> carry_out(Connection& connection, const ReplayOrder& order, const std::vector<Selection>& chosen, Replays& replays) {
  const std::string gap = std::to_string((1'000'000 + order.rate - 1) / order.rate);
  auto first = connection.run(sql::replay_turns, {std::to_string(order.org.value), std::to_string(chosen.size()), gap});
  TRY(first);
  ArrayText shard, letter, route;
  for (const auto& [item, dead] : chosen) {
    RouteId taken = dead->route;
    if (const auto contract = renewed(*dead)) {
      auto made = route_of(connection, order.org, *contract);
      TRY(made);
      taken = *made;
    }
    shard.add(static_cast<std::int64_t>(shard_of(dead->letter.id)));
    letter.add(dead->letter.id.value);
    route.add(taken.value);
  }
  auto rows = connection.run(sql::replay_dead, {shard.take(), letter.take(), route.take(),
                                                std::to_string(first->front().first_turn().micros), gap, order.actor});
  TRY(rows);
  if (rows->size() != chosen.size()) return fail(Error::Kind::bug, "a dead letter went while its submission was locked");
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const auto row = (*rows)[i];
    replays.items[chosen[i].item].replay = {row.delivery()};
    replays.items[chosen[i].item].due = row.due();
  }
  return {};
}

}  // namespace

Result<Replays> replay_in(Connection& connection, const ReplayOrder& order) {
  bool more = false;
  std::vector<DeliveryId> ids = order.filter.ids;
  if (ids.empty()) {
    auto found = to_be_replayed(connection, order.org, order.filter, kMaxReplays + 1);
    TRY(found);
    ids = std::move(*found);
    more = ids.size() > kMaxReplays;
    if (more) ids.pop_back();
  }
  if (!order.dry_run) TRY(lock_submissions_of(connection, order.org, ids));
  auto states = states_of(connection, order.org, ids, Payloads::leave);
  TRY(states);
  std::vector<Selection> chosen;
  Replays replays = judged(ids, *states, chosen);
  replays.more = more;
  if (order.dry_run || chosen.empty()) return replays;
  TRY(carry_out(connection, order, chosen, replays));
  return replays;
}

}  // namespace waybill
