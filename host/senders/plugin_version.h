// Which of two versions of a plugin is the newer.
#pragma once

#include <string_view>

namespace waybill {

// Numbers compare as numbers, other words as texts; what follows a '-' makes it older than the same without ("2.0-rc1" before
// "2.0"). A leading "v" and what follows a '+' do not count.
bool is_newer_version(std::string_view version, std::string_view than);

}  // namespace waybill
