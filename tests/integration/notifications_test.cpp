// Notifications of organisations: channels, alert rules, events that are collected into deliveries, and what becomes of these.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>
#include <vector>

#include "domain/idempotency.h"
#include "support/database_proxy.h"
#include "support/notify_world.h"
#include "support/stepped_clock.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

constexpr auto kNobody = "00000000-0000-4000-8000-000000000000";

std::string decoded(std::string_view text) {
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(static_cast<std::size_t>(size) - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0));
  return out;
}

// What a receiver of Standard Webhooks does with the secret that it was given.
bool verifies(const std::string& secret, const Received& request, const std::string& body) {
  const auto field = [&](const char* name) { return header_value(request.head, name).value_or(""); };
  const std::string key = decoded(std::string_view(secret).substr(6)),
                    text = field("webhook-id") + "." + field("webhook-timestamp") + "." + body;
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       mac, &size);
  const std::string given = " " + field("webhook-signature") + " ";
  for (std::size_t at = given.find(" v1,"); at != std::string::npos; at = given.find(" v1,", at + 1)) {
    const auto signature = given.substr(at + 4, given.find(' ', at + 1) - at - 4);
    if (decoded(signature) == std::string(reinterpret_cast<const char*>(mac), size)) return true;
  }
  return false;
}

class Notifications : public NotifyWorld {};

// N1
TEST_F(Notifications, AChannelIsMadeShownChangedAndDeleted) {
  configure("debounce: 10m");
  const auto made = add_channel("ops");
  const std::string id = made.at("id"), path = "/channels/" + id;
  EXPECT_TRUE(made.at("signing_secret").get<std::string>().starts_with("whsec_"));
  auto shown = made;
  shown.erase("signing_secret");
  EXPECT_EQ(call("GET", path).json(), shown);
  EXPECT_EQ(call("GET", "/channels").json(), (json{{"items", {shown}}, {"next", nullptr}}));
  EXPECT_EQ(call("GET", "/channels?after=ops").json().at("items").size(), 0u);
  EXPECT_EQ(call("GET", "/channels?after=%ff").status, 400);

  EXPECT_EQ(call("POST", "/channels", webhook("ops", gateway.url())).status, 409);
  const auto renamed = call("PATCH", path, {{"name", "on call"}});
  EXPECT_EQ(renamed.status, 200);
  EXPECT_EQ(renamed.json().at("name"), "on call");
  EXPECT_EQ(renamed.json().at("config"), shown.at("config"));
  const auto other = add_channel("ops");
  EXPECT_EQ(call("PATCH", path, {{"name", "ops"}}).status, 409);
  const auto typed = call("PATCH", path, {{"type", "webhook"}});
  EXPECT_EQ(typed.status, 400);
  EXPECT_NE(typed.error_message().find("type"), std::string::npos);

  EXPECT_EQ(call("DELETE", path).status, 204);
  EXPECT_EQ(call("DELETE", path).status, 404);
  EXPECT_EQ(call("GET", path).status, 404);
  EXPECT_EQ(call("PATCH", path, {{"name", "x"}}).status, 404);
  add_channel("on call");  // its name is free again
}

// N1
TEST_F(Notifications, WhatAChannelMayNotBeIsRefusedByName) {
  configure("debounce: 10m");
  const auto url = gateway.url();
  const std::vector<std::pair<json, std::string>> cases{
      {json::object(), "name"},
      {{{"name", ""}, {"type", "webhook"}, {"config", {{"url", url}}}}, "name"},
      {{{"name", std::string(256, 'x')}, {"type", "webhook"}, {"config", {{"url", url}}}}, "name"},
      {{{"name", "a"}, {"type", "fax"}, {"config", {{"url", url}}}}, "type"},
      {{{"name", "a"}, {"type", "webhook"}}, "config"},
      {{{"name", "a"}, {"type", "webhook"}, {"config", json::object()}}, "url"},
      {{{"name", "a"}, {"type", "webhook"}, {"config", {{"url", 7}}}}, "url"},
      {{{"name", "a"}, {"type", "webhook"}, {"config", {{"url", url}, {"secret", "orders"}}}}, "secret"},
      {{{"name", "a"}, {"type", "webhook"}, {"config", {{"url", url}, {"headers", {{"Host", "x"}}}}}}, "Host"},
      {{{"name", "a"}, {"type", "webhook"}, {"config", {{"url", url}, {"headers", {{"X-A", "{secret:orders}"}}}}}}, "X-A"},
      {{{"name", "a"}, {"type", "webhook"}, {"config", {{"url", url}}}, {"id", "mine"}}, "id"}};
  for (const auto& [body, named] : cases) {
    const auto response = call("POST", "/channels", body);
    EXPECT_EQ(response.status, 400) << body;
    EXPECT_NE(response.error_message().find(named), std::string::npos) << response.body;
  }
  EXPECT_EQ(call("GET", "/channels").json().at("items").size(), 0u);
  for (const auto* id : {kNobody, "7", "x"}) EXPECT_EQ(call("GET", std::string("/channels/") + id).status, 404) << id;
}

// N1, N2
TEST_F(Notifications, AChannelThatAnActiveRuleIsBoundToIsNotDeleted) {
  configure("debounce: 10m");
  const auto channel = add_channel("ops");
  const auto rule = add_rule();
  const std::string id = channel.at("id"), binding = "/alert-rules/" + rule + "/channels/" + id;
  EXPECT_EQ(call("PUT", binding).status, 204);
  EXPECT_EQ(call("PUT", binding).status, 204);
  EXPECT_EQ(call("GET", "/alert-rules/" + rule + "/channels").json().at("items").at(0).at("id"), id);
  EXPECT_EQ(call("DELETE", "/channels/" + id).status, 409);
  EXPECT_EQ(call("PATCH", "/alert-rules/" + rule, {{"status", "disabled"}}).json().at("status"), "disabled");
  EXPECT_EQ(call("DELETE", "/channels/" + id).status, 204);
  EXPECT_EQ(call("PUT", binding).status, 404);
  EXPECT_EQ(call("GET", "/alert-rules/" + rule + "/channels").json().at("items").size(), 0u);

  const auto second = add_channel("second");
  bind(rule, second);
  const auto again = "/alert-rules/" + rule + "/channels/" + second.at("id").get<std::string>();
  EXPECT_EQ(call("DELETE", again).status, 204);
  EXPECT_EQ(call("DELETE", again).status, 404);
  EXPECT_EQ(call("PUT", std::string("/alert-rules/") + kNobody + "/channels/" + second.at("id").get<std::string>()).status, 404);
}

