// Taking work out of the queue: in order, up to a share, never what somebody else takes.  M6 M12 M18
#include <algorithm>
#include <regex>
#include <set>
#include <thread>

#include "contract/store_world.h"
#include "support/eventually.h"

namespace waybill::testing {
namespace {

class QueueContract : public StoreWorld {
 protected:
  static std::vector<std::string> references(const ClaimResult& claimed) {
    std::vector<std::string> all;
    for (const auto& row : claimed.rows) all.push_back(row.client_ref);
    return all;
  }
  void spread_due_times() {  // ref-0 is the oldest
    sql.execute(
        "UPDATE ready r SET due_at = now() - interval '1 hour' + substring(s.client_ref from '[0-9]+$')::int * interval '1 "
        "second' "
        "FROM submissions s WHERE s.id = r.submission_id");
  }
};

TEST_F(QueueContract, TheClaimTakesTheOldestFirstUpToItsShare) {
  submit_many(5);
  spread_due_times();
  EXPECT_EQ(references(claim(route(), 3)), (std::vector<std::string>{"ref-0", "ref-1", "ref-2"}));
  EXPECT_EQ(references(claim(route(), 10)), (std::vector<std::string>{"ref-3", "ref-4"}));
  EXPECT_TRUE(claim(route(), 10).rows.empty());
}

TEST_F(QueueContract, AClaimedRowTellsAllThatAnAttemptNeeds) {  // M10 M11
  const std::string payload = "{\"text\":\"Zoë\\n\"}";
  const auto made = submit({item("order-1", payload)})[0].view;
  sql.execute("UPDATE ready SET attempt_count = 4, uncounted = 2, maybe_sent = true");
  const auto claimed = claim(route(), 1, {42}, {7});
  ASSERT_EQ(claimed.rows.size(), 1u);
  const auto& row = claimed.rows[0];
  EXPECT_EQ(row.submission, made.id);
  EXPECT_EQ(row.org, kDefaultOrg);
  EXPECT_EQ(row.route, route());
  EXPECT_EQ(row.history.attempt_count, 4u);
  EXPECT_EQ(row.history.uncounted, 2u);
  EXPECT_EQ(row.history.lease_lost, 0u);
  EXPECT_TRUE(row.history.maybe_sent);
  EXPECT_EQ(row.action_order, 1);
  EXPECT_EQ(row.created, made.created);
  EXPECT_EQ(row.due, made.created);
  EXPECT_EQ(row.kind, "intent");
  EXPECT_EQ(row.client_ref, "order-1");
  EXPECT_EQ(row.payload, payload);
  EXPECT_GE(claimed.now, made.created);
  EXPECT_EQ(sql.text("SELECT status || ' ' || claim_token || ' ' || claimed_by FROM ready"), "claimed 42 7");
  EXPECT_EQ(sql.number("SELECT micros(lease_until) - micros(claimed_at) FROM ready"), 60'000'000);
  EXPECT_LE(sql.number("SELECT micros(claimed_at) FROM ready"), claimed.now.micros);
  EXPECT_EQ(row.body_bytes, payload.size());
}

TEST_F(QueueContract, WhatIsNotDueYetIsNotTaken) {  // M12
  submit_many(3);
  sql.execute(
      "UPDATE ready SET due_at = now() + interval '1 hour' WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = "
      "'ref-1')");
  auto taken = references(claim(route(), 10));
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, (std::vector<std::string>{"ref-0", "ref-2"}));
}

TEST_F(QueueContract, EachRouteGivesUpToItsOwnShare) {
  submit_many(5, "a-", "sms.a");
  submit_many(5, "b-", "sms.b");
  submit_many(5, "c-", "sms.c");
  const std::vector<RouteShare> shares{{route("sms.a"), 2, {}, {}}, {route("sms.b"), 4, {}, {}}};
  const auto claimed = queue->claim(0, {1}, {1}, Millis(1000), shares, {}, kAnyBytes);
  ASSERT_TRUE(claimed) << claimed.error().what;
  std::map<std::int64_t, int> taken;
  for (const auto& row : claimed->rows) ++taken[row.route.value];
  EXPECT_EQ(taken, (std::map<std::int64_t, int>{{route("sms.a").value, 2}, {route("sms.b").value, 4}}));
}

TEST_F(QueueContract, WhatBeganToRestSinceItWasAskedForIsNotTaken) {  // M16
  submit_many(2, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  const OrgId another{2};
  rest({{kDefaultOrg, "sms.a", Timestamp{} + std::chrono::hours(24 * 365 * 100), "outage"},
        {kDefaultOrg, "sms.b", Timestamp{} + Seconds(1), "over"}});
  const auto taken = [&](const std::string& target, OrgId org, const std::string& unless, ClaimToken token, bool probe = false) {
    const std::vector<RouteShare> shares{
        {.route = route(target), .count = 1, .org = org, .cooldown_key = unless, .probe = probe}};
    const auto claimed = queue->claim(0, {1}, token, Millis(1000), shares, {}, kAnyBytes);
    EXPECT_TRUE(claimed) << claimed.error().what;
    return claimed->rows.size();
  };
  EXPECT_EQ(taken("sms.a", kDefaultOrg, "sms.a", {1}), 0u);
  EXPECT_EQ(taken("sms.a", another, "sms.a", {2}), 1u) << "it is another organisation's target that rests";
  EXPECT_EQ(taken("sms.a", kDefaultOrg, "", {3}), 1u) << "what must end is taken all the same";
  EXPECT_EQ(taken("sms.b", kDefaultOrg, "sms.b", {4}), 0u) << "half-open: only a probe goes";
  EXPECT_EQ(taken("sms.b", kDefaultOrg, "sms.b", {5}, true), 1u);
}

TEST_F(QueueContract, AHalfOpenTargetHasOneProbeWhateverTheNumberOfHosts) {  // E14
  const Cooldown open{kDefaultOrg, "sms.a", Timestamp{} + Seconds(1), "outage"};
  const Cooldown down{kDefaultOrg, "sms.b", Timestamp{} + std::chrono::hours(24 * 365 * 100), "outage"};
  rest({open, down});
  for (const HostId host : {HostId{1}, HostId{2}}) register_host(host);
  const auto begin = [&](HostId host, Millis length) {
    const auto begun = queue->begin_probes(std::vector{open, down}, host, length);
    EXPECT_TRUE(begun) << begun.error().what;
    std::string names;
    for (const auto& one : *begun) names += one.target + " ";
    return names;
  };
  EXPECT_EQ(begin({1}, Millis(0)), "sms.a ");
  EXPECT_EQ(begin({2}, Millis(3'600'000)), "sms.a ") << "the first one's time was over";
  EXPECT_EQ(begin({1}, Millis(3'600'000)), "");
  EXPECT_EQ(begin({2}, Millis(3'600'000)), "sms.a ") << "the same host, which found nothing to claim";
  EXPECT_TRUE(queue->release_probes(std::vector{open}, {1}));
  EXPECT_EQ(begin({1}, Millis(3'600'000)), "") << "it was not this host's";
  EXPECT_TRUE(queue->release_probes(std::vector{open}, {2}));
  EXPECT_EQ(begin({3}, Millis(3'600'000)), "") << "nobody would see that a host has it which is not registered";
  EXPECT_EQ(begin({1}, Millis(3'600'000)), "sms.a ") << "its host found nothing to send";
  EXPECT_TRUE(queue->release_probes(std::vector{open}, {1}));
  EXPECT_EQ(begin({2}, Millis(3'600'000)), "sms.a ");
  sql.execute("DELETE FROM hosts WHERE host_id = 2");
  EXPECT_EQ(begin({1}, Millis(3'600'000)), "sms.a ") << "the host that had it is gone";
}

std::vector<Permits> permits(QueueStore& store, const std::vector<RouteShare>& shares) {
  std::vector<const RouteShare*> wanted;
  for (const auto& share : shares) wanted.push_back(&share);
  const auto permits = store.take_permits(wanted);
  EXPECT_TRUE(permits) << permits.error().what;
  return permits.value_or(std::vector<Permits>(shares.size()));
}

TEST_F(QueueContract, ARateIsKeptByAllHostsTogether) {  // E14
  const Rate hourly{60, std::chrono::hours(1)};
  const auto take = [&](QueueStore& store, std::size_t wanted) {
    const RouteShare share{.route = {}, .count = wanted, .org = kDefaultOrg, .target = "sms.a", .rate = hourly};
    return permits(store, {share}).at(0);
  };
  const auto another = make_queue_store(address);
  const auto first = take(*queue, 5);
  EXPECT_EQ(first.granted, 1u) << "sixty an hour are one a minute, not five at once";
  EXPECT_GT(first.wait, Seconds(50));
  EXPECT_EQ(take(*another, 5).granted, 0u) << "its minute is not over";
  sql.execute("UPDATE target_rates SET next_at = next_at - interval '1 minute'");
  EXPECT_EQ(take(*another, 5).granted, 1u);
  EXPECT_EQ(take(*queue, 5).granted, 0u);
  const RouteShare quick{.route = {}, .count = 500, .org = kDefaultOrg, .target = "sms.b", .rate = Rate{1000, Millis(1000)}};
  EXPECT_EQ(permits(*queue, {quick}).at(0).granted, 100u) << "a tenth of a second's worth after a pause";
}

// T4
TEST_F(QueueContract, PermitsOfManyTargetsAreTakenAtOnceAndSharedByTheRoutesOfEach) {
  const auto share = [](const std::string& target, std::size_t count) {
    return RouteShare{.route = {}, .count = count, .org = kDefaultOrg, .target = target, .rate = Rate{50, Seconds(1)}};
  };
  const auto granted = permits(*queue, {share("z", 4), share("a", 9), share("z", 4), share("m", 0)});
  ASSERT_EQ(granted.size(), 4u);
  EXPECT_EQ(granted[0].granted, 4u) << "answers come in the order of the questions";
  EXPECT_EQ(granted[1].granted, 5u);
  EXPECT_EQ(granted[2].granted, 1u) << "what the first route of the target left";
  EXPECT_EQ(granted[3].granted, 0u);
}

// T4
TEST_F(QueueContract, ALockedRateDeniesItsOwnTargetOnly) {
  const auto share = [](const std::string& target) {
    return RouteShare{.route = {}, .count = 1, .org = kDefaultOrg, .target = target, .rate = Rate{1, std::chrono::hours(1)}};
  };
  permits(*queue, {share("a"), share("c"), share("e")});
  sql.execute("UPDATE target_rates SET next_at = 'epoch'");
  {
    SqlClient somebody(url);
    somebody.execute("SET search_path TO waybill; BEGIN; SELECT FROM target_rates WHERE target IN ('a', 'c') FOR UPDATE");
    const auto granted = permits(*queue, {share("a"), share("b"), share("c"), share("d"), share("e")});
    ASSERT_EQ(granted.size(), 5u);
    EXPECT_EQ(granted[0].granted + granted[2].granted, 0u);
    EXPECT_GT(granted[0].wait, Micros(0));
    for (const auto free : {1, 3, 4}) EXPECT_EQ(granted[static_cast<std::size_t>(free)].granted, 1u) << "the new ones too";
    somebody.execute("COMMIT; BEGIN; LOCK TABLE target_rates");
    const RouteShare one = share("e");
    const std::vector<const RouteShare*> wanted{&one};
    const auto locked = queue->take_permits(wanted);
    ASSERT_FALSE(locked);
    EXPECT_NE(locked.error().what.find("55P03"), std::string::npos) << locked.error().what;
  }
  EXPECT_EQ(permits(*queue, {share("a")}).at(0).granted, 1u);
  EXPECT_EQ(sql.text("SELECT array_to_string(proconfig, ' ') FROM pg_proc WHERE proname = 'take_permits' AND pronargs = 5 AND "
                     "prorettype = 'record'::regtype AND proretset"),
            "search_path=waybill, pg_temp lock_timeout=100ms");
}

// T4
TEST_F(QueueContract, AProbeOfALockedTargetIsLeftOutAndKeepsNoOtherWaiting) {
  const Cooldown held{kDefaultOrg, "sms.a", Timestamp{} + Seconds(1), "outage"},
      open{kDefaultOrg, "sms.b", Timestamp{} + Seconds(1), "outage"};
  rest({held, open});
  register_host({1});
  SqlClient somebody(url);
  somebody.execute("SET search_path TO waybill; BEGIN; SELECT FROM target_outages WHERE target = 'sms.a' FOR UPDATE");
  const auto begun = queue->begin_probes(std::vector{held, open}, {1}, Seconds(60));
  ASSERT_TRUE(begun) << begun.error().what;
  ASSERT_EQ(begun->size(), 1u);
  EXPECT_EQ(begun->at(0).target, "sms.b");
  ASSERT_TRUE(queue->release_probes(std::vector{held, open}, {1}));
  somebody.execute("COMMIT");
  EXPECT_EQ(queue->begin_probes(std::vector{held, open}, {1}, Seconds(60))->size(), 2u);
}

TEST_F(QueueContract, OnlyWhatCameInLongAgoIsTakenWhenThatIsAskedFor) {  // E8
  submit_many(3);
  sql.execute("UPDATE submissions SET created_at = now() - interval '2 minutes' WHERE client_ref = 'ref-1'");
  const std::vector<RouteShare> shares{{.route = route(), .count = 9, .min_age = Seconds(60)}};
  const auto claimed = queue->claim(0, {1}, {1}, Millis(1000), shares, {}, kAnyBytes);
  ASSERT_TRUE(claimed) << claimed.error().what;
  EXPECT_EQ(references(*claimed), (std::vector<std::string>{"ref-1"})) << "the others might be sent";
}

// T33: what is due for longer than the age is older than that; of the rest it looks at the first few only
TEST_F(QueueContract, LookingForWhatIsOldReadsNoWholeBacklog) {
  constexpr int kFresh = 3000;
  submit_many(4);
  sql.execute("UPDATE ready SET due_at = now() - interval '61 seconds'");
  sql.execute("UPDATE submissions SET created_at = now() - interval '61 seconds'");
  const auto old = sql.text("SELECT max(id) FROM submissions");
  submit_many(kFresh, "fresh-");
  sql.execute(
      "UPDATE ready SET due_at = now() - interval '30 seconds' + (delivery_id >> 10) * interval '1 microsecond' WHERE "
      "delivery_id > " +
      old);
  sql.execute("UPDATE submissions SET created_at = now() - interval '2 minutes' WHERE client_ref = 'fresh-0'");  // tried before
  sql.execute("VACUUM ANALYZE ready, submissions");
  SqlClient session(url);
  session.execute(
      "SET search_path TO waybill; SET plan_cache_mode TO force_generic_plan; SET enable_seqscan TO off; "
      "SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET enable_bitmapscan TO off; SET jit TO off");
  for (const auto& statement : all_statements())
    if (std::string_view(statement.name) == "claim") session.execute("PREPARE claim AS " + std::string(statement.sql));
  const auto of = std::to_string(route().value);
  std::string plan;
  for (const auto& row : session.rows("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE claim (0, 1, 1, 60000, '{" +
                                      of + "}', '{100}', '{0}', '{0}', '{}', '{1}', '{\"\"}', '{false}', '{60}', 1000)"))
    plan += *row.at(0) + "\n";
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed'"), 5) << plan;
  static const std::regex kRemoved("Rows Removed by Filter: ([0-9]+)");
  for (auto found = std::sregex_iterator(plan.begin(), plan.end(), kRemoved); found != std::sregex_iterator(); ++found)
    EXPECT_LT(std::stoi((*found)[1]), kFresh / 2) << plan;
  EXPECT_NE(plan.find("ready_due"), std::string::npos) << plan;
}

TEST_F(QueueContract, AClaimBringsBodiesUpToItsLimitAndTellsOfTheOthers) {  // E12
  submit({item("a", std::string(600, '1')), item("b", std::string(600, '2')), item("c", std::string(5000, '3'))});
  const std::vector<RouteShare> shares{{.route = route(), .count = 9}};
  const auto claimed = queue->claim(0, {1}, {1}, Millis(1000), shares, {}, 1000);
  ASSERT_TRUE(claimed) << claimed.error().what;
  ASSERT_EQ(claimed->rows.size(), 3u);
  std::size_t brought = 0;
  for (const auto& row : claimed->rows) {
    brought += row.payload.size();
    EXPECT_EQ(row.withheld, row.payload.empty());
    EXPECT_EQ(row.body_bytes, row.client_ref == "c" ? 5000u : 600u);
  }
  EXPECT_LE(brought, 5000u) << "one, whatever its size";
  EXPECT_GE(brought, 600u);
}

TEST_F(QueueContract, ALargeBodyAmongSmallOnesComesAsFarAsThereIsRoom) {  // E12
  submit({item("ref-0", std::string(600, '1')), item("ref-1", std::string(5000, '2')), item("ref-2", std::string(5000, '3')),
          item("ref-3", std::string(600, '4'))});
  spread_due_times();
  const std::vector<RouteShare> shares{{.route = route(), .count = 4}};
  const auto claimed = queue->claim(0, {1}, {1}, Millis(1000), shares, {}, 7000);
  ASSERT_TRUE(claimed) << claimed.error().what;
  ASSERT_EQ(references(*claimed), (std::vector<std::string>{"ref-0", "ref-1", "ref-2", "ref-3"}));
  EXPECT_EQ(claimed->rows[0].payload, std::string(600, '1'));
  EXPECT_EQ(claimed->rows[1].payload, std::string(5000, '2')) << "larger than a fourth of the room, which has place for it";
  EXPECT_TRUE(claimed->rows[2].withheld);
  EXPECT_TRUE(claimed->rows[2].payload.empty());
  EXPECT_EQ(claimed->rows[2].body_bytes, 5000u);
  EXPECT_EQ(claimed->rows[3].payload, std::string(600, '4'));
}

TEST_F(QueueContract, AShareBeginsBehindItsMark) {
  submit_many(6);
  spread_due_times();
  const auto first = claim(route(), 2);
  const auto& last = first.rows.back();
  settled({retrying(first.rows[0], {1}, first.rows[0].due)});  // due again, but before the mark
  const auto behind =
      queue->claim(0, {1}, {2}, Millis(1000), std::vector<RouteShare>{{route(), 2, last.due, last.delivery}}, {}, kAnyBytes);
  ASSERT_TRUE(behind);
  EXPECT_EQ(references(*behind), (std::vector<std::string>{"ref-2", "ref-3"}));
  EXPECT_EQ(references(claim(route(), 10)), (std::vector<std::string>{"ref-0", "ref-4", "ref-5"}));
}

TEST_F(QueueContract, AmongRowsOfOneMomentTheMarkGoesByDelivery) {
  submit_many(6);
  sql.execute("UPDATE ready SET due_at = (SELECT min(due_at) FROM ready)");
  std::set<std::string> taken;
  Timestamp due{};
  DeliveryId id{};
  for (int i = 0; i < 3; ++i) {
    const auto claimed =
        queue->claim(0, {1}, {i + 1}, Millis(1000), std::vector<RouteShare>{{route(), 2, due, id}}, {}, kAnyBytes);
    ASSERT_EQ(claimed->rows.size(), 2u);
    for (const auto& row : claimed->rows) taken.insert(row.client_ref);
    due = claimed->rows.back().due;
    id = claimed->rows.back().delivery;
  }
  EXPECT_EQ(taken.size(), 6u);
}

TEST_F(QueueContract, RowsThatAnotherIsAboutToTakeArePassedOverWithoutWaiting) {  // M18
  submit_many(3);
  spread_due_times();
  sql.execute("ALTER DATABASE " + sql.text("SELECT current_database()") + " SET lock_timeout = '10s'");  // whoever waits, fails
  sql.execute("BEGIN");
  sql.execute("SELECT FROM ready WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = 'ref-1') FOR UPDATE");
  EXPECT_EQ(references(claim(route(), 10)), (std::vector<std::string>{"ref-0", "ref-2"}));
  sql.execute("ROLLBACK");
  EXPECT_EQ(references(claim(route(), 10)), (std::vector<std::string>{"ref-1"}));
}

TEST_F(QueueContract, HostsThatClaimAtOnceNeverTakeTheSame) {  // M18
  constexpr int kHosts = 4, kRows = 400;
  submit_many(kRows);
  const auto of = route();
  std::array<std::vector<std::int64_t>, kHosts> taken;
  {
    std::vector<std::jthread> hosts;
    for (int host = 0; host < kHosts; ++host)
      hosts.emplace_back([&, host] {
        const auto own = make_queue_store(address);
        for (int round = 1, empty = 0; empty < 3; ++round) {
          const auto claimed = own->claim(0, {host + 1}, {host * 1000 + round}, Millis(60'000),
                                          std::vector<RouteShare>{{of, 7, {}, {}}}, {}, kAnyBytes);
          if (!claimed || claimed->rows.empty()) {
            ++empty;
            continue;
          }
          for (const auto& row : claimed->rows) taken[host].push_back(row.delivery.value);
        }
      });
  }
  std::set<std::int64_t> all;
  std::size_t count = 0;
  for (const auto& one : taken) {
    count += one.size();
    all.insert(one.begin(), one.end());
  }
  EXPECT_EQ(all.size(), count) << "a row was taken twice";
  EXPECT_EQ(all.size(), static_cast<std::size_t>(kRows));
}

TEST_F(QueueContract, DueRoutesNamesEachRouteWithWorkAndItsFirstDueTime) {  // M12
  const auto none = queue->due_routes(0);
  ASSERT_TRUE(none) << none.error().what;
  EXPECT_TRUE(none->routes.empty());
  EXPECT_GT(none->now.micros, 1'600'000'000'000'000) << "the time is told even then";
  submit_many(3, "a-", "sms.a");
  submit_many(2, "b-", "sms.b");
  submit_many(1, "c-", "sms.c");
  claim(route("sms.c"), 1);
  sql.execute(
      "UPDATE ready SET due_at = at_micros(5000000) WHERE submission_id = (SELECT id FROM submissions WHERE client_ref = 'a-2')");
  sql.execute("UPDATE ready SET due_at = now() + interval '1 day' WHERE route_id = " + std::to_string(route("sms.b").value));
  const auto due = queue->due_routes(0);
  ASSERT_TRUE(due);
  ASSERT_EQ(due->routes.size(), 2u) << "what is claimed is not due; what is due later is named";
  EXPECT_EQ(due->routes[0].route, route("sms.a"));
  EXPECT_EQ(due->routes[0].first_due, (Timestamp{5'000'000}));
  EXPECT_EQ(due->routes[1].route, route("sms.b"));
  EXPECT_GT(due->routes[1].first_due, due->now + std::chrono::hours(23));
  EXPECT_TRUE(queue->due_routes(1)->routes.empty());
}

TEST_F(QueueContract, AClaimWhoseAnswerWasLostCanBeGivenBack) {  // M12 M17
  submit_many(4);
  spread_due_times();
  claim(route(), 2, {5}, {1});
  claim(route(), 2, {6}, {1});
  ASSERT_TRUE(queue->give_back(0, {1}, {6}));
  ASSERT_TRUE(queue->give_back(0, {2}, {5})) << "of another host: nothing happens";
  ASSERT_TRUE(queue->give_back(0, {1}, {999})) << "never carried out: nothing happens";
  EXPECT_EQ(sql.number("SELECT count(*) FROM ready WHERE status = 'claimed' AND claim_token = 5"), 2);
  const auto again = claim(route(), 10, {7}, {1});
  EXPECT_EQ(references(again), (std::vector<std::string>{"ref-2", "ref-3"}));
  EXPECT_EQ(again.rows[0].history.attempt_count, 0u);
  EXPECT_EQ(again.rows[0].history.lease_lost, 0u);
}

TEST_F(QueueContract, EveryShardIsAQueueOfItsOwn) {
  sql.execute("UPDATE installation SET shards = 4");
  const auto shards = read_shards(address);
  ASSERT_TRUE(shards);
  EXPECT_EQ(*shards, 4);
  constexpr int kCount = 40;
  std::map<Shard, std::vector<NewSubmission>> parts;
  for (int i = 0; i < kCount; ++i) {
    const auto ref = "ref-" + std::to_string(i);
    parts[shard_for(kDefaultOrg, ref, 4)].push_back(item(ref));
  }
  ASSERT_EQ(parts.size(), 4u);
  for (const auto& [shard, items] : parts) submit(items, shard);
  const auto sharded = make_read_store(address, 4);
  for (int i = 0; i < kCount; ++i)
    EXPECT_TRUE(sharded->find(kDefaultOrg, "intent", "ref-" + std::to_string(i))->has_value()) << i;
  std::size_t all = 0;
  for (const auto& [shard, items] : parts) {
    EXPECT_EQ(queue->due_routes(shard)->routes.size(), 1u);
    const auto claimed = claim(route(), 1000, {1}, {1}, shard);
    EXPECT_EQ(claimed.rows.size(), items.size());
    std::vector<Settlement> ends;
    std::vector<SubmissionId> ids;
    for (const auto& row : claimed.rows) {
      EXPECT_EQ(shard_of(row.delivery), shard);
      EXPECT_EQ(shard_of(row.submission), shard);
      ends.push_back(ending(row, {1}, Status::accepted));
      ids.push_back(row.submission);
    }
    EXPECT_EQ(settled(ends, static_cast<Shard>((shard + 1) % 4)).size(), 0u) << "a settlement in another shard finds nothing";
    EXPECT_EQ(settled(ends, shard).size(), items.size());
    EXPECT_EQ(sharded->moved(ids)->size(), items.size());
    all += items.size();
  }
  EXPECT_EQ(all, static_cast<std::size_t>(kCount));
  EXPECT_EQ(sql.number("SELECT count(*) FROM submission_states WHERE state = 'accepted'"), kCount);
  EXPECT_EQ(sql.number("SELECT count(*) FROM attempts"), kCount);
}

// The planner may not look at the statistics of a table with policies. So it takes a share of the statuses that there are for
// granted, and where all of a backlog has one status, "another than claimed" is nothing by that, for which it read all of it. E10
TEST_F(QueueContract, ABacklogOfOneStatusIsNotReadThrough) {
  submit_many(2000);
  sql.execute("VACUUM ANALYZE ready");
  const auto read = [&] {
    return sql.number("SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relid = 'ready'::regclass");
  };
  const auto before = read();
  auto own = make_queue_store(address);
  const auto due = own->due_routes(0);
  ASSERT_TRUE(due) << due.error().what;
  EXPECT_EQ(due->routes.size(), 1u);
  own.reset();  // its counts are in the statistics then
  ASSERT_TRUE(eventually([&] {
    sql.rows("SELECT pg_stat_clear_snapshot()");
    return read() > before;
  }));
  EXPECT_LE(read() - before, 10);
}

}  // namespace
}  // namespace waybill::testing
