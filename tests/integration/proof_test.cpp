// What was sent is proved from the record: by command and over HTTP, with a host and without one.  O5
#include <gtest/gtest.h>

#include "domain/idempotency.h"
#include "services/sign.h"
#include "support/eventually.h"
#include "support/notify_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

std::string hash_of(const std::string& bytes) { return to_hex(as_view(sha256(bytes))); }

class Proofs : public NotifyWorld {
 protected:
  Proofs() {
    configure("debounce: 0s");
    setup.plugins = {"sms", "push", "webhook"};
    setup.retry = "{kind: fixed, delay: 10ms}";
  }
  json proved(std::vector<std::string> words, int exit_code = 0) {
    words.insert(words.begin(), "proof");
    words.emplace_back("--json");
    const auto result = installation().command(words);
    EXPECT_EQ(result.exit_code, exit_code) << result.out << result.err;
    return json::parse(result.out, nullptr, false);
  }
};

// O5
TEST_F(Proofs, EachAttemptHasTheHashOfTheBytesThatTheReceiverGot) {
  gateway.script("paid", {Reply::http_error(503), Reply::accept()});
  post_intent(client(), sms_intent("paid", "sms.patient"), 30);
  EXPECT_EQ(word(wait_for_end(client(), "paid"), "status"), "accepted");
  const auto received = gateway.received("paid");
  ASSERT_EQ(received.size(), 2u);
  give_up_host();
  const auto proof = proved({"paid"});
  EXPECT_EQ(proof["kind"], "intent");
  EXPECT_EQ(proof["state"], "accepted");
  EXPECT_NE(proof["end"], nullptr);
  EXPECT_EQ(proof["acknowledged"]["bodySha256"], proof["acknowledged"]["contentSha256"]);
  const auto& delivery = proof["deliveries"].at(0);
  EXPECT_EQ(delivery["destination"]["url"], gateway.url());
  EXPECT_EQ(delivery["idempotencyKey"], "paid");
  const auto& history = delivery["history"];
  ASSERT_EQ(history.size(), 2u) << proof;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(history[i]["sentSha256"], hash_of(received[i].body)) << history[i];
    EXPECT_EQ(history[i]["signedWith"], nullptr);
  }
  EXPECT_EQ(history[1]["outcomeStatus"], "accepted");
  EXPECT_EQ(proof["audit"].at(0)["action"], "intent_accepted");
  const auto shown = installation().command({"proof", "paid"});
  EXPECT_NE(shown.out.find("sent       SHA-256 " + hash_of(received[0].body)), std::string::npos) << shown.out;
}

// O5
TEST_F(Proofs, WhatNeverLeftHasNoHash) {
  FakeGateway shut(FakeGateway::Door::shut);
  setup.registry = registry_of(standard_targets(shut.url()));
  setup.more += "timeouts: {cooldown: 0ms, outage: 0ms}\n";
  post_intent(client(), sms_intent("never", "sms.attempts"), 30);
  EXPECT_EQ(word(wait_for_end(client(), "never"), "status"), "exhausted");
  const auto proof = proved({"never"});
  for (const auto& attempt : proof["deliveries"].at(0)["history"]) EXPECT_EQ(attempt["sentSha256"], nullptr) << attempt;
}

// O5 N5
TEST_F(Proofs, AChannelsDeliveryNamesTheKeyThatSignedIt) {
  const auto channel = add_channel("hook");
  const auto rule = add_rule();
  bind(rule, channel);
  ASSERT_EQ(add_event(rule, "e-1", {{"value", 1}}).status, 202);
  ASSERT_TRUE(eventually([&] { return deliveries().size() == 1; }));
  const std::string id = deliveries().at(0).at("id");
  end_windows();
  ASSERT_TRUE(wait_for_status(id, "succeeded"));
  const auto proof = proved({id, "--kind", "notification"});
  EXPECT_EQ(proof["kind"], "notification");
  const auto& attempt = proof["deliveries"].at(0)["history"].at(0);
  EXPECT_EQ(attempt["sentSha256"], hash_of(gateway.received().at(0).body)) << proof;
  EXPECT_EQ(attempt["answer"]["status"], 200);
  const std::string secret = channel.at("signing_secret");
  const auto key = signing_key_of(Secret(secret));
  EXPECT_EQ(attempt["signedWith"], json::array({key_id(key)})) << attempt;
  EXPECT_EQ(proof["deliveries"][0]["destination"], nullptr);
  EXPECT_EQ(proof.dump().find(secret), std::string::npos);
}

// O5
TEST_F(Proofs, WhatIsNotThereIsSaid) {
  EXPECT_EQ(installation().command({"migrate"}).exit_code, 0);
  EXPECT_NE(proved({"none"}, 1)["error"]["message"].get<std::string>().find("no submission \"none\""), std::string::npos);
  proved({"none", "--kind", "letter"}, 2);
  EXPECT_NE(proved({"none", "--kind", "notification"}, 1), nullptr);
  EXPECT_NE(proved({"x", "--org", "nobody"}, 1)["error"]["message"].get<std::string>().find("nobody"), std::string::npos);
}

class ProofsWithTokens : public Proofs {
 protected:
  ProofsWithTokens() { setup.auth = "tokens"; }
};

// O5 S8 N3
TEST_F(ProofsWithTokens, AreTheAdministratorsOfTheOrganisation) {
  host();
  ASSERT_EQ(installation().command({"org", "create", "acme"}).exit_code, 0);
  const auto as = [&](const std::string& org, const std::string& role) {
    const auto made = installation().command({"token", "create", "--org", org, "--role", role, org + "-" + role, "--json"});
    HttpClient one(host().port());
    one.authorize(json::parse(made.out).at("token"));
    return one;
  };
  auto admin = as("default", "admin"), member = as("default", "member"), stranger = as("acme", "admin");
  EXPECT_EQ(post_intent(admin, sms_intent("paid", "sms.attempts"), 30).json().at("status"), "accepted");
  EXPECT_EQ(member.get("/v1/proofs/paid").status, 403);
  EXPECT_EQ(stranger.get("/v1/proofs/paid").status, 404);
  const auto proof = admin.get("/v1/proofs/paid");
  ASSERT_EQ(proof.status, 200) << proof.body;
  EXPECT_EQ(proof.json()["deliveries"][0]["history"][0]["sentSha256"], hash_of(gateway.received("paid").at(0).body));
  EXPECT_EQ(admin.get("/v1/proofs/paid?kind=form").status, 404);
  EXPECT_EQ(admin.get("/v1/proofs/paid?kind=letter").status, 400);
  EXPECT_EQ(admin.get("/v1/proofs/paid?what=x").status, 400);
  EXPECT_EQ(admin.get("/v1/proofs/%27%3B--").status, 404);
}

}  // namespace
}  // namespace waybill::testing
