// Reads pages of submissions: of intents by id, of others by the indexes of their times.
#include "store/submissions/submission_list.h"

#include <algorithm>
#include <limits>

#include "store/pg/tenant_link.h"
#include "store/submissions/lists.sql.h"
#include "store/submissions/read_rows.h"

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

namespace {

constexpr std::size_t kMaxListedRows = 2'000;  // of `listed_intents`, for a page

// Reads intents below an id into a page.
class IntentWalk {
 public:
  IntentWalk(TenantLink& link, OrgId org, const SubmissionFilter& filter, std::size_t most, std::int64_t below)
      : link_(link), org_(org), filter_(filter), most_(most), below_(below) {
    if (!filter.target && filter.only_targets.empty()) return;
    ArrayText targets;
    if (filter.target)
      targets.add(*filter.target);
    else
      for (const auto& one : filter.only_targets) targets.add(one);
    targets_ = targets.take();
  }

  // `bound`: its $7. True: it has read all that the statement has, and the page has room for more.
  Result<bool> read(const Statement& statement, std::size_t max_walked, std::size_t bound) {
    const auto rows =
        link_.read(org_, statement,
                   {std::to_string(org_.value), std::to_string(filter_.since.micros), std::to_string(filter_.until.micros),
                    std::to_string(below_), std::to_string(max_walked), std::to_string(most_ + 1 - page_.items.size()),
                    std::to_string(bound), filter_.status, targets_});
    TRY(rows);
    for (std::size_t row = 0; row < rows->size() && !rows->is_null(row, 0); ++row) {
      if (page_.items.size() == most_) {
        page_.next = behind(page_.items.back().view);
        return false;
      }
      page_.items.push_back({read_submission(*rows, row), {}});
    }
    if (!rows->is_null(0, 8)) below_ = std::min(below_, rows->number(0, 8) + 1);
    if (rows->flag(0, 9)) return true;
    page_.next = DeliveryCursor{{}, DeliveryId{below_}};
    return false;
  }

  SubmissionPage take() { return std::move(page_); }

 private:
  TenantLink& link_;
  const OrgId org_;
  const SubmissionFilter& filter_;
  const std::size_t most_;
  std::int64_t below_;
  std::optional<std::string> targets_;
  SubmissionPage page_;
};

}  // namespace

Result<SubmissionPage> list_intents(TenantLink& link, OrgId org, int shards, const SubmissionFilter& filter, std::size_t most,
                                    const std::optional<DeliveryCursor>& after, std::size_t max_walked) {
  IntentWalk walk(link, org, filter, most, after ? after->id.value : std::numeric_limits<std::int64_t>::max());
  const auto goes_on = walk.read(sql::list_new_intents, max_walked, static_cast<std::size_t>(shards));
  TRY(goes_on);
  if (*goes_on) TRY(walk.read(sql::list_listed_intents, max_walked, kMaxListedRows));
  return walk.take();
}

Result<SubmissionPage> list_submissions(TenantLink& link, OrgId org, const SubmissionFilter& filter, std::size_t most,
                                        const std::optional<DeliveryCursor>& after, std::size_t max_walked) {
  auto parameters = parameters_of(org, filter, most, after, max_walked);
  if (!filter.target) return page_of(link, org, sql::list_submissions, parameters, most, true);
  parameters.push_back(filter.target);
  return page_of(link, org, sql::list_forms_of, parameters, most);
}

}  // namespace waybill
