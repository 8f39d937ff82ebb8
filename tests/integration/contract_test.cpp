// What a contract promises: its deadline, its snapshot, its end, and what follows when nobody saw an attempt's end.
#include <gtest/gtest.h>
#include <signal.h>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Contract : public World {
 protected:
  void expect_refusal(const std::string& statement, const std::string& words) {
    const auto said = sql().refusal(statement);
    EXPECT_NE(said.find(words), std::string::npos) << statement << ": " << (said.empty() ? "carried out" : said);
  }
};

// M7
TEST_F(Contract, TheDeadlineBoundsAllAttemptsTogetherFromCreation) {
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("brief", "sms.brief"));
  const auto end = wait_for_end(client(), "brief");
  EXPECT_EQ(word(end, "status"), "exhausted");
  EXPECT_EQ(word(end, "exhaustedReason"), "deadline_exceeded");
  const auto history = history_of(client(), "brief");
  EXPECT_GE(history["attempts"].size(), 2u);
  for (const auto& attempt : history["attempts"]) EXPECT_LT(seconds_of(attempt, "startedAt"), seconds_of(end, "createdAt") + 2.0);
}

// M7
TEST_F(Contract, ARetryThatWouldBeDueAtOrAfterTheDeadlineIsNotScheduled) {
  setup.retry = "{kind: fixed, delay: 1h}";
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("early", "sms.deadline"), 60);
  const auto end = wait_for_end(client(), "early");
  EXPECT_EQ(word(end, "exhaustedReason"), "deadline_exceeded");
  EXPECT_EQ(gateway.count("early"), 1u);
  EXPECT_LT(seconds_of(end, "completedAt"), seconds_of(end, "createdAt") + 30.0);  // at once, not only when the time is over
}

// M6, M7
TEST_F(Contract, AnAcceptanceAfterTheDeadlineDoesNotCount) {
  gateway.script("held", {Reply::accept_when_released()});
  post_intent(client(), sms_intent("held", "sms.brief"));
  const auto end = wait_for_end(client(), "held");
  EXPECT_EQ(word(end, "exhaustedReason"), "deadline_exceeded");
  gateway.release();
  post_intent(client(), sms_intent("after", "sms.deadline"));
  EXPECT_EQ(wait_for_end(client(), "after")["status"], "accepted");
  EXPECT_EQ(get_intent(client(), "held"), end);
}

// M6, M7
TEST_F(Contract, AGatewayThatComesBackAfterTheDeadlineRevivesNothing) {
  FakeGateway away(FakeGateway::Door::shut);
  setup.registry = registry_of(standard_targets(away.url()));
  post_intent(client(), sms_intent("lost", "sms.brief"));
  const auto end = wait_for_end(client(), "lost");
  EXPECT_EQ(word(end, "status"), "exhausted");
  EXPECT_EQ(word(end, "exhaustedReason"), "deadline_exceeded");
  const auto attempts = history_of(client(), "lost")["attempts"];
  away.open();
  post_intent(client(), sms_intent("found", "sms.deadline"));
  EXPECT_EQ(wait_for_end(client(), "found")["status"], "accepted");
  EXPECT_EQ(get_intent(client(), "lost"), end);
  EXPECT_EQ(history_of(client(), "lost")["attempts"], attempts);
  EXPECT_EQ(away.count("lost"), 0u);
}

// M7: time spent without any host counts as well
TEST_F(Contract, ADeadlineThatPassesWhileNoHostRunsEndsWithoutAnAttempt) {
  setup.retry = "{kind: fixed, delay: 1500ms}";
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("sleep", "sms.brief"), 30);
  host().kill_hard();
  give_up_host();
  ASSERT_TRUE(eventually([&] {
    return sql().text("SELECT clock_timestamp() > max(created_at) + interval '2 seconds' FROM waybill.submissions") == "t";
  }));
  gateway.by_default(Reply::accept());
  const auto sent = gateway.count("sleep");
  EXPECT_EQ(wait_for_end(client(), "sleep")["exhaustedReason"], "deadline_exceeded");
  EXPECT_EQ(gateway.count("sleep"), sent);
}

