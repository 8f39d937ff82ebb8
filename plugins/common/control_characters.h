// Characters that no name, address or header shows: controls, and those that show nothing or move what stands around them. The
// host refuses the same ones (host/base/names.h); a test holds the two against each other.
#pragma once

#include <string_view>

namespace waybill::plugins {

// `text` should be UTF-8; bytes that are none are no controls.
bool has_control_character(std::string_view text);

}  // namespace waybill::plugins
