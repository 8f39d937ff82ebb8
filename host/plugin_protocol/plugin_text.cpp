// Text that crosses the plugin boundary.
#include "plugin_protocol/plugin_text.h"

#include <waybill/plugin.h>

namespace waybill {

std::string_view view_of(const wb_str& text) {
  return text.ptr == nullptr ? std::string_view{} : std::string_view{text.ptr, text.len};
}

wb_str borrow(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace waybill