// N4
TEST_F(Notifications, EventsOfOneWindowAreOneDeliveryToEachChannel) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  bind(rule, add_channel("first", "/first"));
  bind(rule, add_channel("second", "/second"));
  for (int i = 0; i < 3; ++i) {
    const auto response = add_event(rule, "CVE-" + std::to_string(i), {{"cve", i}});
    EXPECT_EQ(response.status, 202) << response.body;
  }
  EXPECT_EQ(add_event(rule, "CVE-1", {{"cve", 1}}).json().at("duplicate"), true);
  // T31: as for an intent
  const auto other = add_event(rule, "CVE-1", {{"cve", 2}});
  EXPECT_EQ(other.status, 409) << other.body;
  EXPECT_EQ(other.json().at("error").at("code"), "idempotency_conflict");
  EXPECT_EQ(add_event(rule, "CVE-1", {{"cve", 1}}, true).status, 409) << "the same snapshot, but nobody is to be told";
  ASSERT_EQ(deliveries().size(), 2u);
  EXPECT_EQ(deliveries("?status=pending").size(), 2u);
  EXPECT_EQ(gateway.count(), 0u);
  end_windows();
  for (const auto& one : deliveries()) EXPECT_TRUE(wait_for_status(one.at("id"), "succeeded"));
  std::set<std::string> paths;
  for (const auto& request : gateway.received()) {
    paths.insert(request.path);
    EXPECT_EQ(request.body, R"([{"cve":0},{"cve":1},{"cve":2}])");
  }
  EXPECT_EQ(paths, (std::set<std::string>{"/first", "/second"}));
  EXPECT_EQ(gateway.count(), 2u);
}

// N4: each event prolongs the window.
TEST_F(Notifications, AnEventProlongsTheWindow) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  sql().execute("UPDATE waybill.ready SET due_at = now() + interval '1 minute' WHERE status = 'open'");
  add_event(rule, "2", 2);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.ready WHERE status = 'open' AND due_at > now() + interval '9 minutes'"),
            1);
}

// N4: where the source's unique index on what is pending would collide.
TEST_F(Notifications, AnEventAfterTheFirstClaimOpensAnotherDeliveryEvenWhileTheFirstWaitsForARetry) {
  configure("debounce: 10m");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  const std::string first = deliveries().at(0).at("id");
  end_windows();
  ASSERT_TRUE(eventually([&] { return delivery(first).at("attempt_count") == 1; }));
  EXPECT_EQ(delivery(first).at("status"), "pending");
  add_event(rule, "2", 2);
  add_event(rule, "3", 3);
  const auto both = deliveries();
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(delivery(both.at(0).at("id")).at("payload"), (json{2, 3}));
  EXPECT_EQ(delivery(first).at("payload"), json{1});
}

// N4
TEST_F(Notifications, NothingIsDeliveredOfWhatIsSuppressedOrOfARuleThatIsNotActive) {
  configure("debounce: 0s, orphan_scan: 100ms");
  const auto active = add_rule(), draft = add_rule("draft"), disabled = add_rule("disabled"), unbound = add_rule();
  const auto channel = add_channel("ops");
  for (const auto& rule : {active, draft, disabled}) bind(rule, channel);
  EXPECT_EQ(add_event(active, "quiet", 1, true).status, 202);
  for (const auto& rule : {draft, disabled, unbound}) EXPECT_EQ(add_event(rule, "1", 1).json().at("channels"), 0);
  EXPECT_EQ(add_event(kNobody, "1", 1).status, 404);
  add_event(active, "heard", 2);
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(gateway.received().front().body, "[2]");
  EXPECT_EQ(deliveries().size(), 1u);
}

// N5: a bulk of them does not put off those that follow.
TEST_F(Notifications, AnEventAfterManyThatAnotherProgramCommittedIsFannedOutAsSoon) {
  configure("debounce: 10m, orphan_scan: 200ms");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  const auto insert = [&](const std::string& name, int count) {
    sql().execute("INSERT INTO waybill.alert_events (org_id, rule_id, event_id, snapshot) SELECT 1, '" + rule + "', '" + name +
                  "' || i, '1' FROM generate_series(1, " + std::to_string(count) + ") i");
    return eventually([&] { return sql().number("SELECT count(*) FROM waybill.alert_events WHERE fanned_out_at IS NULL") == 0; },
                      std::chrono::minutes(1));
  };
  EXPECT_TRUE(insert("many-", 1500));
  EXPECT_TRUE(insert("one-", 1));
}

// N5: per event, also when another event of its rule has been delivered.
TEST_F(Notifications, AnEventThatAnotherProgramCommittedIsFannedOut) {
  configure("debounce: 0s, orphan_scan: 200ms");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "known", "known");
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  sql().execute("INSERT INTO waybill.alert_events (org_id, rule_id, event_id, snapshot) VALUES (1, '" + rule +
                "', 'orphan', '\"orphan\"')");
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
  EXPECT_EQ(gateway.received().back().body, R"(["orphan"])");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alert_events WHERE fanned_out_at IS NULL"), 0);
}

// N1, N6
TEST_F(Notifications, SignaturesVerifyWithBothSecretsDuringARotation) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const std::string first = channel.at("signing_secret"), path = "/channels/" + channel.at("id").get<std::string>();
  const auto deliver = [&](const std::string& event) {
    const auto before = gateway.count();
    add_event(rule, event, {{"event", event}});
    EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() > before; }));
    return gateway.received().back();
  };
  const auto signed_once = deliver("1");
  EXPECT_TRUE(verifies(first, signed_once, signed_once.body));
  auto flipped = signed_once.body;
  flipped[2] ^= 1;
  EXPECT_FALSE(verifies(first, signed_once, flipped));

  const auto rotated = call("POST", path + "/rotate-secret");
  EXPECT_EQ(rotated.status, 200);
  const std::string second = rotated.json().at("signing_secret");
  EXPECT_NE(second, first);
  EXPECT_TRUE(call("GET", path).json().at("hasSecondarySecret"));
  const auto signed_twice = deliver("2");
  EXPECT_TRUE(verifies(first, signed_twice, signed_twice.body));
  EXPECT_TRUE(verifies(second, signed_twice, signed_twice.body));

  EXPECT_EQ(call("POST", path + "/clear-secondary").status, 204);
  const auto signed_anew = deliver("3");
  EXPECT_FALSE(verifies(first, signed_anew, signed_anew.body));
  EXPECT_TRUE(verifies(second, signed_anew, signed_anew.body));
  EXPECT_EQ(call("POST", std::string("/channels/") + kNobody + "/rotate-secret").status, 404);
}

// N1: at rest, in the log and in what is shown afterwards.
TEST_F(Notifications, ASecretIsNowhereButInTheAnswerThatShowsItOnce) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const std::string secret = channel.at("signing_secret"), key = decoded(std::string_view(secret).substr(6));
  add_event(rule, "1", 1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(call("GET", "/channels").body.find(secret), std::string::npos);
  EXPECT_EQ(host().log().find(secret), std::string::npos);
  for (const auto* column : {"secret", "coalesce(secondary_secret, '')"})
    EXPECT_EQ(sql().number(std::string("SELECT position('") + secret + "'::bytea IN " + column + ") FROM waybill.channels"), 0);
  EXPECT_EQ(sql().number("SELECT octet_length(secret) FROM waybill.channels"), static_cast<int>(1 + 12 + secret.size() + 16));
  EXPECT_EQ(client().get("/metrics").body.find(secret), std::string::npos);
}

