// Submissions on their way in: grouped, told apart, and each answered exactly once whatever the database does.  M2 M12
#include "intake/intake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "support/call_builders.h"
#include "support/eventually.h"
#include "support/fake_store.h"

namespace waybill {
namespace {

using How = SubmitResult::How;
using testing::eventually;
using testing::FakeStore;
using testing::kBound;
using testing::KeptLog;
using testing::ManualClock;
using Answered = std::future<Result<SubmitResult>>;

class TakingIn : public ::testing::Test {
 protected:
  ~TakingIn() override { store.unblock_submit(); }

  void start(int threads = 1) {
    std::vector<std::unique_ptr<IntakeStore>> stores;
    for (int i = 0; i < threads; ++i) stores.push_back(store.intake());
    Intake::Next next{.claim = [this](Shard, const std::vector<InsertGroup>& all) -> std::optional<InsertClaim> {
                        const std::lock_guard lock(mutex_);
                        for (const auto& one : all) asked_.push_back(one);
                        if (!claims) return std::nullopt;
                        return InsertClaim{{1}, {++tokens_}, Millis(60'000)};
                      },
                      .claimed =
                          [this](Shard, const InsertClaim& claim, const std::vector<InsertGroup>&, ClaimResult rows) {
                            const std::lock_guard lock(mutex_);
                            claimed_.emplace_back(claim.token, std::move(rows));
                          },
                      .unconfirmed =
                          [this](Shard, const InsertClaim& claim, const std::vector<InsertGroup>&) {
                            const std::lock_guard lock(mutex_);
                            lost_.push_back(claim.token);
                          },
                      .is_due =
                          [this](Shard, const std::vector<InsertGroup>& routes) {
                            EXPECT_FALSE(routes.empty());
                            ++woken;
                          }};
    intake = std::make_unique<Intake>(std::move(stores), clock, settings, std::move(next), log);
    intake->start();
  }

  // Keeps the intake's thread busy with one submission, so that all that follows waits and becomes one group.
  void occupy() {
    store.block_submit();
    occupied_ = submit("occupier");
    ASSERT_TRUE(eventually([&] { return store.calls("submit") > 0; }));
  }
  void release() {
    store.unblock_submit();
    ASSERT_TRUE(answer(occupied_));
  }

  Answered submit(const std::string& id, const std::string& payload = "{}", std::shared_ptr<const Contract> contract = nullptr) {
    auto [handed_in, future] = prepare(id, payload, contract ? contract : primary);
    intake->submit(std::move(handed_in.intent), std::move(handed_in.answer));
    return std::move(future);
  }
  // The commit's answer is lost on the way, and the second try finds what it stored.
  void submit_and_lose_the_answer() {
    store.lose_answers(1);
    start();
    auto future = submit("order-1");
    const auto submitted = answer(future);
    ASSERT_TRUE(submitted) << submitted.error().what;
    EXPECT_EQ(submitted->how, How::existing);
  }
  // Named prefix0, prefix1, ...
  std::vector<Answered> submit_batch(const std::string& prefix, int count) {
    std::vector<Intake::PendingIntent> batch;
    std::vector<Answered> futures;
    for (int i = 0; i < count; ++i) {
      auto [handed_in, future] = prepare(prefix + std::to_string(i), "{}", primary);
      batch.push_back(std::move(handed_in));
      futures.push_back(std::move(future));
    }
    intake->submit(std::move(batch));
    return futures;
  }
  static std::pair<Intake::PendingIntent, Answered> prepare(const std::string& id, const std::string& payload,
                                                            std::shared_ptr<const Contract> contract) {
    auto promise = std::make_shared<std::promise<Result<SubmitResult>>>();
    Intake::PendingIntent handed_in{{kDefaultOrg, id, std::move(contract), payload},
                                    [promise](Result<SubmitResult> result) { promise->set_value(std::move(result)); }};
    return {std::move(handed_in), promise->get_future()};
  }
  static Result<SubmitResult> answer(Answered& future) {
    if (future.wait_for(kBound) == std::future_status::ready) return future.get();
    ADD_FAILURE() << "no answer came";  // which is not the same as a refusal
    return fail(Error::Kind::bug, "no answer came");
  }
  static std::shared_ptr<const Contract> contract_of(const std::string& target) {
    return std::make_shared<const Contract>(
        Contract{.target = target, .action_type = "sms", .url = "http://h/", .destination = "{}"});
  }

  const std::shared_ptr<const Contract> primary = contract_of("sms.primary");
  FakeStore store{4};
  ManualClock clock;
  KeptLog log;
  IntakeSettings settings{.shards = 4};
  std::atomic<int> woken{0};
  std::atomic<bool> claims{false};  // what is stored may be claimed
  std::unique_ptr<Intake> intake;

  std::vector<std::pair<ClaimToken, ClaimResult>> claimed() {
    const std::lock_guard lock(mutex_);
    return claimed_;
  }
  std::vector<ClaimToken> lost() {
    const std::lock_guard lock(mutex_);
    return lost_;
  }
  std::vector<InsertGroup> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  void forget_asked() {
    const std::lock_guard lock(mutex_);
    asked_.clear();
  }

 private:
  std::mutex mutex_;
  std::int64_t tokens_ = 0;
  std::vector<InsertGroup> asked_;
  std::vector<std::pair<ClaimToken, ClaimResult>> claimed_;
  std::vector<ClaimToken> lost_;
  Answered occupied_;
};

TEST_F(TakingIn, ASubmissionIsStoredAndAnswered) {  // M2
  start();
  auto future = submit("order-1", "{\"n\":1}");
  const auto submitted = answer(future);
  ASSERT_TRUE(submitted) << submitted.error().what;
  EXPECT_EQ(submitted->how, How::created);
  EXPECT_EQ(submitted->view.client_ref, "order-1");
  EXPECT_EQ(submitted->view.state, "pending");
  EXPECT_EQ(store.deliveries().at(0).row.payload, "{\"n\":1}");
  EXPECT_EQ(store.deliveries().at(0).row.kind, "intent");
  EXPECT_EQ(woken, 1);
}

TEST_F(TakingIn, WhatWaitsTogetherIsWrittenTogether) {
  start();
  occupy();
  std::vector<Answered> answers;
  for (int i = 0; i < 200; ++i) answers.push_back(submit("order-" + std::to_string(i)));
  release();
  for (auto& future : answers) EXPECT_EQ(answer(future).value().how, How::created);
  EXPECT_EQ(store.calls("submit"), 5u) << "the occupier, then one call for each shard";
  EXPECT_EQ(store.calls("route"), 1u) << "one contract, one route";
}

TEST_F(TakingIn, AGroupHasALimit) {
  settings.max_in_group = 10;
  start();
  occupy();
  std::vector<Answered> answers;
  for (int i = 0; i < 55; ++i) answers.push_back(submit("order-" + std::to_string(i)));
  release();
  for (auto& future : answers) EXPECT_TRUE(answer(future));
  const auto sizes = store.batches("submit");
  EXPECT_LE(*std::max_element(sizes.begin(), sizes.end()), 10u);
}

TEST_F(TakingIn, AGroupHasALimitOfBytesAndALargePayloadIsAGroupOfItsOwn) {
  settings.max_bytes_in_group = 1000;
  start();
  occupy();
  std::vector<Answered> answers;
  for (int i = 0; answers.size() < 20; ++i) {
    const auto id = "order-" + std::to_string(i);
    if (shard_for(kDefaultOrg, id, settings.shards) == 0)  // so that a group is one call
      answers.push_back(submit(id, std::string(answers.size() == 10 ? 5000 : 300, '1')));
  }
  release();
  for (auto& future : answers) EXPECT_TRUE(answer(future));
  EXPECT_EQ(store.batches("submit"), (std::vector<std::size_t>{1, 3, 3, 3, 1, 1, 3, 3, 3}))
      << "the occupier, ten by threes, the large one, nine by threes";
}

TEST_F(TakingIn, ABatchKeepsAllThreadsBusy) {
  start(2);
  store.block_submit();
  auto answers = submit_batch("order-", 400);
  EXPECT_TRUE(eventually([&] { return store.calls("submit") == 2; })) << "a call of each thread";
  store.unblock_submit();
  for (auto& future : answers) EXPECT_EQ(answer(future).value().how, How::created);
  EXPECT_EQ(store.deliveries().size(), 400u);
}

TEST_F(TakingIn, AThreadThatDoesNotGetThroughHoldsUpNobody) {
  start(2);
  store.block_submit();
  auto stuck = submit("order-1");
  ASSERT_TRUE(eventually([&] { return store.calls("submit") == 1; }));
  auto other = submit("order-2");
  EXPECT_TRUE(eventually([&] { return store.calls("submit") == 2; })) << "the other thread took it";
  store.unblock_submit();
  EXPECT_TRUE(answer(stuck));
  EXPECT_TRUE(answer(other));
}

TEST_F(TakingIn, OfABatchBeyondTheLimitTheRestIsRefusedAtOnce) {
  settings.max_waiting = 30;
  start();
  occupy();
  auto answers = submit_batch("order-", 50);
  for (std::size_t i = 30; i < 50; ++i) EXPECT_EQ(answer(answers[i]).error().kind, Error::Kind::unavailable);
  release();
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(answer(answers[i]).value().how, How::created);
}

TEST_F(TakingIn, OfAHundredIdenticalOneCreatesAndAllGetTheSameAnswer) {  // M2
  start();
  occupy();
  std::vector<Answered> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(submit("order-1", "{\"n\":1}"));
  release();
  int created = 0, existing = 0;
  SubmissionId id{};
  for (auto& future : answers) {
    const auto submitted = answer(future);
    ASSERT_TRUE(submitted);
    if (id.value == 0) id = submitted->view.id;
    EXPECT_EQ(submitted->view.id, id);
    created += submitted->how == How::created;
    existing += submitted->how == How::existing;
  }
  EXPECT_EQ(created, 1);
  EXPECT_EQ(existing, 99);
  EXPECT_EQ(store.deliveries().size(), 2u);
}

TEST_F(TakingIn, ThreadsThatMeetTheSameSubmissionAgree) {  // M2
  start(4);
  std::vector<Answered> answers;
  for (int i = 0; i < 400; ++i) answers.push_back(submit("order-" + std::to_string(i % 4)));
  int created = 0;
  for (auto& future : answers) created += answer(future).value().how == How::created;
  EXPECT_EQ(created, 4);
  EXPECT_EQ(store.deliveries().size(), 4u);
}

TEST_F(TakingIn, ADifferenceWithinOneGroupIsAConflictForTheLater) {  // M2
  start();
  occupy();
  auto leader = submit("order-1", "{\"n\":1}");
  auto same = submit("order-1", "{\"n\":1}");
  auto other_payload = submit("order-1", "{\"n\":2}");
  auto other_target = submit("order-1", "{\"n\":1}", contract_of("sms.secondary"));
  release();
  EXPECT_EQ(answer(leader).value().how, How::created);
  EXPECT_EQ(answer(same).value().how, How::existing);
  EXPECT_EQ(answer(other_payload).value().how, How::conflict);
  EXPECT_EQ(answer(other_target).value().how, How::conflict);
}

TEST_F(TakingIn, WhoContradictsAConflictingLeaderMayStillAgreeWithWhatIsStored) {  // M2
  start();
  auto stored = submit("order-1", "{\"n\":1}");
  const auto first = answer(stored).value();
  occupy();
  auto leader = submit("order-1", "{\"n\":2}");
  auto right = submit("order-1", "{\"n\":1}");
  auto wrong = submit("order-1", "{\"n\":3}");
  auto like_leader = submit("order-1", "{\"n\":2}");
  release();
  EXPECT_EQ(answer(leader).value().how, How::conflict);
  const auto agreed = answer(right).value();
  EXPECT_EQ(agreed.how, How::existing);
  EXPECT_EQ(agreed.view.id, first.view.id);
  EXPECT_EQ(answer(wrong).value().how, How::conflict);
  EXPECT_EQ(answer(like_leader).value().how, How::conflict);
}

TEST_F(TakingIn, OnlyWhatIsNewWakesTheClaimer) {
  start();
  auto first = submit("order-1");
  EXPECT_EQ(answer(first).value().how, How::created);
  auto again = submit("order-1");
  EXPECT_EQ(answer(again).value().how, How::existing);
  auto contradiction = submit("order-1", "[]");
  EXPECT_EQ(answer(contradiction).value().how, How::conflict);
  EXPECT_EQ(woken, 1);
}

TEST_F(TakingIn, ADatabaseThatIsAwayIsWaitedFor) {  // M12
  store.go_away();
  start();
  auto future = submit("order-1", "{\"n\":1}");
  ASSERT_TRUE(eventually([&] { return log.count("intake.database_unavailable") >= 2; }));
  store.come_back();
  EXPECT_EQ(answer(future).value().how, How::created);
  EXPECT_EQ(store.deliveries().at(0).row.client_ref, "order-1");
  EXPECT_EQ(store.deliveries().at(0).row.payload, "{\"n\":1}");
}

// T15
TEST_F(TakingIn, SaysThatNothingCanBeStoredUntilSomethingIs) {
  start();
  const auto trouble = [&] { return intake->health().trouble(); };
  EXPECT_EQ(trouble(), "") << "nothing was tried";
  auto stored = submit("stored");
  ASSERT_TRUE(answer(stored));
  EXPECT_EQ(trouble(), "");
  clock.pass(Seconds(60));
  store.go_away();
  auto waiting = submit("waiting");
  ASSERT_TRUE(eventually([&] { return !trouble().empty(); }));
  EXPECT_EQ(trouble(), "intents cannot be stored: it failed 0 s ago, and last succeeded 60 s ago");
  store.come_back();
  ASSERT_TRUE(answer(waiting));
  EXPECT_EQ(trouble(), "");
  store.go_away();
  auto refused = submit("refused");
  ASSERT_TRUE(eventually([&] { return !trouble().empty(); }));
  clock.pass(settings.patience);
  EXPECT_FALSE(answer(refused));
  EXPECT_NE(trouble(), "");
  clock.pass(std::chrono::hours(1));
  EXPECT_NE(trouble(), "") << "nobody has tried since";
  intake->health().stored();
  EXPECT_EQ(trouble(), "") << "the host's own try succeeded";
}

TEST_F(TakingIn, ACommitWhoseAnswerWasLostIsFoundAgain) {  // M2 M12
  submit_and_lose_the_answer();
  EXPECT_EQ(store.deliveries().size(), 1u);
}

TEST_F(TakingIn, NobodyWaitsLongerThanTheIntakesPatience) {  // M12
  store.go_away();
  start();
  auto future = submit("order-1");
  ASSERT_TRUE(eventually([&] { return log.count("intake.database_unavailable") >= 1; }));
  EXPECT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  clock.pass(settings.patience);
  const auto submitted = answer(future);
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().kind, Error::Kind::unavailable);
}

// E11
TEST_F(TakingIn, WhatHasWaitedTooLongForItsTurnIsNotStoredAnyMore) {
  start();
  occupy();
  auto future = submit("order-1");
  clock.pass(settings.patience);
  release();
  const auto submitted = answer(future);
  ASSERT_FALSE(submitted);
  EXPECT_EQ(submitted.error().kind, Error::Kind::unavailable);
  auto next = submit("order-2");
  EXPECT_TRUE(answer(next));
  for (const auto& delivery : store.deliveries()) EXPECT_NE(delivery.row.client_ref, "order-1");
}

TEST_F(TakingIn, OneThatCannotBeStoredDoesNotHarmTheOthers) {
  store.poison("order-7");
  start();
  occupy();
  std::vector<Answered> answers;
  for (int i = 0; i < 20; ++i) answers.push_back(submit("order-" + std::to_string(i)));
  release();
  for (int i = 0; i < 20; ++i) {
    const auto submitted = answer(answers[static_cast<std::size_t>(i)]);
    if (i == 7) {
      ASSERT_FALSE(submitted);
      EXPECT_EQ(submitted.error().kind, Error::Kind::bug);
    } else {
      ASSERT_TRUE(submitted) << i << ": " << submitted.error().what;
      EXPECT_EQ(submitted->how, How::created);
    }
  }
  EXPECT_EQ(log.count("intake.refused_by_database"), 1u);
}

TEST_F(TakingIn, AContractThatCannotBeStoredDoesNotHarmTheOthers) {
  store.poison_route("sms.bad");
  start();
  occupy();
  auto bad = submit("order-1", "{}", contract_of("sms.bad"));
  auto good = submit("order-2");
  release();
  EXPECT_EQ(answer(good).value().how, How::created);
  const auto refused = answer(bad);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Error::Kind::bug);
}

TEST_F(TakingIn, BeyondItsLimitASubmissionIsRefusedAtOnce) {
  settings.max_waiting = 3;
  start();
  occupy();
  std::vector<Answered> answers;
  for (int i = 0; i < 3; ++i) answers.push_back(submit("order-" + std::to_string(i)));
  auto refused = submit("order-3");
  const auto said = answer(refused);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().kind, Error::Kind::unavailable);
  release();
  for (auto& future : answers) EXPECT_TRUE(answer(future));
}

TEST_F(TakingIn, StoppingAnswersEverybody) {
  store.go_away();
  start(2);
  std::vector<Answered> answers;
  for (int i = 0; i < 50; ++i) answers.push_back(submit("order-" + std::to_string(i)));
  intake.reset();
  for (auto& future : answers) {
    ASSERT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::ready);
    EXPECT_EQ(future.get().error().kind, Error::Kind::unavailable);
  }
}

