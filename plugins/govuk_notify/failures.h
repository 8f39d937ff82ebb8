// The notifications that GOV.UK Notify took and could not deliver: GET /v2/notifications?status=..., page by page.
#pragma once

#include <array>
#include <nlohmann/json.hpp>

#include "govuk_notify/answer.h"
#include "govuk_notify/settings.h"

namespace waybill::plugins::notify {

inline constexpr std::array<std::string_view, 3> kFailed{"temporary-failure", "permanent-failure", "technical-failure"};

// One page of one status. Its name, as the host keeps it, is "permanent-failure", or with the last id of the page before it
// "permanent-failure/740e5834-3a29-46b4-9a6f-16142fde533a".
struct Page {
  std::size_t status = 0;  // in kFailed
  std::string older_than;

  std::string name() const { return std::string(kFailed[status]) + (older_than.empty() ? "" : "/" + older_than); }
  std::string path() const {
    return "/v2/notifications?template_type=email&status=" + std::string(kFailed[status]) +
           (older_than.empty() ? "" : "&older_than=" + older_than);
  }
};

inline std::optional<Page> page_named(std::string_view name) {
  if (name.empty()) return Page{};
  const auto slash = name.find('/');
  for (std::size_t i = 0; i < kFailed.size(); ++i) {
    if (name.substr(0, slash) != kFailed[i]) continue;
    if (slash == std::string_view::npos) return Page{i, {}};
    if (is_uuid(name.substr(slash + 1))) return Page{i, std::string(name.substr(slash + 1))};
  }
  return std::nullopt;
}

inline std::int64_t failed_at(const Json& notification) {
  for (const auto* name : {"completed_at", "sent_at", "created_at"})
    if (const auto time = parse_rfc3339(text_in(notification, name))) return *time;
  return 0;
}

// Reports what failed since then. The next page; none after the last; `problem` if this is no page.
inline std::optional<Page> read_page(const Json& answer, const Page& page, const plugin::FailureQuery& query,
                                     std::string& problem) {
  const auto* list = field(answer, "notifications");
  if (!list || !list->is_array()) return problem = "has no notifications", std::nullopt;
  std::string last;
  for (const auto& one : *list) {
    last = one.is_object() ? text_in(one, "id") : std::string{};
    if (!is_uuid(last)) return problem = "has a notification without an id", std::nullopt;
    const auto at = failed_at(one);
    if (at != 0 && at < query.since()) continue;
    const auto reference = one_line(text_in(one, "reference"), 128);
    const auto* sample = field(one, "template");
    const auto detail =
        sample && sample->is_object() ? "template " + one_line(text_in(*sample, "id"), 100) : std::string("template unknown");
    plugin::Failure failure;
    failure.provider_ref = last;
    failure.idempotency_key = reference;
    failure.reason = kFailed[page.status];
    failure.detail = detail;
    failure.failed_at = at;
    query.report(failure);
  }
  const auto* links = field(answer, "links");
  const bool more = !last.empty() && links && links->is_object() && field(*links, "next");
  if (more && same_name(last, page.older_than)) return problem = "repeats the page before it", std::nullopt;
  if (more) return Page{page.status, last};
  if (page.status + 1 < kFailed.size()) return Page{page.status + 1, {}};
  return std::nullopt;
}

}  // namespace waybill::plugins::notify
