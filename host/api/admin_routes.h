// The routes of administrators: the registry, read again.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/form_pool.h"
#include "base/problem.h"
#include "http/http.h"

namespace waybill {

// A sender that another version of its plugin makes, or other settings; names are of plugins, with their versions, "" for none.
struct PluginChange {
  std::string action_type, before, after;
};

// What came of reading the registry again. With problems or an error nothing has changed.
struct ReloadResult {
  Problems problems;
  std::optional<Error> error;
  std::size_t targets = 0;
  std::size_t forms = 0;
  FormChanges changes;
  NameChanges target_changes{}, pipeline_changes{};
  std::vector<PluginChange> plugin_changes{};
  Problems warnings{};  // what waits for a plugin, for its settings, or for a restart
  std::string digest{};
};
nlohmann::ordered_json name_changes_json(const NameChanges& changes);
using Reload = std::function<ReloadResult(FormStore& store, const std::string& actor)>;

std::vector<http::Route> admin_routes(FormPool& pool, Reload reload);

}  // namespace waybill
