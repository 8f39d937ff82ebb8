// The command line as the tests look at it.
#pragma once

#include <sstream>

#include "cli/command_notes.h"
#include "cli/grammar.h"

namespace waybill::testing {

inline CommandEntry waybill_commands() { return CommandLine().tree(); }

// The commands that are no groups.
inline std::vector<CommandEntry> leaf_commands() {
  std::vector<CommandEntry> leaves;
  const auto tree = waybill_commands();
  for (const auto* entry : all_of(tree))
    if (entry->commands.empty()) leaves.push_back(*entry);
  return leaves;
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace waybill::testing
