// After a restore: what may have been sent since ends unsent, once, and the rest goes on.  O7
#include "maintenance/restore_fence.h"

#include "contract/hosts_world.h"
#include "store/operations/failed_store.h"

namespace waybill::testing {
namespace {

class RestoreFence : public HostsWorld {
 protected:
  Timestamp now() { return {sql.number("SELECT micros(clock_timestamp())")}; }
  void one_shot(const std::string& ref) {
    auto one = item(ref, "{}", "sms.once");
    one.route = route("sms.once", kDefaultOrg, Policy::one_shot);
    submit({one});
  }
  Result<FenceReport> fence(const FenceOrder& order) { return fence_restored({*fences, *queues, *settles}, order, log); }
  FenceReport fenced(FenceOrder order) {
    order.actor = "ada";
    const auto done = fence(order);
    EXPECT_TRUE(done) << done.error().what;
    return done.value_or(FenceReport{});
  }
  std::string end_of(const std::string& ref) {
    return sql.text("SELECT state || ' ' || coalesce(reason, '') FROM submission_states WHERE client_ref = '" + ref + "'");
  }
  // As the queue never does: its own statements and triggers do not allow it.
  void force_queue(const std::string& change, const std::string& ref) {
    sql.execute("SET session_replication_role = replica");
    sql.execute("UPDATE ready SET " + change + " WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = '" + ref +
                "')");
    sql.execute("SET session_replication_role = DEFAULT");
  }

  std::unique_ptr<FenceStore> fences = make_fence_store(owner);
  std::unique_ptr<QueueStore> queues = make_queue_store(owner);
  std::unique_ptr<SettleStore> settles = make_settle_store(owner, 1);
  Log log{Log::Level::error, Log::Format::json};
};

// O7 M17
TEST_F(RestoreFence, OneShotsInDoubtEndAsRestoredAndOthersAreNotedAsMaybeSent) {
  one_shot("due");
  one_shot("waits");
  force_queue("status = 'waiting', queued = false", "waits");
  one_shot("held");
  force_queue("status = 'claimed', claim_token = 77, claimed_by = 12345, claimed_at = now(), lease_until = now()", "held");
  submit_many(1, "again-");
  const auto moment = now();
  const auto done = fenced({.restored_to = moment});
  EXPECT_TRUE(done.is_new);
  EXPECT_EQ(done.ended, 3);
  EXPECT_EQ(done.noted, 1);
  EXPECT_EQ(done.by_target.at({"default", "sms.once"}), 3);
  for (const auto* ref : {"due", "waits", "held"}) EXPECT_EQ(end_of(ref), "exhausted restored");
  EXPECT_EQ(end_of("again-0"), "pending ");
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE maybe_sent AND status = 'due'"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM dead_letters WHERE reason = 'restored' AND replayed_at IS NULL"), 3);
  EXPECT_EQ(
      sql.number(
          "SELECT count(*) FROM attempts WHERE outcome = 'unknown' AND maybe_sent AND NOT counts AND micros(started_at) = " +
          std::to_string(moment.micros)),
      3)
      << "a resend is refused unless it is asked for what may have been sent";
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log WHERE trigger = 'restore' AND actor = 'ada' AND to_state = 'exhausted'"),
            3);
  EXPECT_EQ(sql.number("SELECT (metadata ->> 'ended')::bigint FROM audit_log WHERE action = 'restore_fenced'"), 3);
  const auto again = fenced({.restored_to = moment});
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.ended, 0);
  EXPECT_EQ(again.noted, 0);
}

// O7
TEST_F(RestoreFence, WhatCannotHaveBeenSentYetStays) {
  one_shot("later");
  one_shot("after_outage");
  one_shot("tried");
  force_queue("due_at = now() + interval '1 hour'", "later");
  force_queue("due_at = now() + interval '1 hour', uncounted = 1, attempt_count = 1", "after_outage");
  force_queue("due_at = now() + interval '1 hour', attempt_count = 1", "tried");
  EXPECT_EQ(fenced({.restored_to = now()}).ended, 2);
  EXPECT_EQ(end_of("later"), "pending ");
  EXPECT_EQ(end_of("after_outage"), "exhausted restored") << "somebody may have ended the outage sooner";
  EXPECT_EQ(end_of("tried"), "exhausted restored") << "somebody may have resumed or rerouted it";
}

