// Which call a process dies of when it dies outside of all of them, such as in a thread that a call has left behind. Halves of
// the calls that were open are tried in turn, until one is left.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace waybill::plugin_process {

// One thread's. While nothing has died this way, it holds nothing back.
class Suspects {
 public:
  using CallId = std::uint64_t;
  using Time = std::chrono::steady_clock::time_point;

  // May this call begin in the present process? One that may not is begun later: see tried().
  bool may_begin(CallId call);
  void ended(CallId call);
  // The process died, having begun these, which are in order. `inside`: the call that it was inside of; none: it named none.
  // Returns the one to blame: that, or the one that twice in a row was the only one to suspect.
  std::optional<CallId> died(const std::vector<CallId>& begun, std::optional<CallId> inside, Time now);
  // The next process begins its calls now.
  void begins(Time now) { tried_since_ = now; }

  // When tried() has something to say; none while nothing is suspected.
  std::optional<Time> due() const;
  // The calls on trial have lived for longer than their process had: these may begin now as well, and are on trial.
  std::vector<CallId> tried(Time now);
  bool is_any() const { return !trial_.empty() || !held_.empty(); }

 private:
  void try_half();

  std::set<CallId> trial_;       // the culprit is one of them, or:
  std::deque<CallId> held_;      // one of those that are not begun in the present process,
  std::size_t rest_ = 0;         // most likely of the first so many
  std::set<CallId> cleared_;     // that lived on for long enough
  std::map<CallId, int> alone_;  // deaths in a row with nobody else on trial
  Time tried_since_{};
  std::chrono::steady_clock::duration lived_{};  // the process that died, with its calls
};

}  // namespace waybill::plugin_process
