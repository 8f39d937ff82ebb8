// Finds dead letters, and reads what decides whether one may be edited, replayed or cloned.
#include "store/operations/dead_rows.h"

#include "domain/form.h"
#include "store/operations/dead_letters.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

// The columns of the part `letter`.
template <class OneRow>
DeadLetter read_letter(const OneRow& row) {
  return {.id = {row.id()},
          .submission = {row.submission_id()},
          .kind = std::string(row.kind()),
          .reference = std::string(row.client_ref()),
          .target = std::string(row.target()),
          .action_order = static_cast<int>(row.action_order()),
          .action_type = std::string(row.action_type()),
          .reason = std::string(row.reason()),
          .died = row.died(),
          .fields_edited = row.fields_edited(),
          .destination_edited = row.destination_edited(),
          .replayed = row.replayed(),
          .replayed_by = std::string(row.replayed_by()),
          .replay = {row.replay()}};
}

// The rows of dead_letters or dead_letters_of_ids; one more than `most` says that there is another page.
template <class OneRow>
Result<DeadPage> page_of(const Result<RowsOf<OneRow>>& rows, std::size_t most) {
  TRY(rows);
  DeadPage page;
  for (const auto row : *rows) {
    auto letter = read_letter(row);
    if (row.fits() && page.letters.size() == most) {
      page.next = DeliveryCursor{page.letters.back().died, page.letters.back().id};
      return page;
    }
    if (row.walk_stopped()) page.next = DeliveryCursor{letter.died, letter.id};
    if (row.fits()) page.letters.push_back(std::move(letter));
  }
  return page;
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
  const Parameters parameters{std::to_string(org.value),
                              null_if_empty(filter.reference),
                              null_if_empty(filter.form_id),
                              null_if_empty(filter.reason),
                              std::to_string(filter.after.value_or(Timestamp{}).micros),
                              std::string(filter.replayed ? "true" : "false"),
                              std::to_string(from.at.micros),
                              std::to_string(from.id.value),
                              std::to_string(most + 1),
                              ids ? ids : std::optional(std::to_string(max_walked))};
  return ids ? page_of(connection.run(sql::dead_letters_of_ids, parameters), most)
             : page_of(connection.run(sql::dead_letters, parameters), most);
}

Result<std::vector<DeliveryId>> to_be_replayed(Connection& connection, OrgId org, const DeadFilter& filter, std::size_t most) {
  Parameters parameters = parameters_of(org, filter);
  parameters.emplace_back(std::to_string(most));
  auto rows = connection.run(sql::dead_to_be_replayed, parameters);
  TRY(rows);
  std::vector<DeliveryId> ids;
  for (const auto row : *rows) ids.push_back({row.id()});
  return ids;
}

Result<std::vector<DeadLetterState>> states_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids,
                                               Payloads payloads) {
  Parameters parameters = keys_of(org, ids);
  parameters.emplace_back(payloads == Payloads::read ? "true" : "false");
  auto rows = connection.run(sql::dead_letter_states, parameters);
  TRY(rows);
  std::vector<DeadLetterState> states;
  for (const auto row : *rows) {
    auto contract = contract_from_json(row.contract());
    TRY(contract);
    if (row.destination()) contract->destination = *row.destination();
    states.push_back({.letter = read_letter(row),
                      .state = std::string(row.state()),
                      .kept = row.kept(),
                      .payload = std::string(row.payload()),
                      .contract = std::move(*contract),
                      .route = {row.route_id()},
                      .result = std::string(row.result()),
                      .unfinished = row.unfinished(),
                      .infected = row.infected(),
                      .clean = row.clean(),
                      .present_stage = row.present_stage()});
  }
  return states;
}

Result<void> lock_submissions_of(Connection& connection, OrgId org, const std::vector<DeliveryId>& ids) {
  TRY(connection.run(sql::lock_submissions_of_dead, keys_of(org, ids)));
  return {};
}

std::string no_such_letter(DeliveryId id) { return "there is no dead letter " + std::to_string(id.value); }

}  // namespace waybill
