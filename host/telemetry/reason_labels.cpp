// Which reasons are words, and how many of a target are told apart.
#include "telemetry/reason_labels.h"

#include <algorithm>

namespace waybill {
namespace {

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_word(std::string_view text) {
  const auto fits = [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.' || c == ':'; };
  return text.size() <= kMaxReasonWord && is_alphanumeric(text.front()) && std::all_of(text.begin(), text.end(), fits);
}

}  // namespace

std::string_view ReasonLabels::label(std::string_view target, std::string_view reason) {
  if (reason.empty() || reason == kOtherReason) return reason;
  if (!is_word(reason)) return kOtherReason;
  const std::lock_guard lock(mutex_);
  auto found = reasons_.find(target);
  if (found == reasons_.end()) {
    if (reasons_.size() >= kMaxTargets) return kOtherReason;
    found = reasons_.try_emplace(std::string(target)).first;
  }
  auto& known = found->second;
  if (known.contains(reason)) return reason;
  if (known.size() >= kMaxReasonsOfTarget) return kOtherReason;
  known.emplace(reason);
  return reason;
}

}  // namespace waybill
