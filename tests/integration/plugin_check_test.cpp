// `waybill plugin check`, with the zoo of bad plugins and with the good ones. It needs no installation and no database. H3, H5
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "bad_plugins/zoo.h"
#include "support/bad_plugins.h"
#include "support/daemon.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;
namespace fs = std::filesystem;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

CommandResult check(std::vector<std::string> arguments) {
  const TempFolder nowhere;
  arguments.insert(arguments.begin(), {waybill_program().string(), "plugin", "check"});
  return run({.arguments = std::move(arguments), .folder = nowhere.path()});
}

json check_as_json(const fs::path& file, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {file.string(), "--json"});
  const auto result = check(std::move(more));
  EXPECT_EQ(result.err, "");
  return json::parse(result.out);
}

Names with_result(const json& report, const std::string& result) {
  Names names;
  for (const auto& one : report.at("checks"))
    if (one.at("result") == result) names.insert(one.at("name"));
  return names;
}

std::string all_found(const json& report) {
  std::string text;
  for (const auto& one : report.at("checks"))
    if (one.at("result") == "failed")
      for (const auto& found : one.at("found")) text += found.get<std::string>() + '\n';
  return text;
}

json listed_checks() { return json::parse(check({"--list", "--json"}).out); }

// A samples file in a folder of its own.
struct SamplesFile {
  explicit SamplesFile(const std::string& text) : path(folder.path() / "samples.json") { write_file(path, text); }
  TempFolder folder;
  fs::path path;
};

class EachCreature : public ::testing::TestWithParam<Creature> {};

// One fault, and exactly the checks that are about it: if one of them were taken away, this would tell.
TEST_P(EachCreature, IsCaughtByItsChecksAndByNoOther) {
  const auto& creature = GetParam();
  if (kSanitized && (creature.name == "leaks" || creature.name == "validator_reads_file"))
    GTEST_SKIP() << "in a build with sanitizers neither memory nor system calls are the plugin's alone";
  std::vector<std::string> more{"--time-limit", creature.name == "hangs_in_send" ? "0.5" : kSanitized ? "60" : "20"};
  const SamplesFile samples("{\"never_accepts\": {\"answers\": {\"accepted\": {\"status\": 200}}}}");
  if (creature.name == "never_accepts") more.insert(more.end(), {"--samples", samples.path.string()});
  const auto report = check_as_json(bad_plugin(creature.name), more);
  EXPECT_FALSE(report.at("good"));
  Names expected(creature.caught_by.begin(), creature.caught_by.end());
  if (kSanitized) expected.erase("leaks");
  EXPECT_EQ(with_result(report, "failed"), expected) << report.dump(1);
  for (const auto& one : report.at("checks"))
    if (one.at("result") == "failed") {
      EXPECT_FALSE(one.at("found").empty());
      EXPECT_FALSE(one.at("remedy").get<std::string>().empty());
    }
  if (kSanitized && creature.words.starts_with("killed by")) return;  // the sanitizer has its own last words
  EXPECT_NE(all_found(report).find(creature.words), std::string::npos) << all_found(report);
}

INSTANTIATE_TEST_SUITE_P(OfTheZoo, EachCreature, ::testing::ValuesIn(kZoo), [](const auto& param) { return param.param.name; });

TEST(TheZoo, HasForEveryCheckAPluginThatOnlyThisCheckCatches) {
  Names needless;
  for (const auto& one : listed_checks()) needless.insert(one.at("name"));
  EXPECT_GE(needless.size(), 45u);
  for (const auto& creature : kZoo)
    if (creature.caught_by.size() == 1) needless.erase(creature.caught_by.front());
  EXPECT_EQ(needless, Names{});
}

TEST(TheZoo, IsAllThatIsInItsFolder) {
  Names known(kOthers.begin(), kOthers.end()), found;
  known.insert(kFaultless.begin(), kFaultless.end());
  for (const auto& creature : kZoo) known.insert(creature.name);
  for (const auto& entry : fs::directory_iterator(fs::path(WAYBILL_SOURCE_FOLDER) / "tests/bad_plugins"))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".c") found.insert(entry.path().stem());
  for (const auto& name : found) EXPECT_TRUE(known.contains(name)) << name << " is neither in kZoo nor in kOthers";
  for (const auto& creature : kZoo) EXPECT_TRUE(found.contains(creature.name)) << creature.name << " has no source";
}

std::string row_of(const Creature& creature) {
  std::string checks;
  for (const auto& name : creature.caught_by) checks += (checks.empty() ? "`" : ", `") + name + '`';
  if (creature.caught_by == kSending) checks = "all that send";
  if (creature.caught_by == kMaking) checks = "all that make a sender";
  return "| `" + creature.name + "` | " + creature.fault + " | " + checks + " | " + words_for(creature.live) + " |";
}