// M10
TEST_F(Contract, ARegistryEditDoesNotChangeAPendingIntent) {
  FakeGateway elsewhere;
  gateway.script("old", {Reply::reject("provider_failure")});
  post_intent(client(), sms_intent("old", "sms.patient"), 30);
  installation().write_registry(
      registry_of({target("sms.patient", "sms", elsewhere.url(), "one_shot", 0, {"provider_failure"})}));
  host().signal(SIGHUP);
  int tries = 0;
  ASSERT_TRUE(eventually([&] {
    const auto id = "new-" + std::to_string(++tries);
    post_intent(client(), sms_intent(id, "sms.patient"), 30);
    wait_for_end(client(), id);
    return elsewhere.count(id) == 1;
  }));
  const auto before = gateway.count("old");
  ASSERT_TRUE(gateway.wait_for_count("old", before + 2));  // still retried, and still at the old gateway
  gateway.script("old", {Reply::accept()});
  EXPECT_EQ(wait_for_end(client(), "old")["status"], "accepted");
  EXPECT_EQ(elsewhere.count("old"), 0u);
}

// M2, M10, M12
TEST_F(Contract, APendingIntentOutlivesItsTargetsRemoval) {
  gateway.script("old", {Reply::reject("provider_failure")});
  post_intent(client(), sms_intent("old", "sms.patient"), 30);
  EXPECT_EQ(host().terminate(), 0);
  installation().write_registry(registry_of({target("sms.other", "sms", gateway.url(), "one_shot", 0, {"provider_failure"})}));
  restart_host();
  EXPECT_EQ(post_intent(client(), sms_intent("new", "sms.patient")).status, 400);
  const auto again = post_intent(client(), sms_intent("old", "sms.patient"));  // handed in again, it is still itself
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json()["status"], "pending");
  EXPECT_EQ(post_intent(client(), intent("old", "sms.patient", {{"to", "another"}})).status, 409);
  gateway.script("old", {Reply::accept()});
  EXPECT_EQ(wait_for_end(client(), "old")["status"], "accepted");
}

// M6
TEST_F(Contract, TheDatabaseItselfRefusesToReviveAnEnd) {
  post_intent(client(), sms_intent("done", "sms.deadline"), 30);
  wait_for_end(client(), "done");
  expect_refusal("UPDATE waybill.submissions SET state = 'pending', completed_at = NULL", "UPDATE on submissions is not allowed");
  expect_refusal("UPDATE waybill.deliveries SET status = 'due'", "\"deliveries_ended\"");
  EXPECT_EQ(get_intent(client(), "done")["status"], "accepted");
}

// M11
TEST_F(Contract, AttemptsAreAppendOnlyAndTheCountIsOnTheDelivery) {
  gateway.script("count", {Reply::http_error(500), Reply::http_error(500), Reply::accept()});
  post_intent(client(), sms_intent("count", "sms.attempts"));
  wait_for_end(client(), "count");
  EXPECT_EQ(sql().number("SELECT attempt_count FROM waybill.deliveries"), 3);
  expect_refusal("UPDATE waybill.attempts SET outcome = 'accepted'", "UPDATE on attempts");
  expect_refusal("DELETE FROM waybill.attempts", "DELETE on attempts");
  EXPECT_EQ(attempt_words(client(), "count"), (Words{"error", "error", "accepted"}));
}

// M11: the log is no source of numbers, so losing it changes nothing
TEST_F(Contract, AttemptNumbersDoNotComeFromTheLog) {
  setup.retry = "{kind: fixed, delay: 500ms}";
  gateway.by_default(Reply::http_error(500));
  gateway.script("gap", {Reply::http_error(500), Reply::accept_when_released()});
  post_intent(client(), sms_intent("gap", "sms.attempts"));
  ASSERT_TRUE(gateway.wait_for_count("gap", 2));
  // The log goes as old logs do: whole partitions of it.
  for (const auto& row :
       sql().rows("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'waybill.attempts'::regclass"))
    sql().execute("DROP TABLE " + *row[0]);
  sql().execute("CREATE TABLE waybill.attempts_fresh PARTITION OF waybill.attempts DEFAULT");
  gateway.release();
  wait_for_end(client(), "gap");
  const auto attempts = history_of(client(), "gap")["attempts"];
  ASSERT_EQ(attempts.size(), 1u);
  EXPECT_EQ(attempts[0]["attemptNumber"], 2);
}

