// What the rest of the host may know of the loaded plugins: their action types and outcome taxonomies, never a .so.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"

namespace waybill {

struct Reason {
  std::string name;
  bool permanent = false;
  bool duplicate = false;
};

struct ActionType {
  std::string name;
  bool blocking = false;
  std::vector<Reason> reasons;
};

class ActionTypes {
 public:
  virtual ~ActionTypes() = default;
  // [any thread] Null if no loaded plugin has it. Lives as long as this.
  virtual const ActionType* find(std::string_view name) const = 0;
  virtual std::vector<std::string> names() const = 0;
  // [any thread] The plugin's own opinion of a JSON object; `field` of a problem is a path into it, such as "headers.X-A".
  virtual Problems check_destination(std::string_view action_type, const std::string& json) const = 0;
  virtual Problems check_settings(std::string_view action_type, const std::string& json) const = 0;
  // The same of an intent's payload, without asking the plugin; nothing where it states no schema of it.
  virtual Problems check_payload(std::string_view, const std::string&) const { return {}; }
};

}  // namespace waybill
