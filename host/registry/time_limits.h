// How long one attempt may take, for the targets and actions that say so.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/time.h"

namespace waybill {

using TimeLimits = std::map<std::string, Millis, std::less<>>;  // by target

// The limit of a form's action, or of an action that a pipeline's state runs.
struct ActionLimit {
  std::string owner;   // the form's id, or the pipeline's name
  std::string state;   // of the pipeline; "": of a form
  std::string action;  // a form's: the action type; a pipeline's: the target
  Millis limit{};
  Problem place{};  // where it is written, without a message
};
using ActionLimits = std::vector<ActionLimit>;

}  // namespace waybill
