// Every statement of host/store fits the schema, whether another test runs it or not, and answers what it says that it returns.
#include <libpq-fe.h>

#include <set>

#include "contract/store_world.h"
#include "store/queue/settle_statement.h"

namespace waybill::testing {
namespace {

using Answer = std::unique_ptr<PGresult, decltype(&PQclear)>;

class Statements : public StoreWorld {
 protected:
  void SetUp() override {
    StoreWorld::SetUp();
    session_.reset(PQconnectdb(url.c_str()));
    ASSERT_EQ(PQstatus(session_.get()), CONNECTION_OK) << PQerrorMessage(session_.get());
    Answer(PQexec(session_.get(), "SET search_path TO waybill"), PQclear);
    for (const auto& row :
         sql.rows("SELECT a.attrelid, a.attnum FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
                  "WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT a.attnotnull"))
      may_be_null_.insert({std::stoul(*row[0]), std::stoi(*row[1])});
  }

  void prepare(const Statement& statement) {
    EXPECT_TRUE(names.insert(statement.name).second) << statement.name << " is the name of two";
    const Answer prepared(PQprepare(session_.get(), statement.name, statement.sql, 0, nullptr), PQclear);
    ASSERT_EQ(PQresultStatus(prepared.get()), PGRES_COMMAND_OK) << statement.name << ": " << PQerrorMessage(session_.get());
    const Answer described(PQdescribePrepared(session_.get(), statement.name), PQclear);
    EXPECT_EQ(returned(*described, statement), said(statement)) << statement.name;
  }

  std::set<std::string> names;

 private:
  static std::string said(const Statement& statement) {
    std::string all;
    for (const auto& column : statement.columns) all += line(column.name, column.kind, column.may_be_null);
    return all;
  }
  // As PostgreSQL describes it. Whether an expression or an outer join may give null is not known.
  std::string returned(const PGresult& described, const Statement& statement) const {
    std::string all;
    for (int i = 0; i < PQnfields(&described); ++i) {
      const auto* column = static_cast<std::size_t>(i) < statement.columns.size() ? &statement.columns[i] : nullptr;
      const bool may_be_null = may_be_null_.contains({PQftable(&described, i), PQftablecol(&described, i)});
      all +=
          line(PQfname(&described, i), kind_of(PQftype(&described, i), column), may_be_null || (column && column->may_be_null));
    }
    return all;
  }
  static Column::Kind kind_of(Oid type, const Column* said) {
    constexpr Oid kBool = 16, kInt8 = 20, kInt2 = 21, kInt4 = 23;
    if (type == kBool) return Column::Kind::flag;
    if (type == kInt8 && said && said->kind == Column::Kind::time) return Column::Kind::time;
    return type == kInt8 || type == kInt4 || type == kInt2 ? Column::Kind::number : Column::Kind::text;
  }
  static std::string line(const std::string& name, Column::Kind kind, bool may_be_null) {
    constexpr const char* kWords[] = {" number", " flag", " time", " text"};
    return name + kWords[static_cast<int>(kind)] + (may_be_null ? "?\n" : "\n");
  }

  std::unique_ptr<PGconn, decltype(&PQfinish)> session_{nullptr, PQfinish};
  std::set<std::pair<Oid, int>> may_be_null_;  // tables' columns
};

TEST_F(Statements, AllOfThemFitTheSchemaAndAnswerWhatTheySay) {
  ASSERT_GT(all_statements().size(), 100u);
  for (const auto& statement : all_statements()) prepare(statement);
  const Settlement one{.status = Status::accepted}, other{.status = Status::due};
  prepare(SettleBatch(std::vector{one}).statement());
  prepare(SettleBatch(std::vector{one, other}).statement());
  EXPECT_TRUE(names.contains("settle") && names.contains("settle_sorts"));
}

}  // namespace
}  // namespace waybill::testing
