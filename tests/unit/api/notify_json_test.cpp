// What an organisation's members see of a channel.
#include "api/notify_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/unseen.h"

namespace waybill {
namespace {

ChannelView channel(const std::string& config) {
  return {.id = "c", .name = "ops", .type = "webhook", .config = config, .created = {}, .updated = {}};
}

// T31: a header may hold what the receiver takes for a password
TEST(NotifyJson, AMemberSeesTheNamesOfHeadersAndNoValue) {
  const auto seen = nlohmann::json::parse(channel_json(without_header_values(
      channel(R"({"url":"https://example.org/","headers":{"Authorization":"Basic c2VjcmV0","X-Team":"ops"},"rate":5})"))));
  EXPECT_EQ(seen.at("config"),
            nlohmann::json::parse(R"({"url":"https://example.org/","headers":{"Authorization":"***","X-Team":"***"},"rate":5})"));
}

// T32
TEST(NotifyJson, NoNameHoldsWhatIsNotSeen) {
  for (const auto& unseen : testing::kUnseen) {
    const auto rule = read_new_rule("{\"name\":\"a" + std::string(unseen.json) + "\"}");
    ASSERT_FALSE(rule) << unseen.json;
    EXPECT_EQ(rule.error().what, "name must not hold control characters");
  }
}

// T31
TEST(NotifyJson, AChannelWithoutHeadersIsShownAsItIs) {
  for (const char* config : {R"({"url":"https://example.org/"})", "{}"})
    EXPECT_EQ(without_header_values(channel(config)).config, config);
}

}  // namespace
}  // namespace waybill
