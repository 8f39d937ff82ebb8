// One host at a time serves the channels of an organisation, so that its limits hold for all hosts together.  N9
#include <atomic>
#include <thread>

#include "contract/hosts_world.h"

namespace waybill::testing {
namespace {

constexpr HostId kFirst{101}, kSecond{102};

class ChannelHosts : public HostsWorld {
 protected:
  void SetUp() override {
    HostsWorld::SetUp();
    sql.execute("INSERT INTO organisations (name) SELECT 'org-' || i FROM generate_series(2, 20) i");
    sql.execute("INSERT INTO org_keys (org_id, key_id, master, sealed) SELECT org_id, 1, 'master', '' FROM organisations");
    sql.execute(
        "INSERT INTO channels (org_id, shard, route_id, name, type, config, key_id, secret)"
        " SELECT org_id, 0, " +
        std::to_string(route().value) +
        ", 'ops', 'webhook', '{\"url\":\"http://h/\",\"rate\":\"7/m\"}', 1, '' FROM organisations");
    for (const auto host : {kFirst, kSecond}) register_host(host);
  }
  RouteShare share(std::int64_t org) {
    return {.route = {org * 10},
            .count = 1,
            .org = {org},
            .channel = sql.text("SELECT channel_id FROM channels WHERE org_id = " + std::to_string(org))};
  }
  static std::set<std::int64_t> served_by(QueueStore& store, HostId host, const std::vector<RouteShare>& shares,
                                          Millis lease = std::chrono::hours(1)) {
    std::vector<const RouteShare*> wanted;
    for (const auto& one : shares) wanted.push_back(&one);
    const auto served = store.serve_channels(host, wanted, lease);
    EXPECT_TRUE(served) << served.error().what;
    std::set<std::int64_t> orgs;
    for (const auto& one : served.value_or(std::vector<ServedChannel>{})) {
      EXPECT_EQ(one.rate, (Rate{7, Millis(60'000)}));
      orgs.insert(one.route.value / 10);
    }
    return orgs;
  }

  const std::unique_ptr<QueueStore> store = make_queue_store(address, {"old", "master"});
  using Orgs = std::set<std::int64_t>;
};

TEST_F(ChannelHosts, AnOrganisationIsServedByWhoAskedFirstUntilThatOneLeaves) {
  const auto one = share(1), two = share(2);
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1}));
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1})) << "it goes on";
  EXPECT_EQ(served_by(*store, kSecond, {one, two}), (Orgs{2}));
  EXPECT_EQ(served_by(*store, kFirst, {one, two}), (Orgs{1}));
  ASSERT_TRUE(store->leave_channels(kSecond, std::vector<OrgId>{{1}}));
  EXPECT_EQ(served_by(*store, kSecond, {one}), Orgs{}) << "nobody gives up what is another's";
  ASSERT_TRUE(store->leave_channels(kFirst, std::vector<OrgId>{{1}}));
  EXPECT_EQ(served_by(*store, kSecond, {one}), (Orgs{1}));
}

TEST_F(ChannelHosts, WhatAHostServedThatIsGoneIsTakenByOneOther) {
  const auto one = share(1);
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1}));
  sql.execute("DELETE FROM hosts WHERE host_id = 101");
  EXPECT_EQ(served_by(*store, kSecond, {one}), (Orgs{1}));
  register_host({103});
  EXPECT_EQ(served_by(*store, {103}, {one}), Orgs{});
}

// T3
TEST_F(ChannelHosts, APlaceThatIsNotRenewedForItsLeaseIsTakenByAnother) {
  const auto one = share(1);
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1}));
  EXPECT_EQ(served_by(*store, kSecond, {one}), Orgs{});
  sql.execute("UPDATE channel_hosts SET renewed_at = now() - interval '2 s', lease_until = now() - interval '1 s'");
  EXPECT_EQ(served_by(*store, kSecond, {one}), (Orgs{1})) << "the first one lives, and hangs";
  EXPECT_EQ(served_by(*store, kFirst, {one}), Orgs{}) << "it came back";
  EXPECT_EQ(sql.text("SELECT host_id || ' ' || (lease_until - renewed_at) FROM channel_hosts"), "102 01:00:00");
}

// T3
TEST_F(ChannelHosts, WhoComesBackBeforeAnotherTookItsPlaceGoesOn) {
  const auto one = share(1);
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1}));
  sql.execute("UPDATE channel_hosts SET renewed_at = now() - interval '2 s', lease_until = now() - interval '1 s'");
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1}));
  EXPECT_EQ(served_by(*store, kSecond, {one}), Orgs{}) << "it has a lease again";
}

// T3
TEST_F(ChannelHosts, ALivingHostRenewsItsPlacesAndWaitsForNoneThatIsLocked) {
  HostLiveness liveness(address, "box:1");
  const auto host = kept(liveness);
  EXPECT_EQ(served_by(*store, host, {share(1), share(2), share(3)}, Seconds(60)), (Orgs{1, 2, 3}));
  EXPECT_EQ(served_by(*store, kFirst, {share(4)}, Seconds(60)), (Orgs{4}));
  sql.execute("UPDATE channel_hosts SET renewed_at = now() - interval '60 s', lease_until = now()");
  SqlClient somebody(url);
  somebody.execute("SET search_path TO waybill; BEGIN; SELECT FROM channel_hosts WHERE org_id = 2 FOR UPDATE");
  ASSERT_TRUE(liveness.renew_channels(Seconds(60)));
  EXPECT_EQ(
      sql.text(
          "SELECT string_agg(org_id::text, ' ' ORDER BY org_id) FROM channel_hosts WHERE lease_until > now() + interval '5 s'"),
      "1 3");
  somebody.execute("COMMIT");
  ASSERT_TRUE(liveness.renew_channels(Seconds(60)));
  EXPECT_EQ(served_by(*store, kSecond, {share(1), share(2), share(3), share(4)}), (Orgs{4})) << "another's is not renewed";
}