// N1: a sealed secret that was moved to another channel's row opens nothing.
TEST_F(Notifications, ASecretOpensForItsOwnChannelOnly) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10m }";
  const auto rule = add_rule();
  bind(rule, add_channel("mine", "/mine"));
  const auto other = add_channel("other", "/other");
  sql().execute(
      "UPDATE waybill.channels SET secret = (SELECT secret FROM waybill.channels WHERE name = 'other') WHERE name = 'mine'");
  add_event(rule, "1", 1);
  ASSERT_TRUE(host().wait_for_log("channel.secret_not_opened"));
  EXPECT_EQ(gateway.count(), 0u);
}

// N1, T7: the host was given another master key: what needs the right one waits, and nothing else does
TEST_F(Notifications, WithTheWrongMasterKeyOnlyChannelsWait) {
  configure("debounce: 0s");
  setup.more += "alerts: { quiet: 1s }\n";
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  host().terminate();
  use_key("another master key, of more than 32 bytes");
  give_up_host();
  const auto ready = client().get("/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_NE(ready.body.find("notify.key"), std::string::npos) << ready.body;
  EXPECT_EQ(call("POST", "/alert-rules/" + rule + "/events", json{{"eventId", "1"}, {"snapshot", 1}}).status, 202);
  EXPECT_EQ(post_intent(client(), sms_intent("goes-on", "sms.deadline"), 30).status, 200);
  EXPECT_EQ(get_intent(client(), "goes-on")["status"], "accepted");
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'secret_locked'") == 1; }));
  const std::string id = deliveries().at(0).at("id");
  EXPECT_EQ(call("GET", "/deliveries/" + id + "/explain").json().at("code"), "secret_locked");
  EXPECT_EQ(gateway.count(), 1u) << "nothing to the channel";
  host().terminate();
  use_key("first master key, of more than 32 bytes");
  give_up_host();
  EXPECT_EQ(client().get("/readyz").body, "OK\n");
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
}

// T7: a master key that is lost for good
TEST_F(Notifications, WhatALostMasterKeySealedIsGivenUp) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  const std::string channel = add_channel("ops").at("id");
  bind(rule, json{{"id", channel}});
  host().terminate();
  use_key("another master key, of more than 32 bytes");
  give_up_host();
  add_event(rule, "1", 1);
  const auto master = sql().text("SELECT master FROM waybill.org_keys");
  const auto listed = installation().command({"keys", "give-up"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_NE(listed.out.find("master key " + master + ": organisation default, 1 channel(s)"), std::string::npos) << listed.out;
  EXPECT_EQ(sql().text("SELECT master FROM waybill.org_keys"), master) << "which only looked";
  EXPECT_EQ(installation().command({"keys", "give-up", "--master", "0123456789abcdef"}).exit_code, 1);
  const auto given_up = installation().command({"keys", "give-up", "--master", master, "--json"});
  ASSERT_EQ(given_up.exit_code, 0) << given_up.err;
  EXPECT_EQ(json::parse(given_up.out)[0]["channels"], 1);
  EXPECT_EQ(
      sql().number("SELECT count(*) FROM waybill.audit_log WHERE action = 'channel_secret_given_up' AND actor_type = 'admin'"
                   " AND actor LIKE '%@%' AND metadata ->> 'channel' = '" +
                   channel + "'"),
      1);
  EXPECT_NE(sql().text("SELECT master FROM waybill.org_keys"), master);
  EXPECT_EQ(installation().command({"keys", "give-up", "--master", master}).exit_code, 1) << "nothing is left";
  const auto shown = call("GET", "/channels/" + channel).json();
  EXPECT_NE(shown.at("disabledReason").get<std::string>().find("rotate"), std::string::npos) << shown;
  const auto rotated = call("POST", "/channels/" + channel + "/rotate-secret");
  EXPECT_EQ(rotated.status, 200) << rotated.body;
  EXPECT_EQ(call("PATCH", "/channels/" + channel, json{{"status", "active"}}).status, 200);
  add_event(rule, "2", 2);
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() >= 1; }));
}

// N1: nobody would see any more that the key is wrong.
TEST_F(Notifications, WithTheWrongMasterKeyNothingIsSealed) {
  configure("debounce: 0s");
  client();
  sql().execute(
      "INSERT INTO waybill.organisations (name) VALUES ('other');"
      "INSERT INTO waybill.org_keys (org_id, key_id, master, sealed) SELECT org_id, 1, 'another', '' FROM"
      " waybill.organisations WHERE name = 'other'");
  const auto refused = call("POST", "/channels", webhook("first", gateway.url()));
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.error_code(), "secret_locked");
  EXPECT_NE(refused.error_message().find("notify.key"), std::string::npos);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.org_keys"), 1);
}

// N1: while a rotation of the master key is under way, not every host has the new one.
TEST_F(Notifications, AHostThatOpensSomeOfTheSecretsIsReady) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  sql().execute(
      "INSERT INTO waybill.organisations (name) VALUES ('newer');"
      "INSERT INTO waybill.org_keys (org_id, key_id, master, sealed) SELECT org_id, 1, 'another', '' FROM"
      " waybill.organisations WHERE name = 'newer'");
  host().terminate();
  restart_host();
  EXPECT_EQ(client().get("/readyz").status, 200);
  add_event(rule, "1", 1);
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
}

// N1
TEST_F(Notifications, ABindingThatIsBeingMadeKeepsItsChannel) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  const std::string id = add_channel("ops").at("id");
  SqlClient somebody(setup.database_url);
  somebody.execute(
      "BEGIN; SELECT FROM waybill.channels FOR SHARE; INSERT INTO waybill.rule_channels (org_id, rule_id, channel_id) VALUES (1, "
      "'" +
      rule + "', '" + id + "')");
  auto deleted = std::async(std::launch::async,
                            [&] { return HttpClient(host().port()).request("DELETE", "/orgs/default/channels/" + id).status; });
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0; }));
  somebody.execute("COMMIT");
  EXPECT_EQ(deleted.get(), 409);
}

// N1
TEST_F(Notifications, ACorrectedUrlHelpsWhatAlreadyWaits) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  const auto channel = add_channel("ops", "/wrong");
  bind(rule, channel);
  add_event(rule, "1", 1);
  EXPECT_EQ(call("PATCH", "/channels/" + channel.at("id").get<std::string>(),
                 {{"config", {{"url", gateway.url() + "/right"}, {"headers", {{"X-Team", "ops"}}}}}})
                .status,
            200);
  end_windows();
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(gateway.received().front().path, "/right");
  EXPECT_EQ(header_value(gateway.received().front().head, "X-Team"), "ops");
}

// N6
TEST_F(Notifications, AChannelWhoseDestinationIsGoneIsDisabledWithAnAlert) {
  configure("debounce: 0s");
  gateway.by_default(Reply::http_error(410));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const auto path = "/channels/" + channel.at("id").get<std::string>();
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(wait_for_status(id, "failed"));
  EXPECT_EQ(gateway.count(), 1u);
  EXPECT_EQ(call("GET", path).json().at("status"), "disabled");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'channel_disabled'"), 1);
  EXPECT_EQ(add_event(rule, "2", 2).json().at("channels"), 1) << "it is kept";
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 409);

  gateway.by_default(Reply::accept());
  EXPECT_EQ(call("PATCH", path, {{"status", "active"}}).json().at("status"), "active");
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 202);
  EXPECT_TRUE(wait_for_status(id, "succeeded"));
}

