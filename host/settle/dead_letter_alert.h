// The text of a dead letter's alert.
#pragma once

#include <string>

#include "domain/contract.h"
#include "store/queue/settle_store.h"

namespace waybill {

// What the delivery belongs to, as its alert says it.
struct AlertOrigin {
  const std::string& kind;
  const std::string& client_ref;
  int action_order;
};

// Alerts with the same `about` are one incident. docs/operations/runbook.md says what to do about it; the message around the
// words is made in maintenance/alert_text.cpp.
[[gnu::cold]] DeadLetterAlert dead_letter_alert(const AlertOrigin& origin, const Contract& contract, const std::string& reason);

}  // namespace waybill
