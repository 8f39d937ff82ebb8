// The port of a URL.
#pragma once

#include <string_view>

namespace waybill::plugins {

// Whether a URL has no port, or one from 1 to 65535.
bool has_good_port(std::string_view url);

}  // namespace waybill::plugins