// T3: a lease that begins in the future is from before the clock was set back
TEST_F(ChannelHosts, AStepOfTheClockLeavesNoPlaceForEver) {
  EXPECT_EQ(served_by(*store, kFirst, {share(1)}), (Orgs{1}));
  sql.execute(
      "UPDATE channel_hosts SET renewed_at = now() + interval '1 year', lease_until = now() + interval '1 year 1 minute'");
  EXPECT_EQ(served_by(*store, kSecond, {share(1)}), (Orgs{1}));
}

// T3
TEST_F(ChannelHosts, AHostOfAnOlderVersionKeepsItsPlaceUntilItIsDead) {
  const auto old_served = [&](HostId host, int org) {
    return sql.number("SELECT count(*) FROM serve_channels(" + std::to_string(host.value) + ", ARRAY[" + std::to_string(org) +
                      "], ARRAY(SELECT channel_id FROM channels WHERE org_id = " + std::to_string(org) +
                      "), ARRAY[10], ARRAY['master'])");
  };
  EXPECT_EQ(old_served(kFirst, 1), 1);
  EXPECT_EQ(old_served(kFirst, 1), 1);
  EXPECT_EQ(served_by(*store, kSecond, {share(1), share(2)}), (Orgs{2})) << "it renews nothing, and lives";
  EXPECT_EQ(old_served(kFirst, 2), 0);
  sql.execute("DELETE FROM hosts WHERE host_id = 101");
  EXPECT_EQ(served_by(*store, kSecond, {share(1)}), (Orgs{1}));
}

TEST_F(ChannelHosts, WithoutTheMasterKeyNothingIsServed) {
  const auto one = share(1), two = share(2);
  sql.execute("INSERT INTO org_keys (org_id, key_id, master, sealed) VALUES (2, 2, 'newest', '')");
  EXPECT_EQ(served_by(*make_queue_store(address), kFirst, {one, two}), Orgs{});
  EXPECT_EQ(served_by(*store, kFirst, {one, two}), (Orgs{1}));
  EXPECT_EQ(served_by(*make_queue_store(address, {"master", "newest"}), kSecond, {one, two}), (Orgs{2}));
}

TEST_F(ChannelHosts, OfManyThatAskAtOnceOneServesEachOrganisation) {
  std::vector<RouteShare> all;
  for (std::int64_t org = 1; org <= 20; ++org) all.push_back(share(org));
  constexpr int kHosts = 6;
  for (int round = 0; round < 5; ++round) {
    sql.execute(round % 3 == 0   ? "DELETE FROM channel_hosts"
                : round % 3 == 1 ? "DELETE FROM hosts; UPDATE channel_hosts SET host_id = 9"
                                 : "UPDATE channel_hosts SET lease_until = renewed_at");
    sql.execute("DELETE FROM hosts");
    std::vector<Orgs> served(kHosts);
    std::vector<std::thread> threads;
    std::atomic<int> ready{0};
    for (int i = 0; i < kHosts; ++i) register_host({200 + i});
    for (int i = 0; i < kHosts; ++i)
      threads.emplace_back([&, i] {
        const auto own = make_queue_store(address, {"master"});
        ++ready;
        while (ready < kHosts) std::this_thread::yield();
        served[static_cast<std::size_t>(i)] = served_by(*own, {200 + i}, all);
      });
    for (auto& thread : threads) thread.join();
    std::multiset<std::int64_t> by_anybody;
    for (const auto& one : served) by_anybody.insert(one.begin(), one.end());
    for (std::int64_t org = 1; org <= 20; ++org) EXPECT_EQ(by_anybody.count(org), 1u) << "organisation " << org;
  }
}

TEST_F(ChannelHosts, ALockIsWaitedForAMomentOnly) {
  const auto one = share(1);
  for (const auto* table : {"channel_hosts", "channels"}) {
    SqlClient somebody(url);
    somebody.execute("SET search_path TO waybill; BEGIN; LOCK TABLE " + std::string(table));
    const std::vector<const RouteShare*> wanted{&one};
    const auto served = make_queue_store(address, {"master"})->serve_channels(kFirst, wanted, Seconds(60));
    ASSERT_FALSE(served) << table;
    EXPECT_NE(served.error().what.find("55P03"), std::string::npos) << served.error().what;
    somebody.execute("COMMIT");
  }
  EXPECT_EQ(served_by(*store, kFirst, {one}), (Orgs{1}));
  for (const auto* function : {"serve_channels", "record_channel_results"})
    EXPECT_EQ(
        sql.text("SELECT DISTINCT array_to_string(proconfig, ' ') FROM pg_proc WHERE proname = '" + std::string(function) + "'"),
        "search_path=waybill, pg_temp lock_timeout=100ms");
}

}  // namespace
}  // namespace waybill::testing
