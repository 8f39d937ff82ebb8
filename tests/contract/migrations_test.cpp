// The schema comes from nothing, once, whoever begins, and never goes back.  M12 M18
#include "store/migrations.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/postgres_cluster.h"
#include "support/sql_client.h"

namespace waybill::testing {
namespace {

class Migrating : public ::testing::Test {
 protected:
  const std::string url = cluster().create_database();
  const DatabaseAddress address{url, "waybill"};
  SqlClient sql{url};
};

TEST_F(Migrating, AnEmptyDatabaseGetsEveryMigrationAndASecondRunNothing) {
  const auto before = schema_state(address);
  ASSERT_TRUE(before) << before.error().what;
  EXPECT_EQ(before->database, 0);
  const auto first = migrate(address);
  ASSERT_TRUE(first) << first.error().what;
  EXPECT_EQ(first->size(), migrations().size());
  EXPECT_EQ(first->front(), "0001_spine");
  const auto second = migrate(address);
  ASSERT_TRUE(second) << second.error().what;
  EXPECT_TRUE(second->empty());
  const auto after = schema_state(address);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->database, after->program);
  EXPECT_EQ(sql.number("SELECT count(*) FROM waybill.schema_migrations"), static_cast<std::int64_t>(migrations().size()));
}

TEST_F(Migrating, SeveralHostsThatStartAtOnceApplyEachMigrationOnce) {  // M18
  std::vector<Result<std::vector<std::string>>> done(4, fail(Error::Kind::bug, "not run"));
  {
    std::vector<std::jthread> hosts;
    for (auto& one : done) hosts.emplace_back([&one, this] { one = migrate(address); });
  }
  std::size_t applied = 0;
  for (const auto& one : done) {
    ASSERT_TRUE(one) << one.error().what;
    applied += one->size();
  }
  EXPECT_EQ(applied, migrations().size());
}

TEST_F(Migrating, ADatabaseThatIsNewerThanTheProgramIsRefused) {
  ASSERT_TRUE(migrate(address));
  sql.execute("INSERT INTO waybill.schema_migrations (version, name) VALUES (9999, '9999_later')");
  const auto migrated = migrate(address);
  const auto state = schema_state(address);
  ASSERT_FALSE(migrated);
  ASSERT_FALSE(state);
  for (const auto& error : {migrated.error(), state.error()}) {
    EXPECT_EQ(error.kind, Error::Kind::invalid);
    EXPECT_NE(error.what.find("9999"), std::string::npos) << error.what;
    EXPECT_NE(error.what.find("newer waybill"), std::string::npos) << error.what;
  }
}

TEST_F(Migrating, ASchemaMayHaveAnyNameAndTwoLiveSideBySide) {
  const DatabaseAddress odd{url, "it's \"odd\""};
  ASSERT_TRUE(migrate(address));
  const auto applied = migrate(odd);
  ASSERT_TRUE(applied) << applied.error().what;
  EXPECT_EQ(applied->size(), migrations().size());
  EXPECT_EQ(sql.number("SELECT count(*) FROM pg_tables WHERE tablename = 'submissions'"), 2);
}

TEST_F(Migrating, ADatabaseThatIsAwayIsUnavailable) {
  const auto done = migrate({"postgresql://nobody@/nowhere?host=/nonexistent", "waybill"});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace waybill::testing
