// How a host that is cut off finds out that it is no more.  T13
#include "app/reach_task.h"

#include <gtest/gtest.h>

#include <map>

#include "support/call_builders.h"
#include "unit/maintenance/no_maintenance.h"
#include "unit/settle/silence.h"

namespace waybill {
namespace {

class Store final : public testing::NoMaintenance {
 public:
  int cut_off_told = 0;
  bool alone = false;

  Result<void> cut_off(HostId, Timestamp, const std::string&) override {
    ++cut_off_told;
    return {};
  }
  Result<void> reaches_again(HostId) override { return {}; }
  Result<bool> is_alone(HostId) override { return alone; }
};

class CutOff : public ::testing::Test {
 protected:
  void cut(const std::string& target) {
    answers.note(std::vector<Finished>{testing::ended_at(testing::unreachable(), clock.now(), target)});
    reach.observe({.now = {}, .all = {}, .own = {{kDefaultOrg, target, Timestamp{2}, true}}});
    ASSERT_TRUE(reach.is_cut_off());
  }
  // For so long, once a second; whether it still is.
  bool after(std::chrono::seconds length) {
    for (std::chrono::seconds past{0}; past < length && reach.is_cut_off(); past += std::chrono::seconds(1)) {
      EXPECT_TRUE(task.run());
      clock.pass(std::chrono::seconds(1));
    }
    return reach.is_cut_off();
  }

  Answers answers;
  HostReach reach{answers};
  Store store;
  testing::ManualClock clock;
  testing::KeptLog log;
  std::map<std::string, bool> places;  // that are known, and whether a connection is made
  std::vector<std::string> keys, tried;
  PeriodicTask task = reach_task(reach, store,
                                 {.host = [] { return std::optional(HostId{7}); },
                                  .all_keys = [this] { return keys; },
                                  .reaches = [this](const std::string& key) -> std::optional<bool> {
                                    tried.push_back(key);
                                    const auto known = places.find(key);
                                    return known == places.end() ? std::nullopt : std::optional(known->second);
                                  },
                                  .recovered = [] {}},
                                 clock, log);
};

TEST_F(CutOff, ConnectsToWhatOthersReachAndToAnythingElse) {  // T13
  keys = {"sms.a", "sms.b"};
  places = {{"sms.a", false}, {"sms.b", false}};
  cut("sms.a");
  EXPECT_TRUE(after(std::chrono::seconds(4)));
  EXPECT_EQ(tried, (std::vector<std::string>{"sms.a", "sms.a", "sms.a", "sms.b"}));
  EXPECT_EQ(store.cut_off_told, 1);
  places["sms.b"] = true;
  EXPECT_FALSE(after(std::chrono::seconds(4)));
}

TEST_F(CutOff, ASenderOfMailThatIsKnownIsNotTriedBlindly) {  // T13
  places = {{"sender:email_raw", false}};
  cut("sender:email_raw");
  EXPECT_TRUE(after(std::chrono::hours(1))) << "its relay is away: that is not mended by waiting";
  places["sender:email_raw"] = true;
  EXPECT_FALSE(after(std::chrono::seconds(1)));
}

TEST_F(CutOff, NorIsOneBesideTargetsThatAreKnown) {  // T13
  keys = {"sms.a"};
  places = {{"sms.a", false}};
  cut("channel:c");
  EXPECT_TRUE(after(std::chrono::hours(1)));
}

TEST_F(CutOff, WhereNothingIsKnownEachBlindTryWaitsLonger) {  // T13
  std::vector<std::int64_t> waited;
  for (int round = 0; round < 7; ++round) {
    const auto begun = clock.now();
    cut("channel:c");
    EXPECT_FALSE(after(std::chrono::hours(1)));
    waited.push_back(std::chrono::duration_cast<std::chrono::seconds>(clock.now() - begun).count() - 1);
  }
  EXPECT_EQ(waited, (std::vector<std::int64_t>{30, 60, 120, 240, 480, 600, 600}));
}

TEST_F(CutOff, TheEndOfTheOthersEndsIt) {  // T13
  places = {{"sms.a", false}};
  cut("sms.a");
  EXPECT_TRUE(after(std::chrono::seconds(3)));
  store.alone = true;
  EXPECT_FALSE(after(std::chrono::seconds(1)));
}

TEST(Reaches, ASenderOfMailIsReachedByItsRelay) {  // T13
  const auto registry = std::make_shared<const Registry>(std::vector<Contract>{});
  const auto reaches = reaches_by_connecting(
      {{"email_raw", R"({"relay":"smtp://127.0.0.1:1"})"}, {"sms", "{}"}}, std::make_shared<const EgressPolicy>(),
      [&] { return registry; }, [](const Contract&) { return nullptr; });
  EXPECT_EQ(reaches("sender:email_raw"), std::optional(false)) << "nobody listens there";
  EXPECT_EQ(reaches("sender:sms"), std::nullopt);
  EXPECT_EQ(reaches("channel:c"), std::nullopt);
}

}  // namespace
}  // namespace waybill
