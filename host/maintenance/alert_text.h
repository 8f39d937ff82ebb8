// What alerts say. Pure functions.
#pragma once

#include <span>
#include <string>

#include "store/alerts.h"

namespace waybill {

// "stuck: ..." with how often since when, and where the runbook speaks of it; of many incidents, a line each.
std::string text_of(const Notification& notification);
// A Slack-compatible webhook's body: {"text": ...}. What has a meaning there (<!channel>, links) is written so that it has none.
std::string payload_of(const std::string& text);

// `blocked_reason`: why this host does not take them, "" if it is not known.
std::string words_of(const Stuck& stuck, const std::string& blocked_reason);
// A small table, the most frequent first; all of one organisation and period, at least one.
std::string words_of(std::span<const ProviderFailure> failures);

}  // namespace waybill
