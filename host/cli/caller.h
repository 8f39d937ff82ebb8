// Who runs a command.
#pragma once

#include <string>

namespace waybill {

std::string this_machine();
std::string caller();  // "<user>@<machine>", for audits

}  // namespace waybill
