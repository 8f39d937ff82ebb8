// Intents over HTTP: what goes in, what comes back, and what every kind of gateway answer makes of them.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <set>

#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

class Intents : public World {
 protected:
  // Posts, and waits for the end.
  json settled(const json& body) {
    const auto response = post_intent(client(), body, 30);
    EXPECT_EQ(response.status, 200) << response.body;
    return wait_for_end(client(), body.at("intentId"));
  }
};

std::set<std::string> keys_of(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

std::string base64(std::string_view bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

std::string hmac(std::string_view key, std::string_view text) {
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       mac, &size);
  return {reinterpret_cast<const char*>(mac), size};
}

// M1
TEST_F(Intents, AnAcceptedIntentIsAnsweredWithItsFieldsAndNothingOfTheContract) {
  const auto response = post_intent(client(), sms_intent("first", "sms.deadline"), 30);
  EXPECT_EQ(response.status, 200);
  const auto body = response.json();
  EXPECT_EQ(keys_of(body), (std::set<std::string>{"intentId", "submissionTarget", "createdAt", "status", "completedAt"}));
  EXPECT_EQ(body["intentId"], "first");
  EXPECT_EQ(body["submissionTarget"], "sms.deadline");
  EXPECT_EQ(body["status"], "accepted");
  EXPECT_LE(seconds_of(body, "createdAt"), seconds_of(body, "completedAt"));
  EXPECT_EQ(response.body.find(gateway.url()), std::string::npos);
}

// M1, M6
TEST_F(Intents, APendingIntentHasNoCompletion) {
  gateway.by_default(Reply::accept_when_released());
  const auto response = post_intent(client(), sms_intent("first", "sms.patient"));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(keys_of(response.json()), (std::set<std::string>{"intentId", "submissionTarget", "createdAt", "status"}));
  EXPECT_EQ(response.json()["status"], "pending");
  EXPECT_TRUE(gateway.wait_for_count("first", 1));  // the first attempt comes at once, by itself
  gateway.release();
  EXPECT_EQ(wait_for_end(client(), "first")["status"], "accepted");
}

// M1, M2
TEST_F(Intents, ARepeatedIntentIsTheExistingOneAndIsNotSentAgain) {
  const auto body = sms_intent("again", "sms.deadline");
  const auto first = settled(body);
  const auto second = post_intent(client(), body);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.json(), first);
  settled(sms_intent("another", "sms.deadline"));
  EXPECT_EQ(gateway.count("again"), 1u);
}

// M2
TEST_F(Intents, AnotherPayloadOrTargetUnderTheSameIdIsAConflict) {
  const auto body = sms_intent("taken", "sms.deadline");
  settled(body);
  auto other_payload = body;
  other_payload["payload"]["message"] = "something else";
  auto other_target = body;
  other_target["submissionTarget"] = "sms.attempts";
  auto no_payload = body;
  no_payload.erase("payload");
  for (const auto& changed : {other_payload, other_target, no_payload}) {
    const auto response = post_intent(client(), changed);
    EXPECT_EQ(response.status, 409) << changed;
    EXPECT_EQ(response.error_code(), "idempotency_conflict");
    EXPECT_FALSE(response.error_message().empty());
  }
  EXPECT_EQ(gateway.count("taken"), 1u);
}

// M2
TEST_F(Intents, ThePayloadArrivesByteForByte) {
  const std::string payload = "{ \"b\" : 1.50,\"a\":[1e2, \"\\u00e9\\/\"],  \"b2\":\"\xc3\xa9\"}";
  const auto response = client().request("POST", "/v1/intents?waitSeconds=30",
                                         R"({"intentId":"raw","submissionTarget":"hook.attempts","payload":)" + payload + "}");
  EXPECT_EQ(response.status, 200) << response.body;
  ASSERT_EQ(gateway.count("raw"), 1u);
  EXPECT_EQ(gateway.received("raw").front().body, payload);
}

// M3
TEST_F(Intents, AnUnknownIntentIsNotFound) {
  for (const auto* path : {"/v1/intents/nobody", "/v1/intents/nobody/history"}) {
    const auto response = client().get(path);
    EXPECT_EQ(response.status, 404);
    EXPECT_EQ(response.error_code(), "not_found");
  }
}

