// Turns what a plugin says of an attempt into an outcome that the host can trust in form.
#pragma once

#include <cstdint>
#include <string>

#include "domain/action_types.h"
#include "domain/outcome.h"

struct wb_outcome;

namespace waybill {

struct CheckedOutcome {
  Outcome outcome;
  std::string fault;  // a word when something was against the rules, such as "undeclared_reason"; else empty
};

// What the call was for: an accepted compose must bring an artefact, and nothing else may.
enum class CallKind : std::uint8_t { send, compose, status, probe, failures };

// Never fails: what is unusable becomes transient. Pure.
CheckedOutcome check_outcome(const wb_outcome* said, const ActionType& type, CallKind asked = CallKind::send);

}  // namespace waybill
