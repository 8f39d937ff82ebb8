// Decides which action types may run on this host: all that are not switched off. After unexplained deaths they start one by one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "breadcrumbs/breadcrumb_folder.h"

namespace waybill {

inline constexpr std::chrono::seconds kTrial{3};  // how long each action type runs before the next one starts

// Safe from any thread.
class StartGate {
 public:
  // Without a folder everything is open. `plugin_file` returns the path of an action type's plugin.
  StartGate(BreadcrumbFolder* folder, std::shared_ptr<BreadcrumbFile> file,
            std::function<std::filesystem::path(const std::string& action_type)> plugin_file);

  // These start one by one, and all others after them.
  void begin_one_by_one(std::vector<std::string> action_types, Clock::Monotonic now);
  bool is_open(const std::string& action_type) const;
  // Why it is not open, and what to do; "" if it is open.
  std::string blocked_reason(const std::string& action_type) const;
  // Call about once a second. Checks what was switched off or on, and which type may start next. True if an action type became
  // open.
  bool look(Clock::Monotonic now);

 private:
  void put_on_trial(Clock::Monotonic now);  // with mutex_ held

  BreadcrumbFolder* const folder_;
  const std::shared_ptr<BreadcrumbFile> file_;
  const std::function<std::filesystem::path(const std::string&)> plugin_file_;
  std::atomic<bool> all_open_{true};
  mutable std::mutex mutex_;  // for all below
  std::set<std::string> off_;
  std::set<std::string> begun_;
  std::vector<std::string> waiting_;  // next at the back
  bool one_by_one_ = false;
  Clock::Monotonic next_at_{};
};

}  // namespace waybill
