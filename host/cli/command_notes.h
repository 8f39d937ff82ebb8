// What is to be told of a command beside its options: what it needs, how it ends, and how it is used.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace waybill {

enum class Needs { nothing, configuration, database, host };  // each includes those before it

struct CommandNotes {
  std::string_view command;  // "token create"
  Needs needs;
  std::string_view one;       // exit code 1: when
  std::string_view three;     // exit code 3: when; "" where there is none
  std::string_view examples;  // one a line; what follows "  # " is a comment
  std::string_view four{};    // exit code 4: when
};

std::span<const CommandNotes> command_notes();
const CommandNotes* notes_of(std::string_view command);  // null for groups, and for what is not for people

// Commands and groups of them by what they are for, as `waybill` alone lists them.
struct CommandHeading {
  std::string_view words;
  std::string_view commands;  // each between blanks
};
std::span<const CommandHeading> command_headings();

inline constexpr std::string_view kExitZero = "it was done";
inline constexpr std::string_view kExitTwo = "it was called wrongly, and nothing was done";
std::string_view words_of(Needs needs);  // "a configuration and its database"
std::string help_footer(const CommandNotes& notes);
// Of a group, or of the program (""): the first example of each command, one a line.
std::string examples_of(std::string_view group);
std::string group_footer(std::string_view group);

}  // namespace waybill
