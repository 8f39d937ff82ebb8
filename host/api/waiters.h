// Requests that wait for a submission to move: answered at once by this host's settler, found by a poll when another host moved
// it.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/read_pool.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/time.h"

namespace waybill {

// Safe from any thread.
class Waiters {
 public:
  Waiters(ReadPool& pool, const Clock& clock);
  ~Waiters();

  void start();
  // Calls `done` once: when the submission has ended or an attempt of it has, or after `most`.
  void add(SubmissionId submission, Millis most, std::function<void()> done);
  void moved(const std::vector<SubmissionId>& submissions);
  void stop();  // whoever waits is told now, and whoever comes later at once

 private:
  struct Waiter {
    SubmissionId submission;
    std::function<void()> done;
  };
  using ByDeadline = std::multimap<Clock::Monotonic, Waiter>;

  void run(std::stop_token stop);
  void look();
  std::vector<std::function<void()>> take(SubmissionId submission);

  ReadPool& pool_;
  const Clock& clock_;
  std::mutex mutex_;  // for all below
  std::condition_variable_any changed_;
  ByDeadline by_deadline_;
  std::unordered_multimap<SubmissionId, ByDeadline::iterator> by_submission_;
  bool looking_ = false;
  bool stopped_ = false;
  std::jthread thread_;  // last: it uses all above
};

}  // namespace waybill
