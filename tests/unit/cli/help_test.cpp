// What --help tells: every command has examples that the grammar takes, every option a description.  O8
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "support/temp_folder.h"
#include "unit/cli/grammar_of_waybill.h"

namespace waybill {
namespace {

using testing::leaf_commands;
using testing::lines_of;
using testing::waybill_commands;

// The words of a call as a shell makes them; of several programs in a pipe, those of waybill. No expansion is needed.
std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool is_word = false;
  char quote = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const char c = i < line.size() ? line[i] : ' ';
    if (quote != 0 ? c == quote : c == '\'' || c == '"') {
      quote = quote != 0 ? 0 : c;
      is_word = true;
    } else if (quote != 0 || c != ' ') {
      word += c;
      is_word = true;
    } else if (is_word) {
      if (word == "|")
        words.clear();
      else if (word == "#" || word == ">" || word == "&&")
        break;
      else
        words.push_back(word);
      word.clear();
      is_word = false;
    }
  }
  return words;
}

TEST(Help, EveryExampleIsACallOfItsCommand) {
  std::size_t seen = 0;
  for (const auto& command : leaf_commands()) {
    ASSERT_NE(command.notes, nullptr) << command.path << " has no notes in host/cli/command_notes.cpp";
    for (const auto& example : lines_of(command.notes->examples)) {
      ++seen;
      auto words = words_of(example);
      ASSERT_GT(words.size(), 1u) << example;
      EXPECT_EQ(words.front(), "waybill") << example;
      std::string begin = command.path + " ";
      std::string text;
      for (std::size_t i = 1; i < words.size(); ++i) text += words[i] + " ";
      EXPECT_TRUE(text.starts_with(begin)) << example << " is no call of " << command.path;
      std::reverse(words.begin(), words.end());
      words.pop_back();
      CommandLine line;
      EXPECT_NO_THROW(line.app.parse(words)) << example;
      EXPECT_TRUE(line.chosen) << example;
    }
    EXPECT_FALSE(lines_of(command.notes->examples).empty()) << command.path;
  }
  EXPECT_GT(seen, 50u);
}

TEST(Help, EndsWithTheExamplesAndTheExitCodes) {
  CommandLine line;
  const auto help = line.app.get_subcommand("dead")->get_subcommand("replay")->help();
  EXPECT_NE(help.find("Examples:\n  waybill dead replay 4711\n  waybill dead replay --reason worker_lost --dry-run  # how many"),
            std::string::npos)
      << help;
  EXPECT_NE(help.find("Exit codes:\n  0  it was done\n  1  some were refused, or it failed\n  2  it was called wrongly"),
            std::string::npos)
      << help;
  EXPECT_NE(line.app.get_subcommand("drain")->help().find("\n  3  all that could be taken over was, and some jobs are left"),
            std::string::npos);
}

TEST(Help, OfAGroupHasAnExampleOfEachOfItsCommands) {
  CommandLine line;
  const auto dead = line.app.get_subcommand("dead")->help();
  const auto examples = dead.substr(std::min(dead.find("Examples:\n"), dead.size()));
  EXPECT_EQ(lines_of(examples),
            (std::vector<std::string>{"Examples:", "  waybill dead list", "  waybill dead show 4711",
                                      "  waybill dead edit 4711 --destination team@example.org", "  waybill dead replay 4711",
                                      "  waybill dead clone 4711 contact-1-again"}));
  EXPECT_NE(line.app.help().find("Examples:\n  waybill serve\n  waybill check\n"), std::string::npos) << line.app.help();
  EXPECT_EQ(line.app.help().find("waybill dead list"), std::string::npos) << "those of groups are in their help";
}

TEST(Help, DescribesEveryCommandAndOption) {
  std::size_t seen = 0;
  const auto tree = waybill_commands();
  for (const auto* command : all_of(tree)) {
    EXPECT_GT(command->what.size(), 7u) << command->path;
    for (const auto& option : command->options) {
      ++seen;
      EXPECT_GT(option.what.size(), 4u) << command->path << " " << option.place << (option.names.empty() ? "" : option.names[0]);
      if (option.what.starts_with("File ") || option.what.find(" file") != std::string::npos) {
        EXPECT_TRUE(option.value == "FILE" || option.is_flag()) << command->path << ": " << option.what;
      }
    }
  }
  EXPECT_GT(seen, 150u);
}

TEST(Help, NotesAreOfCommandsThatExist) {
  std::set<std::string> known;
  for (const auto& command : leaf_commands()) known.insert(command.path);
  for (const auto& notes : command_notes()) EXPECT_TRUE(known.contains(std::string(notes.command))) << notes.command;
  EXPECT_EQ(known.size(), command_notes().size());
}

TEST(Help, EveryCommandIsUnderOneOfTheHeadings) {
  const auto tree = waybill_commands();
  std::size_t listed = 0;
  for (const auto& list : by_headings(tree)) {
    EXPECT_NE(list.heading, "Other commands") << list.commands.front()->word << " is under no heading of command_notes.cpp";
    listed += list.commands.size();
  }
  EXPECT_EQ(listed, tree.commands.size());
}

TEST(CommandTree, KnowsWhatAnOptionTakes) {
  const auto tree = waybill_commands();
  const auto find = [&](const std::string& path, const std::string& name) {
    for (const auto* command : all_of(tree))
      for (const auto& option : command->options)
        if (command->path == path && !option.names.empty() && option.names.back() == name) return option;
    ADD_FAILURE() << path << " " << name;
    return OptionEntry{};
  };
  const auto role = find("token create", "--role");
  EXPECT_EQ(role.choices, (std::vector<std::string>{"member", "admin", "owner", "operator"}));
  EXPECT_EQ(role.fallback, "member");
  EXPECT_TRUE(find("token list", "--revoked").is_flag());
  EXPECT_EQ(find("form preview", "--fields").value, "FILE");
  EXPECT_EQ(find("dead list", "--limit").limits, "1 - 100000");
  const auto ids = find("dead list", "--id");
  EXPECT_EQ(ids.place, "id");
  EXPECT_TRUE(ids.is_repeated);
  for (const auto* command : all_of(tree)) EXPECT_NE(command->word, "quarantine") << "it is not for people";
}

}  // namespace
}  // namespace waybill
