// The script for bash: three tables by command (words, values, files), and one function that reads the line.
#include "cli/command_tree.h"
#include "cli/completion.h"

namespace waybill {
namespace {

constexpr char kHead[] = R"(# Completion of waybill for bash 4 and later; written by `waybill completion bash`.
_waybill_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

_waybill() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command="" words="" i
  COMPREPLY=()
  if [[ $word == = ]]; then
    word=""
  elif [[ $before == = ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
      -c | --config) ((i++)); continue ;;
    esac
    case "$command ${COMP_WORDS[i]}" in
)";
constexpr char kTail[] = R"(  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -F _waybill waybill
)";

std::string either(const std::vector<std::string>& patterns) {
  std::string text;
  for (const auto& pattern : patterns) text += (text.empty() ? "\"" : " | \"") + pattern + "\"";
  return text;
}

std::string case_of(const std::string& patterns, const std::string& then) { return "    " + patterns + ") " + then + " ;;\n"; }

std::string path_of(const CommandEntry& entry) { return entry.path.empty() ? "" : " " + entry.path; }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string files_flag(const OptionEntry& option) { return option.value == "FILE" ? "-f" : option.value == "FOLDER" ? "-d" : ""; }

// What follows an option's name.
std::string values(const CommandEntry& tree) {
  std::string text = case_of("*\" -c\" | *\" --config\"", "_waybill_files -f \"$word\"; return");
  for (const auto* entry : all_of(tree))
    for (const auto& option : entry->options) {
      if (option.is_flag() || option.names.empty() || (entry->path.empty() && option.names.back() == "--config")) continue;
      std::vector<std::string> patterns;
      for (const auto& name : option.names) patterns.push_back(path_of(*entry) + " " + name);
      const auto flag = files_flag(option);
      text += case_of(either(patterns), !option.choices.empty() ? "mapfile -t COMPREPLY < <(compgen -W \"" +
                                                                      joined(option.choices) + "\" -- \"$word\"); return"
                                        : flag.empty() ? "return"
                                                       : "_waybill_files " + flag + " \"$word\"; return");
    }
  return text;
}

// What may stand at any other place.
std::string words(const CommandEntry& tree) {
  std::string text;
  for (const auto* entry : all_of(tree)) {
    std::string plain, named, files;
    for (const auto& sub : entry->commands) plain += (plain.empty() ? "" : " ") + sub.word;
    for (const auto& option : entry->options) {
      if (!option.names.empty()) named += " " + option.names.back();
      if (option.place.empty()) continue;
      for (const auto& choice : option.choices) plain += (plain.empty() ? "" : " ") + choice;
      if (files.empty()) files = files_flag(option);
    }
    if (!entry->path.empty()) named += " --config";
    std::string then = "words=\"" + plain + "\"; [[ $word == -* ]] && words=\"" + named.substr(1) + "\"";
    if (!files.empty()) then += "; [[ $word != -* ]] && { _waybill_files " + files + " \"$word\"; return; }";
    text += case_of("\"" + path_of(*entry) + "\"", then);
  }
  return text;
}

}  // namespace

std::string bash_completion(const CommandEntry& tree) {
  std::vector<std::string> paths;
  for (const auto* entry : all_of(tree))
    if (!entry->path.empty()) paths.push_back(path_of(*entry));
  std::string text = kHead;
  text += "  " + case_of(either(paths), "command+=\" ${COMP_WORDS[i]}\"") + "    esac\n  done\n";
  text += "  case \"$command $before\" in\n" + values(tree) + "  esac\n";
  text += "  case $command in\n" + words(tree) + "  esac\n";
  return text + kTail;
}

}  // namespace waybill
