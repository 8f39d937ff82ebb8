// What fetches and submissions have in common: they belong to an open call, end once and later, in time, or with their call.
#include <algorithm>
#include <limits>

#include "world.h"

namespace waybill::testkit {

bool World::may_ask(const char* what, wb_call call) const {
  if (is_open(call.id)) return true;
  breach() << what << " on behalf of call " << call.id << ", which is not open";
  return false;
}

void World::begin(std::uint64_t number, std::uint32_t timeout_ms, Exchange exchange) {
  exchange.due = {now_ms, number};
  if (const auto found = calls.find(exchange.call); found == calls.end()) {
    overrule(exchange, WB_NET_CANCELLED, "the call has ended");
    exchange.ending.reach = WB_NOT_SENT;
  } else {
    auto limit = found->second.deadline_at;
    if (timeout_ms != 0) limit = std::min<std::int64_t>(limit, now_ms + timeout_ms);
    const auto& ending = exchange.ending;
    const auto ends_at = ending.never ? std::numeric_limits<std::int64_t>::max() : now_ms + ending.after.count();
    exchange.due.at = std::min(ends_at, limit);
    if (ends_at > limit) overrule(exchange, WB_NET_TIMEOUT, "no answer in time");
  }
  exchanges.emplace(number, std::move(exchange));
}

// The answer comes to nothing: something else ends this first. How far it got is what the script says of one that never gets
// an answer, else unknown.
void World::overrule(Exchange& exchange, wb_net_error error, const char* words) {
  auto& ending = exchange.ending;
  const auto reach = ending.never || ending.error != WB_NET_OK ? ending.reach : WB_MAYBE_SENT;
  ending = {error, reach, words, {}, ending.never};
  exchange.overruled = true;
}

bool World::abort(const void* service, std::uint64_t number) {
  if (!on_own_thread("abort")) return false;
  const auto found = exchanges.find(number);
  if (found == exchanges.end() || found->second.service != service) return false;
  overrule(found->second, WB_NET_CANCELLED, "aborted");
  found->second.due = {now_ms, next_number++};
  return true;
}

void World::cancel_exchanges_of(std::uint64_t call) {
  for (auto& [number, exchange] : exchanges)
    if (exchange.call == call) {
      overrule(exchange, WB_NET_CANCELLED, "the call has ended");
      exchange.due = {now_ms, next_number++};
    }
}

void World::deliver(std::uint64_t number) {
  const auto node = exchanges.extract(number);
  node.mapped().tell(node.mapped());
}

std::size_t World::open_exchanges(const void* service) const {
  return static_cast<std::size_t>(
      std::count_if(exchanges.begin(), exchanges.end(), [&](const auto& entry) { return entry.second.service == service; }));
}

}  // namespace waybill::testkit