// M3, M11
TEST_F(Intents, TheHistoryHasTheIntentAndItsAttemptsInOrder) {
  gateway.script("story", {Reply::reject("provider_failure"), Reply::http_error(503), Reply::accept()});
  const auto end = settled(sms_intent("story", "sms.attempts"));
  const auto history = history_of(client(), "story");
  EXPECT_EQ(keys_of(history), (std::set<std::string>{"intent", "attempts"}));
  EXPECT_EQ(history["intent"], end);
  EXPECT_EQ(history["intent"], get_intent(client(), "story"));
  ASSERT_EQ(history["attempts"].size(), 3u);
  double before = seconds_of(end, "createdAt");
  for (int number = 1; const auto& attempt : history["attempts"]) {
    EXPECT_EQ(attempt["attemptNumber"], number++);
    EXPECT_LE(before, seconds_of(attempt, "startedAt") + 0.001);
    before = seconds_of(attempt, "startedAt");
    EXPECT_LE(before, seconds_of(attempt, "finishedAt"));
  }
  EXPECT_EQ(attempt_words(client(), "story"), (Words{"rejected", "error", "accepted"}));
  EXPECT_EQ(attempt_words(client(), "story", "outcomeReason")[0], "provider_failure");
  EXPECT_NE(attempt_words(client(), "story", "error")[1], "");
}

// M3: ids that need escaping in a path
TEST_F(Intents, AnIdMayHoldAnyPrintableText) {
  const std::string id = "order 7/\xc3\xbc?&#%";
  settled(sms_intent(id, "sms.deadline"));
  const auto response = client().get("/v1/intents/order%207%2F%C3%BC%3F%26%23%25");
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.json()["intentId"], id);
  EXPECT_EQ(client().get("/v1/intents/order%207%2F%C3%BC%3F%26%23%25/history").status, 200);
}

// M5
TEST_F(Intents, WaitingEndsWithTheFirstAttemptEvenWhenTheIntentGoesOn) {
  setup.retry = "{kind: fixed, delay: 1h}";
  setup.registry = registry_of({target("sms.long", "sms", gateway.url(), "deadline", 36000, {"invalid_request"})});
  gateway.by_default(Reply::reject("provider_failure"));
  const auto response = post_intent(client(), sms_intent("wait", "sms.long"), 60);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.json()["status"], "pending");
  EXPECT_EQ(attempt_words(client(), "wait"), Words{"rejected"});
}

// M5
TEST_F(Intents, WaitingEndsWithTheTimeoutWhenNothingHappens) {
  gateway.by_default(Reply::accept_when_released());
  const auto response = post_intent(client(), sms_intent("slow", "sms.patient"), 1);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.json()["status"], "pending");
  EXPECT_TRUE(attempt_words(client(), "slow").empty());
  gateway.release();
}

// M5
TEST_F(Intents, WaitingOnAnExistingIntentAnswersWithItsEnd) {
  gateway.by_default(Reply::accept_when_released());
  const auto body = sms_intent("twice", "sms.patient");
  EXPECT_EQ(post_intent(client(), body).json()["status"], "pending");
  ASSERT_TRUE(gateway.wait_for_count("twice", 1));
  std::jthread releaser([&] { gateway.release(); });
  const auto response = post_intent(client(), body, 60);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.json()["status"], "accepted");
}

// M6
TEST_F(Intents, OnlyATerminalReasonRejects) {
  gateway.script("no", {Reply::reject("provider_failure"), Reply::reject("invalid_recipient")});
  const auto end = settled(sms_intent("no", "sms.deadline"));
  EXPECT_EQ(word(end, "status"), "rejected");
  EXPECT_EQ(word(end, "rejectedReason"), "invalid_recipient");
  EXPECT_FALSE(end.contains("exhaustedReason"));
  EXPECT_TRUE(end.contains("completedAt"));
  EXPECT_EQ(attempt_words(client(), "no"), (Words{"rejected", "rejected"}));
  EXPECT_EQ(attempt_words(client(), "no", "outcomeReason"), (Words{"provider_failure", "invalid_recipient"}));
}

