// One client's work does not hold up another's: unknown targets, held sessions, and clients that go away.  S1
#include <gtest/gtest.h>

#include <thread>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Overload : public World {
 protected:
  Overload() {
    setup.auth = "tokens";
    setup.forms["contact.yaml"] =
        "form_id: contact\nname: A form\nactions:\n  - action_order: 1\n    action_type: good\n    destination: \"" +
        gateway.url() + "/inbox\"\n";
    setup.more = "timeouts: {answer: 120s}\n";
  }

  void SetUp() override {
    installation().add_plugin(bad_plugin("good"));
    auto text = read_file(installation().config());  // what waits for a lock goes on waiting
    const std::string key = "\ndatabase:\n";
    text.insert(text.find(key) + key.size(), "  read_timeout: 120s\n  intake_timeout: 120s\n  lock_timeout: 120s\n");
    write_file(installation().config(), text);
  }

  std::string token(const std::string& name, const std::string& role = "member") {
    const auto made = installation().command({"token", "create", "--name", name, "--role", role, "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return json::parse(made.out).at("token");
  }
  HttpClient as(const std::string& token) {
    HttpClient one(host().port());
    one.authorize(token);
    return one;
  }
  std::int64_t waiting(const std::string& purpose) {
    return sql().number("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'waybill-" +
                        purpose + "'");
  }
  static std::string head_of(const std::string& request, const std::string& token, std::size_t length) {
    return request + " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token + "\r\nContent-Length: " + std::to_string(length) +
           "\r\n\r\n";
  }
};

// S1: each batch is one question, whatever is in it
TEST_F(Overload, BatchesOfUnknownTargetsDoNotHoldUpAnother) {
  json batch = json::array();
  for (int i = 0; i < 6000; ++i)
    batch.push_back(
        {{"intentId", "unknown-" + std::to_string(i)}, {"submissionTarget", "no.such.target"}, {"payload", json::object()}});
  const std::string body = batch.dump(), theirs = token("theirs");
  ASSERT_GT(body.size(), 400'000u);
  auto mine = as(token("mine"));
  EXPECT_EQ(post_intent(mine, sms_intent("before", "sms.patient")).status, 200);
  std::atomic<int> answered{0}, looked_up{0};
  std::vector<std::jthread> clients;
  for (int i = 0; i < 50; ++i)
    clients.emplace_back([&] {
      auto one = as(theirs);
      const auto answer = one.request("POST", "/v1/intents:batch", body);
      if (answer.status == 429) {  // half of what may wait is this organisation's
        EXPECT_TRUE(answer.header("Retry-After"));
      } else {
        EXPECT_EQ(answer.status, 200);
        EXPECT_EQ(answer.json().at("results").at(5999).at("status"), 400);
        ++looked_up;
      }
      ++answered;
    });
  int posted = 0;
  do {
    EXPECT_EQ(post_intent(mine, sms_intent("beside-" + std::to_string(posted++), "sms.patient")).status, 200);
  } while (answered < 50);
  EXPECT_GE(looked_up, 1);
  EXPECT_GE(posted, 2) << "somebody else's work went on meanwhile";
}

// S1: with every reader and every worker of forms held, tokens are checked and what needs neither goes on
TEST_F(Overload, HeldSessionsDelayNoCheckOfATokenNorAnybodyWithoutThem) {
  const auto theirs = token("theirs"), mine = token("mine", "operator");
  as(theirs).get("/v1/intents/warm");
  SqlClient person(setup.database_url);
  person.execute("BEGIN; LOCK TABLE waybill.submissions IN ACCESS EXCLUSIVE MODE");
  std::vector<Socket> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(Socket::connect(host().port()));
    ASSERT_TRUE(held.back().send(head_of("GET /v1/intents/held", theirs, 0)));
  }
  ASSERT_TRUE(eventually([&] { return waiting("read") == 3; }));
  auto client = as(mine);
  EXPECT_EQ(client.get("/orgs").status, 200) << "a token that this host has not seen, and organisations";
  EXPECT_EQ(HttpClient(host().port()).request("GET", "/orgs", "", {{"Authorization", "Bearer wbt_wrong"}}).status, 401);
  EXPECT_EQ(waiting("tokens"), 0);
  EXPECT_EQ(waiting("read"), 3);
  person.execute("COMMIT");
  for (auto& one : held) {
    const auto answer = one.receive(kBound);
    ASSERT_TRUE(answer);
    EXPECT_NE(answer->find(" 404 "), std::string::npos) << *answer;
  }
}

// S1: what waits for a session is dropped when its client has gone
TEST_F(Overload, WorkOfClientsThatWentAwayIsNotDone) {
  const auto member = token("member");
  auto client = as(member);
  EXPECT_EQ(client.get("/v1/submissions/warm").status, 404);
  SqlClient person(setup.database_url);
  person.execute("BEGIN; LOCK TABLE waybill.submissions IN ACCESS EXCLUSIVE MODE");
  std::vector<Socket> gone;
  for (int i = 0; i < 30; ++i) {
    const json form{{"submissionId", "gone-" + std::to_string(i)}, {"formId", "contact"}, {"fields", {{"name", "Ada"}}}};
    const auto body = form.dump();
    gone.push_back(Socket::connect(host().port()));
    ASSERT_TRUE(gone.back().send(head_of("POST /v1/submissions", member, body.size()) + body));
  }
  ASSERT_TRUE(eventually([&] { return waiting("forms") == 3; }));
  auto last = Socket::connect(host().port());
  ASSERT_TRUE(last.send(head_of("GET /v1/submissions/last", member, 0)));
  gone.clear();
  ASSERT_TRUE(eventually([begin = std::chrono::steady_clock::now()] {  // long enough in the queue to be looked at
    return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(500);
  }));
  person.execute("COMMIT");
  const auto answer = last.receive(kBound);  // after all others
  ASSERT_TRUE(answer);
  EXPECT_NE(answer->find(" 404 "), std::string::npos) << *answer;
  EXPECT_LE(sql().number("SELECT count(*) FROM waybill.submissions WHERE client_ref LIKE 'gone-%'"), 3);
}

}  // namespace
}  // namespace waybill::testing
