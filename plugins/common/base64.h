// Base64 with padding, as signatures and mail want it.
#pragma once

#include <string>
#include <string_view>

namespace waybill::plugins {

std::string base64(std::string_view bytes);

}  // namespace waybill::plugins
