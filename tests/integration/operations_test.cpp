// docs/operations against the program: its commands exist, the runbook knows every alert, and the failure drill passes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "docs/snippets.h"
#include "support/daemon.h"
#include "support/process.h"
#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

// What `waybill <command> --help` says, asked once each.
class Commands {
 public:
  const std::string& help(const std::string& command) {
    const auto [at, fresh] = said_.try_emplace(command);
    if (!fresh) return at->second;
    std::vector<std::string> arguments{waybill_program().string()};
    std::istringstream words(command);
    for (std::string word; words >> word;) arguments.push_back(word);
    arguments.push_back("--help");
    at->second = run(Command{.arguments = arguments}).out;
    return at->second;
  }

  std::set<std::string> below(const std::string& command) {
    std::set<std::string> names;
    bool here = false;
    std::istringstream lines(help(command));
    for (std::string line; std::getline(lines, line);) {
      here = (here || line.starts_with("Subcommands:")) && !line.starts_with("Examples:");
      if (here && line.starts_with("  ") && line[2] != ' ') names.insert(line.substr(2, line.find(' ', 2) - 2));
    }
    return names;
  }

  // What is wrong with a command as a page has it; "" if nothing. It ends at a comment or a pipe.
  std::string fault(const std::string& text) {
    std::istringstream words(text);
    std::string command, word;
    words >> word;  // waybill
    while (words >> word) {
      if (word == "#" || word == "|" || word == "&&" || word == ">") break;
      const auto names = below(command);
      if (word.starts_with("-")) {
        const auto option = word.substr(0, word.find('='));
        if (help(command).find(option) == std::string::npos && help("").find(option) == std::string::npos)
          return "waybill " + command + " has no option " + option;
      } else if (std::islower(static_cast<unsigned char>(word[0])) && !names.empty()) {
        if (!names.contains(word)) return "there is no command waybill " + command + (command.empty() ? "" : " ") + word;
        command += (command.empty() ? "" : " ") + word;
      }
    }
    return {};
  }

 private:
  std::map<std::string, std::string> said_;
};

// Every command line `waybill ...` of a page, from its code spans and its blocks.
std::vector<std::string> commands_of(const std::filesystem::path& page) {
  static const std::regex kSpan("`([^`]+)`");
  static const std::regex kCommand(R"(^\s*(?:\$ )?(?:(?:setpriv|sudo|env|-\S+|[a-z]+=\S*|[A-Z_]+=\S*)\s+)*(waybill( .*)?)$)");
  std::vector<std::string> found;
  const auto look = [&](const std::string& text) {
    if (std::smatch match; std::regex_match(text, match, kCommand)) found.push_back(match[1]);
  };
  bool inside = false;
  for (const auto& line : lines_of(page)) {
    const auto first = line.find_first_not_of(' ');
    if (first != std::string::npos && line.compare(first, 3, "```") == 0) {
      inside = !inside;
    } else if (inside) {
      look(line);
    } else {
      for (auto it = std::sregex_iterator(line.begin(), line.end(), kSpan); it != std::sregex_iterator(); ++it) look((*it)[1]);
    }
  }
  return found;
}

// F15
TEST(OperationsPages, EveryCommandThatTheyNameExistsWithItsOptions) {
  Commands commands;
  std::size_t seen = 0;
  for (const auto& page : files_below("docs/operations", {".md"}))
    for (const auto& command : commands_of(source_folder() / page)) {
      ++seen;
      EXPECT_EQ(commands.fault(command), "") << page << ": " << command;
    }
  EXPECT_GT(seen, 40u);
  EXPECT_NE(commands.fault("waybill dead unregister 7"), "");
  EXPECT_NE(commands.fault("waybill explain f-1 --fast"), "");
}

std::string all_text_below(const std::string& folder) {
  std::string all;
  for (const auto& file : files_below(folder, {".cpp", ".h"})) all += text_of(source_folder() / file);
  return all;
}

