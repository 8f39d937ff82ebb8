// What one host finds unreachable stops that host only, until another one confirms it.  T13
#include <algorithm>

#include "contract/store_world.h"

namespace waybill::testing {
namespace {

constexpr HostId kSick{7}, kWell{8}, kThird{9};

class FindingContract : public StoreWorld {
 protected:
  void SetUp() override {
    StoreWorld::SetUp();
    begin = queue->due_routes(0)->now;
    register_host(kSick);
    register_host(kWell);
    for (const auto host : {kSick, kWell, kThird}) hold_session(host);
  }

  void hold_session(HostId host) { lock("pg_advisory_lock", host); }
  void end_session(HostId host) { lock("pg_advisory_unlock", host); }

  // A host had no answer from the target.
  Cooldown finds(HostId host, Micros after = Micros(0), const std::string& target = "sms.a", bool others_connected = false) {
    const auto now = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, target, begin + after, Millis(0), "connect_failed",
                                                              false, host, others_connected}},
                                   Seconds(30));
    EXPECT_TRUE(now) << now.error().what;
    return now ? now->at(0) : Cooldown{};
  }
  std::vector<Cooldown> cooldowns_of(HostId host) {
    const auto known = queue->cooldowns(host);
    EXPECT_TRUE(known) << known.error().what;
    return known ? known->all : std::vector<Cooldown>{};
  }
  void refute(HostId by) {
    const auto done = queue->refute(std::vector<HostFinding>{{kDefaultOrg, "sms.a", begin}}, by);
    EXPECT_TRUE(done) << done.error().what;
  }
  std::vector<Cooldown> gets_through(HostId host, Timestamp since) {
    const auto ended = settle->clear(std::vector<ClearedCooldown>{{kDefaultOrg, "sms.a", since, host, true}});
    EXPECT_TRUE(ended) << ended.error().what;
    return ended.value_or(std::vector<Cooldown>{});
  }
  std::int64_t outages() { return sql.number("SELECT count(*) FROM target_outages"); }
  std::int64_t findings() { return sql.number("SELECT count(*) FROM host_findings"); }

  Timestamp begin;

 private:
  void lock(const std::string& function, HostId host) {
    sql.execute("SELECT " + function + "(hashtext('waybill:' || current_schema()), " + std::to_string(host.value) + ")");
  }
};

TEST_F(FindingContract, WhatOneHostCannotReachCoolsDownForThatHostOnly) {  // T13
  const auto own = finds(kSick);
  EXPECT_TRUE(own.of_this_host);
  EXPECT_EQ(own.since, begin);
  EXPECT_EQ(own.until, begin + Seconds(1));
  EXPECT_EQ(outages(), 0);
  ASSERT_EQ(cooldowns_of(kSick).size(), 1u);
  EXPECT_TRUE(cooldowns_of(kSick)[0].of_this_host);
  EXPECT_TRUE(cooldowns_of(kWell).empty());
  EXPECT_EQ(queue->cooldowns(kWell)->of_others.size(), 1u) << "whom an answer would refute";
  submit_many(2, "a-", "sms.a");
  EXPECT_EQ(claim(route("sms.a"), 2).rows.size(), 2u) << "the others claim as ever";
  EXPECT_EQ(finds(kSick, Seconds(60)).until, begin + Seconds(62)) << "it grows as an outage does";
}

TEST_F(FindingContract, AnotherHostConfirmsIt) {  // T13
  finds(kSick);
  const auto outage = finds(kWell, Millis(5));
  EXPECT_FALSE(outage.of_this_host);
  EXPECT_EQ(outages(), 1);
  EXPECT_FALSE(finds(kSick, Millis(10)).of_this_host) << "from now on it is everybody's";
  for (const auto host : {kSick, kWell, kThird}) {
    ASSERT_EQ(cooldowns_of(host).size(), 1u);
    EXPECT_FALSE(cooldowns_of(host)[0].of_this_host);
  }
}

// The other one may have run on the same machine, and nobody has noticed its end yet.
TEST_F(FindingContract, OneThatHasCrashedConfirmsNothing) {  // T13
  finds(kWell);
  end_session(kWell);
  EXPECT_TRUE(finds(kSick, Millis(5)).of_this_host);
  EXPECT_EQ(outages(), 0);
  hold_session(kWell);
  EXPECT_FALSE(finds(kSick, Millis(10)).of_this_host) << "it had lost its session only";
}

