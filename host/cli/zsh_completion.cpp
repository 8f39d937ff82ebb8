// The script for zsh: a function for each command, made of the words of _arguments.
#include <algorithm>

#include "cli/command_tree.h"
#include "cli/completion.h"

namespace waybill {
namespace {

constexpr char kHead[] = "#compdef waybill\n# Completion of waybill for zsh; written by `waybill completion zsh`.\n\n";
// It may be a file in a folder of fpath, or be read with `source`.
constexpr char kTail[] = R"(if [[ $funcstack[1] == _waybill ]]; then
  _waybill "$@"
else
  compdef _waybill waybill
fi
)";

// In single quotes, where _arguments and _describe read brackets and colons themselves.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string action_of(const OptionEntry& option) {
  std::string choices;
  for (const auto& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
  return !choices.empty() ? "(" + choices + ")" : option.value == "FILE" ? "_files" : option.value == "FOLDER" ? "_files -/" : "";
}

std::string named(const OptionEntry& option) {
  std::string names;
  for (const auto& name : option.names) names += (names.empty() ? "" : ",") + name;
  std::string all = names;
  std::replace(all.begin(), all.end(), ',', ' ');
  const auto value = option.is_flag() ? "" : ":" + escaped(option.value) + ":" + action_of(option);
  const auto rest = "'[" + escaped(option.what) + "]" + value + "'";
  if (option.is_repeated) return "'*'" + (option.names.size() > 1 ? "{" + names + "}" : names) + rest;
  return option.names.size() > 1 ? "'(" + all + ")'{" + names + "}" + rest : names + rest;
}

std::string placed(const OptionEntry& option, int place) {
  return "'" + (option.is_repeated ? "*" : std::to_string(place)) + ":" + escaped(option.place) + ":" + action_of(option) + "'";
}

std::vector<std::string> arguments_of(const CommandEntry& entry, const OptionEntry& config) {
  std::vector<std::string> all;
  int place = 0;
  for (const auto& option : entry.options) {
    if (!option.names.empty()) all.push_back(named(option));
    if (!option.place.empty()) all.push_back(placed(option, ++place));
  }
  if (!entry.path.empty()) all.push_back(named(config));
  return all;
}

std::string group_function(const CommandEntry& entry, const std::vector<std::string>& arguments) {
  std::string text = "  local curcontext=\"$curcontext\" state line\n  _arguments -C";
  for (const auto& one : arguments) text += " \\\n    " + one;
  text += " \\\n    '1: :->command' '*:: :->rest'\n  case $state in\n    command)\n      local -a commands=(";
  for (const auto& sub : entry.commands) text += "\n        '" + escaped(sub.word) + ":" + escaped(sub.what) + "'";
  text += ")\n      _describe command commands ;;\n    rest)\n      case $line[1] in\n";
  for (const auto& sub : entry.commands) text += "        " + sub.word + ") _" + sub.name('_') + " ;;\n";
  return text + "      esac ;;\n  esac\n";
}

std::string function_of(const CommandEntry& entry, const OptionEntry& config) {
  const auto arguments = arguments_of(entry, config);
  std::string text = "_" + entry.name('_') + "() {\n";
  if (!entry.commands.empty()) return text + group_function(entry, arguments) + "}\n\n";
  text += "  _arguments -s";
  for (const auto& one : arguments) text += " \\\n    " + one;
  return text + "\n}\n\n";
}

}  // namespace

std::string zsh_completion(const CommandEntry& tree) {
  OptionEntry config;
  for (const auto& option : tree.options)
    if (!option.names.empty() && option.names.back() == "--config") config = option;
  std::string text = kHead;
  for (const auto* entry : all_of(tree)) text += function_of(*entry, config);
  return text + kTail;
}

}  // namespace waybill
