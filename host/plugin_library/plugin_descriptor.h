// A plugin's descriptor, checked before any of it is used.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bounded_check.h"
#include "base/error.h"
#include "base/json_check.h"
#include "domain/action_types.h"

struct wb_action;
struct wb_plugin;
struct wb_str;

namespace waybill {

struct LoadedAction {
  ActionType type;
  const wb_action* action;  // null: its code runs in processes of its own
  JsonCheck settings;
  JsonCheck destination;
  std::optional<BoundedCheck> payload;  // none: any payload
};

struct Descriptor {
  std::string id;
  std::string version;
  std::uint32_t abi_minor = 0;
  std::vector<LoadedAction> actions;
};

// A plugin cannot be used: what is wrong and, after a line break, what would help.
tl::unexpected<Error> refuse_plugin(const std::string& what, const std::string& remedy);

// An error of refuse_plugin().
Result<Descriptor> check_descriptor(const wb_plugin* plugin);

// Runs one of the plugin's validate functions over a JSON object; null means nothing to check.
Problems ask_plugin(std::int32_t (*validate)(wb_str, void (*)(void*, wb_str, wb_str), void*), const std::string& json);

// Collects a plugin's reports, bounded and cleaned; the user pointer of report().
struct ReportedProblems {
  Problems problems;
  static void report(void* self, wb_str path, wb_str message) noexcept;
};

}  // namespace waybill