TEST_F(FindingContract, NorDoesOneThatIsBeingRescued) {  // T13
  finds(kWell);
  end_session(kWell);
  const auto seen = rescue->hosts(kThird);
  ASSERT_TRUE(seen) << seen.error().what;
  const auto dead = std::find_if(seen->begin(), seen->end(), [](const auto& one) { return one.id == kWell; });
  ASSERT_NE(dead, seen->end());
  ASSERT_TRUE(*rescue->take_over(*dead)) << "its lock is the rescuer's";
  EXPECT_TRUE(finds(kSick, Millis(5)).of_this_host);
  EXPECT_EQ(outages(), 0);
}

TEST_F(FindingContract, ALockOnFindingsHoldsUpNoRescue) {  // T4
  finds(kWell);
  end_session(kWell);
  const auto seen = rescue->hosts(kThird);
  const auto dead = std::find_if(seen->begin(), seen->end(), [](const auto& one) { return one.id == kWell; });
  SqlClient somebody(url);
  somebody.execute("SET search_path TO waybill; BEGIN; LOCK TABLE host_findings");
  EXPECT_TRUE(*rescue->take_over(*dead));
  somebody.execute("COMMIT");
}

TEST_F(FindingContract, NobodyWaitsForTheWordOfADrainedHost) {  // T13 O5
  ASSERT_TRUE(maintenance->tell(kWell, R"({"name":"well"})"));
  EXPECT_FALSE(*maintenance->is_alone(kSick));
  sql.execute("INSERT INTO host_drains (name, reason, actor) VALUES ('well', 'new kernel', 'ada')");
  EXPECT_TRUE(*maintenance->is_alone(kSick));
  EXPECT_FALSE(finds(kSick).of_this_host) << "it holds for all: no other host would find out";
  sql.execute("DELETE FROM host_drains");
  EXPECT_FALSE(*maintenance->is_alone(kSick));
}

TEST_F(FindingContract, AHostAloneGoesByItsOwnFinding) {  // T13
  sql.execute("DELETE FROM hosts WHERE host_id = 8");
  EXPECT_FALSE(finds(kSick).of_this_host);
  EXPECT_EQ(outages(), 1);
}

TEST_F(FindingContract, SoDoesTheOnlyHostThatSaysAnything) {  // T3
  sql.execute("UPDATE hosts SET started_at = now() - interval '1 minute' WHERE host_id = 8");
  EXPECT_FALSE(finds(kSick).of_this_host) << "the other one is stopped, or hangs: it confirms nothing";
  EXPECT_TRUE(*maintenance->is_alone(kSick));
  sql.execute("DELETE FROM target_outages; DELETE FROM host_findings; UPDATE hosts SET knows = 36");
  EXPECT_TRUE(finds(kSick).of_this_host) << "a host of an older version says nothing of itself";
  sql.execute(
      "DELETE FROM host_findings; UPDATE hosts SET knows = 1000;"
      "INSERT INTO host_facts SELECT 8, now() - interval '10 seconds', '{}'");
  EXPECT_TRUE(finds(kSick).of_this_host);
  EXPECT_FALSE(*maintenance->is_alone(kSick));
  sql.execute("DELETE FROM host_findings; UPDATE host_facts SET told_at = now() + interval '1 hour'");
  EXPECT_FALSE(finds(kSick).of_this_host) << "that is from before a step of the clock, and this host has spoken since";
}

