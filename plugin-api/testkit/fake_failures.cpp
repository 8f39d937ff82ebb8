// What a sender is asked of its receiver's failures, and how it must answer.
#include "world.h"

namespace waybill::testkit {
namespace {

World::Query& query_of(void* user) { return *static_cast<World::Query*>(user); }

bool may_report(const World::Query& query, const char* what) {
  const auto& world = *query.world;
  if (!world.on_own_thread(what)) return false;
  if (world.is_open(query.call)) return true;
  world.breach() << what << " came after call " << query.call << " had ended";
  return false;
}

void take_failure(void* user, const wb_failure* failure) {
  auto& query = query_of(user);
  const auto& world = *query.world;
  if (!may_report(query, "a failure")) return;
  if (!failure || !WB_HAS(failure, detail)) {
    world.breach() << "a failure that is null or too short: is `size` set?";
    return;
  }
  query.failures.push_back({text(failure->provider_ref), text(failure->idempotency_key), text(failure->reason),
                            text(failure->detail), failure->failed_at});
  const auto& taken = query.failures.back();
  for (const auto* words : {&taken.provider_ref, &taken.idempotency_key, &taken.reason, &taken.detail})
    world.check_words("a failure", *words, true);
}

void take_next_page(void* user, wb_str page) {
  auto& query = query_of(user);
  if (!may_report(query, "next_page")) return;
  if (query.next_page) query.world->breach() << "next_page was called twice for one page";
  if (page.len == 0) query.world->breach() << "next_page must name a page; the last page has no next one";
  query.next_page = text(page);
}

}  // namespace

const wb_failure_query* World::open_query(std::uint64_t call, std::int64_t since, std::string_view page) {
  auto& query = queries.emplace_back(Query{this, call, Bytes(page), {}, {}, {}});
  query.raw = {sizeof query.raw, since, query.page.str(), &take_failure, &take_next_page, &query};
  return &query.raw;
}

}  // namespace waybill::testkit