// M6
TEST_F(Intents, MaxAttemptsEndsExhaustedAfterExactlySoMany) {
  gateway.by_default(Reply::reject("provider_failure"));
  const auto end = settled(sms_intent("three", "sms.attempts"));
  EXPECT_EQ(word(end, "status"), "exhausted");
  EXPECT_EQ(word(end, "exhaustedReason"), "max_attempts");
  EXPECT_FALSE(end.contains("rejectedReason"));
  EXPECT_EQ(attempt_words(client(), "three").size(), 3u);
  EXPECT_EQ(gateway.count("three"), 3u);
}

// M6
TEST_F(Intents, OneShotTriesOnce) {
  gateway.by_default(Reply::http_error(500));
  const auto end = settled(sms_intent("once", "sms.once"));
  EXPECT_EQ(word(end, "status"), "exhausted");
  EXPECT_EQ(word(end, "exhaustedReason"), "one_shot");
  EXPECT_EQ(gateway.count("once"), 1u);
}

// M8
TEST_F(Intents, AnInvalidAnswerIsAnAttemptErrorAndNeverTerminal) {
  const std::vector<std::pair<std::string, Reply>> answers{{"not_json", Reply::not_json()},
                                                           {"no_status", Reply::no_status()},
                                                           {"unknown_status", Reply::unknown_status()},
                                                           {"no_reason", Reply::rejection_without_reason()},
                                                           {"empty", Reply{}},
                                                           {"array", Reply{.body = "[1]"}},
                                                           {"bad_utf8", Reply{.body = "{\"status\":\"\xff\"}"}},
                                                           {"http_500", Reply::http_error(500)},
                                                           {"http_404", Reply::http_error(404)},
                                                           {"http_302", Reply::http_error(302)}};
  for (const auto& [name, reply] : answers) {
    gateway.script("sms-" + name, {reply, Reply::accept()});
    gateway.script("push-" + name, {reply, Reply::accept()});
    post_intent(client(), sms_intent("sms-" + name, "sms.attempts"));
    post_intent(client(), push_intent("push-" + name, "push.attempts"));
  }
  for (const auto& [name, reply] : answers)
    for (const auto& id : {"sms-" + name, "push-" + name}) {
      EXPECT_EQ(wait_for_end(client(), id)["status"], "accepted") << id;
      EXPECT_EQ(attempt_words(client(), id), (Words{"error", "accepted"})) << id;
      EXPECT_NE(attempt_words(client(), id, "error")[0] + attempt_words(client(), id, "outcomeReason")[0], "") << id;
    }
}

// M8
TEST_F(Intents, AGatewayThatHangsResetsOrDiesCostsOneAttempt) {
  setup.more = "timeouts: {attempt: 1s}\n";
  const std::vector<std::pair<std::string, Reply>> ends{
      {"hang", Reply::hang()}, {"reset", Reply::reset()}, {"die", Reply::die()}};
  for (const auto& [name, reply] : ends) {
    gateway.script(name, {reply, Reply::accept()});
    post_intent(client(), sms_intent(name, "sms.attempts"));
  }
  for (const auto& [name, reply] : ends) {
    EXPECT_EQ(wait_for_end(client(), name)["status"], "accepted") << name;
    EXPECT_EQ(attempt_words(client(), name), (Words{"error", "accepted"})) << name;
    EXPECT_EQ(gateway.count(name), 2u) << name;
  }
}

// M6
TEST_F(Intents, ALateAnswerWithinTheAttemptCounts) {
  gateway.script("late", {Reply::late(std::chrono::milliseconds(300))});
  EXPECT_EQ(settled(sms_intent("late", "sms.attempts"))["status"], "accepted");
  EXPECT_EQ(gateway.count("late"), 1u);
}