TEST_F(FindingContract, HostsHearEachOtherAcrossAStepOfTheClock) {  // T3 T13
  for (const char* step : {"+ interval '1 hour'", "- interval '1 hour'"}) {
    for (const auto host : {kSick, kWell}) ASSERT_TRUE(maintenance->tell(host, "{}"));
    sql.execute(std::string("DELETE FROM host_findings; UPDATE host_facts SET told_at = told_at ") + step);
    EXPECT_TRUE(finds(kSick).of_this_host) << "nobody has spoken since: " << step;
    ASSERT_TRUE(maintenance->tell(kSick, "{}"));
    sql.execute("DELETE FROM host_findings");
    EXPECT_TRUE(finds(kSick).of_this_host) << "this host has, and the other one spoke as lately: " << step;
    EXPECT_FALSE(*maintenance->is_alone(kSick));
  }
  sql.execute("UPDATE host_facts SET told_at = now() - interval '1 minute' WHERE host_id = 8; DELETE FROM host_findings");
  sql.execute("UPDATE host_facts SET told_at = now() - interval '20 seconds' WHERE host_id <> 8");
  ASSERT_TRUE(maintenance->tell(kSick, "{}"));
  EXPECT_FALSE(finds(kSick).of_this_host) << "one that was silent before is not heard for that";
}

TEST_F(FindingContract, AChannelIsNotTheHostsAloneOnceItHasReachedOthersSince) {  // T13
  EXPECT_TRUE(finds(kSick, Micros(0), "channel:c").of_this_host);
  EXPECT_TRUE(finds(kSick, Seconds(2), "channel:c").of_this_host) << "it has reached nothing since";
  EXPECT_TRUE(finds(kSick, Seconds(4), "sms.a", true).of_this_host) << "others send there, and would confirm it";
  EXPECT_FALSE(finds(kSick, Seconds(4), "channel:c", true).of_this_host) << "no other host sends there";
}

TEST_F(FindingContract, TheWordOfAHostThatIsCutOffCountsForNothing) {  // T13
  finds(kSick);
  ASSERT_TRUE(maintenance->cut_off(kSick, begin, "sms.a"));
  ASSERT_TRUE(maintenance->cut_off(kSick, begin, "sms.a")) << "may be told again";
  EXPECT_FALSE(finds(kWell, Millis(5)).of_this_host) << "the only one that works is alone";
  sql.execute("DELETE FROM target_outages");
  register_host(kThird);
  EXPECT_TRUE(finds(kWell, Millis(10)).of_this_host) << "nobody that works has confirmed it";
  EXPECT_FALSE(*maintenance->is_alone(kWell)) << "there is the third";
  EXPECT_FALSE(*maintenance->is_alone(kSick));
  EXPECT_TRUE(maintenance->reaches_again(kSick));
  EXPECT_EQ(sql.number("SELECT count(*) FROM host_findings WHERE host_id = 7 AND until > now()"), 0) << "it may probe at once";
  EXPECT_EQ(sql.number("SELECT count(*) FROM cut_off_hosts"), 0);
}

TEST_F(FindingContract, AnAnswerToAnotherHostRefutesIt) {  // T13
  finds(kSick);
  refute(kWell);
  const auto known = queue->cooldowns(kSick);
  ASSERT_TRUE(known);
  ASSERT_EQ(known->own.size(), 1u);
  EXPECT_TRUE(known->own[0].is_refuted);
  EXPECT_EQ(known->all.size(), 1u) << "it cools down for that host all the same";
  EXPECT_TRUE(queue->cooldowns(kWell)->of_others.empty());
  EXPECT_TRUE(finds(kWell, Millis(5)).of_this_host) << "a finding that was refuted confirms none";
  sql.execute("DELETE FROM host_findings WHERE host_id = 8");
  finds(kSick, std::chrono::minutes(10));
  EXPECT_FALSE(queue->cooldowns(kSick)->own.at(0).is_refuted) << "it may be down now: that is to be seen anew";
}

TEST_F(FindingContract, AHostDoesNotRefuteItself) {  // T13
  finds(kSick);
  refute(kSick);
  EXPECT_FALSE(queue->cooldowns(kSick)->own.at(0).is_refuted);
}

TEST_F(FindingContract, AHostProbesItsOwnFindingAndAnAnswerEndsIt) {  // T13
  const auto since = begin - std::chrono::minutes(1);
  sql.execute("DELETE FROM host_findings");
  finds(kSick, -std::chrono::minutes(1));
  const std::vector<Cooldown> wanted{{kDefaultOrg, "sms.a", {}, {}}};
  EXPECT_EQ(queue->begin_probes(wanted, kSick, Seconds(10))->size(), 1u);
  EXPECT_TRUE(queue->begin_probes(wanted, kWell, Seconds(10))->empty()) << "it has nothing to probe";
  const auto ended = gets_through(kSick, since);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].target, "sms.a");
  EXPECT_EQ(findings(), 0);
}

