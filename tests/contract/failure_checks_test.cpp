// The plan of failure checks, who takes a tick, and what a digest holds.  J5
#include <algorithm>
#include <thread>

#include "contract/pipeline_rows.h"
#include "maintenance/failure_schedule.h"

namespace waybill::testing {
namespace {

constexpr Millis kCheckLease{60'000};
constexpr char kHourly[] = "0 * * * *";

class FailureChecks : public PipelineRows {
 protected:
  void make_due(const std::string& ago = "1 minute") {
    ASSERT_TRUE(schedule.is_wanted(*store));  // plans
    sql.execute("UPDATE failure_checks SET next_at = date_trunc('hour', now() - interval '" + ago + "')");
  }
  FailureCheck begun() {
    make_due();
    const auto check = schedule.take(*store, "box:1");
    EXPECT_TRUE(check && *check) << "the tick was not taken";
    return check && *check ? **check : FailureCheck{};
  }
  // As after this long without a sign of life of who does the check.
  void lose_lease() { sql.execute("UPDATE failure_checks SET lease_until = now()"); }

  static ReportedFailure failure(const std::string& provider_ref, const std::string& reference,
                                 const std::string& status = "permanent-failure") {
    return {.provider_ref = provider_ref,
            .reference = reference,
            .status = status,
            .detail = "",
            .failed_at = Timestamp{1'700'000'000'000'000}};
  }
  bool found(const FailureCheck& check, const std::vector<ReportedFailure>& page) {
    const auto mine = store->store(check, "mail.notify", "sms", page);
    EXPECT_TRUE(mine) << mine.error().what;
    return mine.value_or(false);
  }
  bool finish(const FailureCheck& check, const std::vector<FailureCheckStore::Ending::Alert>& organisations) {
    const auto mine =
        store->finish(check, {.targets = {{"mail.notify", check.now}}, .problems = {}, .organisations = organisations});
    EXPECT_TRUE(mine) << mine.error().what;
    return mine.value_or(false);
  }
  // Of the one failure with this provider's reference: its organisation and submission.
  std::string link_of(const std::string& provider_ref) {
    return sql.text("SELECT org_id || ' ' || coalesce(client_ref, '-') FROM digest_failures WHERE provider_ref = '" +
                    provider_ref + "'");
  }

  std::unique_ptr<FailureCheckStore> store = make_failure_check_store(address, kCheckLease);
  const FailureSchedule schedule{kHourly, "UTC"};
};

TEST_F(FailureChecks, TheFirstTickIsTheNextOneAndNoEarlierOne) {
  const auto wanted = schedule.is_wanted(*store);
  ASSERT_TRUE(wanted) << wanted.error().what;
  EXPECT_FALSE(*wanted);
  const auto state = store->state();
  ASSERT_TRUE(state && state->next);
  EXPECT_GT(*state->next, state->now);
  EXPECT_LE(*state->next - state->now, std::chrono::hours(1));
}

TEST_F(FailureChecks, ATickIsTakenByOneOfManyHosts) {
  make_due();
  std::atomic<int> taken = 0;
  {
    std::vector<std::jthread> hosts;
    for (int i = 0; i < 8; ++i)
      hosts.emplace_back([&] {
        const auto own = make_failure_check_store(address, kCheckLease);
        const auto check = schedule.take(*own, "box");
        if (check && *check) ++taken;
      });
  }
  EXPECT_EQ(taken, 1);
  EXPECT_FALSE(*schedule.is_wanted(*store)) << "it is under way";
}

TEST_F(FailureChecks, TicksThatWereMissedAreRunOnce) {
  make_due("30 days");
  const auto check = schedule.take(*store, "box:1");
  ASSERT_TRUE(check && *check);
  EXPECT_LE((*check)->now - (*check)->tick, std::chrono::hours(1)) << "as the latest of them";
  EXPECT_TRUE(finish(**check, {{kDefaultOrg, ""}}));
  EXPECT_FALSE(*schedule.is_wanted(*store));
  EXPECT_EQ(sql.number("SELECT count(*) FROM failure_digests"), 1);
}

// A clock that steps back is the same as everything that was written being that much later.
TEST_F(FailureChecks, NoTickIsRunAgainWhenTheClockStepsBack) {
  const auto check = begun();
  EXPECT_TRUE(finish(check, {{kDefaultOrg, ""}}));
  sql.execute("UPDATE failure_checks SET next_at = next_at + interval '3 hours', last_tick = last_tick + interval '3 hours'");
  EXPECT_FALSE(*schedule.is_wanted(*store));
  EXPECT_FALSE(*schedule.take(*store, "box:1"));
  sql.execute("UPDATE failure_checks SET next_at = date_trunc('hour', now())");
  const auto again = store->begin(*store->state(), *store->state()->next, *store->state()->next + std::chrono::hours(1), "box:1");
  ASSERT_TRUE(again);
  EXPECT_FALSE(*again) << "a tick before the latest one is not taken, whoever asks";
}

TEST_F(FailureChecks, AClockThatHadGoneWrongByYearsDoesNotStopThemForYears) {
  const auto check = begun();
  EXPECT_TRUE(finish(check, {{kDefaultOrg, ""}}));
  sql.execute("UPDATE failure_checks SET next_at = next_at + interval '10 years', last_tick = last_tick + interval '10 years'");
  EXPECT_FALSE(*schedule.is_wanted(*store));
  EXPECT_LE(*store->state()->next - store->state()->now, std::chrono::hours(1));
  EXPECT_FALSE(store->state()->last_tick);
}

TEST_F(FailureChecks, AnotherScheduleIsPlannedAnew) {
  make_due();
  const FailureSchedule never("never", "UTC"), yearly("0 0 1 1 *", "Europe/London");
  EXPECT_FALSE(*never.is_wanted(*store));
  EXPECT_FALSE(store->state()->next);
  EXPECT_FALSE(*yearly.is_wanted(*store));
  EXPECT_TRUE(store->state()->next);
}

// T11 T3
TEST_F(FailureChecks, OfHostsWithDifferentSchedulesTheNewestOnesHoldsAndNoTickIsPassedOver) {
  const FailureSchedule newer("30 * * * *", "UTC");
  for (const auto host : {HostId{1}, HostId{2}}) register_host(host);
  ASSERT_TRUE(store->tell({1}, schedule.text()));
  EXPECT_FALSE(*schedule.is_wanted(*store));
  EXPECT_EQ(*schedule.other(*store), "");
  ASSERT_TRUE(store->tell({2}, newer.text()));
  for (int look = 0; look < 3; ++look) {
    EXPECT_FALSE(*newer.is_wanted(*store));
    EXPECT_FALSE(*schedule.is_wanted(*store));
    EXPECT_EQ(*store->state()->schedule, "30 * * * * UTC") << "they do not take turns";
  }
  EXPECT_EQ(*schedule.other(*store), "30 * * * * UTC");
  EXPECT_EQ(*newer.other(*store), "");
  sql.execute("UPDATE failure_checks SET next_at = next_at - interval '1 hour'");
  EXPECT_TRUE(*schedule.is_wanted(*store)) << "what is due runs first, wherever";
  EXPECT_TRUE(*newer.is_wanted(*store));
  const auto check = schedule.take(*store, "box:1");
  ASSERT_TRUE(check && *check);
  EXPECT_EQ(sql.text("SELECT to_char(next_at AT TIME ZONE 'UTC', 'MI') FROM failure_checks"), "30")
      << "by the schedule that holds";
  EXPECT_EQ(store->schedules()->size(), 2u);
  sql.execute("UPDATE hosts SET started_at = now() - interval '1 minute' WHERE host_id = 2");
  EXPECT_EQ(*store->state()->newest, "0 * * * * UTC") << "that of one that hangs holds nothing up (T3)";
  EXPECT_TRUE(finish(**check, {{kDefaultOrg, ""}}));
  sql.execute("DELETE FROM hosts WHERE host_id = 2");
  EXPECT_FALSE(*schedule.is_wanted(*store));
  EXPECT_EQ(*store->state()->schedule, "0 * * * * UTC") << "the newest that is left";
  ASSERT_TRUE(store->tell({1}, schedule.text()));
  EXPECT_EQ(sql.number("SELECT count(*) FROM failure_check_hosts"), 1) << "what is gone is forgotten";
}

// T11
TEST_F(FailureChecks, ATickThatIsDueRunsBeforeAnotherScheduleIsPlanned) {
  make_due();
  const FailureSchedule half_past("30 * * * *", "UTC"), never("never", "UTC");
  EXPECT_TRUE(*half_past.is_wanted(*store));
  const auto check = half_past.take(*store, "box:1");
  ASSERT_TRUE(check && *check);
  EXPECT_TRUE(finish(**check, {{kDefaultOrg, ""}}));
  EXPECT_FALSE(*half_past.is_wanted(*store));
  EXPECT_EQ(*store->state()->schedule, "30 * * * * UTC");
  sql.execute("UPDATE failure_checks SET next_at = now()");
  EXPECT_FALSE(*never.is_wanted(*store)) << "nothing is to be run any more";
  EXPECT_FALSE(store->state()->next);
}

TEST_F(FailureChecks, ACheckWhoseProcessDiedIsGoneOnWithAndTheDeadOneWritesNothing) {
  const auto dead = begun();
  EXPECT_TRUE(found(dead, {failure("n-1", "B-1")}));
  EXPECT_FALSE(*schedule.take(*store, "box:2")) << "its lease holds";
  lose_lease();
  const auto check = schedule.take(*store, "box:2");
  ASSERT_TRUE(check && *check);
  EXPECT_EQ((*check)->tick, dead.tick);
  EXPECT_EQ((*check)->tries, 2);
  EXPECT_FALSE(found(dead, {failure("n-2", "B-2")}));
  EXPECT_FALSE(finish(dead, {{kDefaultOrg, "words"}}));
  EXPECT_FALSE(*store->put_off(dead, Millis{1}));
  EXPECT_TRUE(found(**check, {failure("n-1", "B-1"), failure("n-3", "B-3")}));
  EXPECT_TRUE(finish(**check, {{kDefaultOrg, "words"}}));
  EXPECT_FALSE(finish(**check, {{kDefaultOrg, "words"}}));
  EXPECT_EQ(sql.text("SELECT string_agg(failures::text, ',') FROM failure_digests"), "2");
  EXPECT_EQ(sql.number("SELECT count FROM alerts WHERE kind = 'failed_messages'"), 1);
}

TEST_F(FailureChecks, ALeaseFromBeforeAStepOfTheClockHoldsNothingUp) {
  begun();
  sql.execute("UPDATE failure_checks SET lease_until = lease_until + interval '1 hour'");
  EXPECT_TRUE(store->state()->is_free);
  const auto check = schedule.take(*store, "box:2");
  EXPECT_TRUE(check && *check);
}

TEST_F(FailureChecks, WhatIsPutOffIsTriedAgainAndIsNoDeath) {
  const auto check = begun();
  EXPECT_TRUE(*store->put_off(check, kCheckLease / 2));
  EXPECT_FALSE(*schedule.is_wanted(*store));
  lose_lease();
  const auto again = schedule.take(*store, "box:1");
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->tries, 1);
}

TEST_F(FailureChecks, ACheckByHandLeavesTheScheduleAlone) {
  make_due();
  const auto planned = sql.text("SELECT next_at::text FROM failure_checks");
  const auto check = store->begin_by_hand("me");
  ASSERT_TRUE(check && *check);
  EXPECT_FALSE(*store->begin_by_hand("you"));
  EXPECT_TRUE(finish(**check, {{kDefaultOrg, ""}}));
  EXPECT_EQ(sql.text("SELECT next_at::text FROM failure_checks"), planned);
  EXPECT_EQ(store->digests(kDefaultOrg, 10)->at(0).by_hand, true);
  EXPECT_TRUE(*schedule.is_wanted(*store)) << "the tick is still due";
}

TEST_F(FailureChecks, EachFailureIsLinkedToItsSubmissionByReference) {
  add("k-1", "B-1");
  add("k-2", "B-2", kDefaultOrg, "n-20");
  add("k-2-later", "B-2", kDefaultOrg, "n-21");
  add("k-3", "B-3", other);
  submit({item("my-intent")});
  const auto check = begun();
  EXPECT_TRUE(found(check, {failure("n-1", "B-1"), failure("n-20", "B-2"), failure("n-3", "B-3"), failure("n-4", "my-intent"),
                            failure("n-5", "B-unknown"), failure("n-6", "")}));
  EXPECT_EQ(link_of("n-1"), "1 k-1");
  EXPECT_EQ(link_of("n-20"), "1 k-2") << "the one that has the provider's reference, not the newest";
  EXPECT_EQ(link_of("n-3"), std::to_string(other.value) + " k-3");
  EXPECT_EQ(link_of("n-4"), "1 my-intent");
  EXPECT_EQ(link_of("n-5"), "1 -");
  EXPECT_EQ(link_of("n-6"), "1 -");
  const auto lines = store->so_far(check);
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->at(0).failures, 5u);
  EXPECT_EQ(lines->at(0).linked, 3u);
  EXPECT_EQ(lines->at(1).org, other);
}

TEST_F(FailureChecks, AReferenceThatTwoOrganisationsHaveIsNeithersUnlessTheProviderTells) {
  add("k-1", "B-1");
  add("k-2", "B-1", other, "n-2");
  const auto check = begun();
  EXPECT_TRUE(found(check, {failure("n-1", "B-1"), failure("n-2", "B-1")}));
  EXPECT_EQ(link_of("n-1"), "1 -");
  EXPECT_EQ(link_of("n-2"), std::to_string(other.value) + " k-2");
}

TEST_F(FailureChecks, AFailureIsInOneDigestHoweverOftenItIsListed) {
  const auto first = begun();
  const auto page = std::vector{failure("n-1", "B-1"), failure("n-1", "B-1"), failure("n-2", "B-2", "temporary-failure")};
  EXPECT_TRUE(found(first, page));
  EXPECT_TRUE(finish(first, {{kDefaultOrg, "two"}}));
  const auto second = store->begin_by_hand("me");
  ASSERT_TRUE(second && *second);
  EXPECT_TRUE(found(**second, page));
  EXPECT_TRUE(found(**second, {failure("n-3", "B-3")}));
  EXPECT_TRUE(finish(**second, {{kDefaultOrg, "one"}}));
  const auto digests = store->digests(kDefaultOrg, 10);
  ASSERT_TRUE(digests);
  ASSERT_EQ(digests->size(), 2u);
  EXPECT_EQ(digests->at(1).by_status, R"({ "permanent-failure" : 1, "temporary-failure" : 1 })");
  EXPECT_EQ(digests->at(0).failures, 1u);
  EXPECT_EQ(digests->at(1).targets, R"(["mail.notify"])");
  const auto of_second = store->failures(kDefaultOrg, digests->at(0).id, 10);
  ASSERT_TRUE(of_second);
  ASSERT_EQ(of_second->size(), 1u);
  EXPECT_EQ(of_second->at(0).failure.provider_ref, "n-3");
  EXPECT_EQ(*store->checked_until("mail.notify"), (*second)->now);
  EXPECT_EQ(sql.number("SELECT count(*) FROM alerts WHERE kind = 'failed_messages'"), 2);
}

TEST_F(FailureChecks, AnotherOrganisationSeesNoneOfThem) {
  const auto check = begun();
  EXPECT_TRUE(found(check, {failure("n-1", "B-1")}));
  EXPECT_TRUE(finish(check, {{kDefaultOrg, "one"}}));
  EXPECT_TRUE(store->digests(other, 10)->empty());
  EXPECT_TRUE(store->failures(other, store->digests(kDefaultOrg, 10)->at(0).id, 10)->empty());
}

TEST_F(FailureChecks, OldDigestsAreForgottenWithTheirFailures) {
  const auto check = begun();
  EXPECT_TRUE(found(check, {failure("n-1", "B-1")}));
  EXPECT_TRUE(finish(check, {{kDefaultOrg, "one"}}));
  sql.execute("UPDATE failure_digests SET finished_at = now() - interval '91 days'");
  const auto next = store->begin_by_hand("me");
  EXPECT_TRUE(finish(**next, {{kDefaultOrg, ""}}));
  EXPECT_EQ(sql.number("SELECT count(*) FROM failure_digests"), 1);
  EXPECT_EQ(sql.number("SELECT count(*) FROM digest_failures"), 0);
}

}  // namespace
}  // namespace waybill::testing
