// A few threads with sessions of their own, for what routes ask of the database.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/time.h"

namespace waybill {

// Safe from any thread.
template <class S>
class SessionPool {
 public:
  using Session = S;
  using Question = std::function<void(Session&)>;

  // A question that has waited for `patience` is dropped: nobody waits for its answer any more.
  explicit SessionPool(std::vector<Session> sessions, Millis patience = std::chrono::hours{24})
      : sessions_(std::move(sessions)), patience_(patience) {}
  ~SessionPool() { stop(); }

  // One thread for each session. Questions that came before wait for it.
  void start() {
    for (auto& session : sessions_) threads_.emplace_back([this, &session](std::stop_token stop) { run(stop, session); });
  }

  void ask(Question question) {
    std::lock_guard lock(mutex_);
    if (stopped_) return;
    waiting_.push_back({std::move(question), std::chrono::steady_clock::now()});
    changed_.notify_one();
  }

  // Questions that wait are still asked; later ones are dropped.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
  }

 private:
  void run(std::stop_token stop, Session& session) {
    for (;;) {
      Question question;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
        if (waiting_.empty()) return;
        const bool is_late = std::chrono::steady_clock::now() - waiting_.front().since >= patience_;
        question = std::move(waiting_.front().question);
        waiting_.pop_front();
        if (is_late) {
          lock.unlock();
          continue;  // its end may tell somebody, who may ask again
        }
      }
      question(session);
    }
  }

  struct Waiting {
    Question question;
    std::chrono::steady_clock::time_point since;
  };

  std::vector<Session> sessions_;
  const Millis patience_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace waybill
