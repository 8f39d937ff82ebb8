// Reads pages of submissions by the indexes of their times.
#include "store/submission_list.h"

#include "store/read_rows.h"
#include "store/sql/lists.h"
#include "store/tenant_link.h"

namespace waybill {
namespace {

DeliveryCursor behind(const SubmissionView& view) { return {view.created, DeliveryId{view.id.value}}; }

Parameters parameters_of(OrgId org, const SubmissionFilter& filter, std::size_t most, const std::optional<DeliveryCursor>& after,
                         std::size_t max_walked) {
  const auto from = after.value_or(DeliveryCursor{kEndOfTime, {}});
  return {std::to_string(org.value),
          std::to_string(filter.since.micros),
          std::to_string(filter.until.micros),
          std::to_string(from.at.micros),
          std::to_string(from.id.value),
          std::to_string(max_walked),
          std::to_string(most + 1),
          filter.status};
}

ListedSubmission read_listed(const Rows& rows, std::size_t row, bool has_pipelines) {
  ListedSubmission listed{read_submission(rows, row), {}};
  if (!has_pipelines || rows.is_null(row, 10)) return listed;
  const auto& view = listed.view;
  listed.of_pipeline = PipelineListItem{.id = view.id,
                                        .client_ref = view.client_ref,
                                        .pipeline = view.target,
                                        .version = static_cast<int>(rows.number(row, 10)),
                                        .state = view.state,
                                        .metadata = text_of(rows, row, 11),
                                        .created = view.created,
                                        .ended = time_of(rows, row, 12),
                                        .blocked = time_of(rows, row, 13)};
  return listed;
}

Result<SubmissionPage> page_of(TenantLink& link, OrgId org, const Statement& statement, const Parameters& parameters,
                               std::size_t most, bool has_pipelines = false) {
  const auto rows = link.read(org, statement, parameters);
  TRY(rows);
  SubmissionPage page;
  for (std::size_t row = 0; row < rows->size(); ++row) {
    auto listed = read_listed(*rows, row, has_pipelines);
    const bool fits = rows->flag(row, 8), is_where_the_walk_stopped = rows->flag(row, 9);
    if (fits && page.items.size() == most) {
      page.next = behind(page.items.back().view);
      return page;
    }
    if (is_where_the_walk_stopped) page.next = behind(listed.view);
    if (fits) page.items.push_back(std::move(listed));
  }
  return page;
}

}  // namespace

Result<SubmissionPage> list_intents(TenantLink& link, OrgId org, const SubmissionFilter& filter, std::size_t most,
                                    const std::optional<DeliveryCursor>& after, std::size_t max_walked) {
  auto parameters = parameters_of(org, filter, most, after, max_walked);
  if (filter.target) {
    parameters.push_back(filter.target);
    return page_of(link, org, sql::list_intents_of, parameters, most);
  }
  if (filter.only_targets.empty()) {
    parameters.emplace_back(std::nullopt);
  } else {
    ArrayText targets;
    for (const auto& one : filter.only_targets) targets.add(one);
    parameters.emplace_back(targets.take());
  }
  return page_of(link, org, sql::list_intents, parameters, most);
}

Result<SubmissionPage> list_submissions(TenantLink& link, OrgId org, const SubmissionFilter& filter, std::size_t most,
                                        const std::optional<DeliveryCursor>& after, std::size_t max_walked) {
  auto parameters = parameters_of(org, filter, most, after, max_walked);
  if (!filter.target) return page_of(link, org, sql::list_submissions, parameters, most, true);
  parameters.push_back(filter.target);
  return page_of(link, org, sql::list_forms_of, parameters, most);
}

}  // namespace waybill
