// Outages of targets in the database: they begin once, last, grow and end, however many hosts write of them.  E14 E10
#include <algorithm>
#include <latch>
#include <thread>

#include "contract/store_world.h"

namespace waybill::testing {
namespace {

constexpr Millis kMax = Seconds(30);

class OutageContract : public StoreWorld {
 protected:
  Cooldown blame(Timestamp at, Millis asked = Millis(0), const std::string& reason = "try_later",
                 const std::string& target = "sms.a") {
    const auto now = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, target, at, asked, reason}}, kMax);
    EXPECT_TRUE(now) << now.error().what;
    return now ? now->at(0) : Cooldown{};
  }
  std::vector<Cooldown> clear(Timestamp since, bool is_over = true, const std::string& target = "sms.a", HostId host = {7}) {
    const auto ended = settle->clear(std::vector<ClearedCooldown>{{kDefaultOrg, target, since, host, is_over}});
    EXPECT_TRUE(ended) << ended.error().what;
    return ended.value_or(std::vector<Cooldown>{});
  }
  std::int64_t rows() { return sql.number("SELECT count(*) FROM target_outages"); }

  const Timestamp begin{1'700'000'000'000'000};
};

TEST_F(OutageContract, ACooldownBeginsAtASecondAndGrowsWithTheOutage) {
  EXPECT_EQ(blame(begin).until, begin + Seconds(1));
  for (const auto& [after, cooldown] : {std::pair{Seconds(10), Seconds(1)},
                                        {Seconds(90), Seconds(3)},
                                        {Seconds(600), Seconds(20)},
                                        {Seconds(86'400), Seconds(30)}}) {
    const auto now = blame(begin + after, Millis(0), "after_" + std::to_string(after.count()));
    EXPECT_EQ(now.since, begin);
    EXPECT_EQ(now.until, begin + after + cooldown) << after.count();
    EXPECT_EQ(now.reason, "after_" + std::to_string(after.count()));
  }
  EXPECT_EQ(rows(), 1);
}

TEST_F(OutageContract, WhatTheReceiverAsksIsKeptToAlsoWhenItIsLonger) {
  EXPECT_EQ(blame(begin, std::chrono::hours(5)).until, begin + std::chrono::hours(5));
  EXPECT_EQ(blame(begin + Seconds(60)).until, begin + std::chrono::hours(5)) << "never cut short";
  EXPECT_EQ(blame(begin + std::chrono::hours(6), Seconds(40)).until, begin + std::chrono::hours(6) + Seconds(40));
}

TEST_F(OutageContract, OneBatchIsOneOutageForEachTarget) {
  const auto now = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, "sms.b", begin + Seconds(2), {}, "b"},
                                                           {kDefaultOrg, "sms.a", begin + Millis(3), Seconds(9), "first"},
                                                           {kDefaultOrg, "sms.a", begin, {}, "second"},
                                                           {kDefaultOrg, "sms.a", begin + Millis(7), {}, "last"}},
                                 kMax);
  ASSERT_TRUE(now) << now.error().what;
  ASSERT_EQ(now->size(), 2u);
  const auto& a = now->at(now->at(0).target == "sms.a" ? 0 : 1);
  EXPECT_EQ(a.since, begin);
  EXPECT_EQ(a.until, begin + Millis(3) + Seconds(9));
  EXPECT_EQ(a.reason, "last");
}

TEST_F(OutageContract, AnAnswerThatComesLateMakesNeitherTheOutageNorItsCooldownShorter) {
  blame(begin, Seconds(50), "known");
  const auto now = blame(begin - Seconds(20), Millis(0), "late");
  EXPECT_EQ(now.since, begin - Seconds(20)) << "it began sooner than was known";
  EXPECT_EQ(now.until, begin + Seconds(50));
  EXPECT_EQ(now.reason, "known");
}

TEST_F(OutageContract, ANoCooldownIsNone) {
  const auto now = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin, {}, "x"}}, Millis(0));
  ASSERT_TRUE(now) << now.error().what;
  EXPECT_EQ(now->at(0).until, begin);
}

