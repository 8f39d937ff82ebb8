// Looks now and then which rows are free again.
#include "settle/aside.h"

#include <iterator>
#include <map>
#include <utility>

namespace waybill {
namespace {
constexpr auto kBetweenLooks = std::chrono::milliseconds(500);
constexpr auto kMoreWithin = std::chrono::seconds(10);
}  // namespace

void Aside::add(std::vector<Item> locked) {
  if (locked.empty()) return;
  const auto now = Clock::now();
  if (items_.empty()) {
    total_ = 0;
    log_.warn("settle.locked", {{"deliveries", locked.size()},
                                {"remedy", "a session holds their rows locked: find its transaction in pg_locks and end it"}});
  }
  total_ += locked.size();
  std::move(locked.begin(), locked.end(), std::back_inserter(items_));
  next_look_ = now + kBetweenLooks;
  more_until_ = now + kMoreWithin;
}

std::vector<Aside::Item> Aside::take_free() {
  std::map<Shard, std::vector<DeliveryId>> wanted;
  for (const auto& item : items_) wanted[shard_of(item.finished.job.delivery)].push_back(item.finished.job.delivery);
  std::unordered_set<DeliveryId> stay;
  for (const auto& [shard, deliveries] : wanted) {
    const auto locked = store_.locked(shard, deliveries);
    if (locked) {
      stay.insert(locked->begin(), locked->end());
    } else {
      log_.warn("settle.database_unavailable", {{"error", locked.error().what}, {"deliveries", deliveries.size()}});
      stay.insert(deliveries.begin(), deliveries.end());
    }
  }
  next_look_ = Clock::now() + kBetweenLooks;
  std::vector<Item> free, left;
  for (auto& item : items_) (stay.contains(item.finished.job.delivery) ? left : free).push_back(std::move(item));
  items_ = std::move(left);
  if (items_.empty()) log_.info("settle.unlocked", {{"deliveries", total_}});
  return free;
}

std::vector<Aside::Item> Aside::take_all() { return std::exchange(items_, {}); }

std::unordered_set<DeliveryId> Aside::locked(Shard shard, const std::vector<DeliveryId>& deliveries) {
  const auto locked = store_.locked(shard, deliveries);
  if (!locked) return {};
  return {locked->begin(), locked->end()};
}

}  // namespace waybill
