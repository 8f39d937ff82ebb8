// The workers of one action type: made when first needed, given up when they hang, pausing when several did.
#include "execute/sender_pool.h"

#include <algorithm>

namespace waybill {
namespace {

constexpr Seconds kRestAfterRefusal{60};
constexpr Millis kLookForReturned{1'000};

// A thread is inside the plugin and may come back at any time: what it needs must stay for as long as the process.
void leak(std::shared_ptr<SenderWorker> worker) { new std::shared_ptr<SenderWorker>(std::move(worker)); }

}  // namespace

SenderPool::SenderPool(std::string action_type, SenderFactory& factory, WorkerLimits limits, HangLimits hang_limits,
                       std::shared_ptr<CompletionQueue> completions, HangSink on_hang, Log& log)
    : action_type_(std::move(action_type)),
      factory_(factory),
      limits_(limits),
      hang_limits_(hang_limits),
      completions_(std::move(completions)),
      on_hang_(std::move(on_hang)),
      log_(log),
      worker_count_(factory.workers(action_type_)),
      calls_per_worker_(factory.calls_per_worker(action_type_)) {}

SenderPool::State SenderPool::fill() {
  if (closed_) return State::missing;
  if (completions_->now() < paused_until_) return State::stuck;
  if (workers_.size() == worker_count_ && worker_count_ != 0) return State::ready;
  if (completions_->now() < not_again_before_) return workers_.empty() ? State::missing : State::ready;
  while (workers_.size() < std::max<std::size_t>(worker_count_, 1)) {
    auto worker = std::make_shared<SenderWorker>(action_type_, limits_, completions_);
    auto sender = factory_.make(action_type_, *worker);
    if (!sender) {
      not_again_before_ = completions_->now() + kRestAfterRefusal;
      refusal_ = sender.error().what;
      log_.error("sender.refused", {{"action_type", action_type_}, {"why", sender.error().what}});
      break;
    }
    refusal_.clear();
    worker->attach(std::move(*sender));
    workers_.push_back(std::move(worker));
  }
  return workers_.empty() ? State::missing : State::ready;
}

SenderPool::State SenderPool::state() {
  const std::lock_guard lock(mutex_);
  return fill();
}

std::string SenderPool::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
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
    if (look.hangs_in)
      abandon(worker, *look.hangs_in);
    else
      next = std::min(next, look.next);
  }
  forget_returned();
  const std::lock_guard lock(mutex_);
  return abandoned_.empty() ? next : std::min<Clock::Monotonic>(next, completions_->now() + kLookForReturned);
}

void SenderPool::abandon(const std::shared_ptr<SenderWorker>& worker, CallId hangs_in) {
  Millis pause;
  std::size_t hung;
  {
    const std::lock_guard lock(mutex_);
    std::erase(workers_, worker);
    abandoned_.push_back(worker);
    hung = abandoned_.size();
    pause = note_hang();
  }
  completions_->violations.record(action_type_, "stuck", hangs_in.value);
  const auto job = worker->give_up(hangs_in);
  log_.error("plugin.hung", {{"action_type", action_type_},
                             {"delivery", job ? job->delivery.value : 0},
                             {"threads_inside", hung},
                             {"paused_for_s", std::chrono::duration_cast<Seconds>(pause).count()}});
  if (on_hang_) on_hang_({action_type_, job, pause});
}

// Those that hang side by side, of a blocking plugin, pause once.
Millis SenderPool::note_hang() {
  const auto now = completions_->now();
  if (now < paused_until_) return std::chrono::ceil<Millis>(paused_until_ - now);
  if (hangs_ > 0 && now - last_hang_ > hang_limits_.forgotten) hangs_ = 0;
  last_hang_ = now;
  if (++hangs_ < hang_limits_.after) return Millis{0};
  constexpr std::size_t kMaxDoublings = 20;
  const auto doublings = std::min(hangs_ - hang_limits_.after, kMaxDoublings);
  const auto pause = std::min(hang_limits_.pause * (std::int64_t{1} << doublings), hang_limits_.longest);
  paused_until_ = now + pause;
  return pause;
}

// A thread that came back after all is not kept.
void SenderPool::forget_returned() {
  Workers hung;
  {
    const std::lock_guard lock(mutex_);
    hung = abandoned_;
  }
  for (const auto& worker : hung) {
    if (!worker->join(Millis{0})) continue;
    const std::lock_guard lock(mutex_);
    std::erase(abandoned_, worker);
  }
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
