// The pool's threads.
#include "api/read_pool.h"

namespace waybill {

ReadPool::ReadPool(std::vector<Session> sessions) : sessions_(std::move(sessions)) {
  for (auto& session : sessions_) threads_.emplace_back([this, &session](std::stop_token stop) { run(stop, session); });
}

ReadPool::~ReadPool() { stop(); }

void ReadPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  for (auto& thread : threads_) thread.request_stop();
  threads_.clear();
}

void ReadPool::ask(Question question) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;
  waiting_.push_back(std::move(question));
  changed_.notify_one();
}

void ReadPool::run(std::stop_token stop, Session& session) {
  for (;;) {
    Question question;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
      if (waiting_.empty()) return;
      question = std::move(waiting_.front());
      waiting_.pop_front();
    }
    question(session);
  }
}

}  // namespace waybill
