// The rule for a target's URL: http or https, with a host, and nothing in it that should be kept elsewhere.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace waybill {

// What is wrong with it, or none. The message never repeats the URL, which may hold a password.
std::optional<std::string> url_problem(std::string_view written);

}  // namespace waybill
