// `waybill failed resend` over several calls, on a store that a test scripts.  O5
#include <gtest/gtest.h>

#include <deque>

#include "cli/failed.h"

namespace waybill {
namespace {

ReplayItem item(std::int64_t id, std::string refused = {}) { return {.letter = {.id = {id}}, .refused = std::move(refused)}; }

class ScriptedFailed final : public FailedStore {
 public:
  Result<FailedPage> list(OrgId, const FailedFilter&, std::size_t, std::optional<DeliveryCursor>) override {
    return FailedPage{};
  }
  Result<Replays> resend(OrgId, const ResendOrder& order) override {
    asked.push_back(order);
    auto answer = answers.front();
    answers.pop_front();
    return answer;
  }

  std::deque<Replays> answers;
  std::vector<ResendOrder> asked;
};

Replays answer_of(std::size_t sent, std::size_t refused, std::optional<DeliveryCursor> next) {
  Replays all{.count = sent, .more = next.has_value(), .next = next, .asked = {next ? 77 : 0}};
  for (std::size_t i = 0; i < sent; ++i) all.items.push_back(item(1));
  for (std::size_t i = 0; i < refused; ++i) all.items.push_back(item(2, "no"));
  return all;
}

Result<Replays> resend(ScriptedFailed& store) {
  return resend_all(store, {1}, {.filter = {.target = "sms.a"}}, [] {});
}

// O5
TEST(ResendAll, GoesOnWhereACallStoppedAndLeavesOutWhatFailsMeanwhile) {
  ScriptedFailed store;
  const DeliveryCursor first{{5}, {6}}, second{{7}, {8}};
  store.answers = {answer_of(0, 0, first), answer_of(1, 1, second), answer_of(2, 0, {})};
  const auto done = resend(store);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->count, 3u);
  EXPECT_EQ(done->items.size(), 4u);
  EXPECT_FALSE(done->more);
  ASSERT_EQ(store.asked.size(), 3u);
  EXPECT_FALSE(store.asked[0].after || store.asked[0].filter.until);
  EXPECT_EQ(store.asked[1].after->id, first.id);
  EXPECT_EQ(store.asked[2].after->id, second.id);
  for (const auto at : {1, 2}) EXPECT_EQ(store.asked[at].filter.until, Timestamp{77});
}

// O5
TEST(ResendAll, StopsWhenAsManyAreSentAsOneCallTakesAndSaysThatThereAreMore) {
  ScriptedFailed store;
  store.answers = {answer_of(kMaxReplays, 0, DeliveryCursor{{5}, {6}})};
  const auto done = resend(store);
  ASSERT_TRUE(done);
  EXPECT_TRUE(done->more);
  EXPECT_FALSE(done->next) << "a command takes no cursor";
}

// O5
TEST(ResendAll, RefusedOnesKeepNothingElseFromItsTurn) {
  ScriptedFailed store;
  store.answers = {answer_of(0, kMaxReplays, DeliveryCursor{{5}, {6}}), answer_of(1, 3, {})};
  const auto done = resend(store);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->count, 1u);
  EXPECT_EQ(done->items.size(), kMaxReplays + 1) << "of the refused no more are answered";
  EXPECT_TRUE(done->more);
}

}  // namespace
}  // namespace waybill