TEST(TheZoo, IsDescribedInItsReadme) {
  std::istringstream lines(read_file(fs::path(WAYBILL_SOURCE_FOLDER) / "tests/bad_plugins/README.md"));
  std::string written, expected;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("| `")) written += line + '\n';
  for (const auto& creature : kZoo) expected += row_of(creature) + '\n';
  EXPECT_EQ(written, expected);
}

TEST(PluginCheck, IsContentWithTheRepositorysPlugins) {
  for (const auto* const name : {"sms", "push", "webhook"}) {
    const auto samples = fs::path(WAYBILL_SOURCE_FOLDER) / "plugins" / name / "check.json";
    const auto report = check_as_json(built_plugin(name), {"--samples", samples.string(), "--time-limit", "60"});
    EXPECT_TRUE(report.at("good")) << report.dump(1);
    for (const auto& skipped : with_result(report, "skipped"))
      EXPECT_TRUE(
          (Names{"compose", "status", "probe", "failures", "secrets", "leaks", "deadline", "long_answers"}).contains(skipped))
          << name << ": " << skipped;
  }
}

TEST(PluginCheck, LooksAtEachActionTypeAndTellsHonestlyWhatItCouldNotTry) {
  const auto report = check_as_json(bad_plugin("good"));
  EXPECT_TRUE(report.at("good")) << report.dump(1);
  std::map<std::string, int> types;
  for (const auto& one : report.at("checks")) ++types[one.value("action_type", "")];
  EXPECT_EQ(types.size(), 3u);
  EXPECT_EQ(types["good"], types["good_blocking"]);
  for (const auto& one : report.at("checks"))
    if (one.value("action_type", "") == "good_blocking" && one.at("name") == "reach") {
      EXPECT_EQ(one.at("result"), "skipped");
      EXPECT_NE(one.at("found")[0].get<std::string>().find("asks nothing of the host's services"), std::string::npos);
    }
}

// D7: of a plugin with a client of its own, receivers of the check's own show how it ends its calls.
TEST(PluginCheck, LooksAtBlockingPluginsWithReceiversOfItsOwn) {
  const auto samples = fs::path(WAYBILL_SOURCE_FOLDER) / "plugin-api/examples/line/check.json";
  const auto report = check_as_json(built_example("line"), {"--samples", samples.string(), "--time-limit", "60"});
  EXPECT_TRUE(report.at("good")) << report.dump(1);
  const auto passed = with_result(report, "ok");
  for (const auto* const name : {"completes", "completes_once", "verdicts", "reasons_given", "reasons_declared", "words", "sizes",
                                 "result", "many_calls", "deadline", "strand", "payloads"})
    EXPECT_TRUE(passed.contains(name)) << name;
  EXPECT_LE(with_result(report, "skipped").size(), 15u) << report.dump(1);
}

// D7
TEST(PluginCheck, SendsEachPayloadOfTheSampleAndOddOnesOfItsOwn) {
  const auto file = bad_plugin("crashes_on_marked_payload");
  const SamplesFile harmless(R"({"crashes_on_marked_payload": {"payload": {"a": 1}}})");
  EXPECT_TRUE(check_as_json(file, {"--samples", harmless.path.string(), "--only", "payloads"}).at("good"));
  const SamplesFile several(R"({"crashes_on_marked_payload": {"payload": {"a": 1}, "payloads": [{"b": 2}, {"poison": 3}]}})");
  const auto report = check_as_json(file, {"--samples", several.path.string(), "--only", "payloads"});
  EXPECT_FALSE(report.at("good"));
  EXPECT_NE(all_found(report).find("payloads[1] of the sample"), std::string::npos) << all_found(report);
}

TEST(PluginCheck, KnowsSendersOfMail) {
  const auto report = check_as_json(bad_plugin("good_mailer"));
  EXPECT_TRUE(report.at("good")) << report.dump(1);
  const auto passed = with_result(report, "ok");
  for (const auto* const name : {"accepts", "requests", "completes", "completes_once", "refused_fetch", "reach", "cancel",
                                 "given_up", "two_senders", "many_calls", "arguments", "newer_host"})
    EXPECT_TRUE(passed.contains(name)) << name;
}

