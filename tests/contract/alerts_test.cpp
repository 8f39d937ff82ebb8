// Incidents from being raised to being told and closed, by any number of hosts; what is stuck; what the digest is made of.  F13
#include "maintenance/alerts.h"

#include <map>
#include <set>
#include <thread>

#include "contract/store_world.h"
#include "support/call_builders.h"

namespace waybill::testing {
namespace {

constexpr Millis kQuiet = std::chrono::minutes(15);

class AlertContract : public StoreWorld {
 protected:
  void raise(const std::string& about, const std::string& words = "words", int org = 1) {
    sql.rows("SELECT raise_alert(" + std::to_string(org) + ", 'dead_letter', '" + about + "', '" + words + "')");
  }
  void with_organisations(int count) {  // 2 and on
    sql.execute("INSERT INTO organisations (name) SELECT 'org-' || n FROM generate_series(1, " + std::to_string(count) + ") n");
  }
  std::vector<Notification> notifications(AlertStore& by) {
    auto all = by.notifications({.quiet = kQuiet, .most_messages = 20, .between_summaries = std::chrono::minutes(1)});
    EXPECT_TRUE(all) << all.error().what;
    return all.value_or(std::vector<Notification>{});
  }
  std::vector<Notification> notifications() { return notifications(*alerts); }
  void tell_all() {
    for (const auto& one : notifications()) EXPECT_TRUE(alerts->mark_sent(one.reference).value_or(false));
  }
  void pass(const std::string& interval) {
    sql.execute("UPDATE alerts SET first_at = first_at - interval '" + interval + "', last_at = last_at - interval '" + interval +
                "', told_at = told_at - interval '" + interval + "'");
  }
  std::vector<StuckWork> stuck() {
    auto found = alerts->stuck(std::chrono::minutes(15));
    EXPECT_TRUE(found) << found.error().what;
    return found.value_or(std::vector<StuckWork>{});
  }
  // Deliveries that became due so long ago.
  void late(const std::string& prefix, std::size_t count, const std::string& target, const std::string& interval = "20 minutes") {
    submit_many(count, prefix, target);
    sql.execute("UPDATE ready SET due_at = now() - interval '" + interval +
                "' WHERE route_id = " + std::to_string(route(target).value));
  }
};

// ---- raising and notifying ----

TEST_F(AlertContract, AnIncidentIsToldWithItsCountAndItsLatestWords) {  // F13
  raise("target:a", "first");
  raise("target:a", "second");
  const auto all = notifications();
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(all[0].incidents.size(), 1u);
  const auto& one = all[0].incidents[0];
  EXPECT_EQ(one.name, "dead_letter:target:a");
  EXPECT_EQ(one.kind, "dead_letter");
  EXPECT_EQ(one.words, "second");
  EXPECT_EQ(one.count, 2u);
  EXPECT_LE(one.first, one.last);
  EXPECT_TRUE(alerts->mark_sent(all[0].reference).value_or(false));
  EXPECT_FALSE(alerts->mark_sent(all[0].reference).value_or(true)) << "only one caller is the one that told it";
  EXPECT_TRUE(notifications().empty());
}

TEST_F(AlertContract, ATellingThatWasLeftHalfDoneIsFinishedAsItWas) {  // F13
  raise("target:a");
  const auto begun = notifications();
  raise("target:a");
  const auto other = make_alert_store(address);
  const auto again = notifications(*other);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].reference, begun[0].reference);
  EXPECT_EQ(again[0].incidents[0].count, 1u) << "the count of that message does not change any more";
  EXPECT_TRUE(other->mark_sent(again[0].reference).value_or(false));
  pass("16 minutes");
  const auto next = notifications();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_NE(next[0].reference, begun[0].reference);
  EXPECT_EQ(next[0].incidents[0].count, 2u);
}

