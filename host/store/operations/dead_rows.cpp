// Finds dead letters, and reads what decides whether one may be edited, replayed or cloned.
#include "store/operations/dead_rows.h"

#include "domain/form.h"
#include "store/operations/dead_letters.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

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

std::optional<std::string> ids_of(const DeadFilter& filter) {
  if (filter.ids.empty()) return std::nullopt;
  ArrayText list;
  for (const auto id : filter.ids) list.add(id.value);
  return list.take();
}

Parameters parameters_of(OrgId org, const DeadFilter& filter) {
  return {std::to_string(org.value),
          null_if_empty(filter.reference),
          null_if_empty(filter.form_id),
          null_if_empty(filter.reason),
          micros_or_null(filter.before),
          micros_or_null(filter.after),
          ids_of(filter),
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

Result<DeadPage> letters_of(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most,
                            std::optional<DeliveryCursor> after, std::size_t max_walked) {
  auto from = after.value_or(DeliveryCursor{kEndOfTime, {}});
  if (filter.before && *filter.before <= from.at) from = {*filter.before, {}};
  const auto ids = ids_of(filter);
  auto rows = connection.run(
      ids ? sql::dead_letters_of_ids : sql::dead_letters,
      {std::to_string(org.value), null_if_empty(filter.reference), null_if_empty(filter.form_id), null_if_empty(filter.reason),
       std::to_string(filter.after.value_or(Timestamp{}).micros), std::string(filter.replayed ? "true" : "false"),
       std::to_string(from.at.micros), std::to_string(from.id.value), std::to_string(most + 1),
       ids ? ids : std::optional(std::to_string(max_walked))});
  TRY(rows);
  DeadPage page;
  for (std::size_t row = 0; row < rows->size(); ++row) {
    auto letter = read_letter(*rows, row);
    const bool fits = rows->flag(row, 14), is_where_the_walk_stopped = rows->flag(row, 15);
    if (fits && page.letters.size() == most) {
      page.next = DeliveryCursor{page.letters.back().died, page.letters.back().id};
      return page;
    }
    if (is_where_the_walk_stopped) page.next = DeliveryCursor{letter.died, letter.id};
    if (fits) page.letters.push_back(std::move(letter));
  }
  return page;
}

Result<std::vector<DeliveryId>> to_be_replayed(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most) {
  Parameters parameters = parameters_of(org, filter);
  parameters.emplace_back(std::to_string(most));
  auto rows = connection.run(sql::dead_to_be_replayed, parameters);
  TRY(rows);
  std::vector<DeliveryId> ids;
  for (std::size_t row = 0; row < rows->size(); ++row) ids.push_back({rows->number(row, 0)});
  return ids;
}

Result<std::vector<DeadLetterState>> states_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids,
                                               Payloads payloads) {
  Parameters parameters = keys_of(org, ids);
  parameters.emplace_back(payloads == Payloads::read ? "true" : "false");
  auto rows = connection.run(sql::dead_letter_states, parameters);
  TRY(rows);
  std::vector<DeadLetterState> states;
  for (std::size_t row = 0; row < rows->size(); ++row) {
    auto contract = contract_from_json(rows->text(row, 17));
    TRY(contract);
    if (!rows->is_null(row, 18)) contract->destination = text_of(*rows, row, 18);
    states.push_back({.letter = read_letter(*rows, row),
                      .state = text_of(*rows, row, 14),
                      .kept = rows->flag(row, 23),
                      .payload = text_of(*rows, row, 15),
                      .contract = std::move(*contract),
                      .route = {rows->number(row, 16)},
                      .result = text_of(*rows, row, 19),
                      .unfinished = rows->flag(row, 20),
                      .infected = rows->flag(row, 21),
                      .clean = rows->flag(row, 22),
                      .present_stage = rows->flag(row, 24)});
  }
  return states;
}

Result<void> lock_submissions_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids) {
  TRY(connection.run(sql::lock_submissions_of_dead, keys_of(org, ids)));
  return {};
}

std::string no_such_letter(DeliveryId id) { return "there is no dead letter " + std::to_string(id.value); }

}  // namespace waybill