// M9
TEST_F(Intents, TheDefaultRetryDelayIsFixedFiveSeconds) {
  setup.retry = "";
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("due", "sms.patient"), 30);
  EXPECT_NEAR(std::stod(sql().text("SELECT extract(epoch FROM r.due_at - a.finished_at) FROM waybill.ready r JOIN "
                                   "waybill.attempts a USING (delivery_id)")),
              5.0, 0.5);
}

// M9
TEST_F(Intents, RetryTimingComesFromTheConfigurationPerActionType) {
  setup.retry = "{kind: fixed, delay: 1h}\n  sms: {kind: fixed, delay: 10m}";
  setup.registry = registry_of({target("sms.long", "sms", gateway.url(), "deadline", 36000, {"invalid_request"}),
                                target("push.long", "push", gateway.url(), "deadline", 36000, {"invalid_request"})});
  gateway.by_default(Reply::reject("provider_failure"));
  post_intent(client(), sms_intent("a", "sms.long"), 30);
  post_intent(client(), push_intent("b", "push.long"), 30);
  const auto waits = sql().rows(
      "SELECT round(extract(epoch FROM r.due_at - a.finished_at)) FROM waybill.ready r JOIN waybill.attempts a USING "
      "(delivery_id) ORDER BY 1");
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0][0], "600");
  EXPECT_EQ(waits[1][0], "3600");
}

// M9: a receiver's Retry-After lifts the wait
TEST_F(Intents, RetryAfterIsHonoured) {
  gateway.by_default(Reply::too_many_requests(1800));
  post_intent(client(), intent("busy", "hook.attempts", {{"n", 1}}), 30);
  EXPECT_EQ(attempt_words(client(), "busy"), Words{"error"});
  EXPECT_NEAR(std::stod(sql().text("SELECT extract(epoch FROM r.due_at - a.finished_at) FROM waybill.ready r JOIN "
                                   "waybill.attempts a USING (delivery_id)")),
              1800, 1.0);
}

// M16
TEST_F(Intents, SmsSpeaksItsProtocol) {
  auto body = sms_intent("text", "sms.deadline");
  body["payload"]["tenantId"] = "t-9";
  EXPECT_EQ(settled(body)["status"], "accepted");
  const auto requests = gateway.received("text");
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].method, "POST");
  EXPECT_EQ(requests[0].path, "/sms/send");
  EXPECT_EQ(json::parse(requests[0].body),
            (json{{"referenceId", "text"}, {"to", "+4915112345678"}, {"message", "hello"}, {"tenantId", "t-9"}}));
}

// M16
TEST_F(Intents, PushSpeaksItsProtocol) {
  const json payload{{"token", "device-1"}, {"title", "t"}, {"body", "b"}, {"data", {{"k", "v"}}}, {"tenantId", "t-9"}};
  EXPECT_EQ(settled(intent("note", "push.attempts", payload))["status"], "accepted");
  const auto requests = gateway.received("note");
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].path, "/push/send");
  auto expected = payload;
  expected["referenceId"] = "note";
  EXPECT_EQ(json::parse(requests[0].body), expected);
}

// M16
TEST_F(Intents, EveryReasonOfTheTaxonomyCanRejectWhenTheContractListsIt) {
  const Words sms{"invalid_request", "duplicate_reference", "invalid_recipient", "invalid_message", "provider_failure"};
  const Words push{"invalid_request", "duplicate_reference", "provider_failure", "unregistered_token"};
  setup.registry = registry_of({target("sms.strict", "sms", gateway.url(), "max_attempts", 5, sms),
                                target("push.strict", "push", gateway.url(), "max_attempts", 5, push)});
  const auto check = [&](const std::string& type, const Words& reasons) {
    for (const auto& reason : reasons) {
      const auto id = type + "-" + reason;
      gateway.script(id, {Reply::reject(reason)});
      const auto end = settled(type == "sms" ? sms_intent(id, "sms.strict") : push_intent(id, "push.strict"));
      EXPECT_EQ(word(end, "status"), "rejected") << id;
      EXPECT_EQ(word(end, "rejectedReason"), reason);
      EXPECT_EQ(gateway.count(id), 1u);
    }
  };
  check("sms", sms);
  check("push", push);
}

