// The schema of a database as text, from the catalogue.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/sql_client.h"

namespace waybill::testing {

inline std::string text_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// What belongs to one table stands together, with a blank line before it. The schema is that of the search path.
inline std::string schema_text(SqlClient& sql) {
  std::string text, last;
  for (const auto& row : sql.rows(text_of_file(std::string(WAYBILL_SOURCE_FOLDER) + "/tests/contract/schema_text.sql"))) {
    const std::string set = row.at(0).value() + row.at(1).value_or("");
    if (set != last || !row.at(1)) text += '\n';
    last = set;
    text += row.at(2).value() + '\n';
  }
  return text;
}

}  // namespace waybill::testing
