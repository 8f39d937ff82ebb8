// The queue of attempts that wait for a sender's strand.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

namespace waybill {

// A claim of a backlog may bring a thousand attempts at once, and a delivery claimed on insert should not wait for them. So each
// kind has its own queue, and the two alternate while both have attempts.
template <class Queued>
class Inbox {
 public:
  bool empty() const { return newest_.empty() && backlog_.empty(); }

  void push(Queued queued, bool claimed_on_insert) { (claimed_on_insert ? newest_ : backlog_).push_back(std::move(queued)); }

  // Requires that the inbox is not empty.
  Queued pop() {
    was_newest_ = !newest_.empty() && (!was_newest_ || backlog_.empty());
    auto& queue = was_newest_ ? newest_ : backlog_;
    auto next = std::move(queue.front());
    queue.pop_front();
    return next;
  }

  // Removes the first attempt that matches, if any.
  template <class Predicate>
  bool remove(Predicate matches) {
    for (auto* queue : {&newest_, &backlog_}) {
      const auto found = std::find_if(queue->begin(), queue->end(), matches);
      if (found == queue->end()) continue;
      queue->erase(found);
      return true;
    }
    return false;
  }

 private:
  std::deque<Queued> newest_, backlog_;
  bool was_newest_ = false;
};

}  // namespace waybill