TEST(PluginCheck, EndsWithZeroOneOrTwo) {
  EXPECT_EQ(check({bad_plugin("good").string()}).exit_code, 0);
  EXPECT_EQ(check({bad_plugin("duplicate_type").string()}).exit_code, 1);
  EXPECT_EQ(check({}).exit_code, 2);
  EXPECT_EQ(check({"/nowhere/at_all.so"}).exit_code, 2);
  EXPECT_EQ(check({bad_plugin("good").string(), "--only", "dances"}).exit_code, 2);
  EXPECT_EQ(check({bad_plugin("good").string(), "--time-limit", "-1"}).exit_code, 2);
}

TEST(PluginCheck, ShowsATableWithARemedyAndASummary) {
  const auto out = check({bad_plugin("duplicate_reason").string()}).out;
  for (const auto* const line : {"\nreasons", "FAILED", "\"invalid_request\" twice", "remedy: name reasons",
                                 "samples [duplicate_reason]", " failed, ", "breaks the rules\n"})
    EXPECT_NE(out.find(line), std::string::npos) << line << " is not in:\n" << out;
  EXPECT_NE(check({bad_plugin("good").string()}).out.find("keeps the rules\n"), std::string::npos);
}

TEST(PluginCheck, TriesOnlyWhatItIsAskedFor) {
  const auto report = check_as_json(bad_plugin("duplicate_type"), {"--only", "reasons", "--only", "schemas"});
  EXPECT_EQ(report.at("checks").size(), 2u);
  EXPECT_TRUE(report.at("good"));
}

TEST(PluginCheck, ListsItsChecksWithTheirRules) {
  const auto list = listed_checks();
  Names names;
  for (const auto& one : list) {
    EXPECT_TRUE(names.insert(one.at("name")).second) << one;
    EXPECT_GT(one.at("rule").get<std::string>().size(), 10u) << one;
  }
  EXPECT_NE(check({"--list"}).out.find("completes_once"), std::string::npos);
}

TEST(PluginCheck, SaysWhatAFileIsThatIsNoPlugin) {
  const TempFolder folder;
  for (const auto& [name, text, words] :
       {std::tuple("text.so", "I am no library\n", "no ELF file"), std::tuple("empty.so", "", "no ELF file"),
        std::tuple("cut.so",
                   "\x7f"
                   "ELF\2\1\1",
                   "no ELF file")}) {
    write_file(folder.path() / name, text);
    const auto report = check_as_json(folder.path() / name);
    EXPECT_EQ(with_result(report, "failed"), (Names{"symbols", "loads"})) << report.dump(1);
    EXPECT_NE(report.dump().find(words), std::string::npos) << report.dump(1);
  }
}

TEST(PluginCheck, NamesFileAndFieldOfAMistakeInTheSamples) {
  const std::pair<const char*, const char*> mistakes[] = {
      {"{", "samples.json: "},
      {"[]", "samples.json: must be an object"},
      {R"({"good": 1})", "samples.json: good: must be an object"},
      {R"({"good": {"colour": "red"}})", "samples.json: good.colour: unknown field"},
      {R"({"good": {"payloads": {}}})", "samples.json: good.payloads: must be a list"},
      {R"({"good": {"settings": []}})", "samples.json: good.settings: must be an object"},
      {R"({"good": {"answers": {"maybe": {}}}})", "samples.json: good.answers.maybe: unknown field"},
      {R"({"good": {"answers": {"accepted": []}}})", "samples.json: good.answers.accepted: must not be empty"},
      {R"({"good": {"answers": {"accepted": {"status": "ok"}}}})",
       "samples.json: good.answers.accepted.status: must be a whole number"},
      {R"({"good": {"answers": {"accepted": {"headers": {"a": 1}}}}})",
       "samples.json: good.answers.accepted.headers.a: must be a text"},
      {R"({"better": {}})", "samples.json: better: the plugin has no such action type"}};
  for (const auto& [text, words] : mistakes) {
    const SamplesFile samples(text);
    const auto result = check({bad_plugin("good").string(), "--samples", samples.path.string()});
    EXPECT_EQ(result.exit_code, 2) << text;
    EXPECT_NE(result.err.find(words), std::string::npos) << text << ": " << result.err;
  }
  EXPECT_EQ(check({bad_plugin("good").string(), "--samples", "/nowhere/samples.json"}).exit_code, 2);
}

TEST(PluginCheck, TellsHowToGiveASampleThatThePluginAccepts) {
  const auto report = check_as_json(bad_plugin("hard_to_please"));
  EXPECT_NE(report.dump().find("give --samples"), std::string::npos);
  const SamplesFile samples(R"({"hard_to_please": {"destination": {"url": "http://a.test/", "password": "open sesame"}}})");
  const auto with = check_as_json(bad_plugin("hard_to_please"), {"--samples", samples.path.string()});
  EXPECT_TRUE(with.at("good")) << with.dump(1);
}

}  // namespace
}  // namespace waybill::testing
