// How a host shows that it lives, and how others see that it does not.  M18
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>

#include <set>

#include "contract/hosts_world.h"

namespace waybill::testing {
namespace {

class HostLivenessContract : public HostsWorld {
 protected:
  static std::set<int> sockets() {
    std::set<int> all;
    DIR* folder = opendir("/proc/self/fd");
    while (const auto* entry = readdir(folder)) {
      const int fd = atoi(entry->d_name);
      int type = 0;
      socklen_t size = sizeof type;
      if (fd > 2 && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0) all.insert(fd);
    }
    closedir(folder);
    return all;
  }
};

TEST_F(HostLivenessContract, ALivingHostIsNotDead) {  // M18
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const auto a = first.keep(), b = second.keep();
  ASSERT_TRUE(a) << a.error().what;
  ASSERT_TRUE(b);
  EXPECT_NE(*a, *b);
  EXPECT_EQ(*first.keep(), *a) << "it keeps its id";
  EXPECT_TRUE(dead(*a).empty());
  const auto hosts = reader->hosts();
  ASSERT_EQ(hosts->size(), 2u);
  EXPECT_EQ((*hosts)[0].id, *a);
  EXPECT_EQ((*hosts)[0].name, "box:1");
}

// T24
TEST_F(HostLivenessContract, EverySignOfLifeTellsTheDatabasesTime) {
  HostLiveness liveness(address, "box:1"), nowhere({"postgresql://nobody@/nowhere?host=/nonexistent", "waybill"}, "box:9");
  const auto now = [&] { return sql.number("SELECT micros(clock_timestamp())"); };
  for (int look = 0; look < 3; ++look) {
    const auto before = now();
    ASSERT_TRUE(liveness.keep());
    ASSERT_TRUE(liveness.time());
    EXPECT_GE(liveness.time()->micros, before);
    EXPECT_LE(liveness.time()->micros, now());
  }
  EXPECT_FALSE(nowhere.keep());
  EXPECT_FALSE(nowhere.time());
}

// Or a host that reaches nothing would be alone for a second, whenever the database has ended everybody's sessions.
TEST_F(HostLivenessContract, AHostIsHeardFromItsFirstMomentAndWhenItComesBack) {  // T3 T13
  const auto is_heard = [&](HostId host) {
    return sql.number("SELECT count(*) FROM heard_hosts WHERE host_id = " + std::to_string(host.value)) == 1;
  };
  HostLiveness liveness(address, "box:1");
  const HostId host = *liveness.keep();
  sql.execute("UPDATE hosts SET started_at = now() - interval '1 hour'");
  EXPECT_TRUE(is_heard(host));
  ASSERT_EQ(reader->living_hosts()->size(), 1u);
  EXPECT_EQ(reader->living_hosts()->front().facts, "") << "it is heard, and has not said what it can do (T30)";
  sql.execute("UPDATE host_facts SET facts = '{\"draining\":true}'");
  kill(host);
  EXPECT_EQ(kept(liveness), host);
  EXPECT_TRUE(is_heard(host));
  EXPECT_EQ(sql.text("SELECT facts ->> 'draining' FROM host_facts"), "true") << "what it said last holds";
}

TEST_F(HostLivenessContract, LookingForTheDeadTakesNoLock) {  // E7
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  const auto another = make_rescue_store(address);
  ASSERT_EQ(dead(b).size(), 1u);
  EXPECT_FALSE(seen(*another, b).at(0).lives) << "another sees it too";
  EXPECT_EQ(kept(first), a) << "and it can still come back as itself";
  EXPECT_TRUE(dead(b).empty());
}

TEST_F(HostLivenessContract, ADeadHostIsRescuedByOneOnly) {  // M18
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  const auto gone = dead(b);
  ASSERT_EQ(gone.size(), 1u);
  const auto another = make_rescue_store(address);
  ASSERT_TRUE(*rescue->take_over(gone[0]));
  EXPECT_FALSE(*another->take_over(gone[0]));
  EXPECT_TRUE(seen(*another, b).at(0).lives) << "it is looked after";
  EXPECT_FALSE(seen(*rescue, b).at(0).lives) << "a rescuer's own lock is no sign of life";
  ASSERT_TRUE(rescue->unregister(a));
  EXPECT_TRUE(seen(*another, b).empty());
  EXPECT_EQ(reader->hosts()->size(), 1u);
}

TEST_F(HostLivenessContract, AHostThatDiesWhileItRescuesLeavesTheDeadToOthers) {  // M18
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  ASSERT_TRUE(*rescue->take_over(dead(b).at(0)));
  rescue.reset();
  const auto another = make_rescue_store(address);
  EXPECT_TRUE(eventually([&] { return !seen(*another, b).at(0).lives; }));
}

TEST_F(HostLivenessContract, AHostThatLostItsSessionIsWhoItWasUnlessItWasRescued) {  // M18 E7
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  const auto before = dead(b).at(0);
  EXPECT_EQ(kept(first), a);
  EXPECT_TRUE(dead(b).empty());
  kill(a);
  EXPECT_FALSE(*rescue->take_over(before)) << "it was back since that look";
  ASSERT_TRUE(*rescue->take_over(dead(b).at(0)));
  ASSERT_TRUE(rescue->unregister(a));
  EXPECT_NE(kept(first), a);
  EXPECT_EQ(reader->hosts()->size(), 2u);
  EXPECT_TRUE(dead(b).empty());
}

TEST_F(HostLivenessContract, AHostThatIsBeingRescuedComesBackUnderAnotherId) {  // M18
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep(), b = *second.keep();
  kill(a);
  ASSERT_TRUE(*rescue->take_over(dead(b).at(0)));
  EXPECT_NE(kept(first), a);
}

TEST_F(HostLivenessContract, AHostThatIsNotRegisteredAnyMoreDoesNotGoOnUnderItsOldId) {  // E7
  HostLiveness first(address, "box:1");
  const HostId a = *first.keep();
  sql.execute("DELETE FROM hosts");
  EXPECT_NE(kept(first), a) << "what it claims as the old one would be taken back again and again";
  EXPECT_EQ(reader->hosts()->size(), 1u);
}

// The connection is gone here, but the server does not know it yet: the old session still has the lock.
TEST_F(HostLivenessContract, AHostEndsItsOwnOldSessionAndIsWhoItWas) {  // E7
  const auto before = sockets();
  HostLiveness first(address, "box:1");
  const HostId a = *first.keep();
  const auto backend = static_cast<pid_t>(sql.number("SELECT pid" + holders_of(a)));
  ASSERT_EQ(::kill(backend, SIGSTOP), 0);
  const AtEnd go_on([&] { ::kill(backend, SIGCONT); });
  for (const int fd : sockets())
    if (!before.contains(fd)) shutdown(fd, SHUT_RDWR);
  EXPECT_FALSE(first.keep()) << "the old session is still being ended";
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 1) << "and nobody is registered beside it";
  ::kill(backend, SIGCONT);
  EXPECT_EQ(kept(first), a);
}

// Whoever has the table locked does not end a host's life.
TEST_F(HostLivenessContract, ALockOnTheHostsTableCostsNoPresence) {  // E5 E7
  HostLiveness first(address, "box:1");
  const HostId a = *first.keep();
  SqlClient blocker(url);
  blocker.execute("BEGIN");
  blocker.execute("LOCK TABLE waybill.hosts IN ACCESS EXCLUSIVE MODE");
  const auto kept = first.keep();
  ASSERT_TRUE(kept) << kept.error().what;
  EXPECT_EQ(*kept, a);
  EXPECT_EQ(sql.number("SELECT count(*)" + holders_of(a)), 1);
  blocker.execute("ROLLBACK");
  EXPECT_EQ(*first.keep(), a);
}

TEST_F(HostLivenessContract, ARenewalChangesTheLeaseAndWaitsForNobody) {  // E7
  HostLiveness first(address, "box:1");
  const HostId a = *first.keep();
  submit_many(3);
  for (const std::int64_t token : {1, 2, 3}) claim(route(), 1, {token}, a);
  SqlClient blocker(url);
  blocker.execute("BEGIN");
  blocker.execute("SELECT 1 FROM waybill.claims WHERE token = 2 FOR UPDATE");
  sql.execute("UPDATE claims SET lease_until = now() - interval '1 hour' WHERE token <> 2");
  ASSERT_TRUE(first.renew(0, std::vector<ClaimToken>{{1}, {2}, {99}}, Millis(60'000)));
  EXPECT_EQ(sql.text("SELECT string_agg(token::text, ' ' ORDER BY token) FROM claims WHERE lease_until > now()"), "1 2");
  blocker.execute("ROLLBACK");
}

// A row without a lock is what a dead host leaves: others would rescue this one while it begins.
TEST_F(HostLivenessContract, AHostHasItsLockBeforeItsRowCanBeSeen) {  // M18
  HostLiveness first(address, "box:1"), second(address, "box:2");
  const HostId a = *first.keep();
  sql.execute("SELECT pg_advisory_lock(hashtext('waybill:' || current_schema()), " + std::to_string(a.value + 1) + ")");
  const auto refused = second.keep();
  ASSERT_FALSE(refused) << "the id is " << refused->value << ", not the one whose lock is taken";
  EXPECT_NE(refused.error().what.find("is taken"), std::string::npos) << refused.error().what;
  EXPECT_EQ(sql.number("SELECT count(*) FROM hosts"), 1) << "a row of a host that has no lock";
  EXPECT_TRUE(second.keep()) << "the next id is free";
}

TEST_F(HostLivenessContract, AnOrderlyEndLeavesNobodyToRescue) {
  HostLiveness first(address, "box:1"), second(address, "box:2");
  first.keep();
  const HostId b = *second.keep();
  first.leave();
  EXPECT_TRUE(dead(b).empty());
  EXPECT_EQ(reader->hosts()->size(), 1u);
}

}  // namespace
}  // namespace waybill::testing
