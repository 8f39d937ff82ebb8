// Targets that an operator has stopped, in the database: nothing of them is claimed, whatever a host knows, and nothing ends the
// pause but an operator.  O5
#include <algorithm>
#include <latch>
#include <thread>

#include "contract/store_world.h"
#include "store/operations/queue_health.h"

namespace waybill::testing {
namespace {

const Operator kAda{"ada", "test"};

class PauseContract : public StoreWorld {
 protected:
  void pause(const std::string& target = "sms.a", const std::string& org = "default") {
    const auto paused = targets->pause({org, target}, "sent twice", true, kAda);
    ASSERT_TRUE(paused) << paused.error().what;
  }
  std::size_t claimed(const std::string& target, bool probe = false) {
    EXPECT_TRUE(queue->forget(0, {{1}}));
    RouteShare share{.route = route(target), .count = 9, .after = {}, .after_id = {}, .org = kDefaultOrg};
    share.cooldown_key = target;
    share.probe = probe;
    const auto rows = queue->claim(0, {1}, {1}, Millis(60'000), std::vector<RouteShare>{share}, {}, kAnyBytes);
    EXPECT_TRUE(rows) << (rows ? "" : rows.error().what);
    return rows ? rows->rows.size() : 99;
  }
  Error::Kind refusal(const Result<TargetPause>& pause) { return pause ? Error::Kind::bug : pause.error().kind; }
};

// O5
TEST_F(PauseContract, NothingOfAPausedTargetIsClaimedAndOthersAre) {
  submit_many(3, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  pause();
  EXPECT_EQ(claimed("sms.a"), 0u) << "also by a host that has not seen the pause yet";
  EXPECT_EQ(claimed("sms.a", true), 0u) << "and there are no probes";
  EXPECT_EQ(claimed("sms.b"), 2u);
  ASSERT_TRUE(targets->resume({"default", "sms.a"}, kAda));
  EXPECT_EQ(claimed("sms.a"), 3u);
}

// O5 M7
TEST_F(PauseContract, WhatIsPastItsDeadlineIsStillTakenToItsEnd) {
  submit_many(2, "a-", "sms.a");
  pause();
  RouteShare expired{.route = route("sms.a"), .count = 9, .after = {}, .after_id = {}, .org = kDefaultOrg};
  expired.min_age = Seconds(0);
  const auto rows = queue->claim(0, {1}, {1}, Millis(60'000), std::vector<RouteShare>{expired}, {}, kAnyBytes);
  ASSERT_TRUE(rows) << rows.error().what;
  EXPECT_EQ(rows->rows.size(), 2u);
}

// O5
TEST_F(PauseContract, NothingIsClaimedAsItComesIn) {
  pause();
  const auto come_in = [&](const std::string& ref, const std::string& target, ClaimToken token) {
    const auto answers = intake->submit(0, std::vector{item(ref, "{}", target)}, InsertClaim{{7}, token, Millis(60'000)});
    EXPECT_TRUE(answers) << answers.error().what;
    return answers->at(0).claimed;
  };
  EXPECT_FALSE(come_in("a", "sms.a", {11}));
  EXPECT_TRUE(come_in("b", "sms.b", {12}));
  EXPECT_EQ(sql.text("SELECT status FROM ready r JOIN submissions s ON s.id = r.submission_id WHERE client_ref = 'a'"), "due");
}

// O5 E1
TEST_F(PauseContract, NoSuspectOfItIsTried) {
  submit_many(1, "a-", "sms.a");
  sql.execute("UPDATE ready SET lease_lost = 1, queued = false");
  pause();
  const auto suspects = make_suspect_store(address);
  const auto none = suspects->claim(0, {1}, {21}, Millis(60'000));
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_TRUE(none->rows.empty());
  ASSERT_TRUE(targets->resume({"default", "sms.a"}, kAda));
  EXPECT_EQ(suspects->claim(0, {1}, {22}, Millis(60'000))->rows.size(), 1u);
}

// A host sees it as a target that never becomes half-open.
TEST_F(PauseContract, AHostSeesItWithoutAnEndWhateverElseIsKnownOfTheTarget) {  // O5
  rest({{kDefaultOrg, "sms.a", queue->due_routes(0)->now - Seconds(5), "busy"}});
  pause();
  const auto known = queue->cooldowns({1});
  ASSERT_TRUE(known) << known.error().what;
  ASSERT_EQ(known->all.size(), 1u) << "its outage, whose cooldown is over, does not make it half-open";
  EXPECT_EQ(known->all[0].reason, "sent twice");
  EXPECT_GT(known->all[0].until - known->now, std::chrono::hours(24 * 365 * 50));
}

// O5
TEST_F(PauseContract, NothingEndsItButAnOperator) {
  submit_many(1, "a-", "sms.a");
  pause();
  const auto now = queue->due_routes(0)->now;
  ASSERT_TRUE(settle->clear(std::vector<ClearedCooldown>{{kDefaultOrg, "sms.a", now, {7}, true}}));
  ASSERT_TRUE(maintenance->forget_outages(Millis(0)));
  EXPECT_EQ(claimed("sms.a"), 0u);
  const auto resumed = targets->resume({"default", "sms.a"}, {"bob", "test"});
  ASSERT_TRUE(resumed) << resumed.error().what;
  ASSERT_TRUE(resumed->pause);
  EXPECT_EQ(resumed->pause->actor, "ada");
  EXPECT_EQ(resumed->pause->reason, "sent twice");
  EXPECT_FALSE(resumed->outage);
  EXPECT_EQ(
      sql.text("SELECT string_agg(action || ' ' || actor || ' ' || (metadata ->> 'target'), ', ' ORDER BY id) FROM audit_log"),
      "target_paused ada sms.a, target_resumed bob sms.a");
}

// O5
TEST_F(PauseContract, WhatNobodyKnowsIsRefusedAndSoIsASecondPause) {
  EXPECT_EQ(refusal(targets->pause({"default", "sms.fuor"}, "x", false, kAda)), Error::Kind::not_found);
  EXPECT_EQ(refusal(targets->pause({"nobody", "sms.a"}, "x", true, kAda)), Error::Kind::not_found);
  EXPECT_EQ(refusal(targets->pause({"default", "sms.a"}, "", true, kAda)), Error::Kind::invalid);
  EXPECT_EQ(refusal(targets->pause({"default", "sms.a"}, std::string(kMaxReason + 1, 'x'), true, kAda)), Error::Kind::invalid);
  EXPECT_EQ(refusal(targets->pause({"default", "sms.\xff"}, "x", true, kAda)), Error::Kind::invalid);
  EXPECT_EQ(sql.number("SELECT count(*) FROM target_pauses"), 0);
  submit_many(1, "old-", "sms.former");
  EXPECT_TRUE(targets->pause({"default", "sms.former"}, "x", false, kAda)) << "the registry has it no more, but work waits";
  const auto again = targets->pause({"default", "sms.former"}, "y", false, {"bob", "test"});
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, Error::Kind::conflict);
  EXPECT_NE(again.error().what.find("by ada: x"), std::string::npos) << again.error().what;
  EXPECT_EQ(sql.text("SELECT reason FROM target_pauses"), "x");
}

// O5 N3
TEST_F(PauseContract, ATargetOfOneOrganisationIsNotThatOfAnother) {
  sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'acme')");
  submit_many(1, "a-", "sms.a");
  pause("sms.a", "acme");
  EXPECT_EQ(claimed("sms.a"), 1u);
  EXPECT_FALSE(targets->resume({"default", "sms.a"}, kAda));
  EXPECT_TRUE(targets->resume({"acme", "sms.a"}, kAda));
}

// O5
TEST_F(PauseContract, OfTwoOperatorsAtOnceOneDoesIt) {
  const auto both = [&](const auto& act) {
    std::latch ready(2);
    int done = 0;
    std::mutex mutex;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        const auto store = make_target_store(address);
        ready.arrive_and_wait();
        const bool did = act(*store);
        const std::lock_guard lock(mutex);
        done += did ? 1 : 0;
      });
    threads.clear();
    return done;
  };
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(both([](TargetStore& store) { return store.pause({"default", "sms.a"}, "x", true, kAda).has_value(); }), 1);
    EXPECT_EQ(both([](TargetStore& store) { return store.resume({"default", "sms.a"}, kAda).has_value(); }), 1);
  }
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'target_paused'"), 10);
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE action = 'target_resumed'"), 10);
}

// O5 T16
TEST_F(PauseContract, WhatIsStoppedIsListedPageByPage) {
  sql.execute("INSERT INTO organisations (org_id, name) OVERRIDING SYSTEM VALUE VALUES (2, 'acme')");
  sql.execute(
      "INSERT INTO target_outages (org_id, target, until, reason) SELECT 1 + n % 2, 't' || n, now(), 'r' FROM generate_series(1, "
      "40) n");
  sql.execute(
      "INSERT INTO target_pauses (org_id, target, reason, actor) SELECT 1 + n % 2, 't' || n, 'p', 'ada' FROM generate_series(31, "
      "60) n");
  submit_many(3, "a-", "t32");
  std::vector<std::string> seen;
  std::string next;
  do {
    const auto page = targets->stopped(next, 7);
    ASSERT_TRUE(page) << page.error().what;
    for (const auto& one : page->items) {
      seen.push_back(one.name.org + " " + one.name.target);
      EXPECT_TRUE(one.pause || one.outage);
      if (one.name.target == "t32") {
        EXPECT_TRUE(one.pause && one.outage);
        EXPECT_EQ(one.waiting, 3);
      }
    }
    next = page->next;
  } while (!next.empty());
  EXPECT_EQ(seen.size(), 60u);
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << "none twice";
  for (const char* wrong : {"x", "1", ":", "1x:t", "1:\xff"}) EXPECT_FALSE(targets->stopped(wrong, 7)) << wrong;
}

// O5 O4
TEST_F(PauseContract, TheDoctorIsToldWhoStoppedItWhyAndWhatWaits) {
  submit_many(3, "a-", "sms.a");
  pause();
  auto session = Connection::open(address, "doctor");
  ASSERT_TRUE(session) << session.error().what;
  const auto paused = paused_targets(*session);
  ASSERT_TRUE(paused) << paused.error().what;
  ASSERT_EQ(paused->size(), 1u);
  EXPECT_EQ(paused->front().actor, "ada");
  EXPECT_EQ(paused->front().waiting, 3);
}

}  // namespace
}  // namespace waybill::testing