// O7: a host ran after the restore and somebody sent again what the first fence had ended; then the fence is run once more
TEST_F(RestoreFence, AReplayThatWasOrderedAfterTheMomentStays) {
  one_shot("since");
  one_shot("before");
  const auto restored = now();
  ASSERT_EQ(fenced({.restored_to = restored}).ended, 2);
  const auto store = make_failed_store(address, 10);
  const auto resent = [&](const std::string& ref) {
    const auto done = store->resend(kDefaultOrg, {.filter = {.reference = ref}, .actor = "ada", .include_maybe_sent = true});
    return done ? done->count : 0;
  };
  ASSERT_EQ(resent("before"), 1u);
  const auto second = now();
  ASSERT_EQ(resent("since"), 1u);
  EXPECT_EQ(fenced({.restored_to = second, .dry_run = true, .force = true}).ended, 1) << "this one may have been sent since";
  EXPECT_EQ(fenced({.restored_to = restored, .force = true}).ended, 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'due'"), 2);
}

// O7
TEST_F(RestoreFence, AStageThatWasRunAgainAfterTheMomentStays) {
  one_shot("charge");
  const auto before = now();
  sql.execute("SET session_replication_role = replica");  // there is no version of the pipeline
  sql.execute(
      "INSERT INTO pipeline_submissions (shard, submission_id, org_id, version_id, pipeline, state, step, routes, metadata, "
      "created_at) SELECT shard, id, org_id, 1, 'charge', 'CHARGE', 2, '{}', '{}', created_at FROM submissions");
  sql.execute(
      "INSERT INTO pipeline_repairs (shard, submission_id, step, org_id, from_state, to_state) SELECT shard, id, 2, org_id, "
      "'CHARGE', 'CHARGE' FROM submissions");
  sql.execute("SET session_replication_role = DEFAULT");
  EXPECT_EQ(fenced({.restored_to = before, .dry_run = true, .force = true}).ended, 0);
  sql.execute("UPDATE pipeline_repairs SET step = 1");
  EXPECT_EQ(fenced({.restored_to = before, .dry_run = true, .force = true}).ended, 1) << "that was an earlier stage";
  sql.execute("UPDATE pipeline_repairs SET step = 2");
  EXPECT_EQ(fenced({.restored_to = now(), .dry_run = true, .force = true}).ended, 1) << "it was in the backup";
}

// O7
TEST_F(RestoreFence, AWrongMomentAndRunningHostsAreRefused) {
  one_shot("before");
  const auto moment = now();
  one_shot("after");
  auto refusal = fence({.restored_to = moment});
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().kind, Error::Kind::conflict);
  EXPECT_NE(refusal.error().what.find("the newest submission came in at"), std::string::npos) << refusal.error().what;
  refusal = fence({.restored_to = now() + Seconds(3600)});
  ASSERT_FALSE(refusal);
  EXPECT_NE(refusal.error().what.find("is in the future"), std::string::npos) << refusal.error().what;
  HostLiveness host(address, "box:1");
  ASSERT_TRUE(host.keep());
  refusal = fence({.restored_to = now()});
  ASSERT_FALSE(refusal);
  EXPECT_NE(refusal.error().what.find("hosts are running (box:1)"), std::string::npos) << refusal.error().what;
  EXPECT_EQ(sql.number("SELECT count(*) FROM restores"), 0) << "nothing was begun";
  EXPECT_EQ(fenced({.restored_to = moment, .force = true}).ended, 1);
  EXPECT_EQ(end_of("before"), "exhausted restored");
  EXPECT_EQ(end_of("after"), "pending ") << "it was handed in after the restore";
}

// O7
TEST_F(RestoreFence, WhatALivingHostHasClaimedIsThatHosts) {
  HostLiveness host(address, "box:1");
  const auto id = host.keep();
  ASSERT_TRUE(id);
  one_shot("held");
  claim(route("sms.once", kDefaultOrg, Policy::one_shot), 1, {5}, *id);
  EXPECT_EQ(fenced({.restored_to = now(), .force = true}).ended, 0);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed' AND claim_token = 5"), 1);
}

// O7
TEST_F(RestoreFence, ADryRunTellsTheSameAndWritesNothing) {
  one_shot("one");
  submit_many(2, "again-");
  const auto number = sql.number("SELECT last_value FROM object_ids");
  const auto told = fenced({.restored_to = now(), .dry_run = true});
  EXPECT_EQ(told.ended, 1);
  EXPECT_EQ(told.noted, 2);
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'due' AND NOT maybe_sent"), 3);
  EXPECT_EQ(sql.number("SELECT count(*) FROM restores"), 0);
  EXPECT_EQ(sql.number("SELECT last_value FROM object_ids"), number);
}

// O7
TEST_F(RestoreFence, ItGoesInBatchesAndGoesOnWhereItWasCutOff) {
  for (int i = 0; i < 7; ++i) one_shot("one-" + std::to_string(i));
  submit_many(5, "again-");
  const auto moment = now();
  ASSERT_TRUE(fences->begin(moment, "ada"));
  std::vector<DeliveryId> first;
  const auto page = fences->in_doubt(0, moment, {}, 3);
  ASSERT_TRUE(page) << page.error().what;
  for (const auto& one : page->items) first.push_back(one.delivery.delivery);
  ASSERT_EQ(first.size(), 3u);
  ASSERT_EQ(fences->take(0, {-1}, first)->size(), 3u);  // and there it was killed
  const auto done = fenced({.restored_to = moment, .batch = 2});
  EXPECT_FALSE(done.is_new);
  EXPECT_EQ(done.ended, 7);
  EXPECT_EQ(done.noted, 5);
  EXPECT_EQ(sql.number("SELECT count(*) FROM submission_states WHERE reason = 'restored'"), 7);
}

// O7: numbers that were given out after the moment, and are lost, are not given out again
TEST_F(RestoreFence, IdsThatMayHaveBeenGivenOutSinceAreLeftOutOnce) {
  one_shot("before");
  const auto last = sql.number("SELECT last_value FROM object_ids");
  const auto moment = now();
  fenced({.restored_to = moment});
  fenced({.restored_to = moment});
  submit_many(1, "new-");
  const auto fresh = sql.number("SELECT id / 1024 FROM submissions WHERE client_ref = 'new-0'");
  EXPECT_GT(fresh, last + kIdsLeftOut);
  EXPECT_LT(fresh, last + 2 * kIdsLeftOut) << "a fence that is run again leaves out no more";
}

}  // namespace
}  // namespace waybill::testing