// M17
TEST_F(Contract, ADuplicateAfterADoubtfulAttemptCountsAsAcceptance) {
  gateway.script("doubt", {Reply::die(), Reply::reject("duplicate_reference")});
  post_intent(client(), sms_intent("doubt", "sms.attempts"));
  EXPECT_EQ(wait_for_end(client(), "doubt")["status"], "accepted");
  EXPECT_EQ(attempt_words(client(), "doubt").front(), "error");
}

// M17
TEST_F(Contract, ADuplicateWithoutAnyDoubtIsARejectionLikeAnyOther) {
  FakeGateway away(FakeGateway::Door::shut);
  setup.registry = registry_of({target("sms.many", "sms", away.url(), "max_attempts", 1000, {"duplicate_reference"})});
  post_intent(client(), sms_intent("clear", "sms.many"), 30);  // refused connections: surely not sent
  away.script("clear", {Reply::reject("duplicate_reference")});
  away.open();
  const auto end = wait_for_end(client(), "clear");
  EXPECT_EQ(word(end, "status"), "rejected");
  EXPECT_EQ(word(end, "rejectedReason"), "duplicate_reference");
}

// M17
TEST_F(Contract, OneShotIsNotSentAgainAfterItsHostDied) {
  gateway.by_default(Reply::hang());
  post_intent(client(), sms_intent("once", "sms.once"));
  ASSERT_TRUE(gateway.wait_for_count("once", 1));
  host().kill_hard();
  gateway.by_default(Reply::accept());
  restart_host();
  const auto end = wait_for_end(client(), "once");
  EXPECT_EQ(word(end, "status"), "exhausted");
  EXPECT_EQ(word(end, "exhaustedReason"), "one_shot");
  const auto history = history_of(client(), "once");
  ASSERT_EQ(history["attempts"].size(), 1u);
  EXPECT_EQ(history["attempts"][0]["outcomeStatus"], "unknown");
  EXPECT_EQ(gateway.count("once"), 1u);
}

// M17
TEST_F(Contract, ALostAttemptIsOnRecordAndADuplicateAfterItIsAcceptance) {
  gateway.script("twice", {Reply::hang(), Reply::reject("duplicate_reference")});
  post_intent(client(), sms_intent("twice", "sms.attempts"));
  ASSERT_TRUE(gateway.wait_for_count("twice", 1));
  host().kill_hard();
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "twice")["status"], "accepted");
  const auto words = attempt_words(client(), "twice");
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0], "unknown");
}

// M17 E1: killed from outside; tests/crash/poison_test.cpp has those that their plugin kills
TEST_F(Contract, ADeliveryIsNotChargedForDeathsThatItDidNotCause) {
  gateway.script("unlucky", {Reply::hang(), Reply::hang(), Reply::hang(), Reply::hang(), Reply::accept()});
  setup.registry = registry_of({target("sms.two", "sms", gateway.url(), "max_attempts", 2, {"invalid_request"})});
  post_intent(client(), sms_intent("unlucky", "sms.two"));
  for (std::size_t kills = 1; kills <= 4; ++kills) {
    ASSERT_TRUE(gateway.wait_for_count("unlucky", kills));
    host().kill_hard();
    restart_host();
  }
  EXPECT_EQ(wait_for_end(client(), "unlucky")["status"], "accepted");
  EXPECT_EQ(attempt_words(client(), "unlucky"), (Words{"unknown", "unknown", "unknown", "unknown", "accepted"}));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.dead_letters"), 0);
}

}  // namespace
}  // namespace waybill::testing
