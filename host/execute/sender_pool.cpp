// The senders of one action type: made when first needed, given up when they hang, pausing when several did.
#include "execute/sender_pool.h"

#include <algorithm>
#include <utility>

namespace waybill {
namespace {

constexpr Seconds kRestAfterRefusal{60};
constexpr Millis kRestWhileItStarts{20};
constexpr Millis kLookForReturned{1'000};
constexpr Millis kLookForRetired{100};

// A thread is inside the plugin and may come back at any time: what it needs must stay for as long as the process.
void leak(std::shared_ptr<OpenCalls> calls) { new std::shared_ptr<OpenCalls>(std::move(calls)); }

}  // namespace

SenderPool::SenderPool(std::string action_type, SenderFactory& factory, CallLimits limits, HangLimits hang_limits,
                       std::shared_ptr<CompletionQueue> completions, HangSink on_hang, Log& log)
    : action_type_(std::move(action_type)),
      factory_(factory),
      limits_(limits),
      hang_limits_(hang_limits),
      completions_(std::move(completions)),
      on_hang_(std::move(on_hang)),
      log_(log),
      sender_count_(factory_.senders(action_type_)),
      calls_per_sender_(factory.calls_per_sender(action_type_)) {}

SenderPool::State SenderPool::fill() {
  if (closed_) return State::missing;
  forget_lost();
  const auto now = completions_->now();
  if (now < paused_until_) return State::stuck;
  if (!is_to_renew_ && senders_.size() == sender_count_ && sender_count_ != 0) return State::ready;
  if (now >= not_again_before_) {
    if (is_to_renew_) replace();
    if (!is_to_renew_)
      while (senders_.size() < std::max<std::size_t>(sender_count_, 1) && add_sender()) {
      }
  }
  return senders_.empty() ? State::missing : State::ready;
}

// What is in use goes on until there is one of the new kind.
void SenderPool::replace() {
  auto before = std::exchange(senders_, {});
  if (!add_sender()) {
    senders_ = std::move(before);
    return;
  }
  is_to_renew_ = false;
  renewed_.notify_all();
  retiring_.insert(retiring_.end(), before.begin(), before.end());
}

bool SenderPool::add_sender() {
  auto calls = std::make_shared<OpenCalls>(action_type_, limits_, completions_);
  auto sender = factory_.make(action_type_, *calls);
  if (!sender) {
    is_starting_ = sender.error().kind == Error::Kind::unavailable;
    not_again_before_ = completions_->now() + (is_starting_ ? kRestWhileItStarts : kRestAfterRefusal);
    refusal_ = sender.error().what;
    if (!is_starting_) log_.error("sender.refused", {{"action_type", action_type_}, {"why", sender.error().what}});
    return false;
  }
  refusal_.clear();
  calls->attach(std::move(*sender), [this](const auto& job, std::string_view words) { note_lost(job, words); });
  senders_.push_back(std::move(calls));
  return true;
}

// Their strands end without a plugin to wait for.
void SenderPool::forget_lost() {
  const auto gone = std::stable_partition(senders_.begin(), senders_.end(), [](const auto& calls) { return !calls->is_lost(); });
  abandoned_.insert(abandoned_.end(), gone, senders_.end());
  senders_.erase(gone, senders_.end());
}

void SenderPool::note_lost(const std::shared_ptr<const OpenJob>& job, std::string_view words) {
  completions_->violations.record(action_type_, "died", 0);
  log_.write(Log::Level::error, "plugin.died",
             traced({{"action_type", action_type_}, {"delivery", job ? job->delivery.value : 0}, {"how", std::string(words)}},
                    job ? job->trace : nullptr));
  if (on_hang_) on_hang_({action_type_, std::string(words), job, Millis{0}});
}

SenderPool::State SenderPool::state() {
  const std::lock_guard lock(mutex_);
  return fill();
}

std::string SenderPool::refusal() const {
  const std::lock_guard lock(mutex_);
  return refusal_;
}

Millis SenderPool::rest() const {
  constexpr Millis kWhileItStarts{200};
  const std::lock_guard lock(mutex_);
  return is_starting_ && !refusal_.empty() ? kWhileItStarts : kRestAfterRefusal;
}

SenderPool::Senders SenderPool::senders() const {
  const std::lock_guard lock(mutex_);
  auto all = senders_;
  all.insert(all.end(), retiring_.begin(), retiring_.end());
  return all;
}

void SenderPool::renew() {
  const std::lock_guard lock(mutex_);
  sender_count_ = factory_.senders(action_type_);
  calls_per_sender_ = factory_.calls_per_sender(action_type_);
  not_again_before_ = paused_until_ = {};
  hangs_ = 0;
  is_to_renew_ = !senders_.empty();
  fill();
}

bool SenderPool::wait_renewed(Millis at_most) {
  std::unique_lock lock(mutex_);
  return renewed_.wait_for(lock, at_most, [this] { return !is_to_renew_; });
}

std::size_t SenderPool::retiring() const {
  const std::lock_guard lock(mutex_);
  return retiring_.size();
}

bool SenderPool::start(std::vector<OpenCalls::Start>& batch) {
  // Held throughout, so that no sender is given up between being chosen and getting its calls.
  const std::lock_guard lock(mutex_);
  if (fill() != State::ready) return false;
  if (senders_.size() == 1) {
    senders_.front()->start(std::move(batch));
    return true;
  }
  std::vector<std::size_t> open(senders_.size());
  for (std::size_t i = 0; i < senders_.size(); ++i) open[i] = senders_[i]->open();
  std::vector<std::vector<OpenCalls::Start>> shares(senders_.size());
  for (auto& start : batch) {
    std::size_t best = next_++ % senders_.size();
    for (std::size_t i = 0; i < senders_.size(); ++i)
      if (open[i] < open[best]) best = i;
    ++open[best];
    shares[best].push_back(std::move(start));
  }
  for (std::size_t i = 0; i < senders_.size(); ++i)
    if (!shares[i].empty()) senders_[i]->start(std::move(shares[i]));
  return true;
}

Clock::Monotonic SenderPool::look() {
  auto next = Clock::Monotonic::max();
  for (const auto& calls : senders()) {
    const auto look = calls->look();
    if (look.hangs_in && !calls->runs_apart()) {
      abandon(calls, *look.hangs_in);
      continue;
    }
    if (look.hangs_in) calls->kill_process();  // which charges the call
    next = std::min(next, look.next);
  }
  forget_returned();
  forget_retired();
  const std::lock_guard lock(mutex_);
  if (!abandoned_.empty()) next = std::min<Clock::Monotonic>(next, completions_->now() + kLookForReturned);
  if (!retiring_.empty() || is_to_renew_) next = std::min<Clock::Monotonic>(next, completions_->now() + kLookForRetired);
  return next;
}

void SenderPool::abandon(const std::shared_ptr<OpenCalls>& calls, CallId hangs_in) {
  Millis pause;
  std::size_t hung;
  {
    const std::lock_guard lock(mutex_);
    std::erase(senders_, calls);
    std::erase(retiring_, calls);
    abandoned_.push_back(calls);
    hung = abandoned_.size();
    pause = note_hang();
  }
  completions_->violations.record(action_type_, "stuck", hangs_in.value);
  const auto job = calls->give_up(hangs_in);
  log_.write(Log::Level::error, "plugin.hung",
             traced({{"action_type", action_type_},
                     {"delivery", job ? job->delivery.value : 0},
                     {"threads_inside", hung},
                     {"paused_for_s", std::chrono::duration_cast<Seconds>(pause).count()}},
                    job ? job->trace : nullptr));
  if (on_hang_) on_hang_({action_type_, {}, job, pause});
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
  Senders hung;
  {
    const std::lock_guard lock(mutex_);
    hung = abandoned_;
  }
  for (const auto& calls : hung) {
    if (!calls->join(Millis{0})) continue;
    const std::lock_guard lock(mutex_);
    std::erase(abandoned_, calls);
  }
}

// Those that have finished what they had.
void SenderPool::forget_retired() {
  Senders idle;
  {
    const std::lock_guard lock(mutex_);
    if (is_to_renew_) fill();
    for (const auto& calls : retiring_)
      if (calls->open() == 0) idle.push_back(calls);
  }
  for (const auto& calls : idle) {
    if (!calls->join(Millis{0})) continue;
    const std::lock_guard lock(mutex_);
    std::erase(retiring_, calls);
  }
}

void SenderPool::cancel_all() {
  for (const auto& calls : senders()) calls->cancel_all();
}

void SenderPool::withdraw_all() {
  for (const auto& calls : senders()) calls->withdraw_all();
}

void SenderPool::decide_all(std::string_view reason) {
  for (const auto& calls : senders()) calls->decide_all(reason);
}

bool SenderPool::join(Millis within) {
  Senders all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(senders_);
    all.insert(all.end(), retiring_.begin(), retiring_.end());
    all.insert(all.end(), abandoned_.begin(), abandoned_.end());
  }
  const auto until = std::chrono::steady_clock::now() + within;
  bool clean = true;
  for (auto& calls : all) {
    calls->decide_all("host_stopped");
    calls->close();
    calls->join(Millis{0});  // all end side by side
  }
  for (auto& calls : all) {
    const auto left = std::chrono::ceil<Millis>(until - std::chrono::steady_clock::now());
    if (calls->join(std::max(left, Millis{0}))) continue;
    clean = false;
    leak(std::move(calls));
  }
  const std::lock_guard lock(mutex_);
  abandoned_.clear();
  retiring_.clear();
  return clean;
}

}  // namespace waybill
