// Where a setting stands, for what is found to be wrong with it later.
#include <gtest/gtest.h>

#include "unit/config/written_file.h"

namespace waybill {
namespace {

using testing::WrittenFile;

TEST(SettingPlaces, AreTheLinesOfTheFile) {  // D11
  const WrittenFile file(
      "database: { embedded: pg }\n"
      "senders:\n"
      "  sms:\n"
      "    headers:\n"
      "      X-A: 1\n"
      "    to: [a,\n"
      "         b]\n");
  const auto config = load_config(file.path(), {});
  ASSERT_TRUE(config);
  const auto line_of = [&](const std::string& path) {
    const auto problem = config->problem(path, "is wrong");
    EXPECT_EQ(problem.file, file.path().string());
    EXPECT_EQ(problem.field, path);
    EXPECT_EQ(problem.message, "is wrong");
    return problem.line;
  };
  EXPECT_EQ(line_of("senders.sms"), 3);
  EXPECT_EQ(line_of("senders.sms.headers.X-A"), 5);
  EXPECT_EQ(line_of("senders.sms.to[1]"), 7);
  EXPECT_EQ(line_of("senders.sms.timeout_ms"), 3) << "what is missing is missing there";
  EXPECT_EQ(line_of("senders.sms.headers.X-B"), 4);
  EXPECT_EQ(line_of("alerts.target"), 0) << "nobody wrote it";
}

TEST(SettingPlaces, AVariableIsItsOwnPlace) {  // D11
  const WrittenFile file("database: { embedded: pg }\nsenders:\n  sms:\n    a: 1\n    b: 2\n");
  const auto config = load_config(file.path(), {"WAYBILL_SENDERS_SMS={\"a\": 3}"});
  ASSERT_TRUE(config);
  auto problem = config->problem("senders.sms.a", "is wrong");
  EXPECT_EQ(to_string(problem), "WAYBILL_SENDERS_SMS.a: is wrong");
  problem = config->problem("senders.sms.b", "is wrong");
  EXPECT_EQ(to_string(problem), "WAYBILL_SENDERS_SMS.b: is wrong") << "the whole entry of the file was replaced";
}

}  // namespace
}  // namespace waybill
