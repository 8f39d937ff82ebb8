// The lists of intents and of submissions: what they may be asked, and their pages as JSON.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "store/submissions/submission_list.h"

namespace waybill {

struct PageQuery {
  SubmissionFilter filter;
  std::size_t most = 50;
  std::optional<DeliveryCursor> after;
};

// Error::invalid with a message that names the parameter. Both read status, since, until, limit and cursor.
Result<PageQuery> read_intents_query(const http::Request& request, const PublicIds& ids = {});      // and target
Result<PageQuery> read_submissions_query(const http::Request& request, const PublicIds& ids = {});  // and formId

// {"items": [...], "next": cursor or null}
std::string intent_page_json(const SubmissionPage& page, const PublicIds& ids = {});
std::string submission_page_json(const SubmissionPage& page, const PublicIds& ids = {});

}  // namespace waybill
