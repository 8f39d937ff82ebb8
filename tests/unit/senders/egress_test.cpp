// The trust of a job, from its contract to the network, and what its tenant learns of a refusal.  N7
#include <gtest/gtest.h>

#include "unit/senders/plugin_world.h"
#include "unit/services/scripted_server.h"

namespace waybill {
namespace {

using testing::Connection;
using testing::of_channel;
using testing::PluginWorld;
using testing::ScriptedServer;

TEST(Egress, ATenantsJobIsRefusedWhereTheOperatorsIsNotAndTheWordsAreTheHosts) {  // N7
  ScriptedServer server([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, R"({"id":1})");
  });
  PluginWorld world{{"good"}};
  EXPECT_EQ(world.run(world.job("good", "target", server.url())).outcome->verdict, Verdict::accepted);
  const auto outcome = world.run(of_channel(world.job("good", "ops", server.url()))).outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.verdict, Verdict::transient);
  EXPECT_EQ(outcome.reach, Reach::not_sent);
  EXPECT_EQ(outcome.scope, Scope::this_job) << "it counts: the tenant may mend it";
  EXPECT_EQ(outcome.reason, "address_not_allowed");
  EXPECT_EQ(outcome.detail, "the destination's address is not allowed");
  EXPECT_EQ(server.connections(), 1);
  const auto endpoint = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_TRUE(world.log.contains("egress.refused action_type=good delivery=2 target=ops written_by=tenant endpoint=" + endpoint +
                                 " address=127.0.0.1 why=loopback"));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST(Egress, TheOperatorsJobIsRefusedAMetadataAddress) {  // N7
  PluginWorld world{{"good"}};
  const auto outcome = world.run(world.job("good", "target", "http://169.254.169.254/")).outcome.value_or(Outcome{});
  EXPECT_EQ(outcome.reason, "address_not_allowed");
  EXPECT_TRUE(world.log.contains("written_by=registry endpoint=169.254.169.254:80 address=169.254.169.254 why=metadata"));
  EXPECT_TRUE(world.executor->stop(Millis(10'000)));
}

TEST(Egress, TheOperatorsRulesComeFromTheConfiguration) {  // N7
  ScriptedServer server([](Connection& connection) {
    while (!connection.receive().empty()) connection.answer(200, R"({"id":1})");
  });
  const auto at_server = [&](EgressRules rules) {
    return std::make_unique<PluginWorld>(std::initializer_list<const char*>{"good"}, PluginWorld::kPatient, Secrets::Values{},
                                         nullptr, std::map<std::string, std::string>{}, std::move(rules));
  };
  {
    const auto strict = at_server({.guard = EgressGuard::strict});
    EXPECT_EQ(strict->run(strict->job("good", "target", server.url())).outcome->reason, "address_not_allowed");
  }
  const auto opened = at_server({.allow = {*parse_egress_exception("127.0.0.1:" + std::to_string(server.port()))}});
  EXPECT_EQ(opened->run(of_channel(opened->job("good", "ops", server.url()))).outcome->verdict, Verdict::accepted);
  EXPECT_EQ(server.connections(), 1);
}

}  // namespace
}  // namespace waybill
