// What a plugin's process may have, as the words of a command line.
#pragma once

#include <string>
#include <vector>

#include "config/isolation.h"

namespace waybill::plugin_process {

std::vector<std::string> words_of(const Isolation& isolation);
// False: these are not such words.
bool read_words(const std::vector<std::string>& words, Isolation& isolation);

}  // namespace waybill::plugin_process