// O7: the repetition had been told after the backup, and is forgotten by the restore; the receiver may know its reference
TEST_F(AlertContract, AfterARestoreARepetitionHasAReferenceOfItsOwn) {  // F13
  raise("target:a");
  tell_all();
  pass("16 minutes");
  raise("target:a");
  const auto before = notifications();
  ASSERT_EQ(before.size(), 1u);
  const auto restore = [&] { sql.execute("UPDATE alerts SET telling = NULL, telling_count = NULL"); };
  restore();
  EXPECT_EQ(notifications().at(0).reference, before[0].reference) << "what a host left half done is one message";
  restore();
  sql.execute("INSERT INTO restores (restored_to, actor) VALUES (now(), 'ada')");
  const auto after = notifications();
  ASSERT_EQ(after.size(), 1u);
  EXPECT_NE(after[0].reference, before[0].reference);
}

TEST_F(AlertContract, AnIncidentThatGoesOnIsQuietForAWhile) {  // F13
  raise("target:a");
  tell_all();
  raise("target:a");
  EXPECT_TRUE(notifications().empty());
  pass("14 minutes");
  EXPECT_TRUE(notifications().empty());
  pass("2 minutes");
  EXPECT_EQ(notifications().size(), 1u);
}

TEST_F(AlertContract, AnIncidentIsClosedWhenNothingNewComesAndTheNextIsNew) {  // F13
  raise("target:a");
  const auto first = notifications();
  ASSERT_TRUE(alerts->close(Millis(0)));
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 1) << "it is being told";
  ASSERT_TRUE(alerts->mark_sent(first[0].reference).value_or(false));
  ASSERT_TRUE(alerts->count_new());
  ASSERT_TRUE(alerts->close(std::chrono::hours(1)));
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 1) << "not for so long";
  pass("61 minutes");
  ASSERT_TRUE(alerts->close(std::chrono::hours(1)));
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 0);
  raise("target:a");
  const auto second = notifications();
  ASSERT_EQ(second.size(), 1u) << "told at once";
  EXPECT_EQ(second[0].incidents[0].count, 1u);
  EXPECT_NE(second[0].reference, first[0].reference);
}

TEST_F(AlertContract, WhatIsNewIsNeverClosed) {  // F13
  raise("target:a");
  tell_all();
  ASSERT_TRUE(alerts->count_new());
  pass("61 minutes");
  sql.execute("UPDATE alerts SET count = count + 1, counted = count + 1");
  ASSERT_TRUE(alerts->close(std::chrono::hours(1)));
  EXPECT_EQ(notifications().size(), 1u);
}

TEST_F(AlertContract, ManyIncidentsAtOnceAreOneMessage) {  // F13
  for (int i = 0; i < 25; ++i) raise("target:" + std::to_string(i));
  const auto all = notifications();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].incidents.size(), 25u);
  EXPECT_TRUE(alerts->mark_sent(all[0].reference).value_or(false));
  raise("target:late");
  EXPECT_EQ(notifications().size(), 1u) << "twenty and fewer go one by one";
}

TEST_F(AlertContract, AFloodThatComesInDropsIsSummedUpAsWell) {  // F13
  for (int i = 0; i < 20; ++i) raise("target:" + std::to_string(i));
  EXPECT_EQ(notifications().size(), 20u);
  tell_all();
  raise("target:20");
  raise("target:21");
  const auto first = notifications();
  ASSERT_EQ(first.size(), 1u) << "twenty messages in one quiet time are enough";
  EXPECT_EQ(first[0].incidents.size(), 2u);
  tell_all();
  raise("target:22");
  EXPECT_TRUE(notifications().empty()) << "a summary has just gone out";
  pass("2 minutes");
  EXPECT_EQ(notifications().size(), 1u);
}

