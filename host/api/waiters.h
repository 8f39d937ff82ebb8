// Requests that wait for a submission to move: answered at once by this host's settler, found by a poll when another host moved
// it.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/read_pool.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

inline constexpr std::size_t kMaxWaiters = 20'000;

// Safe from any thread.
class Waiters {
 public:
  Waiters(ReadPool& pool, const Clock& clock);
  ~Waiters();  // waits until the pool has asked or dropped this object's questions

  void start();
  // Whether one more may wait: at most kMaxWaiters do. No `done` may hold a request's body.
  bool has_room() const;
  // Calls `done` once: when the submission has ended or an attempt of it has, or after `most`; at once if there is no room.
  void add(SubmissionId submission, Millis most, std::function<void()> done);
  void moved(const std::vector<SubmissionId>& submissions);
  void stop();  // whoever waits is told now, and whoever comes later at once

 private:
  struct Waiter {
    SubmissionId submission;
    std::function<void()> done;
  };
  using ByDeadline = std::multimap<Clock::Monotonic, Waiter>;
  // A question of ours in the pool holds one from its start to its end.
  class Question {
   public:
    explicit Question(Waiters& waiters);  // call with its mutex_
    ~Question();
    Question(const Question&) = delete;
    Question& operator=(const Question&) = delete;

   private:
    Waiters& waiters_;
  };

  void run(std::stop_token stop);
  void look();
  void look_at_new_ones();
  std::vector<std::function<void()>> take(SubmissionId submission);

  ReadPool& pool_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  ByDeadline by_deadline_;
  std::unordered_multimap<SubmissionId, ByDeadline::iterator> by_submission_;
  std::vector<SubmissionId> new_ones_;  // that may have moved before we began to wait
  bool looking_ = false, looking_at_new_ones_ = false;
  std::size_t questions_ = 0;  // of ours in the pool
  bool stopped_ = false;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