TEST_F(FindingContract, TheProbeOfAnOutageOfAllIsStillOneHosts) {  // T13
  finds(kSick, -std::chrono::minutes(1));
  finds(kWell, -std::chrono::minutes(1));
  const std::vector<Cooldown> wanted{{kDefaultOrg, "sms.a", {}, {}}};
  EXPECT_EQ(queue->begin_probes(wanted, kWell, Seconds(10))->size(), 1u);
  EXPECT_TRUE(queue->begin_probes(wanted, kSick, Seconds(10))->empty());
  EXPECT_EQ(gets_through(kWell, begin - std::chrono::minutes(1)).size(), 1u);
  EXPECT_EQ(cooldowns_of(kSick).size(), 1u) << "what that host finds it has to see for itself";
}

TEST_F(FindingContract, AnOutageByAnswersConfirmsNoFinding) {  // T13
  const std::vector<Cooldown> wanted{{kDefaultOrg, "sms.a", {}, {}}};
  ASSERT_TRUE(settle->blame(
      std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin - Seconds(10), Millis(0), "server_error", true, kWell}},
      Seconds(1)));
  ASSERT_EQ(queue->begin_probes(wanted, kSick, Seconds(60))->size(), 1u);
  EXPECT_TRUE(finds(kSick).of_this_host) << "the others reach the target, whatever it says";
  EXPECT_EQ(queue->begin_probes(wanted, kWell, Seconds(60))->size(), 1u) << "the probe is free again";
  EXPECT_FALSE(finds(kWell, Millis(5)).of_this_host) << "now two find that it cannot be reached";
  EXPECT_FALSE(finds(kSick, Millis(10)).of_this_host);
}

TEST_F(FindingContract, TheProbeOfAnOutageOfAllIsNoneForAHostThatFindsTheTargetUnreachableItself) {  // T13
  const std::vector<Cooldown> wanted{{kDefaultOrg, "sms.a", {}, {}}};
  const auto asks = [&](HostId host) { return queue->begin_probes(wanted, host, Seconds(10))->size(); };
  const auto everybodys = [&] {
    sql.execute("DELETE FROM target_outages");
    ASSERT_TRUE(settle->blame(
        std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin - Seconds(10), Millis(0), "try_later", true, kWell}}, Seconds(1)));
  };
  finds(kSick);  // in force
  everybodys();
  EXPECT_EQ(asks(kSick), 0u) << "the other one has no such finding";
  EXPECT_EQ(asks(kWell), 1u);
  finds(kSick, -Seconds(10));
  sql.execute("UPDATE host_findings SET until = now() - interval '1 second', refuted_at = now()");
  everybodys();
  EXPECT_EQ(asks(kSick), 0u) << "it was refuted";
  EXPECT_EQ(asks(kWell), 1u);
  sql.execute("DELETE FROM host_findings");
  ASSERT_TRUE(maintenance->cut_off(kSick, begin, "sms.a"));
  everybodys();
  EXPECT_EQ(asks(kSick), 0u) << "it is cut off";
  sql.execute("UPDATE target_outages SET until = now() - interval '2 minutes'");
  EXPECT_EQ(asks(kSick), 1u) << "nobody else has come for it";
  sql.execute("UPDATE hosts SET started_at = now() - interval '1 minute' WHERE host_id = 8");
  everybodys();
  EXPECT_EQ(asks(kSick), 1u) << "the other one hangs";
}

TEST_F(FindingContract, ADestinationThatAnswersIsToBlameWhoeverItAnswers) {  // T13
  const auto now = settle->blame(std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin, {}, "try_later", true, kSick},
                                                           {kDefaultOrg, "sms.b", begin, {}, "connect_failed", false, kSick}},
                                 Seconds(30));
  ASSERT_TRUE(now) << now.error().what;
  ASSERT_EQ(now->size(), 2u);
  for (const auto& one : *now) EXPECT_EQ(one.of_this_host, one.target == "sms.b");
}