// A key or an event is a literal of the program. Of `senders.TYPE.KEY` the key is one of the program, or of the plugin that has
// the type.
bool is_known(const std::string& name, const std::string& program) {
  static const std::regex kSender("senders\\.([a-z_]+|<[a-z ]+>|TYPE)\\.([a-z_0-9]+)");
  std::smatch sender;
  if (!std::regex_match(name, sender, kSender)) return program.find('"' + name + '"') != std::string::npos;
  const auto key = '"' + sender[2].str() + '"', plugin = "plugins/" + sender[1].str();
  return program.find(key) != std::string::npos ||
         (std::filesystem::is_directory(source_folder() / plugin) && all_text_below(plugin).find(key) != std::string::npos);
}

// F15: `a.b`, `a.b.c` and `a.b: value` in the pages are keys of the configuration or events of the log
TEST(OperationsPages, EveryEventAndKeyThatTheyNameIsOneOfTheProgram) {
  static const std::regex kName("`([a-z_][a-z_0-9]*(?:\\.(?:[a-z_][a-z_0-9]*|<[a-z ]+>|TYPE))+)(?:: [^`]*)?`"),
      kFile(".*\\.(conf|yaml|json|so|sh|md|service|socket)");
  const std::set<std::string> examples{"ops.alerts", "sms.otp", "retry.default"};  // targets, and one of retry.<action type>
  const auto program = all_text_below("host");
  std::size_t seen = 0, of_three = 0;
  for (const auto& page : files_below("docs/operations", {".md"})) {
    const auto text = text_of(source_folder() / page);
    for (auto it = std::sregex_iterator(text.begin(), text.end(), kName); it != std::sregex_iterator(); ++it) {
      const std::string name = (*it)[1];
      if (std::regex_match(name, kFile) || examples.contains(name)) continue;
      ++seen;
      of_three += std::count(name.begin(), name.end(), '.') > 1 ? 1 : 0;
      EXPECT_TRUE(is_known(name, program)) << page << " names " << name;
    }
  }
  EXPECT_GT(seen, 50u);
  EXPECT_GE(of_three, 5u);
  EXPECT_FALSE(is_known("senders.ses.no_such_key", program));
  EXPECT_FALSE(is_known("senders.nobody.from_whom", program));
}

// F15
TEST(OperationsPages, TheRunbookHasASectionForEveryKindOfAlert) {
  std::set<std::string> kinds, sections;
  for (const auto& file : files_below("schema", {".sql"})) {
    static const std::regex kCheck(R"(CHECK \(kind IN \(([^)]*)\)\))"), kWord("'([a-z_]+)'");
    const auto text = text_of(source_folder() / file);
    std::smatch check;
    if (!std::regex_search(text, check, kCheck)) continue;
    const std::string list = check[1];
    for (auto it = std::sregex_iterator(list.begin(), list.end(), kWord); it != std::sregex_iterator(); ++it)
      kinds.insert((*it)[1]);
  }
  for (const auto& line : lines_of(source_folder() / "docs/operations/runbook.md"))
    if (line.starts_with("## ")) sections.insert(line.substr(3));
  EXPECT_GE(kinds.size(), 4u);
  for (const auto& kind : kinds) EXPECT_TRUE(sections.contains(kind)) << "docs/operations/runbook.md has no section " << kind;
}

// F15
TEST(Drill, PassesOnAnInstallationOfItsOwn) {
  const TempFolder folder;
  const auto said = folder.path() / "said";
  Process drill(Command{.arguments = {(source_folder() / "docs/operations/drill.sh").string(), "--program",
                                      waybill_program().string(), "--plugins", built_plugin("webhook").parent_path().string()},
                        .out = said,
                        .err = said,
                        .signal_if_orphaned = 15});
  EXPECT_EQ(drill.wait(std::chrono::minutes(20)), 0) << read_file(said);
  EXPECT_NE(read_file(said).find("6 of 6 drills passed"), std::string::npos) << read_file(said);
}

// F15
TEST(Drill, LeavesAnInstallationAloneThatNobodyCalledATestInstallation) {
  const TempFolder folder;
  write_file(folder.path() / "waybill.yaml", "database: { embedded: ./pg }\n");
  const auto result =
      run(Command{.arguments = {(source_folder() / "docs/operations/drill.sh").string(), "--program", waybill_program().string(),
                                "--config", (folder.path() / "waybill.yaml").string()}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("--yes-this-is-a-test-installation"), std::string::npos) << result.err;
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "pg"));
}

}  // namespace
}  // namespace waybill::testing
