// The workers of one action type: made when first needed, given up when they hang, switched off when too many did.
#include "execute/sender_pool.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr Seconds kRestAfterRefusal{60};

// A thread is inside the plugin and may come back at any time: what it needs must stay for as long as the process.
void leak(std::shared_ptr<SenderWorker> worker) { new std::shared_ptr<SenderWorker>(std::move(worker)); }

}  // namespace

SenderPool::SenderPool(std::string action_type, SenderFactory& factory, WorkerLimits limits, std::size_t max_abandoned,
                       std::shared_ptr<CompletionQueue> completions, Log& log)
    : action_type_(std::move(action_type)),
      factory_(factory),
      limits_(limits),
      max_abandoned_(max_abandoned),
      completions_(std::move(completions)),
      log_(log),
      worker_count_(factory.workers(action_type_)),
      calls_per_worker_(factory.calls_per_worker(action_type_)) {}

SenderPool::State SenderPool::fill() {
  if (closed_) return State::missing;
  if (abandoned_.size() >= max_abandoned_) return State::stuck;
  if (workers_.size() == worker_count_ && worker_count_ != 0) return State::ready;
  if (completions_->now() < not_again_before_) return workers_.empty() ? State::missing : State::ready;
  while (workers_.size() < std::max<std::size_t>(worker_count_, 1)) {
    auto worker = std::make_shared<SenderWorker>(action_type_, limits_, completions_);
    auto sender = factory_.make(action_type_, *worker);
    if (!sender) {
      not_again_before_ = completions_->now() + kRestAfterRefusal;
      log_.error("sender.refused", {{"action_type", action_type_}, {"why", sender.error().what}});
      break;
    }
    worker->attach(std::move(*sender));
    workers_.push_back(std::move(worker));
  }
  return workers_.empty() ? State::missing : State::ready;
}

SenderPool::State SenderPool::state() {
  const std::lock_guard lock(mutex_);
  return fill();
}

SenderPool::Workers SenderPool::workers() const {
  const std::lock_guard lock(mutex_);
  return workers_;
}

bool SenderPool::start(std::vector<SenderWorker::Start>& batch) {
  // Held throughout, so that no worker is given up between being chosen and getting its calls.
  const std::lock_guard lock(mutex_);
  if (fill() != State::ready) return false;
  if (workers_.size() == 1) {
    workers_.front()->start(std::move(batch));
    return true;
  }
  std::vector<std::size_t> open(workers_.size());
  for (std::size_t i = 0; i < workers_.size(); ++i) open[i] = workers_[i]->open();
  std::vector<std::vector<SenderWorker::Start>> shares(workers_.size());
  for (auto& start : batch) {
    std::size_t best = next_++ % workers_.size();
    for (std::size_t i = 0; i < workers_.size(); ++i)
      if (open[i] < open[best]) best = i;
    ++open[best];
    shares[best].push_back(std::move(start));
  }
  for (std::size_t i = 0; i < workers_.size(); ++i)
    if (!shares[i].empty()) workers_[i]->start(std::move(shares[i]));
  return true;
}

Clock::Monotonic SenderPool::look() {
  auto next = Clock::Monotonic::max();
  for (const auto& worker : workers()) {
    const auto look = worker->look();
    if (look.stuck)
      abandon(worker);
    else
      next = std::min(next, look.next);
  }
  return next;
}

void SenderPool::abandon(const std::shared_ptr<SenderWorker>& worker) {
  std::size_t count;
  {
    const std::lock_guard lock(mutex_);
    std::erase(workers_, worker);
    abandoned_.push_back(worker);
    count = abandoned_.size();
  }
  completions_->violations.record(action_type_, "stuck", 0);
  if (count >= max_abandoned_) log_.error("plugin.switched_off", {{"action_type", action_type_}, {"senders_given_up", count}});
  worker->decide_all("plugin_stuck");
}

void SenderPool::cancel_all() {
  for (const auto& worker : workers()) worker->cancel_all();
}

void SenderPool::withdraw_all() {
  for (const auto& worker : workers()) worker->withdraw_all();
}

void SenderPool::decide_all(std::string_view reason) {
  for (const auto& worker : workers()) worker->decide_all(reason);
}

bool SenderPool::join(Millis within) {
  Workers all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(workers_);
    all.insert(all.end(), abandoned_.begin(), abandoned_.end());
  }
  const auto until = std::chrono::steady_clock::now() + within;
  bool clean = true;
  for (auto& worker : all) {
    worker->decide_all("host_stopped");
    worker->close();
    worker->join(Millis{0});  // all end side by side
  }
  for (auto& worker : all) {
    const auto left = std::chrono::ceil<Millis>(until - std::chrono::steady_clock::now());
    if (worker->join(std::max(left, Millis{0}))) continue;
    clean = false;
    leak(std::move(worker));
  }
  const std::lock_guard lock(mutex_);
  abandoned_.clear();
  return clean;
}

}  // namespace waybill
