// The way into a plugin: what is inside of it, for the breadcrumbs that a crash leaves and for whoever watches the strand.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "breadcrumbs/breadcrumb_file.h"
#include "execute/sender.h"

namespace waybill {

// One thread at a time enters.
class PluginEntry {
 public:
  PluginEntry(const Clock& clock, Breadcrumb crumb) : clock_(clock), crumb_(std::move(crumb)) {}

  // `call`: 0 for none. `job`: the delivery that it is for; null: none. True if the plugin threw.
  template <class Enter>
  bool enter(std::uint64_t call, const Job* job, Enter enter) {
    begin(call, job);
    bool threw = false;
    try {
      enter();
    } catch (...) {
      threw = true;
    }
    end();
    return threw;
  }

  // For who is inside: the delivery that the plugin was entered for; null: none.
  const Job* job() const { return job_; }

  // [any thread] While the strand comes and goes nobody hangs: then none is as good an answer.
  std::optional<Sender::Inside> inside() const {
    const auto since = since_.load(std::memory_order_acquire);
    const auto call = call_.load(std::memory_order_acquire);
    if (since == 0 || since_.load(std::memory_order_relaxed) != since) return std::nullopt;
    return Sender::Inside{{call}, Clock::Monotonic(Clock::Monotonic::duration(since))};
  }

 private:
  void begin(std::uint64_t call, const Job* job) {
    crumb_.enter(job != nullptr ? trail_of(job->delivery, job->history) : Trail{});
    job_ = job;
    call_.store(call, std::memory_order_release);
    since_.store(clock_.now().time_since_epoch().count(), std::memory_order_release);
  }
  void end() {
    since_.store(0, std::memory_order_relaxed);
    crumb_.leave();
    job_ = nullptr;
  }

  const Clock& clock_;
  Breadcrumb crumb_;
  const Job* job_ = nullptr;
  std::atomic<std::uint64_t> call_{0};           // since `since_`
  std::atomic<Clock::Monotonic::rep> since_{0};  // 0: nobody is inside
};

}  // namespace waybill
