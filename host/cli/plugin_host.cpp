// `waybill plugin-host`: where a plugin's code runs apart from its host.
#include "plugin_process/plugin_host.h"

#include "cli/commands.h"
#include "senders/descriptor_json.h"
#include "senders/plugin_library.h"

namespace waybill {

int host_plugin(const std::vector<std::string>& words) {
  return plugin_process::run_plugin_host(
      words, [](const std::filesystem::path& library) -> Result<plugin_process::OpenedPlugin> {
        auto opened = open_in_place(library);
        TRY(opened);
        return plugin_process::OpenedPlugin{opened->plugin, descriptor_json(*opened->plugin)};
      });
}

}  // namespace waybill
