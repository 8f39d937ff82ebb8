// What the completion scripts offer, asked in the shells themselves.  O8
#include "cli/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "support/process.h"
#include "support/temp_folder.h"
#include "support/world.h"
#include "unit/cli/grammar_of_waybill.h"

namespace waybill {
namespace {

using testing::lines_of;
using testing::run;
using testing::TempFolder;
using testing::waybill_commands;
using testing::write_file;
using Words = std::vector<std::string>;

std::string program_of(const std::string& shell) {
  for (const auto* folder : {"/usr/bin/", "/bin/"})
    if (std::filesystem::exists(folder + shell)) return folder + shell;
  return {};
}

#define NEEDS(shell)                                                              \
  if (program_of(shell).empty()) {                                                \
    EXPECT_FALSE(testing::must_run()) << "there is no " << (shell);               \
    GTEST_SKIP() << "there is no " << (shell) << " here; ./dev deps installs it"; \
  }

class Completion : public ::testing::Test {
 protected:
  Completion() {
    write_file(folder_.path() / "bash", bash_completion(waybill_commands()));
    write_file(folder_.path() / "_waybill", zsh_completion(waybill_commands()));
    write_file(folder_.path() / "fish", fish_completion(waybill_commands()));
    std::filesystem::create_directories(folder_.path() / "here" / "folder");
    write_file(folder_.path() / "here" / "fields file.json", "{}");
  }

  std::string ask(const std::string& shell, const std::string& script, Words arguments = {}) {
    Words all{program_of(shell)};
    if (shell == "zsh") all.emplace_back("-f");
    if (shell == "fish") all.emplace_back("--no-config");
    all.insert(all.end(), {"-c", script, shell});
    all.insert(all.end(), arguments.begin(), arguments.end());
    const auto done = run({.arguments = all,
                           .environment = {{"HOME", folder_.path().string()}, {"TERM", "xterm"}, {"LC_ALL", "C.UTF-8"}},
                           .folder = folder_.path() / "here"});
    EXPECT_EQ(done.err, "") << script;
    return done.out;
  }

  // Each of the words is one of the line; the last, which may be empty, is to be completed.
  Words in_bash(const Words& words) {
    const auto said = ask("bash",
                          "set -u; source ../bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _waybill; "
                          "[ ${#COMPREPLY[@]} -eq 0 ] || printf '%s\\n' \"${COMPREPLY[@]}\"",
                          words);
    return lines_of(said);
  }

  // Without the descriptions.
  Words in_fish(const std::string& line) {
    auto all = lines_of(ask("fish", "source ../fish; complete --do-complete $argv[2]", {line}));
    for (auto& one : all) one = one.substr(0, one.find('\t'));
    return all;
  }

  // What an interactive zsh shows below the line when Tab is pressed there, up to `last`.
  std::string in_zsh(const std::string& line, const std::string& last) {
    return ask("zsh",
               "zmodload zsh/zpty; zpty shell zsh -f -i; "
               "zpty -w shell 'PROMPT=; stty columns 200; fpath=($PWD/.. $fpath); "
               "autoload -Uz compinit; compinit -u -D; bindkey \"^I\" list-choices; print rea\"\"dy'; "
               "zpty -r shell said '*ready*'; zpty -w -n shell \"$1\"$'\\t'; zpty -r shell said \"*$2*\"; print -r -- $said; "
               "zpty -d shell",
               {line, last});
  }