TEST_F(OutageContract, ManyHostsBlameAtOnceAndItIsOneOutage) {
  constexpr int kHosts = 6, kRounds = 25;
  std::latch ready(kHosts);
  std::vector<std::jthread> hosts;
  for (int host = 0; host < kHosts; ++host)
    hosts.emplace_back([&, host] {
      const auto own = make_settle_store(address);
      ready.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        const auto at = begin + Millis(host + kHosts * round);
        std::vector<BlamedTarget> blames{{kDefaultOrg, "sms.a", at, Seconds(round), "x"},
                                         {kDefaultOrg, "sms.b", at, Seconds(round), "x"}};
        if (host % 2 == 1) std::swap(blames[0], blames[1]);
        const auto now = own->blame(blames, kMax);
        EXPECT_TRUE(now) << now.error().what;
        for (const auto& outage : now.value_or(std::vector<Cooldown>{})) EXPECT_GE(outage.until, at + Seconds(round));
      }
    });
  hosts.clear();
  EXPECT_EQ(
      sql.text("SELECT string_agg(target || ' ' || micros(since) - " + std::to_string(begin.micros) +
               " || ' ' || micros(until) - " + std::to_string(begin.micros) + ", ', ' ORDER BY target) FROM target_outages"),
      "sms.a 0 24149000, sms.b 0 24149000")
      << "the earliest beginning, the latest end";
}

TEST_F(OutageContract, OnlyTheOutageThatWasKnownEnds) {
  blame(begin);
  blame(begin, Millis(0), "x", "sms.b");
  EXPECT_TRUE(clear(begin - Seconds(1)).empty()) << "an answer from before this outage";
  EXPECT_EQ(rows(), 2);
  const auto ended = clear(begin);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].target, "sms.a");
  EXPECT_EQ(ended[0].reason, "try_later");
  EXPECT_TRUE(clear(begin).empty()) << "once is enough";
  EXPECT_EQ(sql.text("SELECT target FROM target_outages"), "sms.b");
  EXPECT_EQ(blame(begin + Seconds(5)).since, begin + Seconds(5)) << "the next outage is another one";
}

TEST_F(OutageContract, AProbeEndsWithABlameOrWithoutAWord) {
  const auto with_probe = [&] {
    sql.execute("UPDATE target_outages SET probe_until = now() + interval '1 minute', probe_host = 7");
    return sql.number("SELECT num_nonnulls(probe_until, probe_host) FROM target_outages");
  };
  blame(begin);
  EXPECT_EQ(with_probe(), 2);
  blame(begin + Seconds(1));
  EXPECT_EQ(sql.number("SELECT num_nonnulls(probe_until, probe_host) FROM target_outages"), 0);
  EXPECT_EQ(with_probe(), 2);
  EXPECT_TRUE(clear(begin, false, "sms.a", {8}).empty());
  EXPECT_EQ(sql.number("SELECT num_nonnulls(probe_until, probe_host) FROM target_outages"), 2) << "another host's probe";
  EXPECT_TRUE(clear(begin, false).empty());
  EXPECT_EQ(sql.number("SELECT num_nonnulls(probe_until, probe_host) FROM target_outages"), 0);
  EXPECT_EQ(rows(), 1) << "the outage goes on";
}

// T4
TEST_F(OutageContract, ALockedTargetIsLeftOutAndKeepsNoOtherWaiting) {
  for (const auto* target : {"sms.a", "sms.b", "sms.c"}) blame(begin, Millis(0), "x", target);
  SqlClient somebody(url);
  somebody.execute("SET search_path TO waybill; BEGIN; SELECT FROM target_outages WHERE target IN ('sms.a', 'sms.b') FOR UPDATE");
  const auto at = begin + Seconds(60);
  const auto written = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", at, {}, "again"},
                                                               {kDefaultOrg, "sms.c", at, {}, "again"},
                                                               {kDefaultOrg, "sms.d", at, {}, "again"}},
                                     kMax);
  ASSERT_TRUE(written) << written.error().what;
  EXPECT_EQ(written->size(), 2u);
  EXPECT_TRUE(clear(begin, true, "sms.b").empty());
  EXPECT_TRUE(clear(begin, false, "sms.b").empty());
  EXPECT_EQ(clear(begin, true, "sms.c").size(), 1u);
  somebody.execute("COMMIT");
  EXPECT_EQ(sql.text("SELECT string_agg(target || ' ' || reason, ', ' ORDER BY target) FROM target_outages"),
            "sms.a x, sms.b x, sms.d again");
  EXPECT_EQ(blame(at).since, begin) << "the next attempt says it again";
}

// T4
TEST_F(OutageContract, ALockedTableIsNotWaitedFor) {
  SqlClient somebody(url);
  somebody.execute("SET search_path TO waybill; BEGIN; LOCK TABLE target_outages");
  const auto written = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin, {}, "x"}}, kMax);
  ASSERT_FALSE(written);
  EXPECT_NE(written.error().what.find("55P03"), std::string::npos) << written.error().what;
  somebody.execute("COMMIT");
  EXPECT_EQ(blame(begin).since, begin);
}

