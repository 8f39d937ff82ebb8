// What failed for good, in one list, and sent again as dead letters are.  O5
#include <algorithm>
#include <latch>
#include <mutex>
#include <thread>

#include "contract/store_world.h"
#include "store/operations/failed_store.h"

namespace waybill::testing {
namespace {

constexpr std::size_t kResendRate = 10;

class FailedContract : public StoreWorld {
 protected:
  // A submission that ended so. Its number is its own.
  DeliveryId ended(const std::string& ref, Status status, const std::string& target = "sms.a",
                   Policy policy = Policy::max_attempts, OrgId org = kDefaultOrg) {
    auto one = item(ref, "{}", target, org);
    one.route = route(target, org, policy);
    submit({one});
    const ClaimToken token{++last_token};
    const auto row = claim(one.route, 1, token).rows.at(0);
    auto ending_of = ending(row, token, status, status == Status::rejected ? "invalid_number" : "max_attempts");
    ending_of.ended = row.created + Seconds(++last_second);
    ending_of.attempt->maybe_sent = policy == Policy::one_shot;
    settled({ending_of});
    return row.delivery;
  }
  std::vector<std::string> listed(const FailedFilter& filter, OrgId org = kDefaultOrg) {
    std::vector<std::string> references;
    std::optional<DeliveryCursor> after;
    do {
      const auto page = failed->list(org, filter, 2, after);
      EXPECT_TRUE(page) << page.error().what;
      if (!page) break;
      for (const auto& one : page->items) references.push_back(one.reference);
      after = page->next;
    } while (after);
    return references;
  }
  Replays resend(ResendOrder order, OrgId org = kDefaultOrg) {
    order.actor = "ada";
    const auto done = failed->resend(org, order);
    EXPECT_TRUE(done) << done.error().what;
    return done.value_or(Replays{});
  }
  std::string state(const std::string& ref) {
    return sql.text("SELECT state FROM submission_states WHERE client_ref = '" + ref + "'");
  }

  std::unique_ptr<FailedStore> failed = make_failed_store(address, kResendRate);
  std::int64_t last_token = 0;
  int last_second = 0;
};

// O5
TEST_F(FailedContract, RejectedAndExhaustedOnesAreListedNewestFirstWithTheirLastError) {
  ended("first", Status::rejected);
  ended("good", Status::accepted);
  ended("second", Status::exhausted, "sms.b");
  ended("third", Status::exhausted);
  EXPECT_EQ(listed({}), (std::vector<std::string>{"third", "second", "first"}));
  EXPECT_EQ(listed({.target = "sms.a"}), (std::vector<std::string>{"third", "first"}));
  EXPECT_EQ(listed({.status = "rejected"}), std::vector<std::string>{"first"});
  EXPECT_EQ(listed({.reason = "invalid_number"}), std::vector<std::string>{"first"});
  EXPECT_EQ(listed({.reference = "second"}), std::vector<std::string>{"second"});
  EXPECT_EQ(listed({.kind = "form"}), std::vector<std::string>{});
  const auto page = failed->list(kDefaultOrg, {.reference = "third"}, 9, {});
  ASSERT_TRUE(page) << page.error().what;
  const auto& third = page->items.at(0);
  EXPECT_EQ(third.error, "what went wrong");
  EXPECT_EQ(third.code, 200);
  EXPECT_EQ(third.attempts, 1u);
  EXPECT_FALSE(third.is_sent_again);
  EXPECT_EQ(listed({.since = third.ended}), std::vector<std::string>{"third"});
  EXPECT_EQ(listed({.until = third.ended}), (std::vector<std::string>{"second", "first"}));
}

// O5 M6
TEST_F(FailedContract, AnExhaustedIntentIsReplayedUnderItsOwnKeyAndThenIsWhatTheReplayEndedAs) {
  const auto id = ended("one", Status::exhausted);
  const auto done = resend({.filter = {.target = "sms.a"}});
  ASSERT_EQ(done.count, 1u);
  EXPECT_EQ(state("one"), "exhausted") << "until the replay has ended";
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters WHERE replayed_by = 'ada' AND id = " + std::to_string(id.value)), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'dead_letter_replayed' AND actor = 'ada'"), 1);
  EXPECT_TRUE(failed->list(kDefaultOrg, {}, 9, {})->items.at(0).is_sent_again);
  const auto again = claim(route("sms.a"), 1, {99}).rows;
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].client_ref, "one") << "the idempotency key is made of it";
  settled({ending(again[0], {99}, Status::accepted)});
  EXPECT_EQ(state("one"), "accepted");
  EXPECT_EQ(resend({.filter = {.target = "sms.a"}}).items.size(), 0u) << "it is not offered again";
}

