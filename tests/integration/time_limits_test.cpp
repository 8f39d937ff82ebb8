// Whose time an attempt has: a target's own and an action's own count, and timeouts.attempt where there is none.  T25
#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class TimeLimitsOfAttempts : public PipelineWorld {
 protected:
  json hook(const std::string& name, const std::string& timeout = "") const {
    auto one = target(name, "webhook", gateway.url() + "/" + name, "one_shot", 0, {"gone"});
    if (!timeout.empty()) one["timeout"] = timeout;
    return one;
  }
  // Hands one in, and returns once its request has arrived, whose answer waits for release().
  void begin(const std::string& target) {
    ASSERT_EQ(post_intent(client(), intent(target, target, {{"n", 1}})).status, 200);
    ASSERT_TRUE(gateway.wait_for([&] { return calls("/" + target) == 1; }));
  }
};

// The first request came before the second, and outlives it.
TEST_F(TimeLimitsOfAttempts, ATargetThatAnswersBetweenTheTwoLimitsIsWaitedFor) {
  setup.more = "timeouts: { attempt: 300ms, lease: 5m }\n";
  setup.registry = registry_of({hook("slow", "4m"), hook("usual")});
  setup.pipelines.clear();
  gateway.by_default(Reply::accept_when_released());
  begin("slow");
  begin("usual");
  EXPECT_EQ(word(wait_for_end(client(), "usual"), "status"), "exhausted");
  const auto errors = attempt_words(client(), "usual", "error");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors[0].starts_with("timeout")) << errors[0];
  EXPECT_EQ(word(get_intent(client(), "slow"), "status"), "pending");
  gateway.release();
  EXPECT_EQ(word(wait_for_end(client(), "slow"), "status"), "accepted");
  EXPECT_EQ(calls("/slow"), 1u);
}

TEST_F(TimeLimitsOfAttempts, ATargetsShorterLimitCuts) {
  setup.registry = registry_of({hook("brief", "300ms"), hook("usual")});
  setup.pipelines.clear();
  gateway.by_default(Reply::accept_when_released());
  begin("usual");
  begin("brief");
  EXPECT_EQ(word(wait_for_end(client(), "brief"), "status"), "exhausted");
  EXPECT_EQ(word(get_intent(client(), "usual"), "status"), "pending");
  gateway.release();
  EXPECT_EQ(word(wait_for_end(client(), "usual"), "status"), "accepted");
}

TEST_F(TimeLimitsOfAttempts, AnActionOfAPipelineHasALimitOfItsOwn) {
  setup.more = "timeouts: { attempt: 300ms, lease: 5m }\n";
  setup.registry = registry_of({hook("usual")});
  setup.pipelines = {{"patient.json", R"({
    "pipeline": "patient", "initial": "SEND",
    "states": { "SEND": { "run": [{ "target": "usual", "timeout": "4m" }] }, "SENT": { "terminal": true } },
    "transitions": [{ "from": "SEND", "to": "SENT", "trigger": "sent", "actor": "worker" }]
  })"}};
  gateway.by_default(Reply::accept_when_released());
  ASSERT_EQ(hand_in("patient", "p-1", {{"n", 1}}).status, 201);
  ASSERT_TRUE(gateway.wait_for([&] { return calls("/usual") == 1; }));
  ASSERT_EQ(post_intent(client(), intent("cut", "usual", {{"n", 1}})).status, 200);
  EXPECT_EQ(word(wait_for_end(client(), "cut"), "status"), "exhausted") << "of the same target, a moment later";
  EXPECT_EQ(state_of("p-1"), "SEND");
  gateway.release();
  EXPECT_EQ(word(wait_for_state("p-1", "SENT"), "state"), "SENT");
}

}  // namespace
}  // namespace waybill::testing
