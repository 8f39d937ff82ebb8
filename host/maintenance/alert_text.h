// The texts of alerts. Pure functions.
#pragma once

#include <span>
#include <string>

#include "store/alerts.h"

namespace waybill {

// "stuck: ..." with count, first time and the runbook's section; for many incidents one line each.
std::string text_of(const Notification& notification);
// The body of a Slack-compatible webhook: {"text": ...}. Slack's markup (<!channel>, links) is escaped.
std::string payload_of(const std::string& text);

// `blocked_reason`: why this host does not run the action type, "" if it does or the reason is unknown.
std::string words_of(const Stuck& stuck, const std::string& blocked_reason);
// A small table, most frequent first. `failures` is not empty and of one organisation and period.
std::string words_of(std::span<const ProviderFailure> failures);

}  // namespace waybill
