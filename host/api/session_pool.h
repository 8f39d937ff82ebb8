// A few threads with sessions of their own, for what routes ask of the database.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <utility>
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

// Organisations take turns, so that the questions of one wait for one of each other at most. While several ask, none has all
// sessions. Safe from any thread.
template <class S>
class SessionPool {
 public:
  using Session = S;
  using Question = std::function<void(Session&)>;

  // Called now and then with the number of questions that were dropped because they had waited for too long.
  using TellLate = std::function<void(std::size_t)>;

  // A question that has waited for `patience` is dropped, and its request answered with 503: nobody waits any longer.
  explicit SessionPool(std::vector<Session> sessions, Millis patience = std::chrono::hours{24}, PoolLimits limits = {},
                       TellLate tell_late = {})
      : sessions_(std::move(sessions)), patience_(patience), limits_(limits), tell_late_(std::move(tell_late)) {}
  ~SessionPool() { stop(); }

  // One thread for each session. Questions that came before wait for it.
  void start() {
    for (auto& session : sessions_) threads_.emplace_back([this, &session](std::stop_token stop) { run(stop, session); });
  }

  // `answer` takes a Session&, the const http::Request& and the const http::Reply&, in one of the threads. False: too much waits,
  // or the pool was stopped, and the request was answered with 503, or with 429 if its own organisation has the most of it.
  // Dropped, with 503, when its client goes away meanwhile.
  template <class Answer>
  bool ask(http::Request request, http::Reply reply, Answer answer, std::size_t more_bytes = 0) {
    Waiting waiting{.org = request.principal.org.value,
                    .bytes = kQuestionBytes + 2 * request.body.size() + more_bytes,
                    .connection = request.connection,
                    .reply = reply};
    waiting.question = [request = std::move(request), reply = std::move(reply), answer = std::move(answer)](Session& session) {
      answer(session, request, reply);
    };
    const auto refusal = add(waiting);
    if (refusal) reply_to(waiting, *refusal);
    return !refusal;
  }

  // The same for a question without a request of its own. False: it is not taken, and `reply` has no answer. One that is dropped
  // answers `reply` with 503.
  bool offer(Question question, http::Reply reply = {}) {
    Waiting waiting{.question = std::move(question), .reply = std::move(reply)};
    return !add(waiting);
  }

  // For what the host asks on its own behalf, a few at one time: always taken.
  void ask(Question question) {
    std::lock_guard lock(mutex_);
    push({.question = std::move(question), .bytes = 0});
  }

