// Several hosts, and hosts that come and go: nothing acknowledged is lost, and nothing runs twice beyond what was in flight.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Hosts : public World {
 protected:
  std::int64_t newest_host() { return sql().number("SELECT max(host_id) FROM waybill.hosts"); }
  bool all_ended() { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; }
};

// M12
TEST_F(Hosts, ARestartKeepsTheScheduleAsItWas) {
  setup.retry = "{kind: fixed, delay: 1h}";
  setup.registry = registry_of({target("sms.long", "sms", gateway.url(), "deadline", 36000, {"invalid_request"})});
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("wait", "sms.long"), 30);
  const auto due = sql().text("SELECT due_at FROM waybill.ready");
  host().kill_hard();
  restart_host();
  gateway.by_default(Reply::accept());
  post_intent(client(), sms_intent("next", "sms.long"), 30);
  EXPECT_EQ(wait_for_end(client(), "next")["status"], "accepted");
  EXPECT_EQ(sql().text("SELECT due_at FROM waybill.ready"), due);
  EXPECT_EQ(gateway.count("wait"), 1u);
}

// M12
TEST_F(Hosts, WhatWasWaitingAndWhatWasInFlightGoesOnAfterACrash) {
  gateway.by_default(Reply::hang());
  for (int i = 0; i < 20; ++i) post_intent(client(), sms_intent("flight-" + std::to_string(i), "sms.attempts"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(gateway.wait_for_count("flight-" + std::to_string(i), 1));
  host().kill_hard();
  gateway.by_default(Reply::accept());
  restart_host();
  for (int i = 0; i < 20; ++i) {
    const auto id = "flight-" + std::to_string(i);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
    EXPECT_EQ(attempt_words(client(), id), (Words{"unknown", "accepted"}));
    EXPECT_EQ(gateway.count(id), 2u);
  }
}

// M18
TEST_F(Hosts, TwoHostsShareADatabaseAndNoIntentRunsTwice) {
  constexpr int kIntents = 300;
  const Installation second_place(setup);
  Daemon second(second_place);
  auto second_client = second.client();
  for (int i = 0; i < kIntents; ++i) {
    auto& through = i % 2 == 0 ? client() : second_client;
    EXPECT_EQ(post_intent(through, sms_intent("shared-" + std::to_string(i), "sms.attempts")).status, 200);
  }
  EXPECT_TRUE(eventually([&] { return all_ended(); }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state = 'accepted'"), kIntents);
  const auto counts = gateway.counts();
  EXPECT_EQ(counts.size(), static_cast<std::size_t>(kIntents));
  for (const auto& [reference, count] : counts) EXPECT_EQ(count, 1u) << reference;
  EXPECT_EQ(get_intent(client(), "shared-1")["status"], "accepted");  // handed in at the other
  EXPECT_EQ(second.terminate(), 0);
}

// M18
TEST_F(Hosts, TheOtherHostTakesOverWhenOneIsKilled) {
  client();
  const auto first_id = newest_host();
  const Installation second_place(setup);
  Daemon second(second_place);
  gateway.script("orphan", {Reply::hang(), Reply::accept()});
  post_intent(client(), sms_intent("orphan", "sms.attempts"));
  ASSERT_TRUE(gateway.wait_for_count("orphan", 1));
  const bool first_has_it = sql().number("SELECT claimed_by FROM waybill.ready") == first_id;
  auto survivor = first_has_it ? second.client() : HttpClient(host().port());
  (first_has_it ? host() : second).kill_hard();
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_EQ(wait_for_end(survivor, "orphan")["status"], "accepted");
  RecordProperty("takeover_ms", static_cast<int>((std::chrono::steady_clock::now() - killed) / std::chrono::milliseconds(1)));
  EXPECT_EQ(attempt_words(survivor, "orphan"), (Words{"unknown", "accepted"}));
  EXPECT_EQ(gateway.count("orphan"), 2u);
  EXPECT_GE(metric(survivor, "submission_claims_lost_total{why=\"host_died\"}"), 1);
}

// M18
TEST_F(Hosts, ALivingHostIsNotTakenFor) {
  setup.more = "timeouts: {attempt: 30s}\n";
  gateway.script("long", {Reply::accept_when_released()});
  post_intent(client(), sms_intent("long", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("long", 1));
  const Installation second_place(setup);
  Daemon second(second_place);
  auto second_client = second.client();
  for (int i = 0; i < 50; ++i) post_intent(second_client, sms_intent("other-" + std::to_string(i), "sms.attempts"), 30);
  gateway.release();
  EXPECT_EQ(wait_for_end(second_client, "long")["status"], "accepted");
  EXPECT_EQ(gateway.count("long"), 1u);
  EXPECT_EQ(attempt_words(client(), "long"), Words{"accepted"});
}

// E4
TEST_F(Hosts, ARowThatSomebodyHoldsLockedPastItsLeaseIsSettledOnceAndKeepsNoOtherWaiting) {
  setup.more = "timeouts: {attempt: 3s, attempt_grace: 100ms, lease: 5s}\n";
  gateway.script("held", {Reply::accept_when_released()});
  post_intent(client(), sms_intent("held", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("held", 1));
  const std::string end_of_lease =
      "SELECT waybill.micros(c.lease_until) FROM waybill.claims c JOIN waybill.ready r ON r.shard = c.shard AND c.token = "
      "r.claim_token";
  SqlClient person(setup.database_url);
  person.execute("BEGIN");
  person.execute("SELECT FROM waybill.ready FOR UPDATE");
  gateway.release();
  for (int i = 0; i < 20; ++i) {
    const auto id = "other-" + std::to_string(i);
    post_intent(client(), sms_intent(id, "sms.attempts"));
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
  }
  EXPECT_EQ(get_intent(client(), "held")["status"], "pending");
  const auto before = sql().number(end_of_lease);
  ASSERT_TRUE(eventually([&] { return sql().number(end_of_lease) > before + 2 * 5'000'000; })) << "its host still has it";
  EXPECT_EQ(get_intent(client(), "held")["status"], "pending");
  person.execute("COMMIT");
  EXPECT_EQ(wait_for_end(client(), "held")["status"], "accepted");
  EXPECT_EQ(gateway.count("held"), 1u);
  EXPECT_EQ(attempt_words(client(), "held"), Words{"accepted"});
  EXPECT_EQ(metric(client(), "submission_claims_lost_total{why=\"lease_expired\"}"), 0);
}

// E7
TEST_F(Hosts, AHostThatLosesItsLivenessSessionAloneGoesOnAsItself) {
  setup.more = "timeouts: {takeover: 5s}\n";  // a slow machine has time to connect anew between two looks
  client();
  const Installation second_place(setup);
  Daemon second(second_place);
  gateway.by_default(Reply::accept_when_released());
  for (int i = 0; i < 20; ++i) post_intent(client(), sms_intent("held-" + std::to_string(i), "sms.patient"));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(gateway.wait_for_count("held-" + std::to_string(i), 1));
  const std::string hosts = "SELECT string_agg(host_id::text, ' ' ORDER BY host_id) FROM waybill.hosts",
                    before = sql().text(hosts);
  const std::string sessions =
      " FROM pg_stat_activity a JOIN pg_locks l USING (pid) WHERE a.datname = current_database() AND l.locktype = 'advisory' AND "
      "l.granted"
      " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND l.objid IN (SELECT host_id FROM "
      "waybill.hosts)"
      " AND a.backend_start > ";
  for (int round = 0; round < 6; ++round) {
    const auto since = "'" + sql().text("SELECT clock_timestamp()") + "'";
    const auto rows = "'" + sql().text("SELECT array_agg(xmin::text) FROM waybill.hosts") + "'";
    sql().rows("SELECT pg_terminate_backend(a.pid)" + sessions + "'-infinity'");
    const auto are_back = [&] {
      return sql().number("SELECT count(*)" + sessions + since) == 2 &&
             sql().number("SELECT count(*) FROM waybill.hosts WHERE xmin::text <> ALL (" + rows + "::text[])") == 2;
    };
    ASSERT_TRUE(eventually(are_back)) << "round " << round;
  }
  gateway.release();
  for (int i = 0; i < 20; ++i) {
    const auto id = "held-" + std::to_string(i);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
    EXPECT_EQ(gateway.count(id), 1u) << id;
    EXPECT_EQ(attempt_words(client(), id), Words{"accepted"});
  }
  EXPECT_EQ(sql().text(hosts), before) << "nobody was rescued, nobody has another id";
}

// E7: one request is out, the other waits for its place in the same host's memory
TEST_F(Hosts, AHostThatWasStoppedPastItsLeaseSendsNothingThatItHadNotBegun) {
  setup.more = "timeouts: {attempt: 8s, attempt_grace: 100ms, lease: 10s}\nlimits: {per_host_name: 1}\n";
  post_intent(client(), sms_intent("quick", "sms.patient"), 30);  // work is claimed ahead where answers are quick
  gateway.script("out", {Reply::hang(), Reply::accept()});
  post_intent(client(), sms_intent("out", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("out", 1));
  post_intent(client(), sms_intent("waits", "sms.patient"));
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready WHERE status = 'claimed'") == 2; }));
  host().signal(SIGSTOP);
  const Installation second_place(setup);
  Daemon second(second_place);
  auto second_client = second.client();
  EXPECT_EQ(wait_for_end(second_client, "waits")["status"], "accepted");
  EXPECT_EQ(wait_for_end(second_client, "out")["status"], "accepted");
  host().signal(SIGCONT);
  EXPECT_TRUE(eventually([&] { return metric(client(), "submission_in_flight") == 0; }));
  EXPECT_EQ(gateway.count("waits"), 1u);
  EXPECT_EQ(gateway.count("out"), 2u);
  EXPECT_GE(metric(second_client, "submission_claims_lost_total{why=\"lease_expired\"}"), 1);
}

// E9: what waited for a connection would have less time for its attempt
TEST_F(Hosts, ABurstToASlowReceiverIsSentOnceEach) {
  setup.more = "timeouts: {attempt: 6s}\nlimits: {per_host_name: 4}\n";
  gateway.by_default(Reply::accept_when_released());
  for (int i = 0; i < 8; ++i) post_intent(client(), sms_intent("burst-" + std::to_string(i), "sms.patient"));
  ASSERT_TRUE(eventually([&] { return gateway.count() == 4; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready WHERE status = 'claimed'"), 4) << "the others wait in the database";
  gateway.release();
  for (int i = 0; i < 8; ++i) {
    const auto id = "burst-" + std::to_string(i);
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
    EXPECT_EQ(gateway.count(id), 1u) << id;
  }
}

// M12
TEST_F(Hosts, TerminationFinishesWhatIsInFlight) {
  gateway.by_default(Reply::accept_when_released());
  for (int i = 0; i < 10; ++i) post_intent(client(), sms_intent("drain-" + std::to_string(i), "sms.patient"));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(gateway.wait_for_count("drain-" + std::to_string(i), 1));
  host().signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return client().get("/readyz").status == 503; }));  // it drains, and says so
  gateway.release();
  EXPECT_EQ(host().wait(), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state = 'accepted'"), 10);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE outcome = 'accepted'"), 10);
  EXPECT_EQ(gateway.count(), 10u);
}

// M12
TEST_F(Hosts, TerminationDoesNotWaitForEverAndLosesNothing) {
  setup.more = "timeouts: {drain: 500ms, attempt: 60s, lease: 120s}\n";
  gateway.script("stuck", {Reply::hang(), Reply::accept()});
  post_intent(client(), sms_intent("stuck", "sms.patient"));
  ASSERT_TRUE(gateway.wait_for_count("stuck", 1));
  EXPECT_EQ(host().terminate(), 0);
  restart_host();
  EXPECT_EQ(wait_for_end(client(), "stuck")["status"], "accepted");
  EXPECT_EQ(gateway.count("stuck"), 2u);
  EXPECT_EQ(attempt_words(client(), "stuck"), (Words{"error", "accepted"}));  // seen, and doubtful: not a crash
}

// M12
TEST_F(Hosts, AnInterruptEndsAnIdleHostWithZero) {
  client().get("/healthz");
  host().signal(SIGINT);
  EXPECT_EQ(host().wait(), 0);
}

// M12: the database goes away under load, in the way of a crash
TEST_F(Hosts, ADatabaseRestartUnderLoadLosesNoAcknowledgedIntent) {
  client();
  std::mutex mutex;
  std::set<std::string> acknowledged;
  const auto count = [&] {
    const std::lock_guard lock(mutex);
    return acknowledged.size();
  };
  std::atomic<bool> enough{false};
  std::vector<std::jthread> load;
  for (int t = 0; t < 4; ++t)
    load.emplace_back([&, t] {
      HttpClient own(host().port());
      for (int i = 0; !enough; ++i) {
        const auto id = "load-" + std::to_string(t) + "-" + std::to_string(i);
        const auto response = own.try_request("POST", "/v1/intents", sms_intent(id, "sms.patient").dump());
        if (!response || response->status >= 500) {
          eventually([&] { return enough || own.try_request("GET", "/readyz").value_or(HttpResponse{}).status == 200; });
          continue;
        }
        EXPECT_EQ(response->status, 200) << response->body;
        const std::lock_guard lock(mutex);
        acknowledged.insert(id);
      }
    });
  const AtEnd no_more([&] { enough = true; });  // also when the test ends early
  for (const auto how : {PostgresCluster::Stop::immediate, PostgresCluster::Stop::fast}) {
    const auto before = count();
    EXPECT_TRUE(eventually([&] { return count() > before + 200; }));
    cluster().restart(how);
  }
  const auto before = count();
  EXPECT_TRUE(eventually([&] { return count() > before + 50; }));
  enough = true;
  load.clear();
  SqlClient fresh(setup.database_url);
  EXPECT_TRUE(
      eventually([&] { return fresh.number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; }));
  std::set<std::string> accepted;
  for (const auto& row : fresh.rows("SELECT client_ref FROM waybill.submission_states WHERE state = 'accepted'"))
    accepted.insert(*row[0]);
  for (const auto& id : acknowledged) EXPECT_TRUE(accepted.contains(id)) << id;
  EXPECT_TRUE(host().running());
}

// M12: sessions are cut one and all, while the server lives
TEST_F(Hosts, LostSessionsAreOpenedAgain) {
  post_intent(client(), sms_intent("before", "sms.deadline"), 30);
  for (int round = 0; round < 3; ++round) {
    sql().execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()");
    const auto id = "after-" + std::to_string(round);
    EXPECT_TRUE(eventually([&] { return post_intent(client(), sms_intent(id, "sms.deadline")).status < 300; }));
    EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted");
  }
  EXPECT_TRUE(host().running());
}

}  // namespace
}  // namespace waybill::testing
