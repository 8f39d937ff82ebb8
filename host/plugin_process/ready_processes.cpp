// Keeps a process of a plugin ready.
#include "plugin_process/ready_processes.h"

#include <algorithm>

namespace waybill::plugin_process {
namespace {

constexpr std::size_t kAtOnce = 3;  // deaths in a row after which the next process still begins at once

}  // namespace

ReadyProcesses::ReadyProcesses(ProcessSpec spec, RestartDelays delays)
    : spec_(std::move(spec)), delays_(delays), thread_([this](const std::stop_token& stop) { run(stop); }) {}

ReadyProcesses::~ReadyProcesses() = default;

Result<ReadyProcess> ReadyProcesses::take(Millis wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return ready_.has_value(); });
  if (!ready_)
    return fail(Error::Kind::unavailable,
                refusal_.empty() ? "its process is starting" : "its process does not start: " + refusal_);
  auto taken = std::move(*ready_);
  ready_.reset();
  changed_.notify_all();
  return taken;
}

void ReadyProcesses::died() {
  const std::lock_guard lock(mutex_);
  note_death();
  changed_.notify_all();
}

std::size_t ReadyProcesses::deaths() const {
  const std::lock_guard lock(mutex_);
  return deaths_;
}

void ReadyProcesses::note_death() {
  const auto now = Steady::now();
  if (now - last_death_ > delays_.forgotten) in_a_row_ = 0;
  last_death_ = now;
  ++in_a_row_;
  ++deaths_;
}

Millis ReadyProcesses::delay() const {
  constexpr std::size_t kMaxDoublings = 20;
  if (in_a_row_ <= kAtOnce) return Millis{0};
  return std::min(delays_.first * (std::int64_t{1} << std::min(in_a_row_ - kAtOnce - 1, kMaxDoublings)), delays_.longest);
}

void ReadyProcesses::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    changed_.wait(lock, stop, [this] { return !ready_; });
    if (const auto until = last_death_ + delay(); Steady::now() < until) {
      changed_.wait_until(lock, stop, until, [&] { return last_death_ + delay() != until; });
      continue;
    }
    if (stop.stop_requested()) return;
    lock.unlock();
    auto started = start_process(spec_, delays_.greeting);
    lock.lock();
    if (started) {
      refusal_.clear();
      ready_.emplace(std::move(*started));
    } else {
      refusal_ = started.error().what.substr(0, started.error().what.find('\n'));
      note_death();
    }
    changed_.notify_all();
  }
}

}  // namespace waybill::plugin_process
