// How alerts are worded as notifications. Pure functions. What a dead letter says: settle/dead_letter_alert.h.
#pragma once

#include <span>
#include <string>

#include "store/operations/alert_store.h"
#include "store/operations/failure_check_store.h"

namespace waybill {

// "stuck: ..." with count, first time and the runbook's section; for many incidents one line each.
std::string text_of(const Notification& notification);
// The body of a Slack-compatible webhook: {"text": ...}. Slack's markup (<!channel>, links) is escaped, and
// "@everyone" and its like become "@''everyone", which calls nobody and which a shell reads as it was.
std::string payload_of(const std::string& text);

// "\nwaybill explain 'a b'": a line that can be pasted into a shell. `words` that hold an option get its value.
std::string command(const std::string& words, const std::string& argument);

// `blocked_reason`: why this host does not run the action type, "" if it does or the reason is unknown.
std::string words_of(const StuckWork& stuck, const std::string& blocked_reason);
// A small table, most frequent first. `failures` is not empty and of one organisation and period.
std::string words_of(std::span<const ProviderFailure> failures);
// What a failure check found in one organisation: counts by status, the first of them, and what could not be checked.
std::string words_of(const DigestLine& found, std::span<const DigestFailure> first, std::span<const std::string> problems);

}  // namespace waybill
