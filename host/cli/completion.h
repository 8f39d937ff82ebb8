// `waybill completion SHELL`: scripts that complete commands, options and their values.
#pragma once

#include <string>

namespace waybill {

struct CommandEntry;

std::string bash_completion(const CommandEntry& tree);
std::string zsh_completion(const CommandEntry& tree);
std::string fish_completion(const CommandEntry& tree);

int print_completion(const CommandEntry& tree, const std::string& shell);

}  // namespace waybill
