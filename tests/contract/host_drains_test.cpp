// Hosts that an operator keeps from claiming, in the database: known by the name that a restart leaves them.  O5
#include "contract/store_world.h"
#include "store/operations/host_store.h"
#include "store/queue/host_liveness.h"

namespace waybill::testing {
namespace {

const Operator kAda{"ada", "test"};

class HostDrainContract : public StoreWorld {
 protected:
  std::optional<HostDrain> hear(const std::string& name, const std::string& process, std::optional<Timestamp> success = {}) {
    const auto drain = maintenance->hear({name, process, "1.0", success});
    EXPECT_TRUE(drain) << drain.error().what;
    return drain ? *drain : std::nullopt;
  }
  ListedHost listed(const std::string& name) {
    const auto hosts = store->list();
    EXPECT_TRUE(hosts) << hosts.error().what;
    for (const auto& host : *hosts)
      if (host.name == name) return host;
    ADD_FAILURE() << "no host " << name;
    return {};
  }

  std::unique_ptr<HostStore> store = make_host_store(address);
};

// O5
TEST_F(HostDrainContract, ADrainIsAHostsOfThatNameWhateverProcessItHas) {
  EXPECT_FALSE(hear("mail-1", "box:11"));
  EXPECT_EQ(store->name_of("mail-1").value(), "mail-1");
  EXPECT_EQ(store->name_of("box:11").value(), "mail-1");
  ASSERT_TRUE(store->drain("mail-1", "new kernel", kAda));
  EXPECT_FALSE(hear("mail-2", "box:12"));
  const auto drain = hear("mail-1", "box:13");
  ASSERT_TRUE(drain);
  EXPECT_EQ(drain->reason, "new kernel");
  EXPECT_EQ(drain->actor, "ada");
  const auto resumed = store->resume("mail-1", {"bob", "test"});
  ASSERT_TRUE(resumed) << resumed.error().what;
  EXPECT_EQ(*resumed, *drain);
  EXPECT_FALSE(hear("mail-1", "box:13"));
  EXPECT_EQ(
      sql.text("SELECT string_agg(action || ' ' || actor || ' ' || (metadata ->> 'host') || ' ' || (metadata ->> 'reason'), "
               "', ' ORDER BY id) FROM audit_log"),
      "host_drained ada mail-1 new kernel, host_resumed bob mail-1 new kernel");
}

// O5
TEST_F(HostDrainContract, WhatNobodyKnowsIsRefusedAndSoIsASecondDrain) {
  const auto kind = [](const auto& result) { return result ? Error::Kind::bug : result.error().kind; };
  EXPECT_EQ(kind(store->name_of("mail-1")), Error::Kind::not_found);
  EXPECT_EQ(kind(store->name_of("")), Error::Kind::invalid);
  EXPECT_EQ(kind(store->name_of("a\xff")), Error::Kind::invalid);
  hear("mail-1", "box:11");
  EXPECT_EQ(kind(store->drain("mail-1", "", kAda)), Error::Kind::invalid);
  EXPECT_EQ(kind(store->drain("mail-1", std::string(kMaxReason + 1, 'x'), kAda)), Error::Kind::invalid);
  EXPECT_EQ(kind(store->resume("mail-1", kAda)), Error::Kind::not_found);
  ASSERT_TRUE(store->drain("mail-1", "first", kAda));
  const auto again = store->drain("mail-1", "second", {"bob", "test"});
  ASSERT_EQ(kind(again), Error::Kind::conflict);
  EXPECT_NE(again.error().what.find("by ada: first"), std::string::npos) << again.error().what;
  EXPECT_EQ(sql.number("SELECT count(*) FROM audit_log"), 1);
}

// O5
TEST_F(HostDrainContract, TheQuarantineOfAHostIsNoHost) {
  HostLiveness beside(address, "box:11/quarantine");
  ASSERT_TRUE(beside.keep());
  EXPECT_TRUE(store->list()->empty());
  EXPECT_TRUE(reader->living_hosts()->empty()) << "explain would call it silent";
  EXPECT_TRUE(make_form_store(address, 1, {})->registries()->empty()) << "a reload would wait for its word";
}

// O5
TEST_F(HostDrainContract, AHostThatIsAwayIsListedAndForgottenAfterAMonthUnlessItIsDrained) {
  hear("gone", "box:11", Timestamp{1'700'000'000'000'000});
  hear("gone", "box:12");
  hear("kept", "box:13");
  ASSERT_TRUE(store->drain("kept", "sold", kAda));
  EXPECT_FALSE(listed("gone").process);
  EXPECT_EQ(listed("gone").succeeded, (Timestamp{1'700'000'000'000'000})) << "a restart forgets no success";
  EXPECT_EQ(listed("gone").last_version, "1.0");
  EXPECT_TRUE(listed("kept").drain);
  sql.execute("UPDATE known_hosts SET heard_at = now() - interval '31 days'");
  ASSERT_TRUE(maintenance->forget_outages(Millis(0)));
  EXPECT_EQ(sql.text("SELECT string_agg(name, ',') FROM known_hosts"), "kept");
  EXPECT_EQ(store->name_of("kept").value(), "kept");
  EXPECT_FALSE(store->name_of("gone"));
}

// O5
TEST_F(HostDrainContract, AProcessIsListedUnderTheNameThatItSaysAndOneOfAnEarlierVersionUnderItsMachines) {
  register_host({7});
  register_host({8});
  sql.execute("UPDATE hosts SET name = 'box:' || host_id, knows = 59");
  ASSERT_TRUE(maintenance->tell({7}, R"({"name":"mail-1","inFlight":3})"));
  hear("mail-1", "box:7");
  EXPECT_EQ(listed("mail-1").process->name, "box:7");
  EXPECT_FALSE(listed("mail-1").lives) << "it holds no lock";
  EXPECT_EQ(listed("mail-1").knows, 59);
  EXPECT_EQ(listed("box").process->name, "box:8");
  EXPECT_EQ(store->name_of("box:8").value(), "box");
  EXPECT_EQ(store->name_of("box:7").value(), "mail-1");
}

}  // namespace
}  // namespace waybill::testing
