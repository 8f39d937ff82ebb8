// What a plugin says of itself, as JSON: what its process tells its host, and what stands in the plugin.json of an executable.
#pragma once

#include <waybill/plugin.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plugin_library/plugin_descriptor.h"

namespace waybill {

// Of a descriptor that was checked.
std::string descriptor_json(const wb_plugin& plugin);

// Its actions have no `action`. An error names the problem and, after a line break, the remedy.
Result<Descriptor> read_descriptor(std::string_view text);

// The C descriptor of such a text, with all that it points to. Its functions are the caller's to set.
struct CDescriptor {
  std::deque<std::string> texts{};
  std::deque<std::vector<wb_reason>> reasons{};
  std::deque<wb_action> actions{};
  std::vector<const wb_action*> pointers{};
  wb_plugin plugin{};
};
Result<std::unique_ptr<CDescriptor>> read_c_descriptor(std::string_view text);

}  // namespace waybill