TEST_F(TakingIn, WhatMayStartIsClaimedInTheCommitThatStoresIt) {  // M2 M18
  claims = true;
  start();
  occupy();
  auto first = submit("order-1", R"({"n":1})"), second = submit("order-2", "{}", contract_of("sms.other"));
  release();
  for (auto* future : {&first, &second}) ASSERT_TRUE(answer(*future));
  intake.reset();  // what follows the answers has been done
  std::size_t rows = 0;
  for (const auto& [token, group] : claimed()) {
    EXPECT_EQ(group.now, store.now());
    for (const auto& row : group.rows) {
      const auto stored = store.delivery(row.delivery);
      EXPECT_EQ(stored.status, Status::claimed);
      EXPECT_EQ(stored.token, token);
      EXPECT_EQ(row.submission, stored.row.submission);
      EXPECT_EQ(row.route, stored.row.route);
      EXPECT_EQ(row.client_ref, stored.row.client_ref);
      EXPECT_EQ(row.payload, stored.row.payload);
      EXPECT_EQ(row.kind, "intent");
      EXPECT_EQ(row.created, stored.row.created);
      EXPECT_EQ(row.due, stored.row.due);
      EXPECT_EQ(row.action_order, 1);
      ++rows;
    }
  }
  EXPECT_EQ(rows, 3u) << "the occupier, and two";
  EXPECT_EQ(store.calls("claim"), 0u);
  EXPECT_EQ(woken, 0);
  std::map<std::string, std::size_t> wanted;
  for (const auto& one : asked()) wanted[one.contract->target] += one.count;
  EXPECT_EQ(wanted, (std::map<std::string, std::size_t>{{"sms.other", 1}, {"sms.primary", 2}}));
}