// N8, N11
TEST_F(Notifications, AfterFourAttemptsADeliveryHasFailedAndAReplayGivesItFourMore) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10ms }";
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", {{"a", 1}});
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(wait_for_status(id, "failed"));
  const auto failed = delivery(id);
  EXPECT_EQ(failed.at("attempt_count"), 4);
  EXPECT_EQ(failed.at("attempts").size(), 4u);
  const auto& answer = failed.at("attempts").at(0).at("answer");
  EXPECT_EQ(answer.at("status"), 500);
  EXPECT_EQ(answer.at("address"), gateway.url().substr(std::string("http://").size()));
  EXPECT_GT(answer.at("firstByteMs").get<double>(), 0);
  EXPECT_NE(failed.at("last_error").get<std::string>().find("500"), std::string::npos);
  EXPECT_EQ(failed.at("payload"), (json{{{"a", 1}}}));
  EXPECT_TRUE(failed.at("delivered_at").is_null());
  EXPECT_EQ(gateway.count(), 4u);

  gateway.by_default(Reply::accept_when_released());
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 202);
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 409);
  ASSERT_TRUE(wait_for_status(id, "processing"));
  gateway.release();
  ASSERT_TRUE(wait_for_status(id, "succeeded"));
  EXPECT_EQ(delivery(id).at("attempt_count"), 1);
  EXPECT_EQ(delivery(id).at("attempts").size(), 5u);
  EXPECT_FALSE(delivery(id).at("delivered_at").is_null());
  std::set<std::string> references;
  for (const auto& request : gateway.received()) references.insert(request.reference);
  EXPECT_EQ(references.size(), 1u) << "every attempt has the same webhook-id";

  for (const auto* unknown : {"1", "x", "99999999999999999999"})
    EXPECT_EQ(call("POST", std::string("/deliveries/") + unknown + "/replay").status, 404) << unknown;
}

// N8: a channel's attempts count, whoever is to blame.
TEST_F(Notifications, ADestinationThatIsAwayOrLimitsItsRateUsesUpTheAttempts) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10ms }";
  setup.more += "timeouts: { cooldown: 0s }\n";
  gateway.by_default(Reply::http_error(429));
  const auto rule = add_rule();
  bind(rule, add_channel("limited"));
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(wait_for_status(id, "failed"));
  EXPECT_EQ(delivery(id).at("attempt_count"), 4);
  EXPECT_EQ(gateway.count(), 4u);
}

// N9: somebody's lock on one channel, or on a table of notifications, is no other delivery's.
TEST_F(Notifications, ALockOnAChannelOrATableKeepsNobodyElseWaiting) {
  configure("debounce: 0s, orphan_scan: 200ms");
  gateway.script("POST /locked", {Reply::http_error(500)});
  const auto rule = add_rule(), other = add_rule();
  const auto locked = add_channel("locked", "/locked");
  bind(rule, locked);
  bind(other, add_channel("free", "/free"));
  SqlClient somebody(setup.database_url);
  somebody.execute(
      "BEGIN; SELECT FROM waybill.channels WHERE name = 'locked' FOR UPDATE;"
      " SELECT FROM waybill.notification_windows FOR UPDATE");
  add_event(rule, "1", 1);
  const std::string first = deliveries().at(0).at("id");
  ASSERT_TRUE(eventually([&] { return delivery(first).at("attempt_count") == 1; }));
  add_event(other, "2", 2);
  EXPECT_TRUE(wait_for_status(deliveries().at(0).at("id"), "succeeded"));
  somebody.execute("COMMIT; BEGIN; SELECT FROM waybill.notification_windows WHERE rule_id = '" + rule + "' FOR UPDATE");
  for (const auto& of : {rule, other})
    sql().execute("INSERT INTO waybill.alert_events (org_id, rule_id, event_id, snapshot) VALUES (1, '" + of +
                  "', 'orphan', '3')");
  EXPECT_TRUE(eventually([&] { return deliveries("?rule_id=" + other + "&status=succeeded").size() == 2; }));
  somebody.execute("COMMIT; BEGIN; LOCK TABLE waybill.notifications");
  post_intent(client(), push_intent("other", "push.attempts"));
  EXPECT_EQ(wait_for_end(client(), "other").at("status"), "accepted");
  somebody.execute("COMMIT");
}

// N1
TEST_F(Notifications, APayloadIsShownAsItIsSentByteForByte) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  const std::string snapshot = R"({ "a" : 1.50, "a":2,  "b":"\u00e9\/" })";
  EXPECT_EQ(
      client()
          .request("POST", "/orgs/default/alert-rules/" + rule + "/events", R"({"eventId":"1","snapshot":)" + snapshot + "}")
          .status,
      202);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(gateway.received().front().body, "[" + snapshot + "]");
  EXPECT_NE(call("GET", "/deliveries/" + deliveries().at(0).at("id").get<std::string>()).body.find(snapshot), std::string::npos);
}

// N11
TEST_F(Notifications, AnOrganisationMayReplayTenDeliveriesInAnHour) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(wait_for_status(id, "succeeded"));
    ASSERT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 202);
  }
  ASSERT_TRUE(wait_for_status(id, "succeeded"));
  const auto refused = call("POST", "/deliveries/" + id + "/replay");
  EXPECT_EQ(refused.status, 429);
  EXPECT_TRUE(refused.header("Retry-After"));
  sql().execute("UPDATE waybill.notification_replays SET replayed_at = replayed_at - interval '61 minutes'");
  EXPECT_EQ(call("POST", "/deliveries/" + id + "/replay").status, 202);
}

// N11: what a request asks for and a route does not have is refused, not passed over.
TEST_F(Notifications, WhatARouteDoesNotHaveIsRefused) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id"), path = "/channels/" + channel.at("id").get<std::string>();
  for (const auto& route :
       {"/deliveries/" + id + "/replay", path + "/test", path + "/rotate-secret", path + "/clear-secondary"}) {
    const auto refused = call("POST", route, {{"dryRun", true}});
    EXPECT_EQ(refused.status, 400) << route;
    EXPECT_NE(refused.error_message().find("dryRun"), std::string::npos) << refused.body;
  }
  EXPECT_EQ(call("POST", path + "/clear-secondary", json::object()).status, 204);
  for (const char* query : {"?channel_id=ops", "?rule_id=x"}) {
    const auto refused = call("GET", std::string("/deliveries") + query);
    EXPECT_EQ(refused.status, 400) << query;
    EXPECT_NE(refused.error_message().find("must be a UUID"), std::string::npos) << refused.body;
  }
}

