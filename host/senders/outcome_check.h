// Turns a plugin's outcome into a well-formed Outcome.
#pragma once

#include <cstdint>
#include <string>

#include "domain/action_types.h"
#include "domain/outcome.h"

struct wb_outcome;

namespace waybill {

struct CheckedOutcome {
  Outcome outcome;
  std::string fault;  // the violated rule, such as "undeclared_reason"; else empty
};

// The kind of call: an accepted compose must have an artifact, and no other call may.
enum class CallKind : std::uint8_t { send, compose, status, probe, failures };

// Never fails: an unusable outcome becomes transient. Pure.
CheckedOutcome check_outcome(const wb_outcome* said, const ActionType& type, CallKind asked = CallKind::send);

}  // namespace waybill
