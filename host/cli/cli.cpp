// The command line: parses it, and carries the subcommand out.
#include "cli/cli.h"

#include <sstream>

#include "base/nearest.h"
#include "base/printing.h"
#include "cli/exit_watch.h"
#include "cli/grammar.h"

namespace waybill {
namespace {

// The word that stands where a command should, if it is none; "" else. Only --config may stand before a command.
std::string unknown_command(CLI::App& app, int argc, char** argv, std::vector<std::string>& known) {
  const CLI::App* at = &app;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-c" || word == "--config") ++i;
    if (word.starts_with('-')) continue;
    known.clear();
    const CLI::App* next = nullptr;
    for (const auto* sub : at->get_subcommands([](const CLI::App*) { return true; })) {
      if (sub->get_name() == word) next = sub;
      if (!sub->get_group().empty()) known.push_back(sub->get_name());
    }
    if (known.empty()) return {};  // a command's own word
    if (next == nullptr) return word;
    at = next;
  }
  return {};
}

int wrong_call(CLI::App& app, int argc, char** argv, const CLI::ParseError& error) {
  std::ostringstream out, err;
  const int code = app.exit(error, out, err);
  std::vector<std::string> known;
  if (const auto word = code == 0 ? "" : unknown_command(app, argc, argv, known); !word.empty()) {
    print_error("waybill: there is no command \"%s\"%s `waybill --help` lists them\n", word.c_str(),
                (nearest(word, known).empty() ? ";" : did_you_mean(word, known)).c_str());
    return 2;
  }
  print_text("%s", out.str().c_str());
  print_error("%s", err.str().c_str());
  return code == 0 ? 0 : 2;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CommandLine line;
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return wrong_call(line.app, argc, argv, e);
  }
  try {
    const ExitWatch watch;
    return line.chosen();
  } catch (const std::exception& e) {
    return failed(std::string("unexpected: ") + e.what());
  }
}

}  // namespace waybill