// T4
TEST_F(FindingContract, ALockOnAFindingHoldsUpWhatConcernsThatTargetOnly) {
  finds(kSick);
  finds(kSick, Micros(0), "sms.b");
  SqlClient somebody(url);
  somebody.execute("SET search_path TO waybill; BEGIN; SELECT FROM host_findings WHERE target = 'sms.a' FOR UPDATE");
  const auto blamed = settle->blame(
      std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin + Seconds(9), Millis(0), "connect_failed", false, kSick},
                                {kDefaultOrg, "sms.b", begin + Seconds(9), Millis(0), "connect_failed", false, kSick},
                                {kDefaultOrg, "sms.c", begin, Millis(0), "try_later", true, kSick}},
      Seconds(30));
  ASSERT_TRUE(blamed) << blamed.error().what;
  ASSERT_EQ(blamed->size(), 2u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM host_findings WHERE target = 'sms.b' AND until > since + interval '5 seconds'"), 1);
  const auto of = [&](const std::string& target) { return ClearedCooldown{kDefaultOrg, target, begin, kSick, true}; };
  const auto ended = settle->clear(std::vector{of("sms.a"), of("sms.b"), of("sms.c")});
  ASSERT_TRUE(ended) << ended.error().what;
  EXPECT_EQ(ended->size(), 2u);
  EXPECT_EQ(findings(), 1);
  EXPECT_EQ(outages(), 0);
  somebody.execute("COMMIT");
}

// T4
TEST_F(FindingContract, ALockOnTheWholeTableIsToldAndSettlementsGoOn) {
  submit_many(1, "a-", "sms.a");
  for (const auto* table : {"host_findings", "target_outages"}) {
    SqlClient somebody(url);
    somebody.execute("SET search_path TO waybill; BEGIN; LOCK TABLE " + std::string(table));
    const auto blamed = settle->blame(
        std::vector<BlamedTarget>{{kDefaultOrg, "sms.a", begin, Millis(0), "connect_failed", false, kSick}}, Seconds(30));
    ASSERT_FALSE(blamed);
    EXPECT_NE(blamed.error().what.find("55P03"), std::string::npos) << blamed.error().what;
    EXPECT_FALSE(settle->clear(std::vector<ClearedCooldown>{{kDefaultOrg, "sms.a", begin, kSick, true}}));
    EXPECT_TRUE(settle->settle(0, std::vector<Settlement>{}));
    somebody.execute("COMMIT");
  }
}

TEST_F(FindingContract, AnOperatorEndsItAndSoDoesTheHostsEnd) {  // T13
  finds(kSick);
  EXPECT_EQ(targets->resume({"default", "sms.a"}, {"ada", "test"})->findings, 1);
  EXPECT_FALSE(targets->resume({"default", "sms.a"}, {"ada", "test"}));
  finds(kSick);
  ASSERT_TRUE(maintenance->cut_off(kSick, begin, "sms.a"));
  sql.execute("DELETE FROM hosts WHERE host_id = 7");
  EXPECT_EQ(*maintenance->forget_outages(std::chrono::hours(24)), 0u);
  EXPECT_EQ(findings() + sql.number("SELECT count(*) FROM cut_off_hosts"), 0);
}

TEST_F(FindingContract, ExplainNamesTheHosts) {  // T13
  submit_many(1, "a-", "sms.a");
  finds(kSick);
  sql.execute("UPDATE hosts SET name = 'sick:1' WHERE host_id = 7");
  auto explained = reader->explain(kDefaultOrg, "intent", "a-0");
  ASSERT_TRUE(explained && *explained);
  const auto& position = (*explained)->positions.at(0);
  EXPECT_FALSE(position.cooldown);
  ASSERT_EQ(position.findings.size(), 1u);
  EXPECT_EQ(position.findings[0].host, "sick:1");
  EXPECT_EQ(position.findings[0].reason, "connect_failed");
  ASSERT_TRUE(maintenance->cut_off(kSick, begin, "sms.a"));
  explained = reader->explain(kDefaultOrg, "intent", "a-0");
  EXPECT_EQ((*explained)->cut_off, std::vector<std::string>{"sick:1"});
}

}  // namespace
}  // namespace waybill::testing
