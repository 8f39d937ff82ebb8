// Reading a form's submission with everything that belongs to it.
#include <algorithm>

#include "store/forms/form_transactions.h"
#include "store/forms/forms.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

AttachmentView read_attachment(const Rows& rows, std::size_t row) {
  return {.id = text_of(rows, row, 0),
          .name = text_of(rows, row, 1),
          .content_type = text_of(rows, row, 2),
          .size = rows.number(row, 3),
          .scan = text_of(rows, row, 4),
          .scanned = time_of(rows, row, 5)};
}

FormDeliveryView read_delivery(const Rows& rows, std::size_t row) {
  return {read_action_delivery(rows, row), text_of(rows, row, 11), text_of(rows, row, 12), {}};
}

void add_attempts(std::vector<FormDeliveryView>& deliveries, const Rows& rows) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto of = std::find_if(deliveries.begin(), deliveries.end(),
                                 [&](const auto& one) { return one.delivery.value == rows.number(row, 0); });
    if (of != deliveries.end()) of->history.push_back(read_attempt(rows, row, 1));
  }
}

template <class View>
Result<std::vector<View>> read_all(Connection& connection, const Statement& statement, const Parameters& parameters,
                                   View (*read)(const Rows&, std::size_t)) {
  auto rows = connection.run(statement, parameters);
  TRY(rows);
  std::vector<View> all;
  all.reserve(rows->size());
  for (std::size_t row = 0; row < rows->size(); ++row) all.push_back(read(*rows, row));
  return all;
}

}  // namespace

Result<std::optional<FormView>> read_form(Connection& connection, Shard shard, OrgId org, const std::string& client_ref) {
  auto found =
      connection.run(sql::find_form_submission, {std::to_string(shard), std::to_string(org.value), client_ref, std::nullopt});
  TRY(found);
  if (found->size() == 0) return std::optional<FormView>{};
  FormView view{
      .submission = read_submission(*found, 0), .finalized = time_of(*found, 0, 9), .kept_until = time_of(*found, 0, 10)};
  const std::string shard_text = std::to_string(shard), id = std::to_string(view.submission.id.value);
  auto attachments = read_all(connection, sql::attachments_of, {shard_text, id}, read_attachment);
  TRY(attachments);
  auto deliveries = read_all(connection, sql::form_deliveries_of, {shard_text, std::to_string(org.value), id}, read_delivery);
  TRY(deliveries);
  const auto attempts = connection.run(sql::form_attempts_of, {shard_text, std::to_string(org.value), id});
  TRY(attempts);
  add_attempts(*deliveries, *attempts);
  auto audit = read_all(connection, sql::audit_of, {shard_text, id}, read_audit_event);
  TRY(audit);
  view.attachments = std::move(*attachments);
  view.deliveries = std::move(*deliveries);
  view.audit = std::move(*audit);
  return view;
}

}  // namespace waybill
