// One key, many callers: exactly one row, and every caller hears the same.
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <map>
#include <thread>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Idempotency : public World {
 protected:
  static constexpr int kCallers = 100;

  // All callers at once, each over a connection of its own.
  std::vector<HttpResponse> all_at_once(const std::vector<std::uint16_t>& ports, const std::function<json(int)>& body) {
    std::vector<HttpResponse> responses(kCallers);
    std::latch start(kCallers);
    std::vector<std::jthread> threads;
    for (int i = 0; i < kCallers; ++i)
      threads.emplace_back([&, i] {
        HttpClient own(ports[static_cast<std::size_t>(i) % ports.size()]);
        own.get("/healthz");  // connected before the start
        start.arrive_and_wait();
        responses[static_cast<std::size_t>(i)] = post_intent(own, body(i));
      });
    threads.clear();
    return responses;
  }

  std::map<int, int> by_status(const std::vector<HttpResponse>& responses) {
    std::map<int, int> counts;
    for (const auto& response : responses) ++counts[response.status];
    return counts;
  }
};

// M2
TEST_F(Idempotency, AHundredIdenticalPostsAtOnceMakeOneRowAndAHundredIdenticalAnswers) {
  gateway.by_default(Reply::accept_when_released());
  const auto responses = all_at_once({host().port()}, [](int) { return sms_intent("same", "sms.patient"); });
  EXPECT_EQ(by_status(responses), (std::map<int, int>{{200, kCallers}}));
  for (const auto& response : responses) EXPECT_EQ(response.body, responses[0].body);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready"), 1);
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "same")["status"], "accepted");
  EXPECT_EQ(gateway.count("same"), 1u);
}

// M2
TEST_F(Idempotency, AHundredDifferentPayloadsAtOnceMakeOneWinner) {
  const auto body = [](int i) {
    auto one = sms_intent("race", "sms.patient");
    one["payload"]["message"] = "from caller " + std::to_string(i);
    return one;
  };
  const auto responses = all_at_once({host().port()}, body);
  EXPECT_EQ(by_status(responses), (std::map<int, int>{{200, 1}, {409, kCallers - 1}}));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 1);
  EXPECT_EQ(wait_for_end(client(), "race")["status"], "accepted");
  ASSERT_EQ(gateway.count("race"), 1u);
  for (int i = 0; i < kCallers; ++i) {
    const auto& response = responses[static_cast<std::size_t>(i)];
    if (response.status == 200) {
      EXPECT_EQ(json::parse(gateway.received("race")[0].body)["message"], body(i)["payload"]["message"]);
    } else {
      EXPECT_EQ(response.error_code(), "idempotency_conflict");
    }
  }
}

// M2, M18
TEST_F(Idempotency, TheSameHoldsAcrossTwoHosts) {
  gateway.by_default(Reply::accept_when_released());
  const Daemon first(installation());
  const Installation second_place(setup);
  const Daemon second(second_place);
  const auto responses = all_at_once({first.port(), second.port()}, [](int) { return sms_intent("same", "sms.patient"); });
  EXPECT_EQ(by_status(responses), (std::map<int, int>{{200, kCallers}}));
  for (const auto& response : responses) EXPECT_EQ(response.body, responses[0].body);
  const auto raced = all_at_once({first.port(), second.port()}, [](int i) {
    return intent("race", "sms.patient", {{"to", "+49"}, {"message", std::to_string(i)}});
  });
  EXPECT_EQ(by_status(raced), (std::map<int, int>{{200, 1}, {409, kCallers - 1}}));
  gateway.release();
  auto client_of_second = second.client();
  EXPECT_EQ(wait_for_end(client_of_second, "same")["status"], "accepted");
  EXPECT_EQ(gateway.count("same"), 1u);
}

// M2, M12
TEST_F(Idempotency, TheKeyHoldsAcrossRestarts) {
  const auto body = sms_intent("kept", "sms.deadline");
  post_intent(client(), body);
  const auto end = wait_for_end(client(), "kept");
  host().kill_hard();
  restart_host();
  const auto again = post_intent(client(), body);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.json(), end);
  auto other = body;
  other["payload"]["message"] = "other";
  EXPECT_EQ(post_intent(client(), other).status, 409);
  EXPECT_EQ(gateway.count("kept"), 1u);
}

// M2: ids differ by bytes, not by what they look like to a collation
TEST_F(Idempotency, IdsThatDifferInCaseOrSpaceAreDifferent) {
  for (const auto* id : {"Key", "key", "key ", " key", "k\xc3\xa9y", "ke\xcc\x81y"})
    EXPECT_EQ(post_intent(client(), sms_intent(id, "sms.deadline")).status, 200) << id;
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions"), 6);
}

}  // namespace
}  // namespace waybill::testing