// N11
TEST_F(Notifications, PagesOfDeliveriesAreExactWhileOthersArrive) {
  configure("debounce: 10m");
  const auto rule = add_rule(), other = add_rule();
  const auto channel = add_channel("first");
  for (int i = 0; i < 5; ++i) bind(rule, i == 0 ? channel : add_channel("channel " + std::to_string(i)));
  add_event(rule, "1", 1);
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const auto page = call("GET", "/deliveries?limit=2" + (cursor.empty() ? "" : "&cursor=" + cursor)).json();
    for (const auto& one : page.at("items")) seen.push_back(one.at("id"));
    cursor = page.at("next").is_null() ? "" : page.at("next").get<std::string>();
    bind(other, add_channel("later " + std::to_string(seen.size())));
    add_event(other, "e" + std::to_string(seen.size()), 1);
  } while (!cursor.empty());
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 5u);
  EXPECT_EQ(deliveries("?rule_id=" + rule).size(), 5u);
  EXPECT_EQ(deliveries("?channel_id=" + channel.at("id").get<std::string>()).size(), 1u);
  EXPECT_EQ(deliveries("?status=succeeded").size(), 0u);
  EXPECT_EQ(deliveries(std::string("?rule_id=") + kNobody).size(), 0u);
  for (const auto* bad : {"?status=odd", "?limit=0", "?limit=501", "?limit=x", "?cursor=x", "?cursor=9223372036854775807.1",
                          "?cursor=-9223372036854775808.1"})
    EXPECT_EQ(call("GET", std::string("/deliveries") + bad).status, 400) << bad;
}

// N4, N12: a host that dies within a window loses nothing.
TEST_F(Notifications, AKilledHostLosesNoWindow) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  host().kill_hard();
  restart_host();
  add_event(rule, "2", 2);
  end_windows();
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(gateway.received().front().body, "[1,2]");
}

// N9: by all hosts together. Each host looks at the queue several times meanwhile.
TEST_F(Notifications, TheLimitsOfChannelsHoldForAllHostsTogether) {
  constexpr int kRules = 8;
  configure("debounce: 0s, per_org: 5, per_channel: 2");
  gateway.by_default(Reply::late(std::chrono::milliseconds(500)));
  client();
  const Installation second_place(setup), third_place(setup);
  Daemon second(second_place), third(third_place);
  add_events_for_three_channels(kRules);
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready") == 0; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries WHERE status = 'accepted'"), kRules * 3);
  const auto most_at_once = [&](const std::string& among) {
    return sql().number(
        "WITH a AS (SELECT t.*, n.channel_id FROM waybill.attempts t JOIN waybill.notifications n USING (shard, delivery_id))"
        "SELECT max((SELECT count(*) FROM a b WHERE b.started_at <= a.started_at AND b.finished_at > a.started_at" +
        among + ")) FROM a");
  };
  EXPECT_EQ(most_at_once(""), 5);
  EXPECT_LE(most_at_once(" AND b.channel_id = a.channel_id"), 2);
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.channel_hosts") == 0; }))
      << "who has nothing under way gives it up";
}

// N9, M18
TEST_F(Notifications, WhenTheHostOfAnOrganisationDiesAnotherServesItsChannels) {
  configure("debounce: 0s, per_org: 2");
  gateway.by_default(Reply::hang());
  client();
  const Installation second_place(setup);
  Daemon second(second_place);
  add_events_for_three_channels(1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
  gateway.by_default(Reply::accept());
  const auto server = sql().text("SELECT name FROM waybill.hosts WHERE host_id = (SELECT host_id FROM waybill.channel_hosts)");
  (server.ends_with(":" + std::to_string(second.pid())) ? second : host()).kill_hard();
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready") == 0; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries WHERE status = 'accepted'"), 3);
}

// T3
TEST_F(Notifications, WhenTheHostOfAnOrganisationHangsAnotherServesItsChannelsAfterItsLease) {
  configure("debounce: 0s, per_org: 2");
  setup.more += "timeouts: {attempt: 3s, attempt_grace: 100ms, lease: 5s}\n";
  gateway.by_default(Reply::hang());
  client();
  const Installation second_place(setup);
  Daemon second(second_place);
  add_events_for_three_channels(1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
  gateway.by_default(Reply::accept());
  const auto server = sql().text("SELECT name FROM waybill.hosts WHERE host_id = (SELECT host_id FROM waybill.channel_hosts)");
  Daemon& hung = server.ends_with(":" + std::to_string(second.pid())) ? second : host();
  hung.signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.ready") == 0; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries WHERE status = 'accepted'"), 3);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.hosts"), 2) << "it has not died";
  hung.signal(SIGCONT);
}

// T3: nobody is told that its link has gone; its session, and with that its row in `hosts`, stay.
TEST_F(Notifications, WhenTheHostOfAnOrganisationLosesTheDatabaseAnotherServesItsChannelsAfterItsLease) {
  configure("debounce: 0s, per_org: 2");
  setup.more += "timeouts: {attempt: 3s, attempt_grace: 100ms, lease: 5s}\n";
  const auto direct = cluster().create_database();
  DatabaseProxy link(direct);
  setup.database_url = link.url();
  gateway.by_default(Reply::hang());
  client();
  add_events_for_three_channels(1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
  ASSERT_EQ(SqlClient(direct).number("SELECT count(*) FROM waybill.channel_hosts"), 1);
  setup.database_url = direct;
  const Installation second_place(setup);
  Daemon second(second_place);
  gateway.by_default(Reply::accept());
  link.set(DatabaseProxy::Flow::stalled);
  SqlClient database(direct);
  EXPECT_TRUE(eventually([&] { return database.number("SELECT count(*) FROM waybill.ready") == 0; }));
  EXPECT_EQ(database.number("SELECT count(*) FROM waybill.deliveries WHERE status = 'accepted'"), 3);
  EXPECT_EQ(database.number("SELECT count(*) FROM waybill.hosts"), 2) << "its session lives";
  link.set(DatabaseProxy::Flow::open);
}

// T24
TEST_F(Notifications, SignaturesCarryTheDatabasesTimeAndAClockThatDiffersIsTold) {
  SteppedClock database_clock;
  PostgresCluster server(database_clock.environment());
  setup.database_url = server.create_database();
  database_clock.step(std::chrono::minutes(10));
  configure("debounce: 0s");
  const auto before = std::time(nullptr) + 600;
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  add_event(rule, "1", 1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  const auto stamp = std::stoll(header_value(gateway.received().front().head, "webhook-timestamp").value_or("0"));
  EXPECT_GE(stamp, before - 1);
  EXPECT_LE(stamp, std::time(nullptr) + 601);
  const auto ready = client().get("/readyz");
  EXPECT_EQ(ready.status, 200);
  EXPECT_NE(ready.body.find("clock.skew: this machine's clock is"), std::string::npos) << ready.body;
  EXPECT_NE(ready.body.find("behind the database's"), std::string::npos) << ready.body;
  EXPECT_LE(metric(client(), "waybill_clock_skew_seconds"), -598);
  EXPECT_NE(host().log().find("clock.skew"), std::string::npos);
  database_clock.step(-std::chrono::minutes(10));
  EXPECT_TRUE(eventually([&] { return client().get("/readyz").body == "OK\n"; }));
  host().terminate();
}

// N9
TEST_F(Notifications, AChannelMayHaveARate) {
  configure("debounce: 0s");
  auto slow = webhook("slow", gateway.url() + "/slow");
  slow["config"]["rate"] = "1/h";
  const auto made = call("POST", "/channels", slow);
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json().at("config").at("rate"), "1/h");
  const auto free = add_channel("free", "/free");
  for (int i = 0; i < 3; ++i) {
    const auto rule = add_rule();
    bind(rule, made.json());
    bind(rule, free);
    add_event(rule, std::to_string(i), i);
  }
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 4; })) << "one of the slow one";
  EXPECT_EQ(deliveries("?status=pending").size(), 2u);
  slow["config"]["rate"] = "10/s";
  const std::string path = "/channels/" + made.json().at("id").get<std::string>();
  EXPECT_EQ(call("PATCH", path, {{"config", slow["config"]}}).status, 200);
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() == 6; })) << "a change holds for what waits";
  for (const json& wrong : {json("0/s"), json("many"), json(5), json("10/d"), json("")}) {
    slow["config"]["rate"] = wrong;
    const auto refused = call("PATCH", path, {{"config", slow["config"]}});
    EXPECT_EQ(refused.status, 400) << wrong;
    EXPECT_NE(refused.error_message().find("config.rate"), std::string::npos) << refused.body;
  }
}