  TempFolder folder_;
};

bool has(const Words& words, const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); }

TEST_F(Completion, EachShellReadsItsScript) {
  for (const auto& [shell, file] :
       std::vector<std::pair<std::string, std::string>>{{"bash", "bash"}, {"zsh", "_waybill"}, {"fish", "fish"}}) {
    if (program_of(shell).empty()) continue;
    const auto done = run({.arguments = {program_of(shell), "-n", (folder_.path() / file).string()}});
    EXPECT_EQ(done.exit_code, 0) << shell << ": " << done.err;
    EXPECT_EQ(done.err, "") << shell;
  }
}

TEST_F(Completion, BashKnowsCommandsOptionsChoicesAndFiles) {
  NEEDS("bash");
  EXPECT_EQ(in_bash({"waybill", "pl"}), Words{"plugin"});
  EXPECT_EQ(in_bash({"waybill", "plugin", ""}), (Words{"list", "switch-on", "new", "check"}));
  EXPECT_EQ(in_bash({"waybill", "token", "create", "--role", ""}), (Words{"member", "admin", "owner", "operator"}));
  EXPECT_EQ(in_bash({"waybill", "token", "create", "--role", "=", "ow"}), Words{"owner"});
  EXPECT_EQ(in_bash({"waybill", "token", "create", "--ex"}), Words{"--expires"});
  EXPECT_EQ(in_bash({"waybill", "completion", "f"}), Words{"fish"});
  EXPECT_EQ(in_bash({"waybill", "form", "preview", "contact", "--fields", "fi"}), Words{"fields file.json"});
  EXPECT_EQ(in_bash({"waybill", "manual", ""}), Words{"folder"});
  EXPECT_EQ(in_bash({"waybill", "--config", "token", "tok"}), Words{"token"}) << "a file may be called like a command";
  EXPECT_EQ(in_bash({"waybill", "--config", "fi"}), Words{"fields file.json"});
  EXPECT_TRUE(in_bash({"waybill", "explain", ""}).empty()) << "nobody knows its ids";
  EXPECT_TRUE(in_bash({"waybill", "token", "create", "--expires", ""}).empty());
}

TEST_F(Completion, BashOffersEveryCommandAndOption) {
  NEEDS("bash");
  const auto tree = waybill_commands();
  for (const auto* command : all_of(tree)) {
    Words line{"waybill"};
    std::istringstream path(command->path);
    for (std::string word; path >> word;) line.push_back(word);
    line.emplace_back("");
    const auto plain = in_bash(line);
    line.back() = "-";
    const auto named = in_bash(line);
    for (const auto& sub : command->commands) EXPECT_TRUE(has(plain, sub.word)) << sub.path;
    for (const auto& option : command->options) {
      if (option.names.empty()) continue;
      EXPECT_TRUE(has(named, option.names.back())) << command->path << " " << option.names.back();
    }
  }
}

TEST_F(Completion, FishKnowsCommandsOptionsChoicesAndFiles) {
  NEEDS("fish");
  EXPECT_EQ(in_fish("waybill pl"), Words{"plugin"});
  EXPECT_EQ(in_fish("waybill plugin "), (Words{"check", "list", "new", "switch-on"}));
  EXPECT_EQ(in_fish("waybill token create --role "), (Words{"admin", "member", "operator", "owner"}));
  EXPECT_EQ(in_fish("waybill token create --role=ow"), Words{"--role=owner"});
  EXPECT_EQ(in_fish("waybill token create --ex"), Words{"--expires"});
  EXPECT_EQ(in_fish("waybill completion f"), Words{"fish"});
  EXPECT_EQ(in_fish("waybill form preview contact --fields fi"), Words{"fields file.json"});
  EXPECT_TRUE(has(in_fish("waybill manual "), "folder/"));
  EXPECT_EQ(in_fish("waybill --config token tok"), Words{"token"});
  EXPECT_TRUE(in_fish("waybill explain ").empty());
}

TEST_F(Completion, FishOffersEveryCommandAndOption) {
  NEEDS("fish");
  const auto tree = waybill_commands();
  std::string script = "source ../fish";
  Words wanted;
  for (const auto* command : all_of(tree)) {
    const auto begin = command->name(' ') + " ";
    for (const auto& sub : command->commands) {
      script += "; complete --do-complete '" + begin + sub.word + "' | string replace -r '^' '" + begin + "'";
      wanted.push_back(begin + sub.word);
    }
    for (const auto& option : command->options) {
      if (option.names.empty()) continue;
      script += "; complete --do-complete '" + begin + option.names.back() + "' | string replace -r '^' '" + begin + "'";
      wanted.push_back(begin + option.names.back());
    }
  }
  auto offered = lines_of(ask("fish", script));
  for (auto& one : offered) one = one.substr(0, one.find('\t'));
  for (const auto& one : wanted) EXPECT_TRUE(has(offered, one)) << one;
}

TEST_F(Completion, ZshKnowsCommandsOptionsChoicesAndFiles) {
  NEEDS("zsh");
  const auto commands = in_zsh("waybill plugin ", "switch-on  ");
  for (const auto* word : {"list", "switch-on", "new", "check"}) EXPECT_NE(commands.find(word), std::string::npos) << commands;
  const auto roles = in_zsh("waybill token create --role ", "owner");
  for (const auto* word : {"member", "admin", "operator"}) EXPECT_NE(roles.find(word), std::string::npos) << roles;
  const auto options = in_zsh("waybill token create --", "--target  ");
  for (const auto* word : {"--expires", "--role", "--certificate", "--json"})
    EXPECT_NE(options.find(word), std::string::npos) << options;
  EXPECT_NE(in_zsh("waybill form preview contact --fields ", "folder").find("fields"), std::string::npos);
}

}  // namespace
}  // namespace waybill