  // Questions that wait are still asked, if there are threads; later ones, and all without threads, are answered with 503.
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    for (auto& thread : threads_) thread.request_stop();
    threads_.clear();
    std::list<Turn> unasked;  // it was never started
    {
      const std::lock_guard lock(mutex_);
      unasked.swap(turns_);
    }
    for (const auto& turn : unasked)
      for (const auto& one : turn.waiting) reply_to(one, overload_response());
  }

 private:
  static constexpr std::size_t kQuestionBytes = 1024;
  static constexpr Millis kQuick{100};  // within this, a client that only closed its own side still gets its answer
  static constexpr std::int64_t kNobody = -1;
  static constexpr std::chrono::minutes kShared{1};     // after a question of another organisation
  static constexpr std::chrono::seconds kTellPause{1};  // between two words about dropped questions

  struct Waiting {
    Question question{};
    std::int64_t org = kNobody;
    std::size_t bytes = kQuestionBytes;
    std::shared_ptr<const http::Connection> connection{};
    http::Reply reply{};
    std::chrono::steady_clock::time_point since{};
  };
  // What waits of one organisation, or of nobody, in the order in which it came.
  struct Turn {
    std::int64_t org;
    std::deque<Waiting> waiting{};
  };
  struct Load {
    std::size_t questions = 0;
    std::size_t bytes = 0;
    std::size_t under_way = 0;  // sessions
    bool has_room(const PoolLimits& limits, std::size_t part, std::size_t more) const {
      return questions < limits.questions / part && (questions == 0 || bytes + more <= limits.bytes / part);
    }
    void add(const Waiting& one) { ++questions, bytes += one.bytes; }
    void remove(const Waiting& one) { --questions, bytes -= one.bytes; }
  };

  // Takes the question, and only then moves it away; else answers why not.
  std::optional<http::Response> add(Waiting& waiting) {
    std::lock_guard lock(mutex_);
    if (stopped_ || !load_.has_room(limits_, 1, waiting.bytes)) return overload_response();
    if (const auto mine = by_org_.find(waiting.org); waiting.org != kNobody && mine != by_org_.end())
      if (!mine->second.has_room(limits_, 2, waiting.bytes)) return organisation_overload_response();
    push(std::move(waiting));
    return std::nullopt;
  }

  void push(Waiting waiting) {
    if (stopped_) return;
    waiting.since = std::chrono::steady_clock::now();
    if (waiting.org != kNobody && waiting.org != last_org_) {
      if (last_org_ != kNobody) shared_until_ = waiting.since + kShared;
      last_org_ = waiting.org;
    }
    load_.add(waiting);
    by_org_[waiting.org].add(waiting);
    const auto turn = std::find_if(turns_.begin(), turns_.end(), [&](const Turn& one) { return one.org == waiting.org; });
    if (turn == turns_.end()) turns_.push_back({.org = waiting.org});
    (turn == turns_.end() ? turns_.back() : *turn).waiting.push_back(std::move(waiting));
    changed_.notify_one();
  }

  // Whose turn it is among those that may have another session; end(): nobody's.
  typename std::list<Turn>::iterator next_turn() {
    const bool is_shared = sessions_.size() > 1 && !stopped_ && std::chrono::steady_clock::now() < shared_until_;
    return std::find_if(turns_.begin(), turns_.end(), [&](const Turn& one) {
      return one.org == kNobody || !is_shared || by_org_[one.org].under_way + 1 < sessions_.size();
    });
  }

  Waiting take(typename std::list<Turn>::iterator turn) {
    Waiting first = std::move(turn->waiting.front());
    turn->waiting.pop_front();
    if (turn->waiting.empty())
      turns_.erase(turn);
    else
      turns_.splice(turns_.end(), turns_, turn);
    load_.remove(first);
    auto& mine = by_org_[first.org];
    mine.remove(first);
    ++mine.under_way;
    return first;
  }

  void end(std::int64_t org) {
    const std::lock_guard lock(mutex_);
    auto& mine = by_org_[org];
    if (--mine.under_way == 0 && mine.questions == 0) by_org_.erase(org);
    if (!turns_.empty()) changed_.notify_one();
  }

  void run(std::stop_token stop, Session& session) {
    for (;;) {
      Waiting next;
      {
        std::unique_lock lock(mutex_);
        auto turn = turns_.end();
        changed_.wait(lock, stop, [&] { return (turn = next_turn()) != turns_.end(); });
        if (turn == turns_.end()) return;
        next = take(turn);
      }
      const std::int64_t org = next.org;
      carry_out(std::move(next), session);
      end(org);
    }
  }

  void carry_out(Waiting next, Session& session) {
    const auto waited = std::chrono::steady_clock::now() - next.since;
    if (waited >= patience_) {  // its end may tell somebody, who may ask again
      note_late();
      return reply_to(next, overload_response());
    }
    if (waited >= kQuick && next.connection && next.connection->is_gone())
      reply_to(next, overload_response());
    else
      next.question(session);
  }

  void note_late() {
    std::size_t count = 0;
    {
      const std::lock_guard lock(mutex_);
      ++late_;
      const auto now = std::chrono::steady_clock::now();
      if (!tell_late_ || now - told_late_ < kTellPause) return;
      told_late_ = now;
      count = std::exchange(late_, 0);
    }
    tell_late_(count);
  }

  static void reply_to(const Waiting& waiting, http::Response response) {
    if (waiting.reply) waiting.reply(std::move(response));
  }

  std::vector<Session> sessions_;
  const Millis patience_;
  const PoolLimits limits_;
  const TellLate tell_late_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  std::list<Turn> turns_;  // of those that have questions; the next one first
  Load load_;
  std::unordered_map<std::int64_t, Load> by_org_;
  std::int64_t last_org_ = kNobody;
  std::chrono::steady_clock::time_point shared_until_{};  // more than one organisation asks
  std::size_t late_ = 0;                                  // dropped since it was told
  std::chrono::steady_clock::time_point told_late_{};
  bool stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use all above
};

}  // namespace waybill