// N9: of one host.
TEST_F(Notifications, NoMoreDeliveriesOfAnOrganisationAreUnderWayThanItMayHave) {
  configure("debounce: 0s, per_org: 2");
  gateway.by_default(Reply::accept_when_released());
  const auto rule = add_rule();
  for (int i = 0; i < 6; ++i) bind(rule, add_channel("channel " + std::to_string(i)));
  add_event(rule, "1", 1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 2; }));
  post_intent(client(), push_intent("other", "push.attempts"));  // what is not a channel's is not limited by it
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 3; }));
  EXPECT_EQ(deliveries("?status=processing").size(), 2u);
  EXPECT_EQ(deliveries("?status=pending").size(), 4u);
  gateway.release();
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() == 7; }));
}

// N6: the source's own signature, made with the text of the primary secret only.
TEST_F(Notifications, AChannelMaySignAsTheSourceDoes) {
  configure("debounce: 0s");
  const auto rule = add_rule();
  auto body = webhook("ops", gateway.url() + "/hook");
  body["config"]["signing"] = "cvert";
  const auto channel = call("POST", "/channels", body).json();
  bind(rule, channel);
  call("POST", "/channels/" + channel.at("id").get<std::string>() + "/rotate-secret");
  const std::string secret =
      call("POST", "/channels/" + channel.at("id").get<std::string>() + "/rotate-secret").json().at("signing_secret");
  add_event(rule, "1", 1);
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  const auto request = gateway.received().front();
  const auto timestamp = header_value(request.head, "X-CVErt-Timestamp").value_or("");
  const std::string signed_text = timestamp + "." + request.body;
  unsigned char mac[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(signed_text.data()),
       signed_text.size(), mac, &size);
  EXPECT_EQ(header_value(request.head, "X-CVErtOps-Signature"), "sha256=" + to_hex({reinterpret_cast<const char*>(mac), size}));
}

// N7
TEST_F(Notifications, AUrlThatLeadsInsideIsRefusedWhenItIsSavedAndWhenItIsCalled) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10ms }";
  for (const auto* url : {"http://169.254.169.254/latest", "http://10.0.0.5/", "http://0177.0.0.2/", "http://[::ffff:10.0.0.5]/",
                          "http://localhost:1/", "ftp://example.org/", "http://user:pass@example.org/"}) {
    const auto response = call("POST", "/channels", webhook("ops", url));
    EXPECT_EQ(response.status, 400) << url;
    EXPECT_NE(response.error_message().find("config.url"), std::string::npos) << response.body;
  }
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const std::string path = "/channels/" + channel.at("id").get<std::string>();
  EXPECT_EQ(call("PATCH", path, {{"config", {{"url", "http://10.0.0.5/"}}}}).status, 400);
  sql().execute("UPDATE waybill.channels SET config = '{\"url\":\"http://169.254.169.254/latest\"}'");
  add_event(rule, "1", 1);
  const std::string id = deliveries().at(0).at("id");
  ASSERT_TRUE(wait_for_status(id, "failed"));
  const auto failed = delivery(id);
  EXPECT_NE(failed.at("last_error").get<std::string>().find("address_not_allowed"), std::string::npos) << failed;
  EXPECT_TRUE(host().wait_for_log("egress.refused"));
}

