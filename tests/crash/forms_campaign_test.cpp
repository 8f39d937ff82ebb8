// kill -9 at random moments while forms are handed in, scanned, finalized and sent, by one host and by two on one database.
// WAYBILL_TEST_ALL=1 makes it forty rounds each.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>

#include "crash/forms_under_fire.h"
#include "crash/place.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr int kCallers = 2;
constexpr int kForms = 10;  // of each caller in each round

class FormCampaign : public FormsUnderFire {
 protected:
  void start(Place& place) { place.start(setup, sql()); }

  // Repeats a request, now at one host and now at the other, until it is answered well.
  void insist(std::size_t hosts, const std::string& path, const json& body) {
    std::size_t at = 0;
    std::string last;
    const bool done = eventually([&] {
      at = (at + 1) % hosts;
      const auto response = HttpClient(places[at].port, std::chrono::seconds(5)).try_request("POST", path, body.dump());
      if (response) last = std::to_string(response->status) + " " + response->body;
      return response && response->status / 100 == 2;
    });
    if (!done) ADD_FAILURE() << path << " was never answered well: " << last;
  }

  static bool is_attached(int number) { return number % 3 == 1; }
  static json form(const std::string& prefix, int number) {
    const auto id = prefix + "-" + std::to_string(number);
    auto body = story(id, number % 4 == 0);
    if (is_attached(number)) body["attachments"] = json::array({attachment(id)});
    return body;
  }

  // Every third submission has an attachment, and is finalized before its scan or after it.
  void hand_in_some(std::size_t hosts, const std::string& prefix) {
    for (int i = 0; i < kForms; ++i) {
      const auto id = prefix + "-" + std::to_string(i);
      const bool attached = is_attached(i), scanned_last = i % 2 == 0;
      const auto scan_it = [&] { insist(hosts, "/v1/attachments/" + id + "/scan-result", {{"clamavStatus", "clean"}}); };
      insist(hosts, "/v1/submissions", form(prefix, i));
      if (attached && !scanned_last) scan_it();
      insist(hosts, "/v1/submissions/" + id + "/finalize", json::object());
      if (attached && scanned_last) scan_it();
    }
  }

  std::int64_t unfinished() { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL"); }

  // In turn: how much was composed, taken by the relay, attempted, and handed in.
  std::int64_t progress(int round) {
    switch (round % 4) {
      case 0:
        return sql().number("SELECT count(*) FROM waybill.artifacts");
      case 1:
        return static_cast<std::int64_t>(mail.script().count("."));
      case 2:
        return sql().number("SELECT count(*) FROM waybill.attempts");
      default:
        return sql().number("SELECT count(*) FROM waybill.submissions");
    }
  }

  // The third host that dies of a delivery ends it as worker_lost, the fifth attempt as exhausted: before it is looked at again,
  // one may be lost with its host and two refused. What waits to be taken over
  // from a dead host is one death nearer to its end than it says.
  bool nothing_is_near_its_last_attempt(std::size_t hosts) {
    std::string living = "0";
    for (std::size_t i = 0; i < hosts; ++i) living += "," + std::to_string(places[i].host_id);
    return sql().number(
               "SELECT count(*) FROM waybill.ready WHERE attempt_count - uncounted >= 2 OR lease_lost + "
               "(claimed_by IS NOT NULL AND claimed_by NOT IN (" +
               living + "))::int >= 2") == 0;
  }

  void run(std::size_t hosts) {
    const int rounds = all_rounds() ? 40 : 8;
    const auto seed = std::random_device{}();
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::minstd_rand random(seed);
    for (std::size_t i = 0; i < hosts; ++i) start(places[i]);
    for (int round = 0; round < rounds; ++round) {
      mail.script().at("RCPT b@x.test", {{.say = "451 4.7.1 later"}, {}, {.say = "451 4.7.1 later"}, {}});
      const auto moment = progress(round) + static_cast<int>(random() % (kCallers * kForms));
      std::atomic<int> calling{kCallers};
      std::vector<std::jthread> callers;
      for (int i = 0; i < kCallers; ++i)
        callers.emplace_back([&, i] {
          hand_in_some(hosts, "r" + std::to_string(round) + "-" + std::to_string(i));
          --calling;
        });
      EXPECT_TRUE(eventually([&] { return progress(round) >= moment || (calling == 0 && unfinished() == 0); }));
      look();
      EXPECT_TRUE(eventually([&] { return nothing_is_near_its_last_attempt(hosts); }));
      auto& victim = places[random() % hosts];
      victim.daemon->kill_hard();
      ++kills;
      start(victim);
    }
    EXPECT_TRUE(eventually([&] { return unfinished() == 0; }, std::chrono::seconds(120)));
    look();
    for (std::size_t i = 0; i < hosts; ++i) start(places[i]);  // a last death of each, with nothing left to do
    for (int i = 0; i < kForms; ++i) insist(hosts, "/v1/submissions", form("r0-0", i));  // as a redelivery would
    insist(hosts, "/v1/submissions", story("last"));  // what was on its way is there when this is
    EXPECT_TRUE(eventually([&] { return unfinished() == 0; }));
    expect_all_is_well();
    std::size_t more = 0;
    for (const auto& [receipt, count] : receipts()) more += static_cast<std::size_t>(count - 1);
    std::printf("%lld submissions, %d kills, %lld attempts lost, %zu sent again\n",
                static_cast<long long>(sql().number("SELECT count(*) FROM waybill.submissions")), kills,
                static_cast<long long>(sql().number("SELECT count(*) FROM waybill.attempts WHERE outcome = 'unknown'")), more);
  }

  std::array<Place, 2> places;
};

// F3 F6 F7
TEST_F(FormCampaign, OneHostThatDiesAgainAndAgainEndsEverySubmissionAndRepeatsNothingAccepted) { run(1); }

// F3 F6 F7
TEST_F(FormCampaign, TwoHostsOnOneDatabaseTakeOverFromEachOtherAndRepeatNothingAccepted) { run(2); }

}  // namespace
}  // namespace waybill::testing
