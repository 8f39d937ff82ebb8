// kill -9 at random moments, with two hosts under load. WAYBILL_TEST_ALL=1 makes it fifty rounds.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <random>
#include <thread>

#include "crash/place.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr std::array kTargets{"sms.once", "sms.attempts", "sms.patient"};
constexpr std::size_t kMaxAhead = 400;  // acknowledged and not yet sent: load, but no flood

double now_in_seconds() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

class Kill : public World {
 protected:
  void start(Place& place) { place.start(setup, sql()); }

  // Hands in intents, each at one host and, when that does not answer, at the other, until it is acknowledged.
  void load(int number, const std::atomic<bool>& enough) {
    std::minstd_rand random(static_cast<unsigned>(number) + 1);
    for (int i = 0; !enough; ++i) {
      const auto id = "k" + std::to_string(number) + "-" + std::to_string(i);
      const auto body = sms_intent(id, kTargets[static_cast<std::size_t>(i) % kTargets.size()]).dump();
      auto at = random() % places.size();
      const bool taken = eventually([&] {
        at = (at + 1) % places.size();
        const auto response = HttpClient(places[at].port, std::chrono::seconds(5)).try_request("POST", "/v1/intents", body);
        return response && response->status == 200;
      });
      if (!taken) {
        ADD_FAILURE() << "nobody took " << id;
        return;
      }
      {
        const std::lock_guard lock(mutex);
        acknowledged.push_back(id);
      }
      eventually([&] { return enough || acknowledged_count() < gateway.count() + kMaxAhead; });
    }
  }

  std::size_t acknowledged_count() {
    const std::lock_guard lock(mutex);
    return acknowledged.size();
  }

  std::array<Place, 2> places;
  std::mutex mutex;
  std::vector<std::string> acknowledged;
  std::vector<double> kills;  // when, in seconds since 1970
};

// M12, M17, M18
TEST_F(Kill, EveryAcknowledgedIntentEndsAndNoneIsSentMoreOftenThanKillsExplain) {
  const int rounds = all_rounds() ? 50 : 12;
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand random(seed);
  setup.more = "timeouts: {attempt: 5s}\n";
  gateway.by_default(Reply::late(std::chrono::milliseconds(20)));
  for (auto& place : places) start(place);

  std::atomic<bool> enough{false};
  std::vector<std::jthread> callers;
  for (int i = 0; i < 4; ++i) callers.emplace_back([&, i] { load(i, enough); });
  const AtEnd no_more([&] { enough = true; });  // also when the test ends early
  std::vector<int> takeovers;
  for (int round = 0; round < rounds; ++round) {
    const auto moment = gateway.count() + 20 + random() % 300;
    EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() >= moment; }));
    auto& victim = places[random() % places.size()];
    kills.push_back(now_in_seconds());
    victim.daemon->kill_hard();
    const auto killed = std::chrono::steady_clock::now();
    const auto left = "SELECT count(*) FROM waybill.ready WHERE claimed_by = " + std::to_string(victim.host_id);
    ASSERT_TRUE(eventually([&] { return sql().number(left) == 0; })) << "nobody took over from host " << victim.host_id;
    takeovers.push_back(static_cast<int>((std::chrono::steady_clock::now() - killed) / std::chrono::milliseconds(1)));
    start(victim);
  }
  enough = true;
  callers.clear();
  EXPECT_TRUE(
      eventually([&] { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; },
                 std::chrono::seconds(120)));
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.claims") == 0; }))
      << "every claim is forgotten, by its host or by those who took over";
  std::sort(takeovers.begin(), takeovers.end());
  std::printf("%zu intents, %d kills, takeover in ms: median %d, most %d\n", acknowledged.size(), rounds,
              takeovers[takeovers.size() / 2], takeovers.back());

  struct Ended {
    std::string target, state, reason;
    double created, completed;
  };
  std::map<std::string, Ended> ended;
  for (const auto& row :
       sql().rows("SELECT client_ref, target, state, coalesce(reason, ''), extract(epoch FROM created_at), "
                  "extract(epoch FROM completed_at) FROM waybill.submission_states WHERE completed_at IS NOT NULL"))
    ended[*row[0]] = {*row[1], *row[2], *row[3], std::stod(*row[4]), std::stod(*row[5])};
  const auto sent = gateway.counts();
  std::size_t more_than_once = 0;
  EXPECT_GE(acknowledged.size(), static_cast<std::size_t>(rounds) * 20) << "there was work at every kill";
  for (const auto& id : acknowledged) {
    const auto found = ended.find(id);
    ASSERT_NE(found, ended.end()) << id << " was acknowledged and has no end";
    const auto& end = found->second;
    const auto sends = sent.contains(id) ? sent.at(id) : 0;
    const auto hits = static_cast<std::size_t>(std::count_if(
        kills.begin(), kills.end(), [&](double at) { return at >= end.created - 0.1 && at <= end.completed + 0.1; }));
    EXPECT_LE(sends, 1 + hits) << id << " of " << end.target;
    more_than_once += sends > 1;
    if (end.target == "sms.once") {
      EXPECT_LE(sends, 1u) << id;
    }
    if (end.state == "accepted") {
      EXPECT_GE(sends, 1u) << id << " of " << end.target << " is accepted, and nobody sent it";
    } else {  // only a kill explains anything but acceptance
      EXPECT_GE(hits, 1u) << id << " " << end.state << " " << end.reason;
      EXPECT_TRUE(end.reason == "one_shot" || end.reason == "worker_lost") << id << " " << end.state << " " << end.reason;
    }
  }
  std::printf("%zu of %zu were sent more than once\n", more_than_once, acknowledged.size());
  // An attempt that nobody saw the end of is on record for every send that has no other record.
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries d WHERE attempt_count <> "
                         "(SELECT count(*) FROM waybill.attempts a WHERE a.delivery_id = d.id)"),
            0);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready"), 0);
}

}  // namespace
}  // namespace waybill::testing