// N1: also the issue's five days.
TEST_F(Notifications, AChannelThatHasOnlyFailedForDaysIsDisabledWithAnAlert) {
  configure("debounce: 0s");
  setup.retry += "\n  webhook: { kind: fixed, delay: 10ms }";
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const std::string path = "/channels/" + channel.at("id").get<std::string>();
  const auto fail_once = [&](const std::string& event) {
    add_event(rule, event, 1);
    EXPECT_TRUE(wait_for_status(deliveries().at(0).at("id"), "failed"));
  };
  fail_once("1");
  const auto age = [&](const char* days) {
    sql().execute(std::string("UPDATE waybill.channels SET failing_since = now() - interval '") + days + " days'");
  };
  age("4");
  fail_once("2");
  EXPECT_EQ(call("GET", path).json().at("status"), "active");
  gateway.by_default(Reply::accept());
  add_event(rule, "3", 1);
  EXPECT_TRUE(wait_for_status(deliveries().at(0).at("id"), "succeeded"));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.channels WHERE failing_since IS NOT NULL"), 0);
  gateway.by_default(Reply::http_error(500));
  fail_once("4");
  age("6");
  add_event(rule, "5", 1);
  EXPECT_TRUE(eventually([&] { return call("GET", path).json().at("status") == "disabled"; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'channel_disabled'"), 1);
}

// T19
TEST_F(Notifications, ListsOfChannelsAndRulesComeInPages) {
  configure("debounce: 10m");
  const auto channel = add_channel("bound");
  const auto oldest = add_rule();
  bind(oldest, channel);
  sql().execute(
      "INSERT INTO waybill.channels (org_id, shard, route_id, name, type, config, key_id, secret)"
      " SELECT org_id, shard, route_id, 'name ' || to_char(i, 'FM0000'), type, config, key_id, secret"
      " FROM waybill.channels, generate_series(1, 249) i");
  sql().execute("INSERT INTO waybill.rule_channels SELECT org_id, '" + oldest +
                "', channel_id FROM waybill.channels"
                " WHERE name LIKE 'name%'");
  sql().execute(
      "INSERT INTO waybill.alert_rules (org_id, name, status) SELECT 1, 'rule ' || i, 'draft' FROM generate_series(1, 249) i");
  const std::vector<std::string> lists{"/channels?after=", "/alert-rules/" + oldest + "/channels?after=", "/alert-rules?cursor="};
  for (const auto& path : lists) {
    std::set<std::string> seen;
    std::string next;
    do {
      const auto page = call("GET", next.empty() ? path.substr(0, path.find('?')) : path + escaped(next)).json();
      EXPECT_LE(page.at("items").size(), 100u);
      for (const auto& item : page.at("items")) EXPECT_TRUE(seen.insert(item.at("id")).second) << item;
      next = page.at("next").is_null() ? "" : page.at("next").get<std::string>();
    } while (!next.empty() && seen.size() < 1000);
    EXPECT_EQ(seen.size(), 250u) << path;
  }
  for (const auto* wrong : {"x", "1", "1.x", "x.00000000-0000-4000-8000-000000000000"})
    EXPECT_EQ(call("GET", std::string("/alert-rules?cursor=") + wrong).status, 400) << wrong;
}

// T19
TEST_F(Notifications, WhatAnOrganisationMayHaveIsBounded) {
  configure("debounce: 10m");
  add_channel("first");
  add_rule();
  auto large = webhook("large", gateway.url());
  large["config"]["headers"]["X-Large"] = std::string(66'000, 'x');
  const auto refused = call("POST", "/channels", large);
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.error_message().find("config"), std::string::npos) << refused.body;
  const auto first = call("GET", "/channels").json().at("items").at(0).at("id").get<std::string>();
  EXPECT_EQ(call("PATCH", "/channels/" + first, {{"config", large["config"]}}).status, 400) << "nor may it grow to that";
  sql().execute(
      "INSERT INTO waybill.channels (org_id, shard, route_id, name, type, config, key_id, secret)"
      " SELECT org_id, shard, route_id, 'name ' || i, type, config, key_id, secret"
      " FROM waybill.channels, generate_series(1, 998) i");
  sql().execute(
      "INSERT INTO waybill.alert_rules (org_id, name, status) SELECT 1, 'rule ' || i, 'draft' FROM generate_series(1, 998) i");
  const auto last = add_channel("last");
  const auto last_rule = add_rule();
  const auto full = call("POST", "/channels", webhook("one too many", gateway.url()));
  EXPECT_EQ(full.status, 409) << full.body;
  EXPECT_NE(full.error_message().find("1000"), std::string::npos) << full.body;
  EXPECT_EQ(call("POST", "/alert-rules", {{"name", "one too many"}}).status, 409);
  EXPECT_EQ(call("DELETE", "/channels/" + last.at("id").get<std::string>()).status, 204);
  EXPECT_EQ(call("DELETE", "/alert-rules/" + last_rule).status, 204);
  add_channel("again");
  add_rule();
}

// T19
TEST_F(Notifications, TheLastPlaceIsTakenOnce) {
  configure("debounce: 10m");
  add_channel("first");
  sql().execute(
      "INSERT INTO waybill.channels (org_id, shard, route_id, name, type, config, key_id, secret)"
      " SELECT org_id, shard, route_id, 'name ' || i, type, config, key_id, secret"
      " FROM waybill.channels, generate_series(1, 998) i");
  SqlClient blocker(setup.database_url);
  blocker.execute("BEGIN");
  blocker.execute("LOCK TABLE waybill.channels IN SHARE MODE");  // they may count, and not insert
  std::atomic<int> made{0};
  {
    std::vector<std::jthread> callers;
    for (int i = 0; i < 3; ++i)
      callers.emplace_back([&, i] {
        auto client = host().client();
        const auto body = webhook("last " + std::to_string(i), gateway.url()).dump();
        made += client.request("POST", "/orgs/default/channels", body).status == 201;
      });
    EXPECT_TRUE(eventually([&] {
      return sql().number(
                 "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") == 3;
    }));
    blocker.execute("ROLLBACK");
  }
  EXPECT_EQ(made, 1);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.channels"), 1000);
}

// T19
TEST_F(Notifications, ADeletedRuleIsGoneAndWhatItCollectedIsSent) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "1", 1);
  const std::string path = "/alert-rules/" + rule;
  EXPECT_EQ(call("DELETE", path).status, 204);
  EXPECT_EQ(call("DELETE", path).status, 404);
  EXPECT_EQ(call("GET", path).status, 404);
  EXPECT_EQ(call("PATCH", path, {{"status", "active"}}).status, 404);
  EXPECT_EQ(add_event(rule, "2", 2).status, 404);
  EXPECT_EQ(call("PUT", path + "/channels/" + channel.at("id").get<std::string>()).status, 404);
  EXPECT_EQ(call("GET", "/alert-rules").json().at("items").size(), 0u);
  EXPECT_EQ(call("DELETE", "/channels/" + add_channel("other").at("id").get<std::string>()).status, 204);
  end_windows();
  EXPECT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  EXPECT_EQ(deliveries("?rule_id=" + rule).size(), 1u);
  // Without events nothing is left of it, once another one is deleted.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(call("DELETE", "/alert-rules/" + add_rule()).status, 204);
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alert_rules"), 2);
}

// N12
TEST_F(Notifications, WhatIsOldIsDeletedAndWhatHasNotEndedStays) {
  configure("debounce: 10m");
  setup.more += "retention: { intents: 30d }\n";
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  add_event(rule, "old", 1);
  end_windows();
  const std::string old = deliveries().at(0).at("id");
  ASSERT_TRUE(wait_for_status(old, "succeeded"));
  add_event(rule, "waits", 2);
  post_intent(client(), push_intent("old intent", "push.attempts"), 30);
  host().terminate();
  sql().execute("UPDATE waybill.submissions SET created_at = created_at - interval '91 days'");
  sql().execute("UPDATE waybill.notifications SET created_at = created_at - interval '91 days'");
  sql().execute("UPDATE waybill.alert_events SET created_at = created_at - interval '91 days'");
  restart_host();
  post_intent(client(), push_intent("new intent", "push.attempts"), 30);
  ASSERT_TRUE(eventually([&] { return call("GET", "/deliveries/" + old).status == 404; }));
  ASSERT_TRUE(eventually([&] { return client().get("/v1/intents/old%20intent").status == 404; }));
  ASSERT_TRUE(eventually([&] { return sql().number("SELECT count(*) FROM waybill.alert_events") == 1; }));
  EXPECT_EQ(client().get("/v1/intents/new%20intent").status, 200);
  ASSERT_EQ(deliveries().size(), 1u);
  EXPECT_EQ(delivery(deliveries().at(0).at("id")).at("payload"), json{2});
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.deliveries"), 1);
}

// T31: what headers say may be a secret of the receiver's
TEST_F(Notifications, AMemberDoesNotSeeTheValuesOfAChannelsHeaders) {
  configure("debounce: 0s");
  setup.auth = "tokens";
  const auto as = [&](const std::string& role) {
    const auto made = installation().command({"token", "create", "--role", role, role});
    HttpClient one(host().port());
    one.authorize(made.out.substr(0, made.out.find('\n')));
    return one;
  };
  auto admin = as("admin"), member = as("member");
  auto body = webhook("ops", gateway.url() + "/hook");
  body["config"]["headers"] = {{"Authorization", "Basic hidden"}};
  const auto made = admin.request("POST", "/orgs/default/channels", body.dump());
  ASSERT_EQ(made.status, 201) << made.body;
  const std::string channel = made.json().at("id");
  const std::string rule =
      admin.request("POST", "/orgs/default/alert-rules", R"({"name":"r","status":"active"})").json().at("id");
  ASSERT_EQ(admin.request("PUT", "/orgs/default/alert-rules/" + rule + "/channels/" + channel).status, 204);
  for (const auto& path : {std::string("/channels"), "/channels/" + channel, "/alert-rules/" + rule + "/channels"}) {
    EXPECT_NE(admin.get("/orgs/default" + path).body.find("Basic hidden"), std::string::npos) << path;
    const auto seen = member.get("/orgs/default" + path);
    EXPECT_EQ(seen.status, 200) << path;
    EXPECT_EQ(seen.body.find("hidden"), std::string::npos) << seen.body;
    EXPECT_NE(seen.body.find(R"("Authorization":"***")"), std::string::npos) << seen.body;
  }
}

// T31: the ids of one organisation would count the deliveries of all
TEST_F(Notifications, IdsOfDeliveriesAreOpaqueAndNumbersOfBeforeStayValid) {
  configure("debounce: 0s");
  sql().execute("UPDATE waybill.id_keys SET shown_until = 1000000");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  gateway.by_default(Reply::accept());
  for (const std::size_t event : {1, 2}) {  // one after the other: those of one window are one delivery
    add_event(rule, std::to_string(event), event);
    ASSERT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == event; }));
  }
  const auto page = call("GET", "/deliveries?limit=1").json();
  const std::string id = page.at("items")[0].at("id"), next = page.at("next");
  const auto number = number_of(id);
  EXPECT_TRUE(id.starts_with("d_")) << id;
  EXPECT_EQ(next.find(number), std::string::npos) << next;
  for (const auto& name : {id, number}) {
    EXPECT_EQ(delivery(name).at("id"), id);
    EXPECT_EQ(call("GET", "/deliveries/" + name + "/explain").json().at("id"), id);
    EXPECT_EQ(call("POST", "/deliveries/" + name + "/replay").json().value("id", id), id);
    const auto told = installation().command({"explain", name, "--json"});
    EXPECT_EQ(told.exit_code, 0) << told.err;
    EXPECT_EQ(json::parse(told.out).at("id"), name) << "a command names it as it was asked";
  }
  const auto before = next.substr(0, next.find('.') + 1) + number;
  EXPECT_EQ(call("GET", "/deliveries?limit=1&cursor=" + before).json(), call("GET", "/deliveries?limit=1&cursor=" + next).json());
  auto nobody = id;
  nobody.back() = nobody.back() == '0' ? '1' : '0';
  for (const auto& unknown : {nobody, std::string("1024000")})
    EXPECT_EQ(call("GET", "/deliveries/" + unknown).json().at("error").at("message"), "there is no delivery " + unknown);
}

