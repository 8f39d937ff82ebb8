// The command line: parses it, and carries the subcommand out.
#include "cli/cli.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/nearest.h"
#include "base/printing.h"
#include "cli/exit_watch.h"
#include "cli/grammar.h"
#include "cli/json_output.h"

namespace waybill {
namespace {

// What a call names, as far as commands go. Only --config may stand before one.
struct CallPath {
  const CLI::App* command = nullptr;  // the last that was found, or the program itself
  std::string unknown;                // the word that stands where a command should; "" if none
  std::vector<std::string> known;     // what could have stood there
};

CallPath path_of(const CLI::App& app, int argc, char** argv) {
  CallPath path{.command = &app, .unknown = {}, .known = {}};
  const auto look = [&] {
    path.known.clear();
    for (const auto& sub : command_tree(*path.command).commands) path.known.push_back(sub.word);
  };
  look();
  for (int i = 1; i < argc && !path.known.empty(); ++i) {
    const std::string word = argv[i];
    if (word == "-c" || word == "--config") ++i;
    if (word.starts_with('-')) continue;
    const auto found = path.command->get_subcommands([&](const CLI::App* one) { return one->get_name() == word; });
    if (found.empty()) {
      path.unknown = word;
      break;
    }
    path.command = found.front();
    look();
  }
  return path;
}

// The names of all commands by their headings, for who asks for none.
void print_commands(const CommandEntry& tree) {
  print_text("%s\n", tree.what.c_str());
  for (const auto& list : by_headings(tree)) {
    print_text("\n%-32s", list.heading.c_str());
    for (const auto* command : list.commands) print_text(" %s", command->word.c_str());
  }
  print_text("\n\n`waybill COMMAND --help` explains one, with examples; `waybill --help` lists all with what they do.\n");
}

int wrong_call(const CommandLine& line, int argc, char** argv, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = line.app.exit(error, out, err);
  print_text("%s", out.str().c_str());
  if (code == 0) return 0;
  const auto path = path_of(line.app, argc, argv);
  if (!path.unknown.empty())
    print_error("waybill: there is no command \"%s\"%s `waybill --help` lists them\n", path.unknown.c_str(),
                (nearest(path.unknown, path.known).empty() ? ";" : did_you_mean(path.unknown, path.known)).c_str());
  else if (path.known.empty() || error.get_name() != "RequiredError")
    print_error("%s", err.str().c_str());
  else if (path.command == &line.app)
    print_commands(line.tree());
  else
    print_text("%s", path.command->help(path.command->get_parent()->get_name()).c_str());
  return 2;
}

int parse_and_run(int argc, char** argv) {
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return wrong_call(line, argc, argv, e);
  }
  try {
    const ExitWatch watch;
    return line.chosen();
  } catch (const std::exception& e) {
    return failed(std::string("unexpected: ") + e.what());
  }
}

// Of a call with --json that has printed nothing else: what it said on standard error.
Json error_json(int code, std::string message) {
  constexpr std::string_view kBefore = "waybill: ";
  if (message.starts_with(kBefore)) message.erase(0, kBefore.size());
  while (message.ends_with('\n')) message.pop_back();
  return {{"error", {{"code", code == 2 ? "wrong_call" : "failed"}, {"message", message}}}};
}

}  // namespace

int run_command_line(int argc, char** argv) {
  const auto is_json = [](const char* word) { return std::string_view(word) == "--json"; };
  if (std::none_of(argv, argv + argc, is_json)) return parse_and_run(argc, argv);
  const PrintWatch watch;
  const int code = parse_and_run(argc, argv);
  if (code != 0 && !watch.has_text()) print_json(error_json(code, watch.errors()));
  return code;
}

}  // namespace waybill
