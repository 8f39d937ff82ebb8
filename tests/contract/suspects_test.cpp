// Deliveries that were inside a plugin when their host died: out of the others' way, tried alone, and free again once they live.
// E1
#include <sys/wait.h>
#include <unistd.h>

#include "contract/store_world.h"
#include "maintenance/maintenance.h"
#include "store/queue/suspect_store.h"
#include "support/call_builders.h"
#include "support/eventually.h"
#include "support/temp_folder.h"

namespace waybill::testing {
namespace {

class Suspects : public StoreWorld {
 protected:
  // The only delivery, claimed in an attempt that was lost with so many deaths counted against it.
  Settlement lost(const ClaimedRow& row, ClaimToken token, std::uint32_t losses, Timestamp due) {
    auto s = retrying(row, token, due);
    s.history.lease_lost = losses;
    s.history.uncounted = row.history.uncounted + 1;
    s.attempt->outcome = "unknown";
    s.attempt->counts = false;
    return s;
  }
  ClaimedRow make_suspect(const std::string& ref = "poison", std::uint32_t losses = 1) {
    submit({item(ref)});
    const auto rows = claim(route(), 1).rows;
    EXPECT_EQ(rows.size(), 1u);
    EXPECT_EQ(settled({lost(rows.at(0), {1}, losses, rows.at(0).due)}).size(), 1u);
    return rows.at(0);
  }
  ClaimResult claim_suspect(ClaimToken token = {9}) {
    auto claimed = suspects->claim(0, {7}, token, Millis(60'000));
    EXPECT_TRUE(claimed) << claimed.error().what;
    return claimed.value_or(ClaimResult{});
  }
  std::string standing() {
    return sql.text("SELECT status || ' ' || queued || ' ' || lease_lost || ' ' || attempt_count FROM ready");
  }

  std::unique_ptr<SuspectStore> suspects = make_suspect_store(address);
};

// T3
TEST_F(Suspects, WhoTriesNoneForALeaseWhileOneIsDueHangsAndTriesNoneAnyMore) {
  const auto hung = make_suspect_store(address);
  ASSERT_TRUE(*hung->lead());
  EXPECT_FALSE(*suspects->end_silent_lead(Millis(0))) << "there is none";
  make_suspect();
  sql.execute("UPDATE ready SET due_at = now() - interval '10 minutes'");
  EXPECT_FALSE(*suspects->is_help_wanted());
  EXPECT_FALSE(*suspects->end_silent_lead(std::chrono::hours(1))) << "it asked something within the hour";
  EXPECT_FALSE(*suspects->is_help_wanted());
  EXPECT_TRUE(*suspects->end_silent_lead(Millis(0)));
  EXPECT_TRUE(eventually([&] { return suspects->is_help_wanted().value_or(false); }));
}

TEST_F(Suspects, HostsDoNotSeeOneAndTheQuarantineDoes) {
  const auto row = make_suspect();
  EXPECT_EQ(standing(), "due false 1 1");
  EXPECT_TRUE(queue->due_routes(0)->routes.empty());
  EXPECT_TRUE(claim(route(), 10, {2}).rows.empty());
  const auto claimed = claim_suspect();
  ASSERT_EQ(claimed.rows.size(), 1u);
  const auto& one = claimed.rows[0];
  EXPECT_EQ(one.delivery, row.delivery);
  EXPECT_EQ(one.route, route());
  EXPECT_EQ(one.history.attempt_count, 1u);
  EXPECT_EQ(one.history.lease_lost, 1u);
  EXPECT_EQ(one.history.uncounted, 1u);
  EXPECT_EQ(one.client_ref, "poison");
  EXPECT_EQ(one.payload, row.payload);
  EXPECT_EQ(one.created, row.created);
  EXPECT_GE(claimed.now, row.created);
  EXPECT_TRUE(claim_suspect({10}).rows.empty());
  EXPECT_EQ(rescue->orphaned_claims(0, HostId{7}, 10)->claims.size(), 1u) << "found again when the quarantine dies";
  ASSERT_TRUE(queue->give_back(0, {7}, {9}));
  EXPECT_EQ(standing(), "due false 1 1");
  EXPECT_EQ(claim_suspect({11}).rows.size(), 1u);
}

TEST_F(Suspects, OneThatLivesThroughAnAttemptIsADeliveryLikeOthers) {
  make_suspect();
  const auto row = claim_suspect().rows.at(0);
  auto again = retrying(row, {9}, row.created);
  again.history.lease_lost = 0;
  ASSERT_EQ(settled({again}).size(), 1u);
  EXPECT_EQ(standing(), "due true 0 2");
  EXPECT_EQ(claim(route(), 10, {3}).rows.size(), 1u);
}

TEST_F(Suspects, OneThatEndsIsGone) {
  make_suspect();
  const auto row = claim_suspect().rows.at(0);
  ASSERT_EQ(settled({ending(row, {9}, Status::accepted)}).size(), 1u);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 0);
  EXPECT_FALSE(suspects->next_due()->has_value());
}

TEST_F(Suspects, AreTriedOneByOneTheOldestFirstAndNotBeforeTheyAreDue) {
  make_suspect("a");
  make_suspect("b");
  sql.execute(
      "UPDATE ready SET due_at = now() - interval '1 hour' WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = "
      "'b')");
  EXPECT_EQ(suspects->next_due()->value_or(Micros{-1}), Micros{0});
  const auto first = claim_suspect();
  ASSERT_EQ(first.rows.size(), 1u);
  EXPECT_EQ(first.rows[0].client_ref, "b");
  sql.execute("UPDATE ready SET due_at = now() + interval '1 hour' WHERE status = 'due'");
  EXPECT_TRUE(claim_suspect({10}).rows.empty());
  EXPECT_GT(suspects->next_due()->value_or(Micros{0}), Seconds(1800));
  EXPECT_FALSE(*suspects->is_help_wanted());
}

TEST_F(Suspects, WaitWhileTheirTargetRests) {
  make_suspect();
  const Timestamp until{sql.number("SELECT micros(now() + interval '1 hour')")};
  rest({{kDefaultOrg, "sms.primary", until, "timeout"}});
  EXPECT_TRUE(claim_suspect().rows.empty());
}

TEST_F(Suspects, OneProcessTriesThemAndHelpIsWantedOnlyWhileNoneDoes) {
  const auto other = make_suspect_store(address);
  EXPECT_FALSE(*suspects->is_help_wanted()) << "there is nothing to do";
  make_suspect();
  EXPECT_TRUE(*suspects->is_help_wanted());
  EXPECT_TRUE(*suspects->is_help_wanted()) << "to ask is not to take";
  EXPECT_TRUE(*suspects->lead());
  EXPECT_TRUE(*suspects->lead());
  EXPECT_FALSE(*other->lead());
  EXPECT_FALSE(*other->is_help_wanted());
  suspects.reset();
  EXPECT_TRUE(eventually([&] { return other->is_help_wanted().value_or(false); }));
  EXPECT_TRUE(*other->lead());
}

TEST_F(Suspects, AnAccusationCountsOnceAndOnlyUntilTheDeliveryHasLivedThroughAnAttempt) {
  using Accusation = SuspectStore::Accusation;
  submit({item("poison")});
  const auto row = claim(route(), 1).rows.at(0);
  const SuspectStore::HostDeath charge{row.delivery, 1, 0, 0};
  const auto accuse = [&] { return suspects->accuse(charge, Millis(0)).value(); };
  EXPECT_EQ(accuse(), Accusation::too_early) << "its dead host still has it";
  ASSERT_EQ(settled({lost(row, {1}, 0, row.due)}).size(), 1u);
  EXPECT_EQ(standing(), "due true 0 1") << "taken back by somebody who knew nothing";
  const auto again = claim(route(), 1, {2}).rows.at(0);
  EXPECT_EQ(accuse(), Accusation::too_early) << "another host tries it";
  ASSERT_EQ(settled({lost(again, {2}, 0, row.due)}).size(), 1u);
  EXPECT_EQ(standing(), "due true 0 2") << "and died with it";
  EXPECT_EQ(accuse(), Accusation::yes);
  EXPECT_EQ(standing(), "due false 1 2");
  EXPECT_EQ(accuse(), Accusation::too_late) << "it was counted";
  const auto alone = claim_suspect().rows.at(0);
  auto lived = retrying(alone, {9}, row.due);
  lived.history.lease_lost = 0;
  lived.history.uncounted = 2;
  ASSERT_EQ(settled({lived}).size(), 1u);
  EXPECT_EQ(accuse(), Accusation::too_late);
  EXPECT_EQ(standing(), "due true 0 3");
  EXPECT_EQ(suspects->accuse({{1 << kShardBits}, 1, 0, 0}, Millis(0)).value(), Accusation::too_late)
      << "there is no such delivery";
}

TEST_F(Suspects, AnAccusationAloneEndsNothing) {
  const auto row = make_suspect("poison", 2);
  EXPECT_EQ(suspects->accuse({row.delivery, 1, 0, 2}, Millis(0)).value(), SuspectStore::Accusation::yes);
  EXPECT_EQ(standing(), "due false 2 1") << "it is tried alone once more";
}

TEST_F(Suspects, TheQueueRefusesOneThatHostsCouldClaim) {
  make_suspect();
  EXPECT_TRUE(refused("UPDATE ready SET queued = true", "\"ready_check\""));
  EXPECT_TRUE(refused("UPDATE ready SET lease_lost = 0", "\"ready_check\""));
  EXPECT_TRUE(refused("UPDATE ready SET status = 'waiting'", "\"ready_check\""));
}

// What is claimed must stay on its page, suspects or not: no index may have what a claim changes.
TEST_F(Suspects, ClaimsStillWriteNoIndex) {
  submit_many(5);
  make_suspect();
  claim(route(), 5, {2});
  claim_suspect();
  ASSERT_TRUE(eventually([&] {
    sql.rows("SELECT pg_stat_clear_snapshot()");
    return sql.number("SELECT n_tup_upd FROM pg_stat_user_tables WHERE relname = 'ready'") >= 8;
  }));
  // Six claims; the settlement that moves a row in the queue is the only update that may touch an index.
  EXPECT_EQ(sql.number("SELECT n_tup_upd - n_tup_hot_upd FROM pg_stat_user_tables WHERE relname = 'ready'"), 1);
}

TEST_F(Suspects, AnAlertIsRaised) {
  ASSERT_TRUE(suspects->raise_alert(kDefaultOrg, "plugin_crash", "sms", "words"));
  ASSERT_TRUE(suspects->raise_alert(kDefaultOrg, "plugin_switched_off", "sms", "words"));
  EXPECT_EQ(sql.text("SELECT string_agg(incident || ' ' || message, ', ' ORDER BY incident) FROM alerts"),
            "plugin_crash:sms words, plugin_switched_off:sms words");
}

// ---- maintenance with trails ----

class CrashStory : public Suspects {
 protected:
  // A process that leaves this trail and is killed.
  void die_inside(Trail trail) {
    const pid_t child = fork();
    if (child == 0) {
      const auto file = folder->begin(BreadcrumbFile::Of::host);
      if (!file) _exit(1);
      auto crumb = (*file)->line("sms", "waybill.sms");
      crumb.enter(trail);
      ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  void start() {
    running = std::make_unique<Maintenance>(
        liveness, *rescue, *queue, *settle, std::vector<PeriodicTask>{crashes.task(*suspects)}, clock,
        MaintenanceSettings{.shards = 1, .actor = "box:1", .takeover = Millis(5), .crashes = &crashes},
        MaintenanceHooks{.wake = [] {}, .rescued = [] {}, .open_claims = [] { return OpenClaims{}; }}, log, metrics);
    running->start();
  }
  std::string standing_of(const std::string& ref) {
    return sql.text(
        "SELECT coalesce((SELECT status || ' ' || queued || ' ' || lease_lost FROM ready WHERE submission_id = "
        "(SELECT id FROM submissions WHERE client_ref = '" +
        ref + "')), '')");
  }

  SystemClock clock;
  KeptLog log;
  Metrics metrics;
  TempFolder place;
  std::unique_ptr<BreadcrumbFolder> folder =
      std::move(*BreadcrumbFolder::open({.base = place.path() / "crumbs", .embedded = {}, .installation = "db"}));
  Crashes crashes{*folder, clock, log, metrics};
  HostLiveness liveness{address, "box:1"};
  std::unique_ptr<Maintenance> running;
};

TEST_F(CrashStory, OnlyWhatThePluginWasInsideOfIsChargedAndNamedEverywhere) {
  submit({item("bystander"), item("poison")});
  const auto rows = claim(route(), 2, {1}, {12345}).rows;
  const auto poison = rows[0].client_ref == "poison" ? rows[0] : rows[1];
  die_inside({poison.delivery, 1, 0, 0});
  crashes.look();
  start();
  ASSERT_TRUE(eventually([&] { return standing_of("poison") == "due false 1"; }));
  EXPECT_EQ(standing_of("bystander"), "due true 0");
  ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM alerts WHERE kind = 'plugin_crash'") == 1; }));
  const auto words = sql.text("SELECT message FROM alerts");
  for (const auto& part : {std::string("waybill.sms"), std::string("poison"), std::to_string(poison.delivery.value)})
    EXPECT_NE(words.find(part), std::string::npos) << words;
  EXPECT_EQ(log.count("plugin.crashed"), 1u);
  EXPECT_NE(metrics.text().find(R"(submission_plugin_misbehaviour_total{action_type="sms",how="crashed_host"} 1)"),
            std::string::npos);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts WHERE outcome = 'unknown' AND NOT counts"), 2);
}

TEST_F(CrashStory, TheThirdDeathIsADeadLetter) {
  submit({item("poison")});
  const auto row = claim(route(), 1, {1}, {12345}).rows.at(0);
  sql.execute("UPDATE ready SET attempt_count = 2, uncounted = 2, lease_lost = 2, queued = false");
  die_inside({row.delivery, 3, 2, 2});
  crashes.look();
  start();
  ASSERT_TRUE(eventually([&] { return log.count("dead_letter.created") == 1; }));
  ASSERT_TRUE(eventually([&] { return sql.number("SELECT count(*) FROM dead_letters WHERE reason = 'worker_lost'") == 1; }));
  EXPECT_EQ(sql.text("SELECT state || ' ' || reason FROM submission_states"), "exhausted worker_lost");
  EXPECT_EQ(sql.text("SELECT trigger || ' ' || (metadata ->> 'leaseLost') FROM audit_log"), "lease_lost 3");
  EXPECT_EQ(sql.text("SELECT incident || ' ' || message FROM alerts WHERE kind = 'dead_letter'"),
            "dead_letter:sms.primary/1:worker_lost intent poison: sms.primary, action 1 (sms) ended as worker_lost");
}

TEST_F(CrashStory, AnAlertThatIsLostWithItsHostsRaisesNone) {  // F13
  submit({item("told-nobody")});
  sql.execute("UPDATE submissions SET kind = 'alert'");
  const auto row = claim(route(), 1, {1}, {12345}).rows.at(0);
  sql.execute("UPDATE ready SET attempt_count = 2, uncounted = 2, lease_lost = 2, queued = false");
  die_inside({row.delivery, 3, 2, 2});
  crashes.look();
  start();
  ASSERT_TRUE(eventually([&] { return log.count("alert.not_delivered") == 1; }));
  EXPECT_NE(metrics.text().find("submission_alerts_not_delivered_total 1"), std::string::npos);
  EXPECT_EQ(log.count("dead_letter.created"), 0u);
  running->stop();
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts"), 0);
}

TEST_F(CrashStory, DeathsThatNameNobodyChargeNobodyHoweverMany) {
  submit({item("bystander")});
  start();
  for (int i = 1; i <= 4; ++i) {
    const ClaimToken token{i};
    ASSERT_TRUE(eventually([&] { return !claim(route(), 1, token, {12345}).rows.empty(); }));
    ASSERT_TRUE(eventually([&] { return standing_of("bystander") == "due true 0"; })) << i;
  }
  EXPECT_EQ(sql.number("SELECT attempt_count - uncounted FROM ready"), 0);
}

TEST_F(CrashStory, WhatAnotherHostTookBackWithoutKnowingIsAccusedLater) {
  submit({item("poison")});
  const auto row = claim(route(), 1, {1}, {12345}).rows.at(0);
  ASSERT_EQ(settled({lost(row, {1}, 0, row.due)}).size(), 1u);
  die_inside({row.delivery, 1, 0, 0});
  ASSERT_TRUE(crashes.report(*suspects));
  EXPECT_EQ(standing_of("poison"), "due false 1");
  EXPECT_EQ(log.count("plugin.crashed"), 1u);
  ASSERT_TRUE(crashes.report(*suspects));
  EXPECT_EQ(standing_of("poison"), "due false 1");
  EXPECT_EQ(sql.number("SELECT count FROM alerts"), 1);
}

}  // namespace
}  // namespace waybill::testing
