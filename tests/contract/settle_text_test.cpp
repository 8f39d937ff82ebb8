// docs/settle.sql has the statements that settle, as hosts send them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "store/queue/settle_statement.h"

namespace waybill::testing {
namespace {

constexpr auto kSettleHead =
    "-- The two statements that settle, to be read: `./dev schema` makes this file from the template `settle` in\n"
    "-- host/store/queue/settle.sql and the columns in host/store/queue/settle_statement.cpp. `settle` is for a batch that "
    "agrees in\n"
    "-- every column that is no array here; `settle_sorts` has arrays of those, and each item says which element is its own.\n";

// Lines of the template grow long where columns take the place of a word: they are cut at commas.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 130;
  std::string all, line;
  const auto end_line = [&] {
    const auto indent = std::string(line.find_first_not_of(' ') + 4, ' ');
    for (auto at = std::string::npos; line.size() > kWidth && (at = line.rfind(", ", kWidth)) != std::string::npos;) {
      all += line.substr(0, at + 1) + '\n';
      line = indent + line.substr(at + 2);
    }
    all += line + '\n';
    line.clear();
  };
  for (const char c : text) c == '\n' ? end_line() : line.push_back(c);
  end_line();
  return all;
}

std::string text_of(const std::vector<Settlement>& batch) {
  const Statement& statement = SettleBatch(batch).statement();
  return "\n-- " + std::string(statement.name) + "\n" + wrapped(statement.sql + std::string(";"));
}

TEST(SettleText, IsWhatHostsSend) {
  const Settlement one{.status = Status::accepted}, other{.status = Status::due};
  const std::string text = kSettleHead + text_of({one}) + text_of({one, other});
  const std::string path = std::string(WAYBILL_SOURCE_FOLDER) + "/docs/settle.sql";
  if (std::getenv("WAYBILL_WRITE_SCHEMA")) std::ofstream(path, std::ios::binary) << text;  // ./dev schema
  std::ifstream in(path, std::ios::binary);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), text)
      << "run ./dev schema and commit docs/settle.sql with the change";
}

}  // namespace
}  // namespace waybill::testing