TEST_F(OutageContract, WhatNobodyHasHeardOfForLongIsForgotten) {  // E10
  const Timestamp now = queue->due_routes(0)->now;
  blame(now - std::chrono::hours(30), Millis(0), "x", "old");
  blame(now - std::chrono::hours(30), std::chrono::hours(24), "x", "asked");
  blame(now, Millis(0), "x", "young");
  const auto forgotten = maintenance->forget_outages(std::chrono::hours(24));
  ASSERT_TRUE(forgotten) << forgotten.error().what;
  EXPECT_EQ(*forgotten, 1u);
  EXPECT_EQ(sql.text("SELECT string_agg(target, ' ' ORDER BY target) FROM target_outages"), "asked young");
}

TEST_F(OutageContract, AnOperatorEndsAnOutageAndWhatWaitedForItIsDue) {
  submit_many(3, "a-", "sms.a");
  submit_many(1, "b-", "sms.b");
  auto rows_of_a = claim(route("sms.a"), 3).rows;
  const auto row_of_b = claim(route("sms.b"), 1, {2}).rows.at(0);
  const Timestamp now = queue->due_routes(0)->now;
  blame(now, Seconds(600));
  const auto waiting = [&](const ClaimedRow& row, ClaimToken token, std::uint32_t uncounted) {
    auto retry = retrying(row, token, now + Seconds(600));
    retry.history.uncounted = uncounted;
    return retry;
  };
  settled({waiting(rows_of_a[0], {1}, 1), waiting(rows_of_a[1], {1}, 0), waiting(row_of_b, {2}, 1)});
  const auto ended = targets->resume({"default", "sms.a"}, {"ada", "test"});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_TRUE(ended->outage);
  EXPECT_EQ(ended->made_due, 1);
  EXPECT_EQ(rows(), 0);
  EXPECT_EQ(sql.number("SELECT delivery_id FROM ready WHERE status = 'due' AND due_at <= now()"), rows_of_a[0].delivery.value)
      << "neither what waits for a reason of its own, nor another target's";
  EXPECT_FALSE(targets->resume({"default", "sms.a"}, {"ada", "test"}));
}

TEST_F(OutageContract, SoIsWhatWaitedThoughItsAttemptsCount) {  // T6
  auto contract = contract_of("sms.literal");
  contract.count_outages = true;
  const auto made = intake->route(kDefaultOrg, contract);
  ASSERT_TRUE(made) << made.error().what;
  auto one = item("c-0", "{}", "sms.literal");
  one.route = *made;
  submit({one});
  const auto row = claim(*made, 1).rows.at(0);
  const Timestamp now = queue->due_routes(0)->now;
  blame(now, Seconds(600), "x", "sms.literal");
  settled({retrying(row, {1}, now + Seconds(900))});
  EXPECT_TRUE(targets->resume({"default", "sms.literal"}, {"ada", "test"}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'due' AND due_at <= now()"), 1);
}

TEST_F(OutageContract, WhatDoesNotCountIsOnRecord) {
  submit_many(1);
  const auto row = claim(route(), 1).rows.at(0);
  auto retry = retrying(row, {1}, row.due);
  retry.history.uncounted = 1;
  retry.attempt->counts = false;
  settled({retry});
  EXPECT_EQ(claim(route(), 1, {2}).rows.at(0).history.uncounted, 1u);
  const auto history = reader->history(kDefaultOrg, "intent", "ref-0");
  ASSERT_TRUE(history && *history);
  EXPECT_FALSE((*history)->attempts.at(0).counts);
}

// A host of the version before knows the table by another name, and changes its rows by their place.
TEST_F(OutageContract, AHostOfTheVersionBeforeSeesTheSameOutagesAndWritesThem) {  // E2
  blame(begin);
  sql.execute(
      "INSERT INTO target_rests AS r (org_id, target, since, until, reason, answered) VALUES (1, 'sms.a', now(), now(), 'late', "
      "true) "
      "ON CONFLICT (org_id, target) DO UPDATE SET since = least(r.since, excluded.since), reason = excluded.reason");
  EXPECT_EQ(sql.text("SELECT reason FROM target_outages"), "late");
  const std::string place =
      "WHERE ctid = ANY (ARRAY(SELECT t.ctid FROM target_rests t WHERE t.target = 'sms.a' FOR UPDATE OF t SKIP LOCKED))";
  sql.execute("UPDATE target_rests SET probe_until = now(), probe_host = 7 " + place);
  EXPECT_EQ(sql.number("SELECT probe_host FROM target_outages"), 7);
  EXPECT_EQ(clear(begin).size(), 1u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM target_rests"), 0);
}

}  // namespace
}  // namespace waybill::testing
