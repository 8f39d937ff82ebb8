// The command line as plain values, for what is written from it: completions, manual pages, lists.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace waybill {

struct CommandNotes;

struct OptionEntry {
  std::vector<std::string> names;    // "-c", "--config"; none for what has a place only
  std::string place;                 // of one that needs no name, such as "id"; "" for none
  std::string what;                  // a sentence about it
  std::string value;                 // what it takes: TEXT, FILE, FOLDER, ...; "" for a flag
  std::vector<std::string> choices;  // the values that it takes; empty: any
  std::string limits;                // of a number; "" for none
  std::string fallback;              // its default; "" for none
  bool is_required = false;
  bool is_repeated = false;

  bool is_flag() const { return value.empty(); }
};

struct CommandEntry {
  std::string path;  // "token create"; "" for the program itself
  std::string word;  // "create"
  std::string what;
  std::vector<OptionEntry> options;
  std::vector<CommandEntry> commands;  // none: it is no group
  const CommandNotes* notes = nullptr;

  std::string name(char between) const;  // "waybill-token-create"
};

// Without what is not for people.
CommandEntry command_tree(const CLI::App& app, const std::string& path = "");
// The program, its groups and its commands, each group before what is in it.
std::vector<const CommandEntry*> all_of(const CommandEntry& tree);

struct CommandList {
  std::string heading;
  std::vector<const CommandEntry*> commands;
};
// What stands right below the program, by headings; what none of them names is at the end.
std::vector<CommandList> by_headings(const CommandEntry& tree);

}  // namespace waybill
