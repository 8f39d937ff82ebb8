// What plugins count themselves: names checked and bounded, by action type.  D9
#include "senders/plugin_counters.h"

#include <gtest/gtest.h>
#include <waybill/plugin.h>

#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

bool shows(const Metrics& metrics, const std::string& line) { return metrics.text().find(line + "\n") != std::string::npos; }

TEST(PluginCounters, BecomeMetricsOfTheirActionType) {
  Metrics metrics;
  PluginCounters counters(metrics);
  EXPECT_EQ(counters.add("sms", "segments", 3), WB_COUNTER_OK);
  EXPECT_EQ(counters.add("sms", "segments", 1), WB_COUNTER_OK);
  EXPECT_EQ(counters.add("push", "segments", 1), WB_COUNTER_OK);
  EXPECT_TRUE(shows(metrics, R"(submission_plugin_count_total{action_type="sms",name="segments"} 4)")) << metrics.text();
  EXPECT_TRUE(shows(metrics, R"(submission_plugin_count_total{action_type="push",name="segments"} 1)"));
}

TEST(PluginCounters, HaveNamesThatCannotGrowWithoutEnd) {
  Metrics metrics;
  PluginCounters counters(metrics);
  for (const auto& name : {std::string(), std::string("Segments"), std::string("1st"), std::string("a-b"), std::string("a\nb"),
                           std::string(65, 'a'), std::string("\xc3\xa9")})
    EXPECT_EQ(counters.add("sms", name, 1), WB_COUNTER_BAD_NAME) << name;
  for (int i = 0; i < WB_MOST_COUNTERS; ++i) EXPECT_EQ(counters.add("sms", "n" + std::to_string(i), 1), WB_COUNTER_OK);
  EXPECT_EQ(counters.add("sms", "one_more", 1), WB_COUNTER_TOO_MANY);
  EXPECT_EQ(counters.add("sms", "n0", 1), WB_COUNTER_OK);
  EXPECT_EQ(counters.add("push", "one_more", 1), WB_COUNTER_OK);
}

TEST(PluginCounters, AreReachedThroughTheHostThatASenderIsGiven) {
  testing::PluginWorld world{{"newer_good"}};
  testing::ScriptedServer receiver([](testing::Connection& connection) {
    connection.receive();
    connection.answer(200);
  });
  const auto finished = world.run(world.job("good", "target", receiver.url()));
  EXPECT_EQ(finished.outcome->verdict, Verdict::accepted);
  EXPECT_TRUE(shows(world.metrics, R"(submission_plugin_count_total{action_type="good",name="taken"} 2)"))
      << world.metrics.text();
}

}  // namespace
}  // namespace waybill
