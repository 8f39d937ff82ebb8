// What a sender is asked of the failures of its destination, and how it must answer.
#include "world.h"

namespace waybill::testkit {

const wb_failure_query* World::open_query(std::uint64_t call, std::int64_t since, std::string_view page) {
  return lender_.query(query_loan_, *this, call, since, page);
}

bool World::may_report(const char* what, std::uint64_t call) {
  if (!on_strand(what)) return false;
  if (is_open(call)) return true;
  breach() << what << " came after call " << call << " had ended";
  return false;
}

void World::take_failure(std::uint64_t call, const wb_failure* failure) {
  if (!may_report("a failure", call)) return;
  if (!failure || !WB_HAS(failure, detail)) {
    breach() << "a failure that is null or too short: is `size` set?";
    return;
  }
  auto& failures = failure_pages[call].failures;
  failures.push_back({text(failure->provider_ref), text(failure->idempotency_key), text(failure->reason), text(failure->detail),
                      failure->failed_at});
  const auto& taken = failures.back();
  for (const auto* words : {&taken.provider_ref, &taken.idempotency_key, &taken.reason, &taken.detail})
    check_words("a failure", *words, true);
}

void World::take_next_page(std::uint64_t call, wb_str page) {
  if (!may_report("next_page", call)) return;
  auto& next_page = failure_pages[call].next_page;
  if (next_page) breach() << "next_page was called twice for one page";
  if (page.len == 0) breach() << "next_page must name a page; the last page has no next one";
  next_page = text(page);
}

}  // namespace waybill::testkit
