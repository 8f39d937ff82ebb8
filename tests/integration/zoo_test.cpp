// A host with the whole zoo of bad plugins in its folder starts, refuses by name what cannot be used, loses to the rest no more
// than their own attempts, and delivers through the good ones. H1, H5
#include "bad_plugins/zoo.h"

#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

bool has_target(const Creature& creature) {
  return creature.live == Live::waits || creature.live == Live::loses_attempts || creature.live == Live::delivers;
}

class ZooHost : public World {
 protected:
  // A host with all of them in its folder, each on a target of its own name, if that makes sense.
  void open_the_zoo(const std::function<bool(const Creature&)>& gets_target) {
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("good", "good", gateway.url() + "/good", "deadline", 30, {"invalid_request"}));
    for (const auto& creature : kZoo)
      if (gets_target(creature))
        targets.push_back(
            target(creature.name, creature.name, gateway.url() + "/" + creature.name, "max_attempts", 1, {"invalid_request"}));
    setup.registry = registry_of(targets);
    setup.more = "timeouts: {attempt: 2s, attempt_grace: 500ms, drain: 2s}\n";
    for (const auto& creature : kZoo) installation().add_plugin(bad_plugin(creature.name));
    installation().add_plugin(bad_plugin("good"));
  }

  void expect_good_ones_to_deliver(const std::string& when) {
    post_intent(client(), sms_intent("sms." + when, "sms.deadline"), 30);
    EXPECT_EQ(wait_for_end(client(), "sms." + when)["status"], "accepted") << when;
    post_intent(client(), intent("good." + when, "good", {{"n", 1}}), 30);
    EXPECT_EQ(wait_for_end(client(), "good." + when)["status"], "accepted") << when;
  }
};

TEST_F(ZooHost, RefusesByNameExactlyWhatCannotBeUsed) {
  open_the_zoo(has_target);
  const auto list = json::parse(installation().command({"plugin", "list", "--json"}).out);
  std::map<std::string, json> refused;
  for (const auto& one : list.at("refused")) refused[one.at("file")] = one;
  for (const auto& creature : kZoo) {
    const auto found = refused.find(creature.name + ".so");
    EXPECT_EQ(found != refused.end(), creature.live == Live::refused) << creature.name;
    if (found == refused.end()) continue;
    EXPECT_FALSE(found->second.at("reason").get<std::string>().empty()) << creature.name;
    EXPECT_FALSE(found->second.at("remedy").get<std::string>().empty()) << creature.name;
  }
}

TEST_F(ZooHost, DeliversThroughTheGoodOnesWhileEachBadOneCostsAtMostItsOwnAttempts) {
  open_the_zoo(has_target);
  expect_good_ones_to_deliver("before");
  for (const auto& creature : kZoo) {
    if (has_target(creature)) {
      EXPECT_EQ(post_intent(client(), intent(creature.name, creature.name, {{"n", 1}})).status, 200) << creature.name;
    }
    if (creature.live == Live::refused) {
      EXPECT_NE(host().log().find(creature.name + ".so"), std::string::npos) << creature.name << " is refused without a log line";
    }
  }
  expect_good_ones_to_deliver("meanwhile");
  for (const auto& creature : kZoo) {
    if (!has_target(creature)) continue;
    if (creature.live == Live::waits) {
      EXPECT_TRUE(host().wait_for_log(creature.name)) << creature.name;
      EXPECT_EQ(get_intent(client(), creature.name)["status"], "pending") << creature.name;
      continue;
    }
    const auto end = wait_for_end(client(), creature.name);
    const auto words = attempt_words(client(), creature.name);
    // T12: what its plugin does not come back from is tried alone, twice.
    EXPECT_EQ(words.size(), creature.name == "hangs_in_send" ? 3u : 1u) << creature.name;
    if (creature.live == Live::delivers) {
      EXPECT_EQ(end["status"], "accepted") << creature.name << ": " << end;
    }
    if (creature.live == Live::loses_attempts) {
      EXPECT_EQ(end["status"], "exhausted") << creature.name << ": " << end;
    }
  }
  EXPECT_TRUE(host().running());
  expect_good_ones_to_deliver("after");
  EXPECT_EQ(host().terminate(), 0);
}

// Listed apart, because nothing in the same process can survive them: what was never checked may do this.
class KillingCreature : public ZooHost, public ::testing::WithParamInterface<Creature> {};

TEST_P(KillingCreature, TakesTheHostDownAndTheCheckSaysSoBefore) {
  const auto& creature = GetParam();
  const auto file = bad_plugin(creature.name);
  EXPECT_EQ(run({.arguments = {waybill_program().string(), "plugin", "check", file.string()}}).exit_code, 1);
  setup.registry = registry_of({target("fatal", creature.name, gateway.url(), "one_shot", 0, {"invalid_request"})});
  installation().add_plugin(file);
  if (creature.live == Live::kills_at_start) {
    const auto served = installation().command({"serve"});
    EXPECT_EQ(served.exit_code, 1);
    EXPECT_NE(served.err.find("a plugin called exit(3)"), std::string::npos) << served.err;
    return;
  }
  // It is stored, but the answer may go down with the host.
  static_cast<void>(client().try_request("POST", "/v1/intents", intent("last", "fatal", {{"n", 1}}).dump()));
  EXPECT_TRUE(host().wait().has_value()) << "it lives: document it in zoo.h";
}

std::vector<Creature> killing_creatures() {
  std::vector<Creature> list;
  for (const auto& creature : kZoo)
    if (creature.live == Live::kills || creature.live == Live::kills_at_start) list.push_back(creature);
  return list;
}

INSTANTIATE_TEST_SUITE_P(OfTheZoo, KillingCreature, ::testing::ValuesIn(killing_creatures()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace waybill::testing
