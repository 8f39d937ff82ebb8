// Every statement of host/store fits the schema, whether another test runs it or not.
#include <set>

#include "contract/store_world.h"
#include "store/queue/settle_statement.h"

namespace waybill::testing {
namespace {

class Statements : public StoreWorld {
 protected:
  void prepare(const Statement& statement) {
    EXPECT_TRUE(names.insert(statement.name).second) << statement.name << " is the name of two";
    try {
      sql.execute("PREPARE " + std::string(statement.name) + " AS " + statement.sql);
    } catch (const std::exception& e) {
      ADD_FAILURE() << statement.name << ": " << e.what();
    }
  }

  std::set<std::string> names;
};

TEST_F(Statements, AllOfThemFitTheSchema) {
  ASSERT_GT(all_statements().size(), 100u);
  for (const auto& statement : all_statements()) prepare(statement);
  const Settlement one{.status = Status::accepted}, other{.status = Status::due};
  prepare(SettleBatch(std::vector{one}).statement());
  prepare(SettleBatch(std::vector{one, other}).statement());
  EXPECT_TRUE(names.contains("settle") && names.contains("settle_sorts"));
}

}  // namespace
}  // namespace waybill::testing
