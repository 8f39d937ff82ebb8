// What commands show on a terminal and nowhere else: colours and progress; and what they say to whoever begins.  O8
#include "support/terminal.h"

#include <gtest/gtest.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using Words = std::vector<std::string>;

std::string shown(Words words, std::map<std::string, std::string> environment = {}) {
  words.insert(words.begin(), waybill_program().string());
  environment.insert({{"TERM", "xterm"}, {"NO_COLOR", ""}});
  return shown_on_terminal(
      [&] {
        std::vector<char*> arguments;
        for (auto& word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        ::execv(arguments[0], arguments.data());
      },
      environment);
}

class OnATerminal : public World {
 protected:
  Words with_config(Words words) {
    words.insert(words.end(), {"--config", installation().config().string()});
    return words;
  }
};

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
}

TEST_F(OnATerminal, MigrateShowsHowFarItIsAndLeavesNothingOfIt) {
  use_empty_database();
  const auto said = shown(with_config({"migrate"}));
  const auto begun = said.find("\rmigration 1 of ");
  ASSERT_NE(begun, std::string::npos) << said;
  const auto cleared = said.rfind("\r\x1b[K\r");
  ASSERT_NE(cleared, std::string::npos) << said;
  EXPECT_LT(begun, cleared);
  EXPECT_EQ(said.find("migration ", cleared), std::string::npos) << said;
  const auto applied = said.find("applied 0055_first");
  ASSERT_NE(applied, std::string::npos) << said;
  EXPECT_GT(applied, cleared) << said;
}

TEST_F(OnATerminal, WithoutOneThereIsNoProgress) {
  use_empty_database();
  const auto piped = installation().command({"migrate", "--json"});
  EXPECT_EQ(piped.exit_code, 0);
  EXPECT_EQ(piped.err, "");
}

TEST_F(OnATerminal, CheckAndPluginListHaveColours) {
  setup.more = "colour: red\n";
  expect_part(shown(with_config({"check"})), "\x1b[31m" + installation().config().string() + ":");
  EXPECT_EQ(installation().command({"check"}).err.find('\x1b'), std::string::npos) << "a pipe";
  EXPECT_EQ(shown(with_config({"check"}), {{"NO_COLOR", "1"}}).find('\x1b'), std::string::npos);
  EXPECT_EQ(shown(with_config({"check"}), {{"TERM", "dumb"}}).find('\x1b'), std::string::npos);
}

TEST_F(OnATerminal, ExplainHasAHeadingAndAnErrorIsRed) {
  post_intent(client(), sms_intent("done", "sms.deadline"), 30);
  wait_for_end(client(), "done");
  expect_part(shown(with_config({"explain", "done"})), "\x1b[1mdone: accepted\x1b[0m");
  expect_part(shown(with_config({"explain", "nobody"})), "\x1b[31mwaybill:\x1b[0m organisation");
  write_file(installation().plugin_folder() / "broken.so", "no library");
  std::filesystem::permissions(installation().plugin_folder() / "broken.so", std::filesystem::perms::owner_read);
  expect_part(shown(with_config({"plugin", "list"})), "\x1b[31mrefused   \x1b[0m");
}

TEST(FirstRun, WithoutAConfigurationServeSaysWhatToDo) {
  const TempFolder empty;
  const auto there = std::filesystem::current_path();
  std::filesystem::current_path(empty.path());
  const auto said = shown({"serve"});
  std::filesystem::current_path(there);
  for (const auto& part :
       {"looked for " + (empty.path() / "waybill.yaml").string(), std::string("/etc/waybill/waybill.yaml"),
        std::string("to begin:"), std::string("waybill check && waybill migrate && waybill token create NAME")})
    expect_part(said, part);
  EXPECT_EQ(said.find("{\"ts\""), std::string::npos) << said;
  const auto piped = run({.arguments = {waybill_program().string(), "serve"}, .folder = empty.path()});
  EXPECT_EQ(piped.exit_code, 1);
  expect_part(piped.err, "config.refused");
  expect_part(piped.err, "waybill check && waybill migrate");
}

TEST(FirstRun, WithoutACommandTheyAreListedByWhatTheyAreFor) {
  const auto alone = run({.arguments = {waybill_program().string()}});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_LT(std::count(alone.out.begin(), alone.out.end(), '\n'), 10);
  for (const auto* part : {"Run it", "serve check migrate", "explain proof queue", "completion manual", "waybill COMMAND --help"})
    expect_part(alone.out, part);
  const auto group = run({.arguments = {waybill_program().string(), "token"}});
  EXPECT_EQ(group.exit_code, 2);
  expect_part(group.out, "revoke");
}

}  // namespace
}  // namespace waybill::testing
