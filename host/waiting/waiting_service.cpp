// Ending and rerouting what waits, page by page.
#include "waiting/waiting_service.h"

#include <algorithm>

#include "settle/settlement.h"

namespace waybill {
namespace {

constexpr std::size_t kPage = 200;  // and as many rows in one transaction

void refuse(WaitingDone& done, WaitingDelivery delivery, std::string why) {
  ++done.refused;
  if (done.examples.size() < kMaxExamples) done.examples.emplace_back(std::move(delivery), std::move(why));
}

// Goes through what waited when it began. `act` does something with the deliveries of a page. It looks at no more pages than that
// many would fill: what does not fit costs as much as what does.
template <class Act>
Result<WaitingDone> each_page(WaitingStore& store, const WaitingOrder& order, const WaitingProgress& progress, Act act) {
  WaitingDone done;
  auto after = order.after;
  std::optional<Timestamp> began;
  for (std::size_t pages = order.most / kPage + 1;; --pages) {
    auto page = store.list(order.org, order.filter, kPage, after);
    TRY(page);
    if (!began) began = page->now;
    std::erase_if(page->items, [&](const auto& one) { return one.created > *began; });
    if (!page->items.empty()) TRY(act(page->items, *began, done));
    if (progress) progress(done);
    done.next = after = page->next;
    if (!after || pages == 1 || done.count + done.refused >= order.most) return done;
  }
}

Result<void> end_page(WaitingStore& store, const WaitingOrder& order, std::vector<WaitingDelivery>& items, WaitingDone& done) {
  const auto settle = [&](const WaitingDelivery& waiting, const Contract& contract, Timestamp now) {
    return settlement_of(waiting, contract, now, order.by.actor);
  };
  const auto count = [&](std::span<const WaitingDelivery> chosen, const std::vector<DeliveryId>& ended) {
    done.count += ended.size();
    done.taken_by_others += chosen.size() - ended.size();
    for (const auto& one : chosen)
      if (one.history.maybe_sent && std::find(ended.begin(), ended.end(), one.id) != ended.end()) ++done.may_be_sent;
  };
  const auto ended = store.end(order.org, items, settle, order.reason, order.by);
  if (ended) {
    count(items, *ended);
    return {};
  }
  if (ended.error().kind != Error::Kind::bug) return tl::unexpected(ended.error());
  for (const auto& one : items) {  // what the database refuses of one must not keep the others
    const auto alone = store.end(order.org, {&one, 1}, settle, order.reason, order.by);
    if (!alone && alone.error().kind != Error::Kind::bug) return tl::unexpected(alone.error());
    if (alone)
      count({&one, 1}, *alone);
    else
      refuse(done, one, alone.error().what);
  }
  return {};
}

// `body`: null, if it is not kept any more.
std::string why_not_rerouted(const WaitingDelivery& one, const ActionTypes& types, const Contract& to, Timestamp now,
                             const std::string* body) {
  if (one.kind != "intent")
    return "only intents are rerouted: an action goes where its form or pipeline says, and a notification to its channel";
  if (one.history.maybe_sent) return "an attempt may have been sent to " + one.target + " already";
  if (one.has_begun) return "its plugin has begun it for " + one.target;
  if (const auto deadline = to.deadline(begins_at(one.created, one.terms)); deadline && *deadline <= now)
    return "its deadline under the contract of " + to.target + " has passed";
  if (body == nullptr) return "what it holds is not kept any more";
  if (const auto problems = types.check_payload(to.action_type, *body); !problems.empty())
    return "its payload is not valid for " + to.target + ": " + problems.front().field + ": " + problems.front().message;
  return {};
}

template <class Value>
const Value* value_of(const std::map<DeliveryId, Value>& all, const WaitingDelivery& one) {
  const auto found = all.find(one.id);
  return found == all.end() ? nullptr : &found->second;
}

// Of each why it stays; empty: it goes. Their bodies are read part by part.
Result<std::vector<std::string>> why_not_rerouted(WaitingStore& store, const ActionTypes& types, OrgId org, const Contract& to,
                                                  std::span<const WaitingDelivery> items, Timestamp now) {
  const auto sizes = store.body_sizes(org, items);
  TRY(sizes);
  const auto size_of = [&](const WaitingDelivery& one) {
    const auto* size = value_of(*sizes, one);
    return size == nullptr ? 0 : *size;
  };
  std::vector<std::string> all;
  while (!items.empty()) {
    std::size_t number = 1;
    for (auto bytes = size_of(items[0]); number < items.size(); ++number)
      if (bytes += size_of(items[number]); bytes > kMaxBodiesHeld) break;
    const auto bodies = store.bodies(org, items.first(number));
    TRY(bodies);
    for (const auto& one : items.first(number)) all.push_back(why_not_rerouted(one, types, to, now, value_of(*bodies, one)));
    items = items.subspan(number);
  }
  return all;
}

Result<void> reroute_page(WaitingStore& store, const ActionTypes& types, const WaitingOrder& order, const Contract& to,
                          std::vector<WaitingDelivery>& items, Timestamp now, WaitingDone& done) {
  for (const auto& one : items)
    if (one.kind == "intent" && one.action_type != to.action_type)
      return fail(Error::Kind::invalid, "target \"" + to.target + "\" is of action type " + to.action_type + ", but \"" +
                                            one.target + "\" of " + one.action_type);
  auto why = why_not_rerouted(store, types, order.org, to, items, now);
  TRY(why);
  std::vector<WaitingDelivery> chosen;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (why->at(i).empty())
      chosen.push_back(std::move(items[i]));
    else
      refuse(done, std::move(items[i]), std::move(why->at(i)));
  }
  if (order.dry_run || chosen.empty()) {
    done.count += chosen.size();
    return {};
  }
  const auto moved = store.reroute(order.org, chosen, {to, order.filter.target, to.target}, order.by);
  TRY(moved);
  done.count += moved->size();
  done.taken_by_others += chosen.size() - moved->size();
  return {};
}

}  // namespace

Result<WaitingDone> end_waiting(WaitingStore& store, const WaitingOrder& order, const WaitingProgress& progress) {
  TRY(check_text("target", order.filter.target));
  TRY(check_text("reason", order.reason));
  return each_page(store, order, progress,
                   [&](std::vector<WaitingDelivery>& items, Timestamp, WaitingDone& done) -> Result<void> {
                     if (!order.dry_run) return end_page(store, order, items, done);
                     done.count += items.size();
                     for (const auto& one : items) done.may_be_sent += one.history.maybe_sent ? 1 : 0;
                     return {};
                   });
}

Result<WaitingDone> reroute_waiting(WaitingStore& store, const Registry& registry, const ActionTypes& types,
                                    const WaitingOrder& order, const std::string& to, const WaitingProgress& progress) {
  TRY(check_text("target", order.filter.target));
  const Contract* const contract = registry.find(to);
  if (contract == nullptr) return fail(Error::Kind::invalid, "the registry has no target \"" + to + "\"");
  if (to == order.filter.target) return fail(Error::Kind::invalid, "\"" + to + "\" is where they wait already");
  return each_page(store, order, progress, [&](std::vector<WaitingDelivery>& items, Timestamp now, WaitingDone& done) {
    return reroute_page(store, types, order, *contract, items, now, done);
  });
}

}  // namespace waybill
