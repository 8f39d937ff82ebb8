// Reads it from the grammar.
#include "cli/command_tree.h"

#include <algorithm>

#include "cli/command_notes.h"

namespace waybill {
namespace {

// CLI11 tells of a type and its validators as "TEXT:{member,admin}" or "UINT:INT in [1 - 1000]".
void read_type(OptionEntry& entry, const std::string& type) {
  const auto colon = type.find(':');
  entry.value = type.substr(0, colon);
  if (colon == std::string::npos) return;
  const auto rest = type.substr(colon + 1);
  if (!rest.starts_with('{')) {
    const auto bracket = rest.find('[');
    entry.limits = bracket == std::string::npos ? rest : rest.substr(bracket + 1, rest.find(']') - bracket - 1);
    return;
  }
  for (std::size_t at = 1; at < rest.size();) {
    const auto end = std::min(rest.find_first_of(",}", at), rest.size());
    entry.choices.push_back(rest.substr(at, end - at));
    at = end + 1;
  }
}

OptionEntry entry_of(const CLI::Option& option) {
  OptionEntry entry{.names = {},
                    .place = option.get_positional() ? option.get_name(true) : "",
                    .what = option.get_description(),
                    .value = {},
                    .choices = {},
                    .limits = {},
                    .fallback = option.get_default_str(),
                    .is_required = option.get_required(),
                    .is_repeated = option.get_items_expected_max() > 1};
  for (const auto& name : option.get_snames()) entry.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) entry.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) read_type(entry, option.get_type_name());
  return entry;
}

}  // namespace

std::string CommandEntry::name(char between) const {
  std::string text = path.empty() ? "waybill" : "waybill " + path;
  std::replace(text.begin(), text.end(), ' ', between);
  return text;
}

CommandEntry command_tree(const CLI::App& app, const std::string& path) {
  CommandEntry entry{.path = path,
                     .word = app.get_name(),
                     .what = app.get_description(),
                     .options = {},
                     .commands = {},
                     .notes = notes_of(path)};
  for (const auto* option : app.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    entry.options.push_back(entry_of(*option));
  for (const auto* sub : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    entry.commands.push_back(command_tree(*sub, path.empty() ? sub->get_name() : path + " " + sub->get_name()));
  return entry;
}

std::vector<const CommandEntry*> all_of(const CommandEntry& tree) {
  std::vector<const CommandEntry*> all{&tree};
  for (const auto& sub : tree.commands)
    for (const auto* one : all_of(sub)) all.push_back(one);
  return all;
}

std::vector<CommandList> by_headings(const CommandEntry& tree) {
  std::vector<CommandList> lists;
  for (const auto& heading : command_headings()) lists.push_back({std::string(heading.words), {}});
  CommandList others{"Other commands", {}};
  for (const auto& command : tree.commands) {
    const auto headings = command_headings();
    const auto found = std::find_if(headings.begin(), headings.end(), [&](const CommandHeading& heading) {
      return heading.commands.find(" " + command.word + " ") != std::string_view::npos;
    });
    (found == headings.end() ? others : lists[static_cast<std::size_t>(found - headings.begin())]).commands.push_back(&command);
  }
  if (!others.commands.empty()) lists.push_back(std::move(others));
  return lists;
}

}  // namespace waybill
