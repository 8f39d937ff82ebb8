// Random bytes that nobody can guess.
#pragma once

#include <cstddef>
#include <string>

namespace waybill {

std::string random_bytes(std::size_t count);  // throws if there are none to be had

}  // namespace waybill
