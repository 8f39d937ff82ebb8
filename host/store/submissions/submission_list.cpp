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

ListedSubmission read_listed(const sql::list_forms_of_row& row) { return {read_submission(row), {}}; }

ListedSubmission read_listed(const sql::list_submissions_row& row) {
  ListedSubmission listed{read_submission(row), {}};
  const auto version = row.version();
  if (!version) return listed;
  const auto& view = listed.view;
  listed.of_pipeline = PipelineListItem{.id = view.id,
                                        .client_ref = view.client_ref,
                                        .pipeline = view.target,
                                        .version = static_cast<int>(*version),
                                        .state = view.state,
                                        .metadata = text_or_empty(row.metadata()),
                                        .created = view.created,
                                        .ended = row.ended(),
                                        .blocked = row.blocked()};
  return listed;
}

template <class OneRow>
Result<SubmissionPage> page_of(TenantLink& link, OrgId org, const Query<OneRow>& statement, const Parameters& parameters,
                               std::size_t most) {
  const auto rows = link.read(org, statement, parameters);
  TRY(rows);
  SubmissionPage page;
  for (const auto row : *rows) {
    auto listed = read_listed(row);
    if (row.fits() && page.items.size() == most) {
      page.next = behind(page.items.back().view);
      return page;
    }
    if (row.walk_stopped()) page.next = behind(listed.view);
    if (row.fits()) page.items.push_back(std::move(listed));
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
  template <class OneRow>
  Result<bool> read(const Query<OneRow>& statement, std::size_t max_walked, std::size_t bound) {
    const auto rows =
        link_.read(org_, statement,
                   {std::to_string(org_.value), std::to_string(filter_.since.micros), std::to_string(filter_.until.micros),
                    std::to_string(below_), std::to_string(max_walked), std::to_string(most_ + 1 - page_.items.size()),
                    std::to_string(bound), filter_.status, targets_});
    TRY(rows);
    for (const auto row : *rows) {
      if (!row.id()) break;
      if (page_.items.size() == most_) {
        page_.next = behind(page_.items.back().view);
        return false;
      }
      page_.items.push_back({read_submission(row), {}});
    }
    const std::optional<std::int64_t> above = rows->front().above();
    if (above) below_ = std::min(below_, *above + 1);
    if (rows->front().is_all()) return true;
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
  if (!filter.target) return page_of(link, org, sql::list_submissions, parameters, most);
  parameters.push_back(filter.target);
  return page_of(link, org, sql::list_forms_of, parameters, most);
}

}  // namespace waybill
