// How long the queue is, and how fast it moves, in the database.  O5
#include "contract/store_world.h"
#include "store/operations/backlog_store.h"

namespace waybill::testing {
namespace {

const Operator kWatcher{"ada", "test"};

class BacklogContract : public StoreWorld {
 protected:
  QueueStanding standing(const BacklogFilter& filter = {}, std::int64_t most = kMaxQueueCounted) {
    const auto read = backlog->read(filter, most);
    EXPECT_TRUE(read) << read.error().what;
    return read.value_or(QueueStanding{});
  }
  TargetBacklog of(const std::string& target) {
    for (const auto& one : standing().targets)
      if (one.name.target == target) return one;
    ADD_FAILURE() << "there is no " << target;
    return {};
  }
  std::unique_ptr<BacklogStore> backlog = make_backlog_store(address, 1);
};

// O5
TEST_F(BacklogContract, CountsWhatIsDueLaterAndClaimedByTarget) {
  submit_many(5, "a-", "sms.a");
  submit_many(1, "b-", "sms.b");
  const auto rows = claim(route("sms.a"), 3).rows;
  ASSERT_EQ(rows.size(), 3u);
  const auto later = rows[0].created + std::chrono::hours(1);
  settled({retrying(rows[0], {1}, later), ending(rows[1], {1}, Status::accepted)});
  const auto a = of("sms.a");
  EXPECT_EQ(a.backlog.due, 2);
  EXPECT_EQ(a.backlog.scheduled, 1);
  EXPECT_EQ(a.backlog.retries, 1);
  EXPECT_EQ(a.backlog.claimed, 1);
  EXPECT_EQ(a.backlog.next_scheduled, later);
  EXPECT_EQ(a.backlog.last_scheduled, later);
  ASSERT_TRUE(a.backlog.oldest_due);
  EXPECT_EQ(a.name.org, "default");
  EXPECT_EQ(a.action_type, "sms");
  const auto all = standing();
  EXPECT_EQ(all.targets.at(0).name.target, "sms.a") << "the longest first";
  EXPECT_TRUE(all.is_counted);
  ASSERT_EQ(all.reasons.size(), 1u);
  EXPECT_EQ(all.reasons[0], (std::pair<std::string, std::int64_t>{"what went wrong", 1}));
  EXPECT_EQ(standing({.target = "sms.b"}).targets.size(), 1u);
  EXPECT_EQ(standing({.action_type = "voice"}).targets.size(), 0u);
}

// O5
TEST_F(BacklogContract, ArrivalsAndEndsOfTheLastMinutes) {
  submit_many(10, "a-", "sms.a");
  sql.execute("UPDATE submissions SET created_at = now() - interval '1 hour' WHERE client_ref IN ('a-0', 'a-1')");
  const auto rows = claim(route("sms.a"), 4).rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto end = ending(rows[i], {1}, Status::accepted);
    end.ended = end.attempt->finished.emplace(i == 0 ? rows[i].created - std::chrono::hours(2) : queue->due_routes(0)->now);
    settled({end});
  }
  const auto a = of("sms.a");
  EXPECT_DOUBLE_EQ(a.backlog.arrivals, 8.0 / 5) << "of five minutes";
  EXPECT_NEAR(a.backlog.ends, 3.0 / 5, 0.001);
  EXPECT_EQ(of("sms.a").backlog.waiting(), 6);
}

// O5
TEST_F(BacklogContract, TellsWhatStopsItAndWhichRateIsInForce) {
  submit_many(1, "a-", "sms.a");
  submit_many(1, "b-", "sms.b");
  submit_many(1, "c-", "sms.c");
  ASSERT_TRUE(targets->pause({"default", "sms.a"}, "sent twice", true, kWatcher));
  rest({{kDefaultOrg, "sms.b", queue->due_routes(0)->now + Seconds(60), "busy"}});
  ASSERT_TRUE(targets->order_rate({"default", "sms.c"}, {3, Seconds(1)}, {}, true, kWatcher));
  EXPECT_EQ(of("sms.a").backlog.stopped, "paused");
  EXPECT_EQ(of("sms.a").stop_reason, "sent twice");
  EXPECT_EQ(of("sms.b").backlog.stopped, "in an outage");
  EXPECT_TRUE(of("sms.b").cooldown_until);
  EXPECT_EQ(of("sms.c").backlog.stopped, "");
  EXPECT_EQ(of("sms.c").backlog.rate, (Rate{3, Seconds(1)}));
}

// O5
TEST_F(BacklogContract, CountsUpToALimitAndSaysSo) {
  submit_many(20, "a-", "sms.a");
  EXPECT_TRUE(standing({}, 20).is_counted);
  const auto cut = standing({}, 19);
  EXPECT_FALSE(cut.is_counted);
  EXPECT_EQ(cut.targets.at(0).backlog.due, 20) << "one more than is wanted, and no further";
  EXPECT_EQ(standing({}, 5).targets.at(0).backlog.due, 6);
}

// O5 N3
TEST_F(BacklogContract, OfOneOrganisationNothingOfOthersIsSeen) {
  sql.execute("INSERT INTO organisations (name) VALUES ('acme')");
  submit_many(2, "a-", "sms.a");
  submit_many(3, "a-", "sms.a", {2});
  ASSERT_TRUE(targets->pause({"default", "sms.a"}, "sent twice", true, kWatcher));
  sql.execute(
      "UPDATE ready SET lease_lost = 1, queued = false WHERE org_id = 1 AND delivery_id = (SELECT min(delivery_id) FROM ready)");
  const auto theirs = standing({.org = OrgId{2}});
  ASSERT_EQ(theirs.targets.size(), 1u);
  EXPECT_EQ(theirs.targets[0].name.org, "acme");
  EXPECT_EQ(theirs.targets[0].backlog.due, 3);
  EXPECT_EQ(theirs.targets[0].backlog.stopped, "");
  EXPECT_EQ(theirs.quarantined, 0);
  EXPECT_EQ(standing().quarantined, 1);
}

// O5
TEST_F(BacklogContract, AnEmptyQueueIsToldToo) {
  const auto empty = standing();
  EXPECT_TRUE(empty.targets.empty());
  EXPECT_GT(empty.now.micros, 0);
}

}  // namespace
}  // namespace waybill::testing