// O5
TEST_F(FailedContract, WhatFailsAgainCanBeSentAgain) {
  ended("one", Status::exhausted);
  ASSERT_EQ(resend({.filter = {.target = "sms.a"}}).count, 1u);
  const auto again = claim(route("sms.a"), 1, {99}).rows.at(0);
  settled({ending(again, {99}, Status::exhausted, "max_attempts")});
  const auto second = resend({.filter = {.target = "sms.a"}});
  ASSERT_EQ(second.items.size(), 1u);
  EXPECT_EQ(second.items[0].letter.id, again.delivery);
  EXPECT_EQ(second.count, 1u) << second.items[0].refused;
}

// O5
TEST_F(FailedContract, RejectedOnesAndOneShotsThatMayHaveBeenSentNeedAWord) {
  ended("rejected", Status::rejected);
  ended("once", Status::exhausted, "sms.once", Policy::one_shot);
  const auto refused = resend({.filter = {.kind = "intent"}});
  EXPECT_EQ(refused.count, 0u);
  ASSERT_EQ(refused.items.size(), 2u);
  for (const auto& one : refused.items) EXPECT_NE(one.refused, "");
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters"), 0);
  EXPECT_EQ(resend({.filter = {.kind = "intent"}, .include_rejected = true}).count, 1u);
  EXPECT_EQ(state("rejected"), "rejected");
  EXPECT_EQ(resend({.filter = {.kind = "intent"}, .include_maybe_sent = true}).count, 1u);
}

// O5
TEST_F(FailedContract, WhatIsRefusedKeepsNothingElseFromItsTurn) {
  ended("rejected", Status::rejected);
  ended("once", Status::exhausted, "sms.once", Policy::one_shot);
  ended("newest", Status::exhausted);
  const auto done = resend({.filter = {.kind = "intent"}, .dry_run = true});
  ASSERT_EQ(done.items.size(), 3u);
  EXPECT_EQ(done.items[0].letter.reference, "newest") << "ten thousand that are refused would be all of a call";
  EXPECT_EQ(resend({.filter = {.kind = "intent"}, .dry_run = true, .include_rejected = true}).items[0].letter.reference,
            "rejected");
}

// O5 T16
TEST_F(FailedContract, ACallLooksAtABoundedNumberAndTheNextOneGoesOn) {
  for (int i = 0; i < 5; ++i) ended("a-" + std::to_string(i), Status::exhausted);
  ended("rare", Status::exhausted, "sms.b");
  ended("last", Status::exhausted);
  const auto store = make_failed_store(address, kResendRate, 3);
  ResendOrder order{.filter = {.target = "sms.b"}, .actor = "ada"};
  std::vector<std::string> found;
  for (int calls = 1;; ++calls) {
    const auto done = store->resend(kDefaultOrg, order);
    ASSERT_TRUE(done) << done.error().what;
    EXPECT_EQ(done->more, calls < 3);
    for (const auto& one : done->items) found.push_back(std::to_string(calls) + " " + one.letter.reference);
    if (!done->next) break;
    EXPECT_GT(done->asked, Timestamp{});
    order.after = done->next;
  }
  EXPECT_EQ(found, std::vector<std::string>{"2 rare"}) << "in the second call";
  EXPECT_EQ(claim(route("sms.b"), 9, {99}).rows.size(), 1u);
}

// O5
TEST_F(FailedContract, IdsAndFiltersTogetherMeanBoth) {
  FailedFilter both{.target = "sms.a"};
  both.ids = {ended("a", Status::exhausted), ended("b", Status::exhausted, "sms.b")};
  const auto done = resend({.filter = both});
  EXPECT_EQ(done.count, 1u);
  ASSERT_EQ(done.items.size(), 2u);
  EXPECT_FALSE(done.more);
  both.target.clear();
  both.since = failed->list(kDefaultOrg, {.reference = "b"}, 1, {})->items.at(0).ended;
  EXPECT_EQ(resend({.filter = both}).items.at(0).letter.reference, "b");
}

