// The program waybill-plugin-host, which a host starts: where a plugin's code runs apart from it. A program of its own, so that
// it starts at once and takes little memory.
#include "plugin_guest/plugin_host.h"
#include "plugin_library/descriptor_json.h"
#include "plugin_library/plugin_library.h"

int main(int argc, char** argv) {
  const auto open = [](const std::filesystem::path& library) -> waybill::Result<waybill::plugin_process::OpenedPlugin> {
    auto opened = waybill::open_in_place(library);
    TRY(opened);
    return waybill::plugin_process::OpenedPlugin{opened->plugin, waybill::descriptor_json(*opened->plugin)};
  };
  return waybill::plugin_process::run_plugin_host({argv + 1, argv + argc}, open);
}