TEST_F(TakingIn, WhatWasThereAlreadyIsNotClaimedAgain) {  // M2
  claims = true;
  start();
  auto first = submit("order-1");
  ASSERT_TRUE(answer(first));
  auto again = submit("order-1");
  ASSERT_TRUE(answer(again));
  intake.reset();
  ASSERT_EQ(claimed().size(), 2u) << "each claim is answered for";
  EXPECT_EQ(claimed()[0].second.rows.size(), 1u);
  EXPECT_TRUE(claimed()[1].second.rows.empty());
  EXPECT_EQ(woken, 0);
}

TEST_F(TakingIn, WhatRestsIsDueAndNotClaimed) {  // M8
  claims = true;
  const std::vector<Cooldown> rests{{kDefaultOrg, "sms.primary", store.now() + Seconds(60), "outage"}};
  ASSERT_TRUE(store.cool_down(rests));
  start();
  auto future = submit("order-1");
  ASSERT_TRUE(answer(future));
  intake.reset();
  ASSERT_EQ(claimed().size(), 1u);
  EXPECT_TRUE(claimed()[0].second.rows.empty());
  EXPECT_EQ(store.count(Status::due), 1u);
  EXPECT_EQ(woken, 1);
}

TEST_F(TakingIn, AClaimWhoseCommitWasNotSeenIsTold) {  // M12
  claims = true;
  submit_and_lose_the_answer();
  intake.reset();
  EXPECT_EQ(lost(), std::vector<ClaimToken>{{1}});
  ASSERT_EQ(claimed().size(), 1u) << "of the second try";
  EXPECT_TRUE(claimed()[0].second.rows.empty());
  EXPECT_EQ(store.count(Status::claimed), 1u) << "whoever claimed it gives it back";
}

TEST_F(TakingIn, WhatWaitsIsBoundedInBytesToo) {  // E12
  settings.max_bytes_waiting = 1000;
  start();
  occupy();
  auto fits = submit("fits", std::string(900, '1'));
  auto refused = submit("refused", std::string(200, '2'));
  EXPECT_FALSE(answer(refused)) << "at once, while the database is busy";
  release();
  EXPECT_TRUE(answer(fits));
  auto again = submit("refused", std::string(200, '2'));
  EXPECT_TRUE(answer(again)) << "there is room again";
}

TEST_F(TakingIn, ARegistryThatWasReplacedIsNotKept) {  // E10 E12
  start();
  std::weak_ptr<const Contract> old;
  {
    auto contract = std::make_shared<const Contract>(*primary);
    old = contract;
    auto taken = submit("a", "{}", std::move(contract));
    ASSERT_TRUE(answer(taken));
  }
  forget_asked();
  EXPECT_TRUE(eventually([&] { return old.expired(); }));
}

}  // namespace
}  // namespace waybill
