// What the database refuses of one settlement keeps no other from being written, and as much of it is written as can be.  M18 E4
#include "settle/settlement_writer.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/call_builders.h"
#include "unit/settle/scripted_store.h"

namespace waybill {
namespace {

using testing::KeptLog;
using testing::ScriptedStore;
using Places = std::vector<std::size_t>;
using Runs = std::vector<std::pair<std::size_t, std::size_t>>;  // first, count

const Error kRefused{Error::Kind::bug, "violates a check"};
const Error kAway{Error::Kind::unavailable, "gone"};

class WritingSettlements : public ::testing::Test {
 protected:
  static Settlement settlement(std::int64_t id, bool of_stage = false) {
    Settlement one{.delivery = {id}, .token = {7}, .status = Status::rejected};
    one.result = "{}";
    one.of_stage = of_stage;
    one.attempt = AttemptRecord{};
    one.attempt->error = "text " + std::to_string(id);
    return one;
  }
  Result<void> settle() { return writer.settle(0, batch, listener); }

  ScriptedStore store;
  KeptLog log;
  Metrics metrics;
  SettlementWriter writer{store, log, metrics};
  std::vector<Settlement> batch{settlement(1), settlement(2), settlement(3)};
  Runs written;
  Places refused, named;
  const SettlementWriter::Listener listener{
      .written = [this](std::size_t first, std::size_t count, const SettleResult&) { written.emplace_back(first, count); },
      .refused = [this](std::size_t at) { refused.push_back(at); },
      .about = [this](std::size_t at) -> SettlementWriter::About {
        named.push_back(at);
        return {"case-" + std::to_string(at), {}};
      }};
};

TEST_F(WritingSettlements, OneStatementWritesAllThatCanBeWritten) {
  ASSERT_TRUE(settle());
  EXPECT_EQ(store.statements, 1u);
  EXPECT_EQ(written, (Runs{{0, 3}}));
  batch.clear();
  ASSERT_TRUE(settle());
  EXPECT_EQ(store.statements, 1u) << "of nothing";
}

TEST_F(WritingSettlements, ARefusedTextIsLeftOutAndTheOthersKeepTheirs) {  // E4
  store.fault = [](const Settlement& one) { return one.attempt->error == "text 2" ? std::optional(kRefused) : std::nullopt; };
  ASSERT_TRUE(settle());
  EXPECT_EQ(written, (Runs{{0, 1}, {1, 1}, {2, 1}}));
  EXPECT_EQ(refused, Places{});
  ASSERT_EQ(store.written.size(), 3u);
  EXPECT_EQ(store.written[0].attempt->error, "text 1");
  EXPECT_EQ(store.written[1].result, "");
  EXPECT_EQ(store.written[2].attempt->error, "text 3");
  EXPECT_EQ(log.count("settle.detail_refused"), 1u);
  EXPECT_EQ(log.count("settle.halted"), 0u) << "it is of no stage";
}

TEST_F(WritingSettlements, AStageWhosePipelineCannotGoOnEndsAndItsSubmissionStays) {
  batch = {settlement(1), settlement(2, true)};
  store.fault = [](const Settlement& one) { return one.of_stage && !one.halts ? std::optional(kRefused) : std::nullopt; };
  ASSERT_TRUE(settle());
  ASSERT_EQ(store.written.size(), 2u);
  EXPECT_FALSE(store.written[0].halts);
  EXPECT_TRUE(store.written[1].halts);
  EXPECT_EQ(store.written[1].attempt->error, "text 2") << "with all that is known of it";
  EXPECT_EQ(log.count("settle.halted"), 1u);
  EXPECT_EQ(named, Places{1}) << "which submission is blocked";
}

TEST_F(WritingSettlements, AStageThatIsOnlyDueAgainHaltsNothing) {
  batch = {settlement(1, true)};
  batch[0].status = Status::due;
  store.fault = [](const Settlement& one) { return one.attempt->error == "text 1" ? std::optional(kRefused) : std::nullopt; };
  ASSERT_TRUE(settle());
  EXPECT_EQ(store.statements, 2u) << "no statement that can only be refused again";
  EXPECT_EQ(log.count("settle.halted"), 0u);
  EXPECT_EQ(log.count("settle.detail_refused"), 1u);
}

TEST_F(WritingSettlements, AStageWhoseTextIsRefusedToo) {
  batch = {settlement(1, true)};
  store.fault = [](const Settlement& one) { return one.attempt->error == "text 1" ? std::optional(kRefused) : std::nullopt; };
  ASSERT_TRUE(settle());
  ASSERT_EQ(store.written.size(), 1u);
  EXPECT_TRUE(store.written[0].halts);
  EXPECT_EQ(log.count("settle.halted"), 1u);
  EXPECT_EQ(log.count("settle.detail_refused"), 1u);
}

TEST_F(WritingSettlements, WhatIsRefusedToTheLastIsToldOnce) {
  store.fault = [](const Settlement& one) { return one.delivery.value == 2 ? std::optional(kRefused) : std::nullopt; };
  ASSERT_TRUE(settle());
  EXPECT_EQ(written, (Runs{{0, 1}, {2, 1}}));
  EXPECT_EQ(refused, Places{1});
  EXPECT_EQ(log.count("settle.refused_by_database"), 1u);
}

TEST_F(WritingSettlements, ADatabaseThatGoesAwayLeavesTheRest) {
  store.fault = [](const Settlement& one) { return one.delivery.value == 2 ? std::optional(kAway) : std::nullopt; };
  const auto at_once = settle();
  ASSERT_FALSE(at_once);
  EXPECT_EQ(at_once.error().kind, Error::Kind::unavailable);
  EXPECT_EQ(store.statements, 1u) << "none is tried alone";
  EXPECT_EQ(written, Runs{});
  store.fault = [&](const Settlement& one) {
    return one.delivery.value == 3                       ? std::optional(kRefused)
           : one.delivery.value == 2 && !written.empty() ? std::optional(kAway)
                                                         : std::nullopt;
  };
  EXPECT_FALSE(settle()) << "on the way";
  EXPECT_EQ(written, (Runs{{0, 1}}));
  EXPECT_EQ(refused, Places{});
}

TEST_F(WritingSettlements, AFailureThatATransitionHandlesIsNoDeadLetter) {
  for (auto& one : batch) one.dead_letter = true;
  store.handled = {{2}};
  ASSERT_TRUE(settle());
  EXPECT_TRUE(batch[0].dead_letter);
  EXPECT_FALSE(batch[1].dead_letter);
}

TEST_F(WritingSettlements, AnArtifactThatIsRefusedKeepsNoOther) {
  store.artifact_fault = [](const ComposeRow& one) { return one.delivery.value == 1 ? std::optional(kRefused) : std::nullopt; };
  const std::vector<ComposeRow> artifacts{{{1}, {7}, {}}, {{2}, {7}, {}}};
  ASSERT_TRUE(writer.save_artifacts(0, artifacts, listener));
  EXPECT_EQ(written, (Runs{{1, 1}}));
  EXPECT_EQ(refused, Places{0});
}

}  // namespace
}  // namespace waybill
