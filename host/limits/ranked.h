// A priority queue whose members know their position, so that each can move or leave in O(log n).
#pragma once

#include <cstdint>
#include <map>
#include <utility>

namespace waybill {

// Lower ranks go first; equal ranks in order of arrival.
using Rank = std::pair<std::uint64_t, std::uint64_t>;

// A Member has a field `position`: it is in at most one queue, and leaves it when it is destroyed.
template <class Member>
class Ranked {
  using Entries = std::multimap<Rank, Member*>;

 public:
  class Position {
   public:
    Position() = default;
    Position(const Position&) = delete;
    ~Position() { leave(); }
    const Ranked* queue() const { return queue_; }
    void leave() {
      if (queue_ != nullptr) queue_->entries_.erase(at_);
      queue_ = nullptr;
    }

   private:
    friend Ranked;
    Ranked* queue_ = nullptr;
    typename Entries::iterator at_;
  };

  Ranked() = default;
  Ranked(const Ranked&) = delete;
  ~Ranked() {
    for (const auto& [rank, member] : entries_) member->position.queue_ = nullptr;
  }
  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  Member& first() const { return *entries_.begin()->second; }
  Rank first_rank() const { return entries_.begin()->first; }
  auto begin() const { return entries_.begin(); }  // of (rank, member)
  auto end() const { return entries_.end(); }

  // Inserts the member, or moves it from its present queue and rank.
  void put(Member& member, Rank rank) {
    Position& position = member.position;
    if (position.queue_ == nullptr) {
      position.at_ = entries_.emplace(rank, &member);
    } else if (position.queue_ != this || position.at_->first != rank) {
      auto node = position.queue_->entries_.extract(position.at_);
      node.key() = rank;
      position.at_ = entries_.insert(std::move(node));
    }
    position.queue_ = this;
  }

 private:
  Entries entries_;
};

}  // namespace waybill
