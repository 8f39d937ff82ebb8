// The lanes of one action type: made when first needed, given up when they hang, switched off when too many did.
#include "execute/lane_group.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr Seconds kRestAfterRefusal{60};

// A thread is inside the plugin and may come back at any time: what it needs must stay for as long as the process.
void leak(std::shared_ptr<Lane> lane) { new std::shared_ptr<Lane>(std::move(lane)); }

}  // namespace

LaneGroup::LaneGroup(std::string action_type, SenderFactory& factory, LaneLimits limits, std::size_t most_abandoned,
                     std::shared_ptr<Outlet> outlet, Log& log)
    : action_type_(std::move(action_type)),
      factory_(factory),
      limits_(limits),
      most_abandoned_(most_abandoned),
      outlet_(std::move(outlet)),
      log_(log),
      lane_count_(factory.lanes(action_type_)),
      calls_per_lane_(factory.calls_per_lane(action_type_)) {}

LaneGroup::State LaneGroup::fill() {
  if (closed_) return State::missing;
  if (abandoned_.size() >= most_abandoned_) return State::stuck;
  if (lanes_.size() == lane_count_ && lane_count_ != 0) return State::ready;
  if (outlet_->now() < not_again_before_) return lanes_.empty() ? State::missing : State::ready;
  while (lanes_.size() < std::max<std::size_t>(lane_count_, 1)) {
    auto lane = std::make_shared<Lane>(action_type_, limits_, outlet_);
    auto sender = factory_.make(action_type_, *lane);
    if (!sender) {
      not_again_before_ = outlet_->now() + kRestAfterRefusal;
      log_.error("sender_refused", {{"action_type", action_type_}, {"why", sender.error().what}});
      break;
    }
    lane->attach(std::move(*sender));
    lanes_.push_back(std::move(lane));
  }
  return lanes_.empty() ? State::missing : State::ready;
}

LaneGroup::State LaneGroup::state() {
  const std::lock_guard lock(mutex_);
  return fill();
}

LaneGroup::Lanes LaneGroup::lanes() const {
  const std::lock_guard lock(mutex_);
  return lanes_;
}

bool LaneGroup::start(std::vector<Lane::Start>& batch) {
  // Held throughout, so that no lane is given up between being chosen and getting its calls.
  const std::lock_guard lock(mutex_);
  if (fill() != State::ready) return false;
  if (lanes_.size() == 1) {
    lanes_.front()->start(std::move(batch));
    return true;
  }
  std::vector<std::size_t> open(lanes_.size());
  for (std::size_t i = 0; i < lanes_.size(); ++i) open[i] = lanes_[i]->open();
  std::vector<std::vector<Lane::Start>> shares(lanes_.size());
  for (auto& start : batch) {
    std::size_t best = next_++ % lanes_.size();
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (open[i] < open[best]) best = i;
    ++open[best];
    shares[best].push_back(std::move(start));
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (!shares[i].empty()) lanes_[i]->start(std::move(shares[i]));
  return true;
}

Clock::Monotonic LaneGroup::look() {
  auto next = Clock::Monotonic::max();
  for (const auto& lane : lanes()) {
    const auto look = lane->look();
    if (look.stuck)
      abandon(lane);
    else
      next = std::min(next, look.next);
  }
  return next;
}

void LaneGroup::abandon(const std::shared_ptr<Lane>& lane) {
  std::size_t count;
  {
    const std::lock_guard lock(mutex_);
    std::erase(lanes_, lane);
    abandoned_.push_back(lane);
    count = abandoned_.size();
  }
  outlet_->misbehaviour.record(action_type_, "stuck", 0);
  if (count >= most_abandoned_)
    log_.error("action_type_switched_off", {{"action_type", action_type_}, {"senders_given_up", count}});
  lane->decide_all("plugin_stuck");
}

void LaneGroup::cancel_all() {
  for (const auto& lane : lanes()) lane->cancel_all();
}

void LaneGroup::withdraw_all() {
  for (const auto& lane : lanes()) lane->withdraw_all();
}

void LaneGroup::decide_all(std::string_view reason) {
  for (const auto& lane : lanes()) lane->decide_all(reason);
}

bool LaneGroup::join(Millis within) {
  Lanes all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(lanes_);
    all.insert(all.end(), abandoned_.begin(), abandoned_.end());
  }
  const auto until = std::chrono::steady_clock::now() + within;
  bool clean = true;
  for (auto& lane : all) {
    lane->decide_all("host_stopped");
    lane->close();
    lane->join(Millis{0});  // all end side by side
  }
  for (auto& lane : all) {
    const auto left = std::chrono::ceil<Millis>(until - std::chrono::steady_clock::now());
    if (lane->join(std::max(left, Millis{0}))) continue;
    clean = false;
    leak(std::move(lane));
  }
  const std::lock_guard lock(mutex_);
  abandoned_.clear();
  return clean;
}

}  // namespace waybill
