// docs/operations/configuration.md against the loader: the same keys, units, defaults and variables, and an example that loads.
#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <utility>

#include "config/keys.h"
#include "unit/config/written_file.h"

namespace waybill {
namespace {

using testing::joined;
using testing::WrittenFile;

std::string page() {
  std::ifstream in(std::string(WAYBILL_SOURCE_DIR) + "/docs/operations/configuration.md");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A cell without the blanks and back-ticks around it.
std::string bare(const std::string& cell) {
  const auto first = cell.find_first_not_of(" `");
  return first == std::string::npos ? "" : cell.substr(first, cell.find_last_not_of(" `") - first + 1);
}

// The rows of the table under a heading, without its head.
std::vector<std::vector<std::string>> table(const std::string& heading) {
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(page());
  bool here = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#")) here = line == heading;
    if (!here || !line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(bare(cell));
    rows.push_back(std::move(cells));
  }
  return rows;
}

TEST(ConfigurationPage, ListsExactlyTheKeysOfTheLoaderInItsOrder) {
  const auto rows = table("## Every key");
  ASSERT_EQ(rows.size(), config::keys().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& key = config::keys()[i];
    ASSERT_EQ(rows[i].size(), 5u) << key.path;
    EXPECT_EQ(rows[i][0], key.path);
    EXPECT_EQ(rows[i][1], key.environment_name());
    EXPECT_EQ(rows[i][2], key.unit) << key.path;
    EXPECT_EQ(rows[i][3], key.fallback) << key.path;
    EXPECT_FALSE(rows[i][4].empty()) << key.path;
  }
}

TEST(ConfigurationPage, ListsTheFieldsOfRetryAndSecrets) {
  const auto names = [](const std::string& heading) {
    std::set<std::string> set;
    for (const auto& row : table(heading)) set.insert(row[0]);
    return set;
  };
  EXPECT_EQ(names("### One entry of `retry`"),
            std::set<std::string>(std::begin(config::kRetryFields), std::end(config::kRetryFields)));
  EXPECT_EQ(names("### One entry of `secrets`"),
            std::set<std::string>(std::begin(config::kSecretFields), std::end(config::kSecretFields)));
}

TEST(ConfigurationPage, StatesTheDefaultsThatAreUsed) {
  const auto plain = load_config("", {"WAYBILL_DATABASE_EMBEDDED=pg"});
  std::vector<std::string> environment{"WAYBILL_DATABASE_EMBEDDED=pg"};
  for (const auto& key : config::keys())
    if (!key.is_named() && !key.fallback.empty()) environment.push_back(key.environment_name() + "=" + std::string(key.fallback));
  auto spelt_out = load_config("", environment);
  ASSERT_TRUE(plain && spelt_out) << joined(spelt_out ? Problems{} : spelt_out.error());
  EXPECT_TRUE(std::exchange(spelt_out->isolations.says_others, false)) << "of this one it counts whether somebody says it";
  EXPECT_EQ(*plain, *spelt_out);
}

TEST(ConfigurationPage, StatesTheDefaultsOfARetryEntry) {
  std::string entry = "WAYBILL_RETRY_SMS={kind: exponential";
  for (const auto& row : table("### One entry of `retry`"))
    if (!row[2].empty()) entry += ", " + row[0] + ": " + row[2];
  const auto config = load_config("", {"WAYBILL_DATABASE_EMBEDDED=pg", entry + "}"});
  ASSERT_TRUE(config) << joined(config.error());
  EXPECT_EQ(config->retry_for("sms"), (RetryTiming{.kind = RetryTiming::Kind::exponential}));
}

TEST(ConfigurationPage, HasAnExampleThatLoads) {
  const auto text = page();
  const auto begin = text.find("```yaml\n") + 8;
  const WrittenFile file(text.substr(begin, text.find("```", begin) - begin));
  const auto config = load_config(file.path(), {});
  ASSERT_TRUE(config) << joined(config.error());
  EXPECT_EQ(config->secrets.at("billing").size(), 2u);
}

}  // namespace
}  // namespace waybill
