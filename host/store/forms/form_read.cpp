// Reading a form's submission with everything that belongs to it.
#include <algorithm>

#include "store/forms/form_transactions.h"
#include "store/forms/forms.sql.h"
#include "store/submissions/read_rows.h"

namespace waybill {
namespace {

AttachmentView read_attachment(const sql::attachments_of_row& row) {
  return {.id = std::string(row.attachment_id()),
          .name = std::string(row.name()),
          .content_type = std::string(row.content_type()),
          .size = row.size(),
          .scan = std::string(row.scan()),
          .scanned = row.scanned()};
}

FormDeliveryView read_delivery(const sql::form_deliveries_of_row& row) {
  return {read_action_delivery(row), std::string(row.status_field()), std::string(row.ref_field()), {}};
}

void add_attempts(std::vector<FormDeliveryView>& deliveries, const RowsOf<sql::form_attempts_of_row>& rows) {
  for (const auto row : rows) {
    const auto of = std::find_if(deliveries.begin(), deliveries.end(),
                                 [&](const auto& one) { return one.delivery.value == row.delivery_id(); });
    if (of != deliveries.end()) of->history.push_back(read_attempt(row));
  }
}

template <class View, class OneRow>
Result<std::vector<View>> read_all(Connection& connection, const Query<OneRow>& query, const Parameters& parameters,
                                   View (*read)(const OneRow&)) {
  auto rows = connection.run(query, parameters);
  TRY(rows);
  std::vector<View> all;
  all.reserve(rows->size());
  for (const auto row : *rows) all.push_back(read(row));
  return all;
}

}  // namespace

Result<std::optional<FormView>> read_form(Connection& connection, Shard shard, OrgId org, const std::string& client_ref) {
  auto found =
      connection.run(sql::find_form_submission, {std::to_string(shard), std::to_string(org.value), client_ref, std::nullopt});
  TRY(found);
  if (found->empty()) return std::optional<FormView>{};
  const auto submission = found->front();
  FormView view{
      .submission = read_submission(submission), .finalized = submission.finalized(), .kept_until = submission.kept_until()};
  const std::string shard_text = std::to_string(shard), id = std::to_string(view.submission.id.value);
  auto attachments = read_all(connection, sql::attachments_of, {shard_text, id}, read_attachment);
  TRY(attachments);
  auto deliveries = read_all(connection, sql::form_deliveries_of, {shard_text, std::to_string(org.value), id}, read_delivery);
  TRY(deliveries);
  const auto attempts = connection.run(sql::form_attempts_of, {shard_text, std::to_string(org.value), id});
  TRY(attempts);
  add_attempts(*deliveries, *attempts);
  auto audit = read_all(connection, sql::audit_of, {shard_text, id}, read_audit_event<sql::audit_of_row>);
  TRY(audit);
  view.attachments = std::move(*attachments);
  view.deliveries = std::move(*deliveries);
  view.audit = std::move(*audit);
  return view;
}

}  // namespace waybill