// T32
TEST_F(AlertContract, AFloodOfOneOrganisationIsSummedUpAndHoldsUpNobody) {
  with_organisations(2);
  for (int i = 0; i < 25; ++i) raise("channel:" + std::to_string(i), "words", 2);
  raise("target:a");
  raise("channel:z", "words", 3);
  const auto first = notifications();
  ASSERT_EQ(first.size(), 3u) << "one summary, and two that are told as if there were none";
  std::map<std::int64_t, std::size_t> incidents;
  for (const auto& one : first)
    for (const auto& incident : one.incidents) ++incidents[incident.org.value];
  EXPECT_EQ(incidents, (std::map<std::int64_t, std::size_t>{{1, 1}, {2, 25}, {3, 1}}));
  tell_all();
  for (int i = 0; i < 25; ++i) raise("channel:more" + std::to_string(i), "words", 2);
  raise("target:b");
  const auto second = notifications();
  ASSERT_EQ(second.size(), 1u) << "the flood's next summary waits; the operator's alert does not";
  EXPECT_EQ(second[0].incidents[0].name, "dead_letter:target:b");
}

// T32
TEST_F(AlertContract, ManyOrganisationsAtOnceAreOneSummaryBesideTheOperatorsAlerts) {
  with_organisations(21);
  for (int org = 2; org <= 22; ++org) raise("channel:a", "words", org);
  raise("target:a");
  const auto first = notifications();
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first[0].incidents.size() + first[1].incidents.size(), 22u);
  EXPECT_EQ(std::min(first[0].incidents.size(), first[1].incidents.size()), 1u);
  tell_all();
  for (int org = 2; org <= 22; ++org) raise("channel:b", "words", org);
  raise("target:b");
  EXPECT_EQ(notifications().size(), 1u) << "the operator's";
  tell_all();
  pass("2 minutes");
  EXPECT_EQ(notifications().size(), 1u) << "all the others'";
}

TEST_F(AlertContract, HostsThatReserveAtTheSameTimeAgreeOnTheMessages) {  // F13
  for (int i = 0; i < 30; ++i) raise("target:" + std::to_string(i));
  std::vector<std::vector<Notification>> seen(4);
  {
    std::vector<std::jthread> hosts;
    for (auto& mine : seen)
      hosts.emplace_back([&mine, this] {
        const auto store = make_alert_store(address);
        while (mine.empty()) mine = notifications(*store);  // the turn may be another host's, and its commit to come
      });
  }
  for (const auto& mine : seen) {
    ASSERT_EQ(mine.size(), 1u);
    EXPECT_EQ(mine[0].reference, seen[0][0].reference);
    EXPECT_EQ(mine[0].incidents.size(), 30u);
  }
}

TEST_F(AlertContract, OccurrencesAreCountedByOneHostOnly) {  // F13
  raise("target:a");
  raise("target:a");
  raise("target:b");
  const auto other = make_alert_store(address);
  EXPECT_EQ(*alerts->count_new(), (std::map<std::string, std::uint64_t>{{"dead_letter", 3}}));
  EXPECT_TRUE(other->count_new()->empty());
  raise("target:a");
  EXPECT_EQ(*other->count_new(), (std::map<std::string, std::uint64_t>{{"dead_letter", 1}}));
}

TEST_F(AlertContract, ALastingConditionCountsOnceInAWhileHoweverManyHostsSeeIt) {  // F13
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(alerts->remind(kDefaultOrg, "stuck", "target:a", "words", kQuiet));
  EXPECT_EQ(sql.number("SELECT count FROM alerts"), 1);
  pass("16 minutes");
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(alerts->remind(kDefaultOrg, "stuck", "target:a", "words", kQuiet));
  EXPECT_EQ(sql.number("SELECT count FROM alerts"), 2);
}

// ---- what is stuck ----