// T31: else a search with numbers finds between which two one's own delivery is
TEST_F(Notifications, NumbersThatNobodyWasShownAreTakenNowhere) {
  configure("debounce: 10m");
  const auto rule = add_rule();
  bind(rule, add_channel("ops"));
  bind(rule, add_channel("dev"));
  add_event(rule, "1", 1);
  const auto page = call("GET", "/deliveries?limit=1").json();
  const std::string next = page.at("next");
  const auto number = number_of(page.at("items")[0].at("id"));
  EXPECT_EQ(call("GET", "/deliveries/" + number).status, 404);
  EXPECT_EQ(call("GET", "/deliveries?cursor=" + next).status, 200);
  EXPECT_EQ(call("GET", "/deliveries?cursor=" + next.substr(0, next.find('.') + 1) + number).status, 400);
}

// N11: what people expect beside the source.
TEST_F(Notifications, WhatFailedInAWindowIsSentAgainAtOnce) {
  configure("debounce: 0s, attempts: 1");
  gateway.by_default(Reply::http_error(500));
  const auto rule = add_rule();
  const auto channel = add_channel("ops");
  bind(rule, channel);
  const std::string path = "/channels/" + channel.at("id").get<std::string>() + "/recover";
  for (const auto* event : {"1", "2", "3"}) {
    add_event(rule, event, event);
    ASSERT_TRUE(wait_for_status(deliveries().at(0).at("id"), "failed"));
  }
  const std::string oldest = deliveries().at(2).at("id");
  sql().execute("UPDATE waybill.notifications SET created_at = created_at - interval '1 day' WHERE delivery_id = " +
                number_of(oldest));
  const std::string since = delivery(deliveries().at(1).at("id")).at("created_at");
  const json window{{"since", since}, {"until", "2099-01-01T00:00:00Z"}};
  auto counted = window;
  counted["dryRun"] = true;
  EXPECT_EQ(call("POST", path, counted).json().at("count"), 2);
  EXPECT_EQ(deliveries("?status=failed").size(), 3u);
  gateway.by_default(Reply::accept());
  const auto recovered = call("POST", path, window);
  EXPECT_EQ(recovered.status, 202);
  EXPECT_EQ(recovered.json().at("count"), 2);
  EXPECT_TRUE(eventually([&] { return deliveries("?status=succeeded").size() == 2; }));
  EXPECT_EQ(delivery(oldest).at("status"), "failed");
  EXPECT_EQ(call("POST", path, window).json().at("count"), 0);
  for (const json& bad :
       {json::object(), json{{"since", since}}, json{{"since", "x"}, {"until", since}}, json{{"since", since}, {"until", since}}})
    EXPECT_EQ(call("POST", path, bad).status, 400) << bad;
  EXPECT_EQ(call("POST", std::string("/channels/") + kNobody + "/recover", window).status, 404);
}

// N6
TEST_F(Notifications, ATestEventIsSignedAndSentOnceAndAnsweredWithWhatCameBack) {
  configure("debounce: 10m");
  const auto channel = add_channel("ops");
  const std::string path = "/channels/" + channel.at("id").get<std::string>() + "/test";
  const auto taken = call("POST", path);
  EXPECT_EQ(taken.status, 200) << taken.body;
  EXPECT_EQ(taken.json().at("status"), "succeeded");
  EXPECT_EQ(taken.json().at("attempts").at(0).at("answer").at("status"), 200);
  EXPECT_TRUE(taken.json().at("rule_id").is_null());
  ASSERT_EQ(gateway.count(), 1u);
  EXPECT_TRUE(verifies(channel.at("signing_secret"), gateway.received().front(), R"([{"type":"test"}])"));
  gateway.by_default(Reply::http_error(500));
  const auto failed = call("POST", path);
  EXPECT_EQ(failed.json().at("status"), "failed") << failed.body;
  EXPECT_EQ(failed.json().at("attempts").at(0).at("answer").at("status"), 500);
  EXPECT_EQ(gateway.count(), 2u);
  gateway.by_default(Reply::too_many_requests(0));  // an outage of the destination: once all the same
  EXPECT_EQ(call("POST", path).json().at("status"), "failed");
  EXPECT_EQ(gateway.count(), 3u);
  EXPECT_EQ(call("POST", std::string("/channels/") + kNobody + "/test").status, 404);
}

// N1: an installation without a master key has no channels, and says so.
TEST_F(Notifications, WithoutAMasterKeyNoChannelIsMade) {
  const auto response = call("POST", "/channels", webhook("ops", gateway.url()));
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.error_message().find("notify.key"), std::string::npos);
  EXPECT_EQ(client().get("/readyz").status, 200);
}

}  // namespace
}  // namespace waybill::testing
