// The script for fish: one `complete` for each command and option.
#include "base/printing.h"
#include "cli/command_tree.h"
#include "cli/completion.h"

namespace waybill {
namespace {

constexpr char kHead[] = R"(# Completion of waybill for fish; written by `waybill completion fish`.
function __waybill_command
    set -l command
    set -l words (commandline -opc)
    set -e words[1]
    while set -q words[1]
        if contains -- $words[1] -c --config
            set -e words[1]
        else if contains -- (string join -- ' ' $command $words[1]) $__waybill_commands
            set -a command $words[1]
        end
        set -e words[1]
    end
    string join -- ' ' $command
end
function __waybill_at
    set -l command (__waybill_command)
    test "$command" = "$argv[1]"
end
complete -c waybill -e
complete -c waybill -f
)";

std::string in_quotes(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string values_of(const OptionEntry& option) {
  std::string choices;
  for (const auto& choice : option.choices) choices += (choices.empty() ? "" : " ") + choice;
  if (!choices.empty()) return " -a " + in_quotes(choices);
  if (option.value == "FOLDER") return " -a '(__fish_complete_directories)'";
  return option.value == "FILE" ? " -F" : "";
}

std::string lines_of(const CommandEntry& entry) {
  const auto at = "complete -c waybill -n " + in_quotes("__waybill_at " + in_quotes(entry.path));
  std::string text;
  for (const auto& sub : entry.commands) text += at + " -a " + sub.word + " -d " + in_quotes(sub.what) + "\n";
  for (const auto& option : entry.options) {
    if (!option.names.empty() && option.names.back() != "--config") {
      text += at;
      for (const auto& name : option.names) text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      text += (option.is_flag()         ? ""
               : option.value == "FILE" ? " -r -F"
                                        : " -x" + values_of(option)) +
              " -d " + in_quotes(option.what) + "\n";
    }
    if (!option.place.empty())
      if (const auto values = values_of(option); !values.empty()) text += at + values + " -d " + in_quotes(option.place) + "\n";
  }
  return text;
}

}  // namespace

std::string fish_completion(const CommandEntry& tree) {
  std::string text = kHead, commands, config;
  for (const auto* entry : all_of(tree)) {
    if (!entry->path.empty()) commands += " " + in_quotes(entry->path);
    text += lines_of(*entry);
    for (const auto& option : entry->options)
      if (!option.names.empty() && option.names.back() == "--config")
        config = "complete -c waybill -s c -l config -r -F -d " + in_quotes(option.what) + "\n";
  }
  return text + config + "set -g __waybill_commands" + commands + "\n";
}

int print_completion(const CommandEntry& tree, const std::string& shell) {
  const auto script = shell == "bash" ? bash_completion(tree) : shell == "zsh" ? zsh_completion(tree) : fish_completion(tree);
  print_text("%s", script.c_str());
  return 0;
}

}  // namespace waybill
