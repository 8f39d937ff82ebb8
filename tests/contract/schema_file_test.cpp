// docs/schema.sql is the schema that the migrations make.
#include <cstdlib>
#include <fstream>

#include "contract/schema_text.h"
#include "contract/store_world.h"

namespace waybill::testing {
namespace {

constexpr auto kHead =
    "-- The schema as it is now, to be read: `./dev schema` makes this file from the catalogue. The reasons stand in "
    "schema/*.sql, migration\n"
    "-- by migration. Left out are partitions by month, which make_partitions() makes, and grants and policies, which follow "
    "from the rows of\n"
    "-- access_rules by apply_access().\n";

class SchemaFile : public StoreWorld {
 protected:
  const std::string path = std::string(WAYBILL_SOURCE_FOLDER) + "/docs/schema.sql";
};

TEST_F(SchemaFile, IsWhatTheMigrationsMake) {
  const auto text = kHead + schema_text(sql);
  ASSERT_NE(text.find("CREATE TABLE ready ("), std::string::npos) << text;
  if (std::getenv("WAYBILL_WRITE_SCHEMA")) std::ofstream(path, std::ios::binary) << text;  // ./dev schema
  EXPECT_EQ(text_of_file(path), text) << "run ./dev schema and commit docs/schema.sql with the migration";
}

TEST_F(SchemaFile, IsTheSameInAnyMonth) {
  const auto before = schema_text(sql);
  const auto partitions = sql.number("SELECT count(*) FROM pg_inherits");
  sql.execute("SELECT make_partitions(40)");
  ASSERT_GT(sql.number("SELECT count(*) FROM pg_inherits"), partitions);
  EXPECT_EQ(schema_text(sql), before);
}

}  // namespace
}  // namespace waybill::testing
