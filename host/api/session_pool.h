// A few threads with sessions of their own, for what routes ask of the database.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/error_reply.h"
#include "base/time.h"
#include "http/http.h"

namespace waybill {

// What may wait for a pool's sessions at one time; of one organisation, half of it.
struct PoolLimits {
  std::size_t questions = 4096;
  std::size_t bytes =
      64 << 20;  // a question counts as 1 KiB, twice its request's body (as text, and as it was read), and what it says
};

// Safe from any thread.
template <class S>
class SessionPool {
 public:
  using Session = S;
  using Question = std::function<void(Session&)>;

  // A question that has waited for `patience` is dropped: nobody waits for its answer any more.
  explicit SessionPool(std::vector<Session> sessions, Millis patience = std::chrono::hours{24}, PoolLimits limits = {})
      : sessions_(std::move(sessions)), patience_(patience), limits_(limits) {}
  ~SessionPool() { stop(); }

  // One thread for each session. Questions that came before wait for it.
  void start() {
    for (auto& session : sessions_) threads_.emplace_back([this, &session](std::stop_token stop) { run(stop, session); });
  }

  // `answer` takes a Session&, the const http::Request& and the const http::Reply&, in one of the threads. False: too much waits,
  // and the request was answered with 503, or with 429 if its own organisation has the most of it. Dropped, with 503, when its
  // client goes away meanwhile.
  template <class Answer>
  bool ask(http::Request request, http::Reply reply, Answer answer, std::size_t more_bytes = 0) {
    Waiting waiting{.org = request.principal.org.value,
                    .bytes = kQuestionBytes + 2 * request.body.size() + more_bytes,
                    .connection = request.connection,
                    .reply = reply};
    waiting.question = [request = std::move(request), reply = std::move(reply), answer = std::move(answer)](Session& session) {
      answer(session, request, reply);
    };
    const auto refusal = add(std::move(waiting));
    if (refusal) reply_to(waiting, *refusal);
    return !refusal;
  }

  // The same for a question without a request of its own. False: too much waits.
  bool offer(Question question) { return !add({.question = std::move(question)}); }

  // For what the host asks on its own behalf, a few at one time: always taken.
  void ask(Question question) {
    std::lock_guard lock(mutex_);
    push({.question = std::move(question), .bytes = 0});
  }

  // Questions that wait are still asked, if there are threads; later ones are dropped.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
    std::deque<Waiting> unasked;  // it was never started; what ends with them may take locks
    const std::lock_guard lock(mutex_);
    unasked.swap(waiting_);
  }

 private:
  static constexpr std::size_t kQuestionBytes = 1024;
  static constexpr Millis kQuick{100};  // within this, a client that only closed its own side still gets its answer
  static constexpr std::int64_t kNobody = -1;

  struct Waiting {
    Question question{};
    std::int64_t org = kNobody;
    std::size_t bytes = kQuestionBytes;
    std::shared_ptr<const http::Connection> connection{};
    http::Reply reply{};
    std::chrono::steady_clock::time_point since{};
  };
  struct Load {
    std::size_t questions = 0;
    std::size_t bytes = 0;
    bool has_room(const PoolLimits& limits, std::size_t part, std::size_t more) const {
      return questions < limits.questions / part && (questions == 0 || bytes + more <= limits.bytes / part);
    }
    void add(const Waiting& one) { ++questions, bytes += one.bytes; }
    void remove(const Waiting& one) { --questions, bytes -= one.bytes; }
  };

  // Takes the question, unless it answers why not.
  std::optional<http::Response> add(Waiting&& waiting) {
    std::lock_guard lock(mutex_);
    if (!load_.has_room(limits_, 1, waiting.bytes)) return overload_response();
    if (const auto mine = by_org_.find(waiting.org); waiting.org != kNobody && mine != by_org_.end())
      if (!mine->second.has_room(limits_, 2, waiting.bytes)) return organisation_overload_response();
    push(std::move(waiting));
    return std::nullopt;
  }

  void push(Waiting waiting) {
    if (stopped_) return;
    waiting.since = std::chrono::steady_clock::now();
    load_.add(waiting);
    if (waiting.org != kNobody) by_org_[waiting.org].add(waiting);
    waiting_.push_back(std::move(waiting));
    changed_.notify_one();
  }

  Waiting take() {
    Waiting first = std::move(waiting_.front());
    waiting_.pop_front();
    load_.remove(first);
    if (const auto of = by_org_.find(first.org); of != by_org_.end()) {
      of->second.remove(first);
      if (of->second.questions == 0) by_org_.erase(of);
    }
    return first;
  }

  void run(std::stop_token stop, Session& session) {
    for (;;) {
      Waiting next;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, stop, [&] { return !waiting_.empty(); });
        if (waiting_.empty()) return;
        next = take();
      }
      const auto waited = std::chrono::steady_clock::now() - next.since;
      if (waited >= patience_) continue;  // its end may tell somebody, who may ask again
      if (waited >= kQuick && next.connection && next.connection->is_gone())
        reply_to(next, overload_response());
      else
        next.question(session);
    }
  }

  static void reply_to(const Waiting& waiting, http::Response response) {
    if (waiting.reply) waiting.reply(std::move(response));
  }

  std::vector<Session> sessions_;
  const Millis patience_;
  const PoolLimits limits_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;
  Load load_;
  std::unordered_map<std::int64_t, Load> by_org_;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace waybill