// O5
TEST_F(FailedContract, ADryRunWritesNothingAndTellsTheSame) {
  ended("one", Status::exhausted);
  ended("two", Status::rejected);
  const auto dry = resend({.filter = {.target = "sms.a"}, .dry_run = true});
  EXPECT_EQ(dry.count, 1u);
  EXPECT_EQ(dry.items.size(), 2u);
  EXPECT_EQ(
      sql.number(
          "SELECT (SELECT count(*) FROM dead_letters) + (SELECT count(*) FROM ready) + (SELECT count(*) FROM replay_turns)"),
      0);
  EXPECT_EQ(resend({.filter = {.target = "sms.a"}}).count, 1u);
}

// O5
TEST_F(FailedContract, DueTimesAreSpreadInTheDatabase) {
  for (int i = 0; i < 5; ++i) ended("r-" + std::to_string(i), Status::exhausted);
  const auto done = resend({.filter = {.target = "sms.a"}, .rate = 2});
  ASSERT_EQ(done.count, 5u);
  for (std::size_t i = 1; i < 5; ++i) {
    EXPECT_EQ(done.items[i].due - done.items[i - 1].due, Millis(500));
    EXPECT_EQ(done.items[i].letter.reference, "r-" + std::to_string(i)) << "the oldest first";
  }
}

// O5 N3
TEST_F(FailedContract, WhatIsAnothersIsNotThere) {
  sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'acme')");
  const auto theirs = ended("theirs", Status::exhausted, "sms.a", Policy::max_attempts, {2});
  EXPECT_EQ(listed({}), std::vector<std::string>{});
  FailedFilter filter;
  filter.ids = {theirs, {77}};
  const auto done = resend({.filter = filter});
  EXPECT_EQ(done.count, 0u);
  ASSERT_EQ(done.items.size(), 2u);
  for (const auto& one : done.items) EXPECT_NE(one.refused.find("there is no failed delivery"), std::string::npos) << one.refused;
  EXPECT_EQ(listed({}, {2}), std::vector<std::string>{"theirs"});
  EXPECT_EQ(resend({.filter = filter}, {2}).count, 1u);
}

// O5
TEST_F(FailedContract, OfTwoOperatorsAtOnceOneSendsIt) {
  for (int i = 0; i < 20; ++i) ended("r-" + std::to_string(i), Status::exhausted);
  std::latch ready(2);
  std::mutex mutex;
  std::size_t done = 0;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      const auto store = make_failed_store(address, kResendRate);
      ready.arrive_and_wait();
      const auto replays = store->resend(kDefaultOrg, {.filter = {.target = "sms.a"}, .actor = "ada"});
      const std::lock_guard lock(mutex);
      EXPECT_TRUE(replays) << replays.error().what;
      done += replays ? replays->count : 0;
    });
  threads.clear();
  EXPECT_EQ(done, 20u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 20);
}

// O5
TEST_F(FailedContract, RetentionDeletesWhatWasSentAgainAndHasEnded) {
  ended("one", Status::exhausted);
  ASSERT_EQ(resend({.filter = {.target = "sms.a"}}).count, 1u);
  settled({ending(claim(route("sms.a"), 1, {99}).rows.at(0), {99}, Status::accepted)});
  const KeptKind kinds[] = {{"intent", Millis(1)}};
  sql.rows("SELECT pg_sleep(0.01)");
  const auto step = maintenance->delete_old(0, {}, kinds, 10);
  ASSERT_TRUE(step) << step.error().what;
  EXPECT_EQ(step->deleted, 1u);
  EXPECT_EQ(
      sql.number(
          "SELECT (SELECT count(*) FROM dead_letters) + (SELECT count(*) FROM deliveries) + (SELECT count(*) FROM submissions)"),
      0);
}

// O5
TEST_F(FailedContract, RetentionKeepsWhoseReplayIsADeadLetter) {
  ended("one", Status::exhausted);
  ASSERT_EQ(resend({.filter = {.target = "sms.a"}}).count, 1u);
  auto lost = ending(claim(route("sms.a"), 1, {99}).rows.at(0), {99}, Status::exhausted, "worker_lost");
  lost.dead_letter = true;
  settled({std::move(lost)});
  ASSERT_EQ(sql.number("SELECT count(*) FROM dead_letters WHERE replayed_at IS NULL"), 1);
  const KeptKind kinds[] = {{"intent", Millis(1)}};
  sql.rows("SELECT pg_sleep(0.01)");
  const auto step = maintenance->delete_old(0, {}, kinds, 10);
  ASSERT_TRUE(step) << step.error().what;
  EXPECT_EQ(step->deleted, 0u) << "nobody has replayed that";
}

}  // namespace
}  // namespace waybill::testing
