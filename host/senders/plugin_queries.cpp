// Calls of a plugin's sender other than send: compose, and queries of a destination.
#include <algorithm>

#include "plugin_protocol/plugin_text.h"
#include "senders/plugin_sender.h"

namespace waybill {
namespace {

constexpr std::size_t kMaxFailures = 10'000;  // of one page
constexpr std::size_t kMaxWord = 255;
constexpr std::size_t kMaxLine = 1000;
constexpr std::size_t kMaxPageName = 4096;
constexpr std::int64_t kLastSecond = 253'402'300'799;  // of the year 9999

}  // namespace

// [strand] Null if the sender does not have it.
template <class Table>
const Table* PluginSender::ability(const char* id) {
  const void* table = nullptr;
  enter(0, nullptr, [&] { table = vt_->get_extension(self_, borrow(id)); });
  return static_cast<const Table*>(table);
}

void PluginSender::find_compose() {
  const auto* table = ability<wb_compose>(WB_COMPOSE_EXTENSION);
  if (table == nullptr || table->compose == nullptr) return;
  compose_ = table;
  questions_.expect();
}

void PluginSender::ask(CallKind what, Attempt attempt, std::shared_ptr<FailurePage> page) {
  const auto deadline = parts_.clock.now() + attempt.deadline;
  questions_.expect();
  queue_.push([&](auto push) { push({std::move(attempt), deadline, what, std::move(page)}, true); });
}

void PluginSender::begin_query(std::uint64_t id, CallKind asked, Call& call) {
  const wb_call raw{id};
  questions_.begin(id, asked);
  std::function<void()> begin;
  switch (asked) {
    case CallKind::send:
      break;
    case CallKind::compose:
      begin = [&] { compose_->compose(self_, raw, &call.view); };
      break;
    case CallKind::status:
      if (const auto* table = ability<wb_status>(WB_STATUS_EXTENSION); table != nullptr && table->status != nullptr)
        begin = [&, table] { table->status(self_, raw, &call.view); };
      break;
    case CallKind::probe:
      if (const auto* table = ability<wb_probe>(WB_PROBE_EXTENSION); table != nullptr && table->probe != nullptr)
        begin = [&, table] { table->probe(self_, raw, &call.view); };
      break;
    case CallKind::failures:
      if (const auto* table = ability<wb_failures>(WB_FAILURES_EXTENSION); table != nullptr && table->list != nullptr)
        begin = [&, table] { table->list(self_, raw, &call.view, query_of(id, *call.page)); };
      break;
  }
  if (begin) return enter(id, call.job.get(), begin);
  if (parts_.completions.complete({id},
                                  {.verdict = Verdict::deferred, .reach = Reach::not_sent, .reason = std::string(kNotOffered)}))
    ++completed_;
}

const wb_failure_query* PluginSender::query_of(std::uint64_t call, const FailurePage& page) {
  auto& query = queries_.emplace_back(Query{this, call, {}});
  query.view = {.size = sizeof(wb_failure_query),
                .since = page.since,
                .page = borrow(page.page),
                .failure = &take_failure,
                .next_page = &take_next_page,
                .user = &query};
  return &query.view;
}

// Null when the call is over, or the plugin is not on its strand.
FailurePage* PluginSender::open_page(const Query& query) {
  const auto found = on_strand() ? calls_.find(query.call) : calls_.end();
  if (found != calls_.end() && !found->second.ended) return found->second.page.get();
  record_violation(on_strand() ? "failure_after_end" : "failure_off_strand", query.call);
  return nullptr;
}

void PluginSender::take_failure(void* user, const wb_failure* failure) noexcept try {
  const auto& query = *static_cast<const Query*>(user);
  auto* page = query.sender->open_page(query);
  if (page == nullptr) return;
  if (failure == nullptr || !WB_HAS(failure, detail)) return query.sender->record_violation("invalid_failure", query.call);
  if (page->failures.size() >= kMaxFailures) return query.sender->record_violation("too_many_failures", query.call);
  page->failures.push_back({.failed_at = {std::clamp<std::int64_t>(failure->failed_at, 0, kLastSecond) * 1'000'000},
                            .provider_ref = clean_text(view_of(failure->provider_ref), kMaxWord),
                            .idempotency_key = clean_text(view_of(failure->idempotency_key), kMaxWord),
                            .reason = clean_text(view_of(failure->reason), kMaxWord),
                            .detail = clean_text(view_of(failure->detail), kMaxLine)});
} catch (...) {  // out of memory: the page is short, and the next one finds the rest
}

void PluginSender::take_next_page(void* user, wb_str name) noexcept try {
  const auto& query = *static_cast<const Query*>(user);
  if (auto* page = query.sender->open_page(query)) page->next_page = std::string(view_of(name).substr(0, kMaxPageName));
} catch (...) {
}

}  // namespace waybill