TEST_F(AlertContract, WhatIsDueForLongIsStuckAndTheRestIsNot) {  // F13
  late("a-", 3, "sms.a");
  submit_many(2, "b-", "sms.b");
  const auto found = stuck();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, StuckWork::What::deliveries);
  EXPECT_EQ(found[0].about, "sms.a");
  EXPECT_EQ(found[0].action_type, "sms");
  EXPECT_EQ(found[0].count, 3u);
  EXPECT_EQ(found[0].in_flight, 0u);
  EXPECT_GE(found[0].now - found[0].since, std::chrono::minutes(20));
  EXPECT_TRUE(found[0].reference.starts_with("a-"));
}

TEST_F(AlertContract, WhatIsInFlightIsNotStuckButIsTold) {  // F13
  late("a-", 3, "sms.a");
  claim(route("sms.a"), 2);
  const auto found = stuck();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].count, 1u);
  EXPECT_EQ(found[0].in_flight, 2u);
}

TEST_F(AlertContract, ARestingTargetIsNotStuck) {  // F13
  late("a-", 1, "sms.a");
  sql.execute("INSERT INTO target_outages VALUES (1, 'sms.a', now() + interval '1 minute', 'server_error')");
  EXPECT_TRUE(stuck().empty());
  sql.execute("UPDATE target_outages SET until = now() - interval '1 minute'");
  EXPECT_EQ(stuck().size(), 1u);
}

TEST_F(AlertContract, AFormsActionRestsWithItsSender) {  // F13
  late("a-", 1, "contact/1");
  sql.execute("UPDATE contract_snapshots SET contract = (contract::jsonb || '{\"form\": {\"id\": \"contact\"}}')::text");
  EXPECT_EQ(stuck().size(), 1u);
  sql.execute("INSERT INTO target_outages VALUES (1, 'sender:sms', now() + interval '1 minute', 'connect_failed')");
  EXPECT_TRUE(stuck().empty());
}

TEST_F(AlertContract, AnAlertsOwnDeliveryIsNeverStuckAndHidesNoOther) {  // F13
  late("a-", 2, "ops", "30 minutes");
  sql.execute("UPDATE submissions SET kind = 'alert'");
  EXPECT_TRUE(stuck().empty());
  submit_many(1, "b-", "ops");
  sql.execute(
      "UPDATE ready SET due_at = now() - interval '20 minutes' WHERE submission_id = (SELECT id FROM submissions WHERE kind = "
      "'intent')");
  const auto found = stuck();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reference, "b-0");
  EXPECT_EQ(found[0].count, 1u);
}

TEST_F(AlertContract, AFormThatIsProcessingForLongIsStuck) {  // F13
  submit_many(2, "s-", "contact");
  sql.execute("DELETE FROM ready");
  sql.execute(
      "INSERT INTO form_submissions (shard, submission_id, org_id, processing_since, retention_expires_at) "
      "SELECT shard, id, org_id, now() - interval '16 minutes', now() + interval '1 day' FROM submissions");
  sql.execute("UPDATE form_submissions SET processing_since = now() WHERE submission_id = (SELECT max(id) FROM submissions)");
  const auto found = stuck();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].what, StuckWork::What::form);
  EXPECT_EQ(found[0].about, "contact");
  EXPECT_EQ(found[0].reference, "s-0");
  EXPECT_EQ(found[0].count, 1u);
}

// ---- failures of providers ----

TEST_F(AlertContract, FailuresAddUpOverAPeriodThatIsAlignedToTheClock) {  // F13
  const std::vector<FailedAttempts> some{{kDefaultOrg, "sms", "sms.a", "timeout", 3}, {kDefaultOrg, "sms", "sms.b", "busy", 1}};
  const Millis day = std::chrono::hours(24);
  ASSERT_TRUE(settle->add_failures(some, day));
  ASSERT_TRUE(settle->add_failures(std::vector<FailedAttempts>{some[0]}, day));
  EXPECT_EQ(sql.number("SELECT sum(count) FROM provider_failures WHERE target = 'sms.a'"), 6);
  EXPECT_EQ(sql.number("SELECT count(*) FROM provider_failures WHERE until - since = interval '1 day' "
                       "AND extract(epoch FROM since)::bigint % 86400 = 0 AND until > now() - interval '1 minute'"),
            sql.number("SELECT count(*) FROM provider_failures"));
  EXPECT_TRUE(alerts->finished_failures()->empty()) << "the period is not over";
}

