// The plugin's file, loaded as the host loads it.
#include "library.h"

#include <dlfcn.h>

#include <algorithm>
#include <exception>

namespace waybill::conformance {
namespace {

constexpr std::size_t kMaxActions = 64;

}  // namespace

tl::expected<void*, std::string> load_library(const std::filesystem::path& file) {
  if (void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  const char* const why = dlerror();
  return tl::unexpected("it cannot be loaded: " + std::string(why == nullptr ? "no reason given" : why));
}

tl::expected<wb_plugin_entry, std::string> open_library(const std::filesystem::path& file) {
  const auto library = load_library(file);
  if (!library) return tl::unexpected(library.error());
  auto* const entry = reinterpret_cast<wb_plugin_entry>(dlsym(*library, kEntry));
  if (entry == nullptr) return tl::unexpected("it has no " + std::string(kEntry) + " (see the check symbols)");
  return entry;
}

tl::expected<const wb_plugin*, std::string> descriptor_of(wb_plugin_entry entry) {
  try {
    if (const auto* const plugin = entry(); plugin != nullptr) return plugin;
    return tl::unexpected(std::string("wb_plugin_v1 returned null"));
  } catch (const std::exception& error) {
    return tl::unexpected(std::string("wb_plugin_v1 threw an exception: ") + error.what());
  } catch (...) {
    return tl::unexpected(std::string("wb_plugin_v1 threw an exception that is no std::exception"));
  }
}

std::string_view payload_schema_of(const wb_action& action) {
  return WB_HAS(&action, payload_schema) ? view(action.payload_schema) : std::string_view{};
}

tl::expected<std::vector<const wb_action*>, std::string> usable_actions(const wb_plugin* plugin) {
  if (!WB_HAS(plugin, actions) || plugin->actions == nullptr || plugin->action_count == 0 || plugin->action_count > kMaxActions)
    return tl::unexpected(std::string("its descriptor cannot be used (see the check descriptor)"));
  if (plugin->needs_minor > WB_ABI_MINOR) return tl::unexpected(std::string("it needs a newer host (see the check version)"));
  std::vector<const wb_action*> actions;
  for (std::size_t i = 0; i < plugin->action_count; ++i) {
    const auto* const action = plugin->actions[i];
    if (action == nullptr || !WB_HAS(action, create) || action->create == nullptr || view(action->type).empty()) continue;
    if (std::none_of(actions.begin(), actions.end(), [&](const wb_action* a) { return view(a->type) == view(action->type); }))
      actions.push_back(action);
  }
  if (actions.empty()) return tl::unexpected(std::string("it has no action type that could be used (see the check descriptor)"));
  return actions;
}

}  // namespace waybill::conformance
