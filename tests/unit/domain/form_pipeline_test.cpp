// When a form's submission may begin, in which order its actions run, and when it ends.  F3 F6
#include "domain/form_pipeline.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "domain/builtin_pipelines.h"

namespace waybill {
namespace {

constexpr Timestamp kNow{1'000'000'000};

ActionState action(int order, Status status, std::uint32_t attempts = 0, Timestamp due = kNow) {
  return {.order = order, .delivery = {order}, .status = status, .attempts = attempts, .due = due};
}
FormStep opens(int order) { return {DeliveryId{order}, {}}; }
FormStep ends(std::string_view state) { return {std::nullopt, state}; }
const FormStep kNothing{};

TEST(Readiness, NeedsFinalizationAndEveryAttachmentClean) {  // F3
  EXPECT_EQ(readiness_of(true, {}), Readiness::run);
  EXPECT_EQ(readiness_of(true, {.attachments = 2, .clean = 2}), Readiness::run);
  EXPECT_EQ(readiness_of(true, {.attachments = 2, .clean = 1}), Readiness::wait);
  EXPECT_EQ(readiness_of(false, {}), Readiness::wait);
  EXPECT_EQ(readiness_of(false, {.attachments = 2, .clean = 2}), Readiness::wait);
}

TEST(Readiness, OneInfectedAttachmentIsEnough) {  // F3
  for (const bool finalized : {false, true}) {
    EXPECT_EQ(readiness_of(finalized, {.attachments = 3, .clean = 2, .infected = 1}), Readiness::infected);
    EXPECT_EQ(readiness_of(finalized, {.attachments = 1, .infected = 1}), Readiness::infected);
  }
}

TEST(FormSteps, TheFirstActionOpensAtOnceAndTheNextAfterItsFirstAttempt) {  // F6
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::waiting), action(2, Status::waiting)}, kNow), opens(1));
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::due), action(2, Status::waiting)}, kNow), kNothing);
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::claimed), action(2, Status::waiting)}, kNow), kNothing);
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::due, 1), action(2, Status::waiting)}, kNow), opens(2));
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::claimed, 1), action(2, Status::waiting)}, kNow), opens(2));
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::rejected, 1), action(2, Status::waiting)}, kNow), opens(2));
}

TEST(FormSteps, AnActionThatCannotBeAttemptedHoldsUpTheNextOnlyForItsTurn) {  // F6
  const auto due_since = [&](Micros length) {
    return std::vector{action(1, Status::due, 0, kNow - length), action(2, Status::waiting)};
  };
  EXPECT_EQ(next_form_step(due_since(kTurn - Micros(1)), kNow), kNothing);
  EXPECT_EQ(next_form_step(due_since(kTurn), kNow), opens(2));
}

TEST(FormSteps, EndsWhenTheLastActionHas) {  // F6 F9
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::accepted, 1), action(2, Status::due, 3)}, kNow), kNothing);
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::accepted, 1), action(2, Status::accepted, 1)}, kNow), ends("routed"));
  EXPECT_EQ(next_form_step(std::vector{action(1, Status::accepted, 1), action(2, Status::deferred, 1)}, kNow), ends("routed"));
  for (const Status bad : {Status::rejected, Status::exhausted, Status::cancelled})
    EXPECT_EQ(next_form_step(std::vector{action(1, bad, 1), action(2, Status::accepted, 1)}, kNow), ends("failed"))
        << to_string(bad);
}

// F6: whatever becomes of each action, all get their turn in order, and the end says whether all were done.
RC_GTEST_PROP(FormSteps, EveryActionGetsItsTurnInOrderAndThenItEnds, ()) {
  std::vector<ActionState> actions;
  const int count = *rc::gen::inRange(1, 8);
  for (int i = 1; i <= count; ++i) actions.push_back(action(i * 10, Status::waiting));
  std::vector<std::int64_t> opened;
  for (int steps = 0; steps < 200; ++steps) {
    const FormStep step = next_form_step(actions, kNow);
    if (!step.end.empty()) {
      const bool done = std::all_of(actions.begin(), actions.end(),
                                    [](const auto& a) { return a.status == Status::accepted || a.status == Status::deferred; });
      RC_ASSERT(step.end == (done ? "routed" : "failed"));
      RC_ASSERT(opened.size() == actions.size());
      RC_ASSERT(std::is_sorted(opened.begin(), opened.end()));
      return;
    }
    if (step.open) {
      opened.push_back(step.open->value);
      std::find_if(actions.begin(), actions.end(), [&](const auto& a) { return a.delivery == *step.open; })->status = Status::due;
      continue;
    }
    std::vector<std::size_t> busy;
    for (std::size_t i = 0; i < actions.size(); ++i)
      if (actions[i].status == Status::due) busy.push_back(i);
    RC_ASSERT(!busy.empty());  // never stuck
    auto& one = actions[*rc::gen::elementOf(busy)];
    one.attempts += 1;
    one.status = *rc::gen::element(Status::due, Status::accepted, Status::rejected, Status::exhausted, Status::deferred);
  }
  RC_DISCARD("every action was retried for ever");
}

// F1 P1: the files that the program carries along are whole, and the ends have no way out.
TEST(BuiltinPipelines, LeadToEveryStateAndOutOfNoEnd) {
  ASSERT_EQ(builtin_pipelines().size(), 3u);
  for (const auto& pipeline : builtin_pipelines())
    for (const auto& move : pipeline.transitions) {
      EXPECT_NE(move.from, move.to);
      EXPECT_FALSE(pipeline.find(move.from)->terminal) << move.from;
    }
  EXPECT_TRUE(builtin_pipeline("form").find("purged")->terminal);
  for (const char* end : {"accepted", "rejected", "exhausted"}) EXPECT_TRUE(builtin_pipeline("intent").find(end)->terminal);
}

// F11 F13
TEST(InfectedAlerts, NameTheSubmissionAndSayWhetherAnythingWasSent) {
  const auto early = infected_alert("s-1", "contact"), late = infected_too_late_alert("s-1", "contact");
  EXPECT_EQ(early.about, "contact");
  EXPECT_EQ(early.message, "form submission s-1 of contact has an infected attachment; nothing of it was sent");
  EXPECT_EQ(late.about, "contact:late") << "an incident of its own";
  EXPECT_EQ(late.message,
            "form submission s-1 of contact has an attachment that was found infected when its actions were under way or done");
}

}  // namespace
}  // namespace waybill