TEST_F(AlertContract, ThePeriodsThatAreOverAreToldByOneHostAndAreGone) {  // F13
  const std::vector<FailedAttempts> some{{kDefaultOrg, "sms", "sms.a", "timeout", 3}, {kDefaultOrg, "sms", "sms.b", "busy", 9}};
  ASSERT_TRUE(settle->add_failures(some, std::chrono::hours(1)));
  sql.execute("UPDATE provider_failures SET since = since - interval '2 hours', until = until - interval '2 hours'");
  const auto failures = alerts->finished_failures();
  ASSERT_TRUE(failures) << failures.error().what;
  ASSERT_EQ(failures->size(), 2u);
  EXPECT_EQ((*failures)[0].target, "sms.b");
  EXPECT_EQ((*failures)[0].count, 9u);
  EXPECT_EQ((*failures)[0].until - (*failures)[0].since, std::chrono::hours(1));
  for (int host = 0; host < 2; ++host) ASSERT_TRUE(make_alert_store(address)->digest(*failures, "then", "a table"));
  EXPECT_EQ(sql.text("SELECT incident || ' ' || count || ' ' || message FROM alerts"), "provider_failures:then 1 a table");
  EXPECT_EQ(sql.number("SELECT count(*) FROM provider_failures"), 0);
}

TEST_F(AlertContract, AFailureThatComesLateIsKeptForTheNextDigest) {  // F13
  ASSERT_TRUE(
      settle->add_failures(std::vector<FailedAttempts>{{kDefaultOrg, "sms", "sms.a", "timeout", 3}}, std::chrono::hours(1)));
  sql.execute("UPDATE provider_failures SET until = until - interval '2 hours'");
  const auto failures = *alerts->finished_failures();
  sql.execute("UPDATE provider_failures SET count = 4");
  ASSERT_TRUE(alerts->digest(failures, "then", "a table"));
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 0);
  const auto left = *alerts->finished_failures();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].count, 4u);
}

// ---- the notifier ----

class NotifierStory : public AlertContract {
 protected:
  AlertNotifier notifier(const char* target = "ops") {
    return AlertNotifier(
        *alerts, *intake, {.quiet = kQuiet, .stuck = std::chrono::minutes(15), .digest_every = std::chrono::hours(1)},
        [target]() { return target ? std::optional(contract_of(target)) : std::nullopt; },
        [](const std::string& type) { return "no plugin for " + type; }, [this] { ++woken; }, log, metrics);
  }
  std::int64_t messages() { return sql.number("SELECT count(*) FROM submissions WHERE kind = 'alert'"); }
  bool metrics_say(const std::string& line) { return metrics.text().find(line) != std::string::npos; }

  KeptLog log;
  Metrics metrics;
  int woken = 0;
};

TEST_F(NotifierStory, AnIncidentBecomesASubmissionToTheAlertTarget) {  // F13
  raise("target:a", "what happened");
  auto one = notifier();
  ASSERT_TRUE(one.notify());
  ASSERT_TRUE(one.notify());
  EXPECT_EQ(messages(), 1);
  EXPECT_EQ(sql.text("SELECT pipeline || ' ' || state || ' ' || target FROM submission_states"), "intent pending ops");
  EXPECT_NE(sql.text("SELECT convert_from(body, 'UTF8')::json ->> 'text' FROM submissions").find("what happened"),
            std::string::npos);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 1);
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(log.count("alert.raised"), 1u);
  EXPECT_TRUE(metrics_say("submission_alerts_total{kind=\"dead_letter\"} 1"));
}

