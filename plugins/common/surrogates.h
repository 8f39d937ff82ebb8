// Half a surrogate pair, which JSON can write ("\ud800") though it is no character.
#pragma once

#include <string>
#include <string_view>

namespace waybill::plugins {

// The same JSON with U+FFFD in the place of each: a strict reader would take the whole for no JSON.
std::string without_lone_surrogates(std::string_view json);

}  // namespace waybill::plugins
