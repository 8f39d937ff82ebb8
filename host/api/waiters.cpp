// Waiting, with a deadline each and a shared poll.
#include "api/waiters.h"

#include <algorithm>

namespace waybill {
namespace {
constexpr Millis kPoll{200};
constexpr std::size_t kMaxAtOnce = 1000;
}  // namespace

Waiters::Waiters(ReadPool& pool, const Clock& clock) : pool_(pool), clock_(clock) {}

void Waiters::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

Waiters::~Waiters() {
  stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return questions_ == 0; });
}

Waiters::Question::Question(Waiters& waiters) : waiters_(waiters) { ++waiters_.questions_; }

Waiters::Question::~Question() {
  const std::lock_guard lock(waiters_.mutex_);
  --waiters_.questions_;
  waiters_.changed_.notify_all();  // with the lock: as soon as it is free, nothing of this object may be touched
}

void Waiters::stop() {
  ByDeadline left;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    by_submission_.clear();
    left.swap(by_deadline_);
  }
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  for (auto& [deadline, waiter] : left) waiter.done();
}

void Waiters::add(SubmissionId submission, Millis most, std::function<void()> done) {
  {
    std::unique_lock lock(mutex_);
    if (stopped_ || by_deadline_.size() >= kMaxWaiters) {
      lock.unlock();
      return done();
    }
    const auto at = by_deadline_.emplace(clock_.now() + most, Waiter{submission, std::move(done)});
    by_submission_.emplace(submission, at);
    if (new_ones_.size() < kMaxWaiters) new_ones_.push_back(submission);
    changed_.notify_all();
  }
  look_at_new_ones();
}

bool Waiters::has_room() const {
  const std::lock_guard lock(mutex_);
  return by_deadline_.size() < kMaxWaiters;
}

// One question at a time, about those that came since the last one was asked.
void Waiters::look_at_new_ones() {
  std::shared_ptr<Question> open;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || looking_at_new_ones_ || new_ones_.empty()) return;
    open = std::make_shared<Question>(*this);
    looking_at_new_ones_ = true;
  }
  // However the question ends, also unasked, the next one may follow; what it had not found, the poll finds.
  std::shared_ptr<void> asked(nullptr, [this, open](void*) {
    const std::lock_guard lock(mutex_);
    looking_at_new_ones_ = false;
  });
  pool_.ask([open = std::move(open), this, asked = std::move(asked)](ReadPool::Session& session) mutable {
    std::vector<SubmissionId> ids;
    {
      const std::lock_guard lock(mutex_);
      const auto first = new_ones_.end() - static_cast<std::ptrdiff_t>(std::min(new_ones_.size(), kMaxAtOnce));
      ids.assign(first, new_ones_.end());
      new_ones_.erase(first, new_ones_.end());
    }
    const auto answer = session->moved(ids);
    asked.reset();
    if (answer && !answer->empty()) moved(*answer);
    look_at_new_ones();
  });
}

void Waiters::moved(const std::vector<SubmissionId>& submissions) {
  std::vector<std::function<void()>> ready;
  {
    std::lock_guard lock(mutex_);
    if (by_submission_.empty()) return;
    for (const auto submission : submissions)
      for (auto& done : take(submission)) ready.push_back(std::move(done));
  }
  for (auto& done : ready) done();
}

std::vector<std::function<void()>> Waiters::take(SubmissionId submission) {
  std::vector<std::function<void()>> taken;
  const auto [first, last] = by_submission_.equal_range(submission);
  for (auto at = first; at != last; ++at) {
    taken.push_back(std::move(at->second->second.done));
    by_deadline_.erase(at->second);
  }
  by_submission_.erase(first, last);
  return taken;
}

void Waiters::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    std::vector<std::function<void()>> over;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !by_deadline_.empty(); });
      changed_.wait_for(lock, stop, kPoll, [&] { return !by_deadline_.empty() && by_deadline_.begin()->first <= clock_.now(); });
      while (!by_deadline_.empty() && by_deadline_.begin()->first <= clock_.now()) {
        const auto first = by_deadline_.begin();
        const auto [from, to] = by_submission_.equal_range(first->second.submission);
        for (auto at = from; at != to; ++at) {
          if (at->second != first) continue;
          by_submission_.erase(at);
          break;
        }
        over.push_back(std::move(first->second.done));
        by_deadline_.erase(first);
      }
    }
    for (auto& done : over) done();
    look();
  }
}

void Waiters::look() {
  std::vector<SubmissionId> ids;
  std::shared_ptr<Question> open;
  {
    std::lock_guard lock(mutex_);
    if (looking_ || by_deadline_.empty()) return;
    open = std::make_shared<Question>(*this);
    for (const auto& [id, at] : by_submission_)
      if (ids.size() < kMaxAtOnce) ids.push_back(id);
    looking_ = true;
  }
  // However the question ends, also unasked, the next one may follow.
  const std::shared_ptr<void> asked(nullptr, [this, open = std::move(open)](void*) {
    const std::lock_guard lock(mutex_);
    looking_ = false;
  });
  pool_.ask([this, ids = std::move(ids), asked](ReadPool::Session& session) {
    if (const auto answer = session->moved(ids)) moved(*answer);
  });
}

}  // namespace waybill
