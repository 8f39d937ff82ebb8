// What a plugin says of itself, as JSON: what its process tells its host, and what stands in the plugin.json of an executable.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "plugin_library/plugin_descriptor.h"

namespace waybill {

// Of a descriptor that was checked.
std::string descriptor_json(const wb_plugin& plugin);

// Its actions have no `action`. An error names the problem and, after a line break, the remedy.
Result<Descriptor> read_descriptor(std::string_view text);

}  // namespace waybill
