// What errors of PostgreSQL mean, and that docs/operations/database-errors.md says the same.  E4
#include "store/pg/sqlstate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

namespace waybill {
namespace {

// The codes of PostgreSQL's own list that an operator meets, a few of each class.  E4
TEST(Sqlstate, OnlyWhatCanNeverSucceedIsFinal) {
  for (const char* final : {"22001", "22021", "22P02", "22P05", "23502", "23503", "23505", "23514", "42601", "42804", "54000"})
    EXPECT_EQ(remedy_for(final), Remedy::none) << final;
  for (const char* passing : {"40001", "40003", "40P01", "53000", "53100", "53200", "53300", "53400", "55000", "55006", "55P03",
                              "57014", "P0001", "01000", "28000", ""})
    EXPECT_EQ(remedy_for(passing), Remedy::wait) << passing;
  for (const char* lost : {"08000", "08006", "0A000", "25006", "25P02", "26000", "3F000", "42501", "42P01", "42703", "42704",
                           "42883", "57P01", "57P02", "57P03", "57P05", "58030", "XX000", "XX001"})
    EXPECT_EQ(remedy_for(lost), Remedy::new_session) << lost;
}

// E4
TEST(Sqlstate, ThePageForOperatorsSaysTheSame) {
  std::ifstream page(std::string(WAYBILL_SOURCE_DIR) + "/docs/operations/database-errors.md");
  ASSERT_TRUE(page.is_open());
  static const std::regex kRow(R"(\| ((?:`[0-9A-Z]{2,5}`(?:, )?)+) \| [^|]+ \| ([a-z ]+) \|.*)"), kCode("`([0-9A-Z]{2,5})`");
  std::size_t seen = 0;
  for (std::string line; std::getline(page, line);) {
    std::smatch row;
    if (!std::regex_match(line, row, kRow)) continue;
    const std::string codes = row[1], word = row[2];
    const auto remedy = word == "final" ? Remedy::none : word == "waits" ? Remedy::wait : Remedy::new_session;
    EXPECT_TRUE(word == "final" || word == "waits" || word == "new session") << line;
    for (auto code = std::sregex_iterator(codes.begin(), codes.end(), kCode); code != std::sregex_iterator(); ++code, ++seen)
      EXPECT_EQ(remedy_for(std::string((*code)[1]) + "000"), remedy) << (*code)[1];
  }
  EXPECT_GE(seen, 19u);
}

}  // namespace
}  // namespace waybill