// M16, D9: the plugin's schema of payloads is asked when the intent comes in
TEST_F(Intents, APayloadThatLacksWhatTheProtocolNeedsIsRefusedWithoutACall) {
  const std::vector<std::pair<std::string, json>> payloads{
      {"sms.once", json{{"message", "no recipient"}}}, {"sms.once", json{{"to", "+49"}}},
      {"sms.once", json{{"to", 5}, {"message", "x"}}}, {"sms.once", json("text")},
      {"push.attempts", json{{"title", "no token"}}},  {"push.attempts", json{{"token", "but nothing to show"}}}};
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const auto refused = post_intent(client(), intent("lack-" + std::to_string(i), payloads[i].first, payloads[i].second), 30);
    EXPECT_EQ(refused.status, 400) << payloads[i].second;
    EXPECT_NE(refused.body.find("payload"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(post_intent(client(), {{"intentId", "nothing"}, {"submissionTarget", "sms.once"}}, 30).status, 400);
  EXPECT_EQ(gateway.count(), 0u);
}

// M16: the reference is the idempotency key, in every attempt
TEST_F(Intents, ARetryKeepsTheIdempotencyKey) {
  const std::string id = "needs a key of another form \xc3\xa9";  // not fit for a header as it is
  gateway.by_default(Reply::http_error(500));
  settled(sms_intent(id, "sms.attempts"));
  const auto counts = gateway.counts();
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.begin()->second, 3u);
  EXPECT_FALSE(counts.begin()->first.empty());
}

// M16: webhook, signed as Standard Webhooks say with a secret that only the configuration knows
TEST_F(Intents, AWebhookIsSignedWithTheSecretItsTargetNames) {
  const std::string key = "0123456789abcdef0123456789abcdef";
  auto signed_target = target("hook.signed", "webhook", gateway.url() + "/in", "max_attempts", 3, {"gone"});
  signed_target["destination"] = {{"secret", "partner"}, {"headers", {{"X-Tenant", "t-9"}}}};
  setup.registry = registry_of({signed_target});
  TempFolder secrets;
  write_file(secrets.path() / "partner", "whsec_" + base64(key) + "\n");
  setup.more = "secrets:\n  partner: {file: " + (secrets.path() / "partner").string() + "}\n";
  gateway.script("signed", {Reply::http_error(500), Reply::accept()});
  EXPECT_EQ(settled(intent("signed", "hook.signed", {{"event", "made"}}))["status"], "accepted");
  const auto requests = gateway.received("signed");
  ASSERT_EQ(requests.size(), 2u);
  for (const auto& request : requests) {
    EXPECT_EQ(request.path, "/in");
    EXPECT_EQ(header_value(request.head, "X-Tenant"), "t-9");
    const auto stamp = header_value(request.head, "webhook-timestamp").value_or("");
    EXPECT_EQ(header_value(request.head, "webhook-signature"), "v1," + base64(hmac(key, "signed." + stamp + "." + request.body)));
  }
  EXPECT_EQ(host().log().find(base64(key)), std::string::npos);
}

// M2 M18: stored and claimed in one commit, if nothing older waits and the claimer is not at work just then
TEST_F(Intents, OneThatCanStartIsClaimedAsItIsStored) {
  gateway.by_default(Reply::accept_when_released());
  int number = 0;
  EXPECT_TRUE(eventually([&] {
    const auto id = "at-once-" + std::to_string(++number);
    EXPECT_EQ(post_intent(client(), sms_intent(id, "sms.deadline")).status, 200);
    EXPECT_TRUE(gateway.wait_for_count(id, 1));
    return sql().number(
               "SELECT count(*) FROM waybill.ready r JOIN waybill.submissions s ON s.shard = r.shard AND s.id = r.submission_id"
               " JOIN waybill.claims c ON c.shard = r.shard AND c.token = r.claim_token WHERE r.claimed_at = s.created_at") > 0;
  }));
  gateway.release();
  for (; number > 0; --number) EXPECT_EQ(wait_for_end(client(), "at-once-" + std::to_string(number))["status"], "accepted");
}

}  // namespace
}  // namespace waybill::testing