TEST_F(NotifierStory, WhatWasHandedInBeforeACrashIsNotHandedInAgain) {  // F13
  raise("target:a");
  ASSERT_TRUE(notifier().notify());
  sql.execute(
      "UPDATE alerts SET telling = (SELECT client_ref FROM submissions), telling_count = 1, told = 0, told_at = NULL, message = "
      "'other'");
  ASSERT_TRUE(notifier().notify());
  EXPECT_EQ(messages(), 1);
  EXPECT_EQ(sql.text("SELECT told || ' ' || (telling IS NULL) FROM alerts"), "1 true");
}

TEST_F(NotifierStory, WithoutAnAlertTargetIncidentsAreLoggedAndCounted) {  // F13
  raise("target:a");
  auto one = notifier(nullptr);
  ASSERT_TRUE(one.notify());
  ASSERT_TRUE(one.notify());
  EXPECT_EQ(messages(), 0);
  EXPECT_EQ(log.count("alert.raised"), 1u);
  EXPECT_EQ(woken, 0);
  EXPECT_TRUE(metrics_say("submission_alerts_total{kind=\"dead_letter\"} 1"));
}

TEST_F(NotifierStory, StuckDeliveriesAreOneIncidentOfTheirTarget) {  // F13
  late("a-", 3, "sms.a");
  for (int host = 0; host < 3; ++host) ASSERT_TRUE(notifier().look_for_stuck());
  EXPECT_EQ(sql.text("SELECT incident || ' ' || count FROM alerts"), "stuck:target:sms.a 1");
  EXPECT_NE(sql.text("SELECT message FROM alerts").find("no plugin for sms"), std::string::npos);
}

TEST_F(NotifierStory, AFormThatWouldBeErasedBeforeItsScanIsStuckInTime) {  // T1
  submit_many(2, "s-", "contact");
  sql.execute(
      "SET session_replication_role = replica; DELETE FROM ready;"
      "UPDATE submissions SET kind = 'form', pipeline = 'form', state = 'received'; RESET session_replication_role;"
      "INSERT INTO form_submissions (shard, submission_id, org_id, finalized_at, retention_expires_at)"
      " SELECT shard, id, org_id, now() - interval '4 minutes', now() + interval '5 minutes' FROM submissions;"
      "INSERT INTO attachments (shard, submission_id, org_id, attachment_id, position, name, content_type, size, object_uri)"
      " SELECT shard, id, org_id, id::text, 1, 'f', 'image/png', 1, 'gs://b/k' FROM submissions");
  ASSERT_TRUE(notifier().look_for_stuck());
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 0) << "less than 15 minutes, and less than half the time";
  sql.execute("UPDATE form_submissions SET finalized_at = finalized_at - interval '2 minutes'");
  for (int host = 0; host < 2; ++host) ASSERT_TRUE(notifier().look_for_stuck());
  EXPECT_EQ(sql.text("SELECT kind || ' ' || incident || ' ' || count FROM alerts"), "stuck stuck:scan:contact 1");
}

TEST_F(NotifierStory, ADigestIsOneIncidentForEachOrganisationAndPeriod) {  // F13
  sql.execute("INSERT INTO organisations (name) VALUES ('other')");
  ASSERT_TRUE(settle->add_failures(std::vector<FailedAttempts>{{kDefaultOrg, "sms", "sms.a", "timeout", 3},
                                                               {kDefaultOrg, "sms", "sms.b", "timeout", 4},
                                                               {{2}, "sms", "sms.a", "timeout", 5}},
                                   std::chrono::hours(1)));
  sql.execute("UPDATE provider_failures SET since = since - interval '2 hours', until = until - interval '2 hours'");
  for (int host = 0; host < 2; ++host) ASSERT_TRUE(notifier().digest_failures());
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts WHERE kind = 'provider_failures' AND count = 1"), 2);
  EXPECT_NE(sql.text("SELECT message FROM alerts WHERE org_id = 1").find("7 attempts failed"), std::string::npos);
}

}  // namespace
}  // namespace waybill::testing
