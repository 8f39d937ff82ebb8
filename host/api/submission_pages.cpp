// Reading what a list is asked, and writing its page.
#include "api/submission_pages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "api/intent_json.h"
#include "api/json_answer.h"
#include "api/json_envelope.h"
#include "api/pipeline_json.h"
#include "api/query.h"
#include "base/json_document.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxPage = 500;
constexpr std::string_view kIntentStatuses[] = {"pending", "accepted", "rejected", "exhausted"};
constexpr std::string_view kFormStatuses[] = {"received", "processing", "routed", "failed", "purged"};

// What read_time() cuts off: `createdAt` has microseconds, and who asks from there on means those as well. None of RFC 3339's
// other parts has a dot.
Micros fraction_of(std::string_view time) {
  const auto dot = time.find('.');
  if (dot == std::string_view::npos) return Micros{0};
  std::int64_t micros = 0;
  for (std::size_t i = 1; i <= 6; ++i) {
    const char c = dot + i < time.size() ? time[dot + i] : 'Z';
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit) time = time.substr(0, dot + i);
    micros = micros * 10 + (is_digit ? c - '0' : 0);
  }
  return Micros{micros};
}

Result<PageQuery> read_query(const http::Request& request, const PublicIds& ids, std::string_view target,
                             std::span<const std::string_view> statuses) {
  PageQuery query;
  auto& filter = query.filter;
  filter.target = given(request, target);
  if (filter.target)
    if (auto fault = reference_fault(target, *filter.target); !fault.empty()) return fail(Error::Kind::invalid, fault);
  auto status = word_in(request, "status", statuses);
  TRY(status);
  filter.status = std::move(*status);
  for (const auto& [name, into] : {std::pair("since", &filter.since), std::pair("until", &filter.until)}) {
    const auto time = time_in(request, name);
    TRY(time);
    if (*time) *into = **time + fraction_of(*request.query_value(name));
  }
  if (filter.until <= filter.since) return fail(Error::Kind::invalid, "until must be later than since");
  TRY(read_page(request, query, kMaxPage, ids));
  return query;
}

Json form_item(const SubmissionView& form) {
  return {{"submissionId", form.client_ref},
          {"formId", form.target},
          {"status", form.state},
          {"reason", text_or_null(form.reason)},
          {"createdAt", format_rfc3339(form.created)},
          {"completedAt", time_or_null(form.completed)}};
}

std::string next_of(const SubmissionPage& page, const PublicIds& ids) {
  return page.next ? "\"" + cursor_text(*page.next, ids) + "\"" : "null";
}

}  // namespace

Result<PageQuery> read_intents_query(const http::Request& request, const PublicIds& ids) {
  return read_query(request, ids, "target", kIntentStatuses);
}
Result<PageQuery> read_submissions_query(const http::Request& request, const PublicIds& ids) {
  return read_query(request, ids, "formId", kFormStatuses);
}

std::string intent_page_json(const SubmissionPage& page, const PublicIds& ids) {
  std::string json = "{\"items\":[";
  for (const auto& one : page.items) json.append(&one == page.items.data() ? "" : ",").append(intent_json(one.view));
  return json + "],\"next\":" + next_of(page, ids) + "}";
}

std::string submission_page_json(const SubmissionPage& page, const PublicIds& ids) {
  std::string json = "{\"items\":[";
  for (const auto& one : page.items)
    json.append(&one == page.items.data() ? "" : ",")
        .append(dump(one.of_pipeline ? pipeline_item(*one.of_pipeline) : form_item(one.view)));
  return json + "],\"next\":" + next_of(page, ids) + "}";
}

}  // namespace waybill
