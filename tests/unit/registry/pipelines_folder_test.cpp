// registry/pipelines: files, the targets that they call and the pipelines that they start.  P1 J4
#include "registry/pipelines_folder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using testing::joined;

constexpr const char* kSends = R"({
  "pipeline": "sends",
  "initial": "SEND",
  "states": {
    "SEND": { "run": [{ "target": "mail" }] },
    "SENT": { "terminal": true }
  },
  "transitions": [{ "from": "SEND", "to": "SENT", "trigger": "sent", "actor": "worker" }]
}
)";

// A pipeline of one state that starts others.
std::string starting(const std::string& name, const std::string& other) {
  return "{ \"pipeline\": \"" + name + "\", \"initial\": \"END\",\n  \"states\": { \"END\": { \"terminal\": true" +
         (other.empty() ? "" : ",\n    \"start\": [{ \"pipeline\": \"" + other + "\" }]") + "\n  } } }\n";
}

class PipelinesFolder : public ::testing::Test {
 protected:
  PipelinesFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "waybill-pipelines-XXXXXX").string();
    if (mkdtemp(pattern.data())) folder_ = pattern;
    targets_["mail"] = {.target = "mail", .action_type = "email", .policy = Policy::max_attempts, .max_attempts = 5};
    targets_["urgent"] = {.target = "urgent", .action_type = "sms", .policy = Policy::deadline, .max_acceptance = Seconds{30}};
  }
  ~PipelinesFolder() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& file, std::string text, const std::string& what = {}, const std::string& instead = {}) {
    if (!what.empty()) text.replace(text.find(what), what.size(), instead);
    std::ofstream(folder_ / file) << text;
  }
  std::string in(const std::string& file) const { return (folder_ / file).string(); }
  std::vector<std::shared_ptr<const PipelineDefinition>> load() {
    problems_.clear();
    limits_.clear();
    return load_pipelines(
        folder_,
        [this](const std::string& name) {
          const auto at = targets_.find(name);
          return at == targets_.end() ? nullptr : &at->second;
        },
        problems_, limits_);
  }
  std::string problems() {
    load();
    return joined(problems_);
  }

  std::filesystem::path folder_;
  std::map<std::string, Contract> targets_;
  Problems problems_;
  ActionLimits limits_;
};

TEST_F(PipelinesFolder, IsReadByName) {  // P1
  write("b.json", kSends);
  write("a.json", starting("zzz", ""));
  const auto all = load();
  ASSERT_EQ(joined(problems_), "");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]->pipeline.name, "sends");
  ASSERT_EQ(all[0]->contracts.size(), 1u);
  EXPECT_EQ(all[0]->contracts[0].target, "mail");
  EXPECT_EQ(all[0]->contracts[0].stage->state, "SEND");
  EXPECT_EQ(all[1]->pipeline.name, "zzz");
}

TEST_F(PipelinesFolder, MayBeEmptyOrMissing) {  // P1
  EXPECT_EQ(problems(), "");
  std::filesystem::remove_all(folder_);
  EXPECT_EQ(problems(), "");
}

TEST_F(PipelinesFolder, NamesATargetThatIsNotThere) {  // P1
  write("a.json", kSends, "\"mail\"", "\"male\"");
  EXPECT_EQ(problems(), in("a.json") + ":5: states.SEND.run[0].target: there is no target \"male\"\n");
}

TEST_F(PipelinesFolder, WantsARetryWhereATargetCountsFromTheBeginning) {  // P5
  write("a.json", kSends, "\"mail\"", "\"urgent\"");
  EXPECT_EQ(problems(), in("a.json") +
                            ":5: states.SEND.run[0]: target \"urgent\" has policy deadline, which counts from the submission's "
                            "beginning: give the action a `retry`\n");
  write("a.json", kSends, "\"mail\"", R"("urgent", "retry": { "attempts": 2 })");
  const auto all = load();
  EXPECT_EQ(joined(problems_), "");
  EXPECT_EQ(all.at(0)->contracts.at(0).policy, Policy::max_attempts);
}

