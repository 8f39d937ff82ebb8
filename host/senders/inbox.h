// The attempts that wait for a sender's strand.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

namespace waybill {

// An attempt whose delivery was claimed on insert has nothing of its target before it, while a claim of a backlog may bring a
// thousand at once. So the two kinds wait in queues of their own, and go in turn as long as both wait.
template <class Queued>
class Inbox {
 public:
  bool empty() const { return newest_.empty() && backlog_.empty(); }

  void push(Queued queued, bool claimed_on_insert) { (claimed_on_insert ? newest_ : backlog_).push_back(std::move(queued)); }

  // Of one that is not empty.
  Queued pop() {
    was_newest_ = !newest_.empty() && (!was_newest_ || backlog_.empty());
    auto& queue = was_newest_ ? newest_ : backlog_;
    auto next = std::move(queue.front());
    queue.pop_front();
    return next;
  }

  // Removes the first one that matches, if there is one.
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
