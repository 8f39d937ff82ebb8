// kill -9 while deliveries are composed, stored and sent: whatever reaches the receiver under one key is one and the same.
#include <gtest/gtest.h>
#include <signal.h>

#include <random>

#include "support/world.h"

namespace waybill::testing {
namespace {

// M12, M17, H4
TEST_F(World, EveryAttemptBringsTheSameBytesHoweverOftenTheHostDies) {
  const int rounds = all_rounds() ? 40 : 10;
  constexpr int kLetters = 60;  // of each round
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::minstd_rand random(seed);
  setup.registry = registry_of({target("letters", "letter", gateway.url(), "deadline", 600, {"refused"})});
  installation().add_plugin(built_example("letter"));
  gateway.by_default(Reply::late(std::chrono::milliseconds(50)));
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < kLetters; ++i) {
      const auto id = std::to_string(round) + "-" + std::to_string(i);
      ASSERT_EQ(post_intent(client(), intent(id, "letters", {{"text", id}})).status, 200);
    }
    // In turn: when so many have been composed, and when so many have been sent.
    const auto progress = [&] {
      return round % 2 == 0 ? sql().number("SELECT count(*) FROM waybill.artifacts") : static_cast<std::int64_t>(gateway.count());
    };
    const auto moment = progress() + static_cast<int>(random() % kLetters);
    EXPECT_TRUE(eventually([&] {
      return progress() >= moment ||
             sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0;
    }));
    // The third host that dies of a delivery would end it as worker_lost: what lost two comes to its end first. What is still
    // held by a dead host is one death nearer to that than it says.
    EXPECT_TRUE(eventually([&] {
      return sql().number(
                 "SELECT count(*) FROM waybill.ready WHERE lease_lost + (claimed_by IS NOT NULL AND claimed_by <> (SELECT "
                 "max(host_id) FROM waybill.hosts))::int >= 2") == 0;
    }));
    host().kill_hard();
    restart_host();
  }
  EXPECT_TRUE(
      eventually([&] { return sql().number("SELECT count(*) FROM waybill.submission_states WHERE completed_at IS NULL") == 0; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submission_states WHERE state <> 'accepted'"), 0)
      << sql().text("SELECT string_agg(DISTINCT reason, ', ') FROM waybill.submission_states");
  std::map<std::string, std::string> letters;
  std::size_t again = 0;
  for (const auto& request : gateway.received()) {
    const auto [first, is_new] = letters.emplace(request.reference, request.body);
    again += is_new ? 0 : 1;
    EXPECT_EQ(first->second, request.body) << request.reference;
  }
  EXPECT_EQ(letters.size(), static_cast<std::size_t>(rounds * kLetters));
  const auto composed = sql().rows(
      "SELECT s.client_ref, convert_from(a.body, 'UTF8') FROM waybill.artifacts a JOIN waybill.deliveries d ON d.id = "
      "a.delivery_id "
      "JOIN waybill.submissions s ON s.id = d.submission_id");
  EXPECT_EQ(composed.size(), letters.size()) << "what was sent is on record";
  for (const auto& row : composed) EXPECT_EQ(letters.at(*row[0]), *row[1]);
  std::printf("%zu letters, %d kills, %zu sent again\n", letters.size(), rounds, again);
}

}  // namespace
}  // namespace waybill::testing
