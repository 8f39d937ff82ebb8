// What the folder says of action types, kept at hand for the claim.
#include "breadcrumbs/start_gate.h"

#include <algorithm>

namespace waybill {

StartGate::StartGate(BreadcrumbFolder* folder, std::shared_ptr<BreadcrumbFile> file,
                     std::function<std::filesystem::path(const std::string&)> plugin_file)
    : folder_(folder), file_(std::move(file)), plugin_file_(std::move(plugin_file)) {
  look({});
}

void StartGate::begin_one_by_one(std::vector<std::string> action_types, Clock::Monotonic now) {
  const std::lock_guard lock(mutex_);
  one_by_one_ = true;
  all_open_ = false;
  std::sort(action_types.begin(), action_types.end(), std::greater<>());
  action_types.erase(std::unique(action_types.begin(), action_types.end()), action_types.end());
  waiting_ = std::move(action_types);
  std::erase_if(waiting_, [&](const std::string& type) { return off_.contains(type); });
  put_on_trial(now);
}

void StartGate::put_on_trial(Clock::Monotonic now) {
  next_at_ = now + kTrial;
  std::string next;
  if (waiting_.empty()) {
    one_by_one_ = false;
  } else {
    next = std::move(waiting_.back());
    waiting_.pop_back();
    begun_.insert(next);
  }
  if (file_) file_->on_trial(next);  // before it may run
}

bool StartGate::is_open(const std::string& action_type) const {
  if (all_open_) return true;
  const std::lock_guard lock(mutex_);
  return !off_.contains(action_type) && (!one_by_one_ || begun_.contains(action_type));
}

std::string StartGate::blocked_reason(const std::string& action_type) const {
  if (all_open_) return {};
  const std::lock_guard lock(mutex_);
  if (off_.contains(action_type))
    return "action type " + action_type +
           " is switched off on this machine after it brought hosts down: replace its plugin and restart, or run `waybill plugin "
           "switch-on " +
           action_type + "`";
  if (one_by_one_ && !begun_.contains(action_type))
    return "action types begin one by one after hosts died here; " + action_type + " has not had its turn";
  return {};
}

bool StartGate::look(Clock::Monotonic now) {
  std::set<std::string> off;
  for (const auto& type : folder_ != nullptr ? folder_->off() : std::vector<std::string>{}) {
    if (folder_->is_off(type, plugin_file_(type)))
      off.insert(type);
    else
      folder_->switch_on(type);  // its plugin was replaced
  }
  const std::lock_guard lock(mutex_);
  bool opened = std::any_of(off_.begin(), off_.end(), [&](const std::string& type) { return !off.contains(type); });
  off_ = std::move(off);
  if (one_by_one_ && now >= next_at_) {
    put_on_trial(now);
    opened = true;
  }
  all_open_ = off_.empty() && !one_by_one_;
  return opened;
}

}  // namespace waybill
