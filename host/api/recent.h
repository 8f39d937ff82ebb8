// A map that keeps what was used last, and never more than so many entries.
#pragma once

#include <list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace waybill {

// One thread at a time.
template <class Value>
class Recent {
 public:
  explicit Recent(std::size_t most) : most_(most) {}

  // Null if it is not there. It counts as used now.
  Value* find(const std::string& key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, at->second);
    return &at->second->second;
  }

  // Replaces what is there; if need be, the entry goes that was not used for the longest time.
  Value& put(const std::string& key, Value value) {
    if (Value* known = find(key)) return *known = std::move(value);
    if (order_.size() >= most_) {
      places_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(key, std::move(value));
    places_.emplace(order_.front().first, order_.begin());
    return order_.front().second;
  }

  void erase(const std::string& key) {
    const auto at = places_.find(key);
    if (at == places_.end()) return;
    const auto entry = at->second;
    places_.erase(at);
    order_.erase(entry);
  }

  std::size_t size() const { return order_.size(); }

 private:
  using Order = std::list<std::pair<std::string, Value>>;
  const std::size_t most_;
  Order order_;                                                            // the latest first
  std::unordered_map<std::string_view, typename Order::iterator> places_;  // keys are those of `order_`
};

}  // namespace waybill
