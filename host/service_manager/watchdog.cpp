// The look at all pulses, now and then.
#include "service_manager/watchdog.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "service_manager/stack_report.h"

namespace waybill {
namespace {

constexpr std::chrono::milliseconds kLook{1000};
constexpr std::chrono::milliseconds kLateness{2000};  // that a busy machine explains
constexpr int kLooksInPeriod = 4;                     // where the manager's period is short

}  // namespace

std::optional<StuckThread> find_stuck(const std::vector<const Pulse*>& pulses, std::chrono::milliseconds limit,
                                      Pulse::Time since) {
  const auto now = std::chrono::steady_clock::now();
  const Pulse* slowest = nullptr;
  Pulse::Duration longest = limit;
  for (const auto* pulse : pulses)
    if (const auto turn = pulse->turn_time(now, since); turn && *turn > longest) {
      slowest = pulse;
      longest = *turn;
    }
  if (slowest == nullptr) return std::nullopt;
  return StuckThread{slowest->name(), std::chrono::floor<std::chrono::seconds>(longest), stack_of(slowest->thread())};
}

Watchdog::Watchdog(const ServiceManager& manager, std::vector<const Pulse*> pulses, Terms terms)
    : manager_(manager),
      pulses_(std::move(pulses)),
      terms_(std::move(terms)),
      thread_([this](std::stop_token stop) { watch(stop); }) {}

void Watchdog::watch(std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  std::chrono::microseconds pause = kLook;
  if (const auto period = manager_.watchdog_period()) pause = std::min(pause, *period / kLooksInPeriod);
  std::string told;
  Pulse::Time looked = std::chrono::steady_clock::now(), since{};
  while (!stop.stop_requested()) {
    // If this thread did not run, neither did the others: the process or its machine was stopped, and they begin anew.
    const auto before = std::exchange(looked, std::chrono::steady_clock::now());
    if (looked - before > pause + kLateness) since = looked;
    if (const auto stuck = find_stuck(pulses_, terms_.limit, since)) {
      terms_.tell(*stuck);
      if (manager_.watchdog_period()) return manager_.stuck();
      never.wait_for(lock, stop, terms_.limit, [] { return false; });  // nobody ends this process for it: say it again only then
      looked = std::chrono::steady_clock::now();
      continue;
    }
    manager_.alive();
    if (auto status = terms_.status(); status != told) {
      manager_.status(status);
      told = std::move(status);
    }
    never.wait_for(lock, stop, pause, [] { return false; });
  }
}

}  // namespace waybill
