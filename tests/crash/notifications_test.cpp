// Events at random gaps around their window, while hosts are killed: every event reaches each channel in exactly one delivery.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>

#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class NotificationCrashes : public World {
 protected:
  NotificationCrashes() {
    write_file(keys_.path() / "master", "a master key, of more than 32 bytes");
    setup.more = "secrets: { master: { file: \"" + (keys_.path() / "master").string() +
                 "\" } }\nnotify: { key: master, debounce: 20ms, orphan_scan: 1s }\negress: { allow: [\"127.0.0.1/32\"] }\n";
    setup.retry += "\n  webhook: { kind: fixed, delay: 50ms }";
  }

  // Until some host has answered: a host may die under it, and the event may be stored all the same.
  void hand_in(const std::string& rule, int number) {
    const std::string body = R"({"eventId":"e)" + std::to_string(number) + R"(","snapshot":)" + std::to_string(number) + "}";
    ASSERT_TRUE(eventually([&] {
      const auto answer = client().try_request("POST", "/orgs/default/alert-rules/" + rule + "/events", body);
      if (answer) return answer->status == 202;
      if (!host().running()) restart_host();
      return false;
    })) << number;
  }

 private:
  TempFolder keys_;
};

// N4, N10, N12
TEST_F(NotificationCrashes, EveryEventIsInExactlyOneDeliveryToEachChannelAlsoWhenHostsAreKilled) {
  const int events = all_rounds() ? 10'000 : 1'000, kills = all_rounds() ? 30 : 6;
  constexpr unsigned kSeed = 14;
  std::mt19937 random(kSeed);
  const auto post = [&](const std::string& path, const json& body) {
    return client().request("POST", "/orgs/default" + path, body.dump()).json().at("id").get<std::string>();
  };
  const auto rule = post("/alert-rules", {{"name", "critical"}});
  for (const auto* name : {"first", "second"}) {
    const auto channel =
        post("/channels", {{"name", name}, {"type", "webhook"}, {"config", {{"url", gateway.url() + "/" + name}}}});
    ASSERT_EQ(client().request("PUT", "/orgs/default/alert-rules/" + rule + "/channels/" + channel).status, 204);
  }
  std::set<int> deaths;
  while (deaths.size() < static_cast<std::size_t>(kills))
    deaths.insert(std::uniform_int_distribution<int>(1, events - 1)(random));
  std::bernoulli_distribution pauses(0.05);  // windows end between some events and not between others
  for (int number = 0; number < events; ++number) {
    if (deaths.contains(number)) host().kill_hard();
    hand_in(rule, number);
    if (!pauses(random)) continue;
    ASSERT_TRUE(gateway.wait_for([&, before = gateway.count()] { return gateway.count() > before; })) << number;
  }
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready") == 0; }, std::chrono::minutes(5)));

  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alert_events"), events);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries WHERE status <> 'accepted'"), 0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.attempts WHERE outcome = 'unknown' AND counts"), 0);
  for (const auto* path : {"/first", "/second"}) {
    std::map<std::string, std::string> bodies;  // by webhook-id: a repeated attempt has the same body
    for (const auto& request : gateway.received()) {
      if (request.path != path) continue;
      const auto [at, is_new] = bodies.emplace(request.reference, request.body);
      EXPECT_EQ(at->second, request.body) << "a delivery changed between two attempts";
    }
    std::multiset<int> delivered;
    for (const auto& [reference, body] : bodies)
      for (const int number : json::parse(body)) delivered.insert(number);
    EXPECT_EQ(delivered.size(), static_cast<std::size_t>(events)) << path;
    for (int number = 0; number < events; ++number) EXPECT_EQ(delivered.count(number), 1u) << path << " event " << number;
    EXPECT_GT(bodies.size(), 3u) << "there was more than one window";
  }
}

}  // namespace
}  // namespace waybill::testing
