// Whatever belongs to a host has an end, and docs/reliability.md lists all of it.  T3
#include <fstream>
#include <iterator>

#include "contract/store_world.h"

namespace waybill::testing {
namespace {

class HostRows : public StoreWorld {};

TEST_F(HostRows, EachTableThatNamesAHostIsListedWithItsEnd) {  // T3
  std::ifstream in(std::string(WAYBILL_SOURCE_FOLDER) + "/docs/reliability.md");
  ASSERT_TRUE(in.is_open());
  const std::string page{std::istreambuf_iterator<char>(in), {}};
  const auto begin = page.find("\n## What belongs to a host\n");
  ASSERT_NE(begin, std::string::npos);
  const auto section = page.substr(begin, page.find("\n## ", begin + 1) - begin);
  const auto tables = sql.rows(
      "SELECT DISTINCT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
      " WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
      " AND a.attname IN ('host_id', 'claimed_by', 'host', 'probe_host') AND NOT a.attisdropped ORDER BY 1");
  EXPECT_GE(tables.size(), 10u);
  for (const auto& row : tables) {
    const auto name = row.at(0).value();
    EXPECT_TRUE(section.find("`" + name + "`") != std::string::npos || section.find("`" + name + ".") != std::string::npos)
        << "the table " << name << " names a host and is not in docs/reliability.md, What belongs to a host";
  }
  EXPECT_NE(section.find("`listing`"), std::string::npos) << "one host at a time holds it";
}

}  // namespace
}  // namespace waybill::testing
