// Finding dead letters, and what is to be known before acting on one.
#include "store/dead_rows.h"

#include "core/form.h"
#include "store/read_rows.h"

namespace waybill {
namespace {

#define WAYBILL_LETTER                                                                                                  \
  "l.id, l.submission_id, l.kind, l.client_ref, l.target, l.action_order, l.action_type, l.reason, micros(l.died_at), " \
  "l.payload IS NOT NULL, l.destination IS NOT NULL, micros(l.replayed_at), coalesce(l.replayed_by, ''), "              \
  "coalesce(l.replay_delivery, 0)"
// $1 organisation, $2 reference, $3 target, $4 reason, $5 before, $6 after, $7 ids, $8 replayed ones as well; null allows any.
#define WAYBILL_FILTER                                                                                            \
  " FROM dead_letters l WHERE l.org_id = $1 AND ($2::text IS NULL OR l.client_ref = $2)"                          \
  " AND ($3::text IS NULL OR l.target = $3) AND ($4::text IS NULL OR l.reason = $4)"                              \
  " AND ($5::bigint IS NULL OR l.died_at < at_micros($5)) AND ($6::bigint IS NULL OR l.died_at >= at_micros($6))" \
  " AND ($7::bigint[] IS NULL OR l.id = ANY ($7)) AND ($8 OR l.replayed_at IS NULL)"

constexpr Statement kList{"dead_letters", "SELECT " WAYBILL_LETTER WAYBILL_FILTER
                                          " AND ($9::bigint IS NULL OR (l.died_at, l.id) < (at_micros($9), $10::bigint))"
                                          " ORDER BY l.died_at DESC, l.id DESC LIMIT $11"};
constexpr Statement kSelect{"dead_to_be_replayed",
                            "SELECT l.id" WAYBILL_FILTER " ORDER BY l.kind NOT IN ('form', 'intent'), l.died_at, l.id LIMIT $9"};

constexpr Statement kStandings{"dead_standings", "SELECT " WAYBILL_LETTER R"(,
         s.state, CASE WHEN $4 THEN coalesce(convert_from(coalesce(l.payload, e.body, b.body), 'UTF8'), '') ELSE '' END,
         d.route_id, c.contract, l.destination, CASE WHEN $4 THEN coalesce(d.result::text, '') ELSE '' END,
         EXISTS (SELECT FROM ready r WHERE r.shard = l.shard AND r.org_id = l.org_id AND r.submission_id = l.submission_id
                   AND r.action_order = l.action_order AND r.delivery_id <> r.submission_id),
         EXISTS (SELECT FROM attachments a WHERE a.shard = l.shard AND a.submission_id = l.submission_id AND a.scan = 'infected'),
         NOT EXISTS (SELECT FROM attachments a WHERE a.shard = l.shard AND a.submission_id = l.submission_id AND a.scan <> 'clean'),
         b.body IS NOT NULL
  FROM unnest($2::smallint[], $3::bigint[]) WITH ORDINALITY AS t(shard, id, place)
  JOIN dead_letters l ON l.shard = t.shard AND l.id = t.id AND l.org_id = $1
  JOIN submission_states s ON s.shard = l.shard AND s.id = l.submission_id
  JOIN deliveries d ON d.shard = l.shard AND d.id = l.id
  JOIN contract_snapshots c ON c.route_id = d.route_id
  JOIN submissions b ON b.shard = l.shard AND b.id = l.submission_id
  LEFT JOIN edited_payloads e ON e.shard = l.shard AND e.delivery_id = l.id
  ORDER BY t.place)"};

constexpr Statement kLock{"lock_submissions_of_dead", R"(
  SELECT s.id FROM unnest($2::smallint[], $3::bigint[]) AS t(shard, id)
  JOIN dead_letters l ON l.shard = t.shard AND l.id = t.id AND l.org_id = $1
  JOIN submissions s ON s.shard = l.shard AND s.id = l.submission_id ORDER BY s.id FOR UPDATE OF s)"};

DeadLetter read_letter(const Rows& rows, std::size_t row) {
  return {.id = {rows.number(row, 0)},
          .submission = {rows.number(row, 1)},
          .kind = text_of(rows, row, 2),
          .reference = text_of(rows, row, 3),
          .target = text_of(rows, row, 4),
          .action_order = static_cast<int>(rows.number(row, 5)),
          .action_type = text_of(rows, row, 6),
          .reason = text_of(rows, row, 7),
          .died = rows.time(row, 8),
          .fields_edited = rows.flag(row, 9),
          .destination_edited = rows.flag(row, 10),
          .replayed = time_of(rows, row, 11),
          .replayed_by = text_of(rows, row, 12),
          .replay = {rows.number(row, 13)}};
}

std::optional<std::string> micros_or_null(const std::optional<Timestamp>& time) {
  return time ? std::optional(std::to_string(time->micros)) : std::nullopt;
}

Parameters parameters_of(OrgId org, const DeadFilter& filter) {
  std::optional<std::string> ids;
  if (!filter.ids.empty()) {
    ArrayText list;
    for (const auto id : filter.ids) list.add(id.value);
    ids = list.take();
  }
  return {std::to_string(org.value),
          null_if_empty(filter.reference),
          null_if_empty(filter.form_id),
          null_if_empty(filter.reason),
          micros_or_null(filter.before),
          micros_or_null(filter.after),
          ids,
          std::string(filter.replayed ? "true" : "false")};
}

Parameters keys_of(OrgId org, const std::vector<DeliveryId>& ids) {
  ArrayText shard, id;
  for (const auto one : ids) {
    shard.add(static_cast<std::int64_t>(shard_of(one)));
    id.add(one.value);
  }
  return {std::to_string(org.value), shard.take(), id.take()};
}

}  // namespace

Result<std::vector<DeadLetter>> letters_of(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most,
                                           std::optional<DeadCursor> after) {
  Parameters parameters = parameters_of(org, filter);
  parameters.push_back(after ? std::optional(std::to_string(after->died.micros)) : std::nullopt);
  parameters.push_back(after ? std::optional(std::to_string(after->id.value)) : std::nullopt);
  parameters.emplace_back(std::to_string(most));
  auto rows = connection.run(kList, parameters);
  if (!rows) return tl::unexpected(rows.error());
  std::vector<DeadLetter> letters;
  for (std::size_t row = 0; row < rows->size(); ++row) letters.push_back(read_letter(*rows, row));
  return letters;
}

Result<std::vector<DeliveryId>> to_be_replayed(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most) {
  Parameters parameters = parameters_of(org, filter);
  parameters.emplace_back(std::to_string(most));
  auto rows = connection.run(kSelect, parameters);
  if (!rows) return tl::unexpected(rows.error());
  std::vector<DeliveryId> ids;
  for (std::size_t row = 0; row < rows->size(); ++row) ids.push_back({rows->number(row, 0)});
  return ids;
}

Result<std::vector<DeadLetterState>> standings_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids,
                                                  Payloads payloads) {
  Parameters parameters = keys_of(org, ids);
  parameters.emplace_back(payloads == Payloads::read ? "true" : "false");
  auto rows = connection.run(kStandings, parameters);
  if (!rows) return tl::unexpected(rows.error());
  std::vector<DeadLetterState> standings;
  for (std::size_t row = 0; row < rows->size(); ++row) {
    auto contract = contract_from_json(rows->text(row, 17));
    if (!contract) return tl::unexpected(contract.error());
    if (!rows->is_null(row, 18)) contract->destination = text_of(*rows, row, 18);
    standings.push_back({.letter = read_letter(*rows, row),
                         .state = text_of(*rows, row, 14),
                         .kept = rows->flag(row, 23),
                         .payload = text_of(*rows, row, 15),
                         .contract = std::move(*contract),
                         .route = {rows->number(row, 16)},
                         .result = text_of(*rows, row, 19),
                         .unfinished = rows->flag(row, 20),
                         .infected = rows->flag(row, 21),
                         .clean = rows->flag(row, 22)});
  }
  return standings;
}

Result<void> lock_submissions_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids) {
  if (auto locked = connection.run(kLock, keys_of(org, ids)); !locked) return tl::unexpected(locked.error());
  return {};
}

std::string no_such_letter(DeliveryId id) { return "there is no dead letter " + std::to_string(id.value); }

}  // namespace waybill
