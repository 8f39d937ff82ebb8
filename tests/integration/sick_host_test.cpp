// A host without a route to the destinations, its database within reach, beside one that works.  T13
#include <cstdlib>

#include "support/notify_world.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

// While it lives, processes that are started take the fault with them.
class NoRoute {
 public:
  NoRoute(const std::filesystem::path& file, const std::string& port) : file_(file) {
    write_file(file_, "");
    ::setenv("LD_PRELOAD", WAYBILL_NO_ROUTE, 1);
    ::setenv("NO_ROUTE_FILE", file_.c_str(), 1);
    ::setenv("NO_ROUTE_PORT", port.c_str(), 1);
  }
  ~NoRoute() {
    for (const char* name : {"LD_PRELOAD", "NO_ROUTE_FILE", "NO_ROUTE_PORT"}) ::unsetenv(name);
  }

 private:
  const std::filesystem::path file_;
};

class SickHost : public World {
 protected:
  SickHost() {
    setup.plugins = {"sms"};
    setup.registry = registry_of({target("sms.once", "sms", gateway.url(), "one_shot", 0, {"invalid_request"}),
                                  target("sms.three", "sms", gateway.url(), "max_attempts", 3, {"invalid_request"})});
  }
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitized host loads nothing before its own libraries";
#endif
    client();
    const NoRoute fault(fault_file(), gateway.url().substr(gateway.url().rfind(':') + 1));
    place_ = std::make_unique<Installation>(setup);
    sick_ = std::make_unique<Daemon>(*place_);
  }
  std::filesystem::path fault_file() { return folder_.path() / "no-route"; }

  TempFolder folder_;
  std::unique_ptr<Installation> place_;
  std::unique_ptr<Daemon> sick_;
};

TEST_F(SickHost, HoldsUpNobodyAndComesBackByItself) {  // T13
  auto through_sick = sick_->client();
  std::vector<std::string> all;
  const auto post = [&](HttpClient& through, const std::string& target) {
    all.push_back("order-" + std::to_string(all.size()));
    ASSERT_EQ(post_intent(through, sms_intent(all.back(), target)).status, 200);
  };
  for (int i = 0; i < 20; ++i)
    for (const char* name : {"sms.once", "sms.three"}) {
      post(through_sick, name);
      post(client(), name);
    }
  const auto not_ready = [&] {
    for (const char* name : {"sms.once", "sms.three"}) post(client(), name);  // whose answers are evidence
    const auto ready = through_sick.get("/readyz");
    return ready.status == 503 && ready.body.find("while others do") != std::string::npos;
  };
  ASSERT_TRUE(eventually(not_ready)) << sick_->log();
  EXPECT_TRUE(sick_->wait_for_log("host.cut_off"));
  for (const auto& id : all) EXPECT_EQ(word(wait_for_end(client(), id), "status"), "accepted") << id;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE counts AND outcome <> 'accepted'"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages"), 0) << "no target cools down for all";
  EXPECT_GT(sql().number("SELECT count(*) FROM waybill.attempts WHERE error LIKE '%(so finds host % alone)'"), 0);

  gateway.script("held", {Reply::accept_when_released()});
  post_intent(client(), sms_intent("held", "sms.three"));
  ASSERT_TRUE(gateway.wait_for_count("held", 1));
  const auto explained = installation().command({"explain", "held", "--json"});
  EXPECT_NE(word(json::parse(explained.out), "why").find("reaches no destination while others do"), std::string::npos)
      << explained.out << explained.err;
  gateway.release();

  const auto handed_in = post_intent(through_sick, sms_intent("taken-in", "sms.once"));
  EXPECT_EQ(handed_in.status, 200) << "it takes in what others send";
  EXPECT_EQ(word(wait_for_end(client(), "taken-in"), "status"), "accepted");

  std::filesystem::remove(fault_file());
  EXPECT_TRUE(eventually([&] { return through_sick.get("/readyz").status == 200; }));
  EXPECT_TRUE(sick_->wait_for_log("host.reaches_again"));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.cut_off_hosts"), 0);
  host().kill_hard();
  post_intent(through_sick, sms_intent("alone", "sms.once"));
  EXPECT_EQ(word(wait_for_end(through_sick, "alone"), "status"), "accepted");
}

// It serves an organisation's channels and nothing else, so that no other host comes to the same destination by itself.
class SickHostOfChannels : public NotifyWorld {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitized host loads nothing before its own libraries";
#endif
  }
};

TEST_F(SickHostOfChannels, LeavesThemToOneThatReachesThem) {  // T13
  configure("debounce: 0s");
  client();
  const TempFolder folder;
  const auto fault_file = folder.path() / "no-route";
  const auto place = std::make_unique<Installation>(setup);
  std::unique_ptr<Daemon> sick;
  {
    const NoRoute fault(fault_file, gateway.url().substr(gateway.url().rfind(':') + 1));
    sick = std::make_unique<Daemon>(*place);
  }
  auto through_sick = sick->client();
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const auto its_place = "(SELECT host_id FROM waybill.hosts WHERE name LIKE '%:" + std::to_string(sick->pid()) + "')";
  sql().execute("INSERT INTO waybill.channel_hosts SELECT 1, " + its_place + ", now(), now() + interval '1 hour'");
  ASSERT_EQ(add_event(rule, "1", 1).status, 202);
  EXPECT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == 1; })) << sick->log();
  EXPECT_GT(sql().number("SELECT count(*) FROM waybill.attempts WHERE error LIKE '%(so finds host % alone)'"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE counts AND outcome <> 'accepted'"), 0);
  EXPECT_TRUE(sick->wait_for_log("claim.channels_handed_over"));
  EXPECT_TRUE(sick->wait_for_log("host.cut_off"));
  EXPECT_EQ(through_sick.get("/readyz").status, 503);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.target_outages"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.channel_hosts WHERE host_id = " + its_place), 0);
  ASSERT_EQ(add_event(rule, "2", 2).status, 202);
  EXPECT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == 2; })) << sick->log();
  std::filesystem::remove(fault_file);
  EXPECT_TRUE(sick->wait_for_log("host.reaches_again"));
}

}  // namespace
}  // namespace waybill::testing
