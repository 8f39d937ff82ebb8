// Deliveries that failed for good, as the wire and the command line show them, and the requests about them, read strictly.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "base/public_ids.h"
#include "http/http.h"
#include "store/operations/failed_store.h"

namespace waybill {

inline constexpr std::size_t kMaxFailedListed = 500;

struct FailedQuery {
  FailedFilter filter;
  std::size_t most = 100;
  std::optional<DeliveryCursor> after;
};

// Both: Error::invalid with a message that names the field.
Result<FailedQuery> read_failed_query(const http::Request& request, const PublicIds& ids = {});
Result<ResendOrder> read_resend(std::string_view body, const PublicIds& ids = {});  // with at least one filter

// One of a filter's words into its place: reference, target, kind, formId, pipeline, channel, reason, status, since, until.
Result<void> set_failed_field(FailedFilter& filter, std::string_view field, const std::string& text);

std::string failed_page_json(const FailedPage& page, const PublicIds& ids = {});

}  // namespace waybill