TEST_F(PipelinesFolder, AnActionMayHaveATimeLimitOfItsOwn) {  // T25
  write("a.json", kSends, "\"mail\"", R"("mail", "timeout": "40s")");
  const auto all = load();
  ASSERT_EQ(joined(problems_), "");
  const Contract stage = all.at(0)->contracts.at(0);
  const Registry registry({targets_.at("mail")}, {}, {}, all, {}, {{"mail", Seconds(30)}}, limits_);
  EXPECT_EQ(registry.time_limit(stage), Millis(40'000));
  EXPECT_EQ(registry.time_limit(targets_.at("mail")), Millis(30'000)) << "of whoever sends to the target";
  auto elsewhere = stage;
  elsewhere.stage->state = "OTHER";
  EXPECT_EQ(registry.time_limit(elsewhere), Millis(30'000));
  for (const char* bad : {"\"9ms\"", "\"2h\"", "\"soon\"", "40"}) {
    write("a.json", kSends, "\"mail\"", R"("mail", "timeout": )" + std::string(bad));
    EXPECT_EQ(problems(), in("a.json") +
                              ":5: states.SEND.run[0].timeout: must be how long one attempt may take, from 10ms to 1h: "
                              "\"30s\"\n");
  }
}

TEST_F(PipelinesFolder, TakesANameOnce) {  // P1
  write("a.json", kSends);
  write("b.json", kSends);
  EXPECT_EQ(problems(), in("b.json") + ": pipeline: is taken by " + in("a.json") + "\n");
}

TEST_F(PipelinesFolder, NamesAPipelineToStartThatIsNotThere) {  // J4
  write("a.json", starting("first", "second"));
  EXPECT_EQ(problems(), in("a.json") + ":3: states.END.start[0].pipeline: there is no pipeline \"second\"\n");
}

TEST_F(PipelinesFolder, RefusesCirclesOfPipelinesThatStartEachOther) {  // J4
  write("a.json", starting("first", "second"));
  write("b.json", starting("second", "third"));
  write("c.json", starting("third", "first"));
  EXPECT_EQ(problems(),
            in("c.json") + ":3: states.END.start[0].pipeline: \"first\" starts this one in turn: it could go round for ever\n");
  std::filesystem::remove(in("b.json"));
  std::filesystem::remove(in("c.json"));
  write("a.json", starting("first", "first"));
  EXPECT_EQ(problems(),
            in("a.json") + ":3: states.END.start[0].pipeline: \"first\" starts this one in turn: it could go round for ever\n");
}

TEST_F(PipelinesFolder, KnowsTheVersionOfWhatAPipelineStarts) {  // J4
  write("a.json", starting("first", "sends"));
  write("b.json", kSends);
  const auto before = load();
  ASSERT_EQ(joined(problems_), "");
  ASSERT_EQ(before[0]->starts.size(), 1u);
  EXPECT_EQ(before[0]->starts[0], before[1]);
  targets_["mail"].max_attempts = 6;
  const auto after = load();
  EXPECT_NE(after[1]->hash, before[1]->hash) << "the contract of its target is another";
  EXPECT_NE(after[0]->hash, before[0]->hash) << "what it starts is another";
}

TEST_F(PipelinesFolder, HasOneVersionForOneContent) {  // P1
  write("a.json", kSends);
  const auto before = load();
  write("b.json", kSends);
  std::filesystem::rename(in("b.json"), in("a.json"));
  EXPECT_EQ(load()[0]->hash, before[0]->hash);
}

TEST_F(PipelinesFolder, NamesFilesThatDoNotBelongThere) {  // P1
  write("a.yaml", "pipeline: a\n");
  EXPECT_EQ(problems(), in("a.yaml") + ": must be named NAME.json: one pipeline a file\n");
}

TEST_F(PipelinesFolder, FindsTheMistakesOfAllFiles) {  // P1
  write("a.json", "{");
  write("b.json", kSends, "\"SENT\": {", "\"SENT\": { \"color\": 1,");
  write("c.json", kSends, "\"mail\"", "\"male\"");
  load();
  ASSERT_EQ(problems_.size(), 3u) << joined(problems_);
  EXPECT_EQ(problems_[0].file, in("a.json"));
  EXPECT_EQ(problems_[1].field, "states.SENT.color");
  EXPECT_EQ(problems_[2].field, "states.SEND.run[0].target");
}

}  // namespace
}  // namespace waybill
