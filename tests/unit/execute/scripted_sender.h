// A sender whose every step the test decides: attempts pile up until the test begins, completes or ignores them.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>

#include "execute/sender.h"
#include "telemetry/log.h"

namespace waybill::testing {

class SilentLog final : public Log {
 public:
  void write(Level, std::string_view, std::span<const Field>) override {}
};

// What all scripted senders of one test share.
class Stage final : public SenderFactory {
 public:
  struct Begun {
    CallId call;
    std::shared_ptr<const OpenJob> job;
    Millis deadline;
    Completions* completions;
    std::size_t worker;
  };

  Result<std::unique_ptr<Sender>> make(const std::string& action_type, Completions& completions) override;
  std::size_t senders(std::string_view) const override { return lane_count; }
  std::size_t calls_per_sender(std::string_view) const override { return 10; }

  // The next attempt that a sender took.
  Begun next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !begun_.empty(); }))
      throw std::runtime_error("no attempt came");
    auto front = begun_.front();
    begun_.pop_front();
    return front;
  }
  bool wait_cancelled(CallId call) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60),
                             [&] { return std::find(cancelled_.begin(), cancelled_.end(), call) != cancelled_.end(); });
  }
  bool was_cancelled(CallId call) {
    const std::lock_guard lock(mutex_);
    return std::find(cancelled_.begin(), cancelled_.end(), call) != cancelled_.end();
  }
  std::size_t ended() {
    const std::lock_guard lock(mutex_);
    return ended_;
  }

  std::size_t lane_count = 1;
  std::atomic<int> refusals{0};  // so many calls of make() fail
  std::atomic<int> made{0};
  std::atomic<bool> hold{false};        // attempts are not begun: they can be withdrawn
  std::atomic<std::int64_t> inside{0};  // since when the strand is inside the plugin, 0 if it is not
  std::atomic<std::uint64_t> inside_call{0};
  std::atomic<int> given_up{0};
  std::atomic<bool> joins{true};

 private:
  friend class ScriptedSender;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Begun> begun_;
  std::vector<CallId> held_;
  std::vector<CallId> cancelled_;
  std::size_t ended_ = 0;
};

class ScriptedSender final : public Sender {
 public:
  ScriptedSender(Stage& stage, Completions& completions, std::size_t worker)
      : stage_(stage), completions_(completions), lane_(worker) {}
  void send(std::vector<Attempt> attempts) override {
    const std::lock_guard lock(stage_.mutex_);
    for (auto& attempt : attempts) {
      if (stage_.hold)
        stage_.held_.push_back(attempt.call);
      else
        stage_.begun_.push_back({attempt.call, attempt.job, attempt.deadline, &completions_, lane_});
    }
    stage_.changed_.notify_all();
  }
  bool withdraw(CallId call) override {
    const std::lock_guard lock(stage_.mutex_);
    return std::erase(stage_.held_, call) != 0;
  }
  void cancel(CallId call) override {
    const std::lock_guard lock(stage_.mutex_);
    stage_.cancelled_.push_back(call);
    stage_.changed_.notify_all();
  }
  void ended(CallId) override {
    const std::lock_guard lock(stage_.mutex_);
    ++stage_.ended_;
  }
  std::optional<Inside> inside_plugin() const override {
    const auto since = stage_.inside.load();
    if (since == 0) return std::nullopt;
    return Inside{{stage_.inside_call.load()}, Clock::Monotonic(Clock::Monotonic::duration(since))};
  }
  void give_up() override { ++stage_.given_up; }
  bool join(Millis) override { return stage_.joins; }

 private:
  Stage& stage_;
  Completions& completions_;
  std::size_t lane_;
};

inline Result<std::unique_ptr<Sender>> Stage::make(const std::string& action_type, Completions& completions) {
  if (refusals > 0) {
    --refusals;
    return fail(Error::Kind::invalid, "no sender of " + action_type);
  }
  return std::make_unique<ScriptedSender>(*this, completions, static_cast<std::size_t>(made++));
}

}  // namespace waybill::testing
