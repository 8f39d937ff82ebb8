// Pages of submissions, newest first.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "store/pipelines/pipeline_view.h"
#include "store/submissions/delivery_cursor.h"
#include "store/submissions/submission_view.h"

namespace waybill {

class TenantLink;

struct SubmissionFilter {
  std::optional<std::string> target;        // an intent's target; a form's id
  std::optional<std::string> status;        // an intent's or a form's
  std::vector<std::string> only_targets{};  // of intents; empty: all
  Timestamp since{}, until = kEndOfTime;    // when created: from `since` on, before `until`
};

struct ListedSubmission {
  SubmissionView view;
  std::optional<PipelineListItem> of_pipeline;  // none: an intent, or a form's
};

struct SubmissionPage {
  std::vector<ListedSubmission> items;
  std::optional<DeliveryCursor> next;  // the submission's id stands for a delivery's; none: there is nothing behind this page
};

// In the order of their ids, which is that of their arrival; of the cursor only the id counts. `shards` of the database.
Result<SubmissionPage> list_intents(TenantLink& link, OrgId org, int shards, const SubmissionFilter& filter, std::size_t most,
                                    const std::optional<DeliveryCursor>& after, std::size_t max_walked = kMaxWalked);
// Of forms and of pipelines; of forms only, if the filter has a form or a status.
Result<SubmissionPage> list_submissions(TenantLink& link, OrgId org, const SubmissionFilter& filter, std::size_t most,
                                        const std::optional<DeliveryCursor>& after, std::size_t max_walked = kMaxWalked);

}  // namespace waybill
