// Secrets and payloads stay where they belong: not in a log, a metric, an error or an argument, and secrets in no dump either. N1
// T36
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>

#include "base/hex.h"
#include "support/bad_plugins.h"
#include "support/process.h"
#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

std::string base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::string decoded(const std::string& text) {
  std::string out(text.size() / 4 * 3, '\0');
  EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()), reinterpret_cast<const unsigned char*>(text.data()),
                  static_cast<int>(text.size()));
  out.resize(out.size() - (text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0));
  return out;
}

// How bytes may look in a text: as they are, in hexadecimal, and in base64 wherever they begin in what was encoded.
std::vector<std::string> encodings(const std::string& bytes) {
  std::string upper = to_hex(bytes);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  std::vector<std::string> all{bytes, to_hex(bytes), upper};
  for (const std::size_t before : {0, 1, 2}) {
    auto text = base64(std::string(before, '\0') + bytes);
    const std::size_t foreign_front = before == 0 ? 0 : before + 1, foreign_back = 4;  // characters that others have a part in
    all.push_back(text.substr(foreign_front, text.size() - foreign_front - foreign_back));
  }
  return all;
}

class Canaries : public World {
 protected:
  Canaries() {
    plant("master key", kMaster);
    plant("database password", kPassword);
    plant("operator's secret", kOperators);
    plant("header", kHeader);
    write_file(keys_.path() / "master", kMaster);
    write_file(keys_.path() / "orders", kOperators);
    setup.database_url += "&password=" + std::string(kPassword);  // which a server that trusts us does not ask for
    setup.auth = "tokens";
    setup.retry = "{kind: fixed, delay: 10ms}";
    auto targets = standard_targets(gateway.url());
    targets.push_back(target("hook.secret", "webhook", gateway.url() + "/secret", "max_attempts", 2, {"gone"}));
    targets.back()["destination"] = {{"secret", "orders"}, {"headers", {{"Authorization", "Bearer {secret:orders}"}}}};
    targets.back()["insecure"] = true;  // the gateway has no certificate
    setup.registry = registry_of(targets);
    setup.forms["contact.yaml"] =
        "form_id: contact\nname: A form\nactions:\n  - action_order: 1\n    action_type: good\n    destination: \"" +
        gateway.url() + "/inbox\"\n";
    setup.more = "secrets: { master: { file: \"" + (keys_.path() / "master").string() + "\" }, orders: { file: \"" +
                 (keys_.path() / "orders").string() +
                 "\" } }\nnotify: { key: master, debounce: 0s, attempts: 1 }\n"
                 "egress: { allow: [\"127.0.0.1/32\"] }\ntimeouts: { cooldown: 0ms, outage: 0ms }\ndead: { replay_rate: 1000 }\n";
  }
  void SetUp() override {
    installation().add_plugin(bad_plugin("good"));
    // A server that names parameters when a statement fails.
    sql().execute(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET log_parameter_max_length_on_error = -1', current_database()); END $$");
    host();
    const auto made = installation().command({"token", "create", "--role", "owner", "ours", "--json"});
    token_ = json::parse(made.out).at("token");
    plant("token", token_);
    client().authorize(token_);
  }

  void plant(const std::string& what, const std::string& canary) { secrets_.emplace_back(what, canary); }
  void plant_signing_secret(const json& answer) {
    const std::string secret = answer.at("signing_secret");
    plant("signing secret", secret.substr(6));
    plant("signing key", decoded(secret.substr(6)));
  }

  // Asks, and keeps what must not hold a canary: errors no canary at all, and other answers no secret, but for the one that shows
  // it.
  HttpResponse ask(const char* method, const std::string& path, const std::string& body, int status, bool shows_secret = false) {
    const auto response = client().request(method, path, body);
    EXPECT_EQ(response.status, status) << method << " " << path << ": " << response.body;
    if (response.status >= 400) errors_ += response.head + response.body + "\n";
    if (!shows_secret) answers_ += response.body + "\n";
    return response;
  }
  json ask(const char* method, const std::string& path, const json& body, int status, bool shows_secret = false) {
    const auto response = ask(method, path, body.is_null() ? "" : body.dump(), status, shows_secret);
    return response.body.empty() || response.status == 204 ? json() : response.json();
  }

  std::string add_channel(const std::string& name, const std::string& path) {
    const auto made = ask(
        "POST", "/orgs/default/channels",
        json{{"name", name}, {"type", "webhook"}, {"config", {{"url", gateway.url() + path}, {"headers", {{"X-Key", kHeader}}}}}},
        201, true);
    plant_signing_secret(made);
    const std::string rule = ask("POST", "/orgs/default/alert-rules", json{{"name", name}}, 201).at("id");
    ask("PUT", "/orgs/default/alert-rules/" + rule + "/channels/" + made.at("id").get<std::string>(), json(), 204);
    rules_[name] = rule;
    return made.at("id");
  }
  void add_event(const std::string& channel, const std::string& id, int status = 202) {
    ask("POST", "/orgs/default/alert-rules/" + rules_.at(channel) + "/events",
        json{{"eventId", id}, {"snapshot", {{"text", kPayload}}}}, status);
  }
  bool wait_for_deliveries(const std::string& query, std::size_t count) {
    return eventually([&] { return client().get("/orgs/default/deliveries" + query).json().at("items").size() == count; });
  }

  // The payloads and the secrets that a text holds.
  std::vector<std::string> found_in(const std::string& text, bool payloads = true) const {
    std::vector<std::string> found;
    auto canaries = secrets_;
    if (payloads) canaries.emplace_back("payload", kPayload);
    for (const auto& [what, canary] : canaries)
      for (const auto& encoded : encodings(canary))
        if (text.find(encoded) != std::string::npos) found.push_back(what + " as " + encoded);
    return found;
  }

  // The arguments of the host and of the processes that it started.
  std::string arguments() {
    auto all = told_of(host().pid(), "cmdline") + "\n";
    for (const auto child : children_of(host().pid())) all += told_of(child, "cmdline") + "\n";
    return all;
  }

  static constexpr auto kMaster = "master0canary0of0the0vault0key0with0enough0bytes0in0it";
  static constexpr auto kPassword = "password0canary0of0the0database";
  static constexpr auto kOperators = "operator0canary0of0a0target0secret";
  static constexpr auto kHeader = "header0canary0of0a0channel";
  static constexpr auto kPayload = "payload0canary";

  std::vector<std::pair<std::string, std::string>> secrets_;
  std::string errors_, answers_, token_;
  std::map<std::string, std::string> rules_;

 private:
  TempFolder keys_;
};

const std::vector<std::string> kNothing;

// N1: over all ends of a delivery, over requests that are refused, and over a database that refuses rows.
TEST_F(Canaries, AreInNoLogMetricErrorOrArgumentAndSecretsInNoDump) {
  const std::string body = json{{"text", kPayload}}.dump();
  const auto echo = [&](int status) {
    auto reply = Reply::http_error(status);
    reply.body = body;  // a receiver that sends back what it got
    return reply;
  };
  const auto intent_body = [&](const std::string& id, const std::string& to) {
    return json{{"intentId", id}, {"submissionTarget", to}, {"payload", {{"to", "+4915112345678"}, {"message", kPayload}}}};
  };

  // Intents: accepted, rejected, failed in every way.
  const std::vector<std::vector<Reply>> ends{{Reply::accept()},
                                             {Reply::reject("invalid_message")},
                                             {Reply::reject(kPayload)},
                                             {echo(500)},
                                             {echo(200)},
                                             {echo(400)},
                                             {Reply::die()},
                                             {Reply::not_json()}};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    gateway.by_default(ends[i].front());
    for (const char* to : {"sms.attempts", "hook.attempts", "hook.secret"}) {
      const auto id = std::string(to) + std::to_string(i);
      ask("POST", "/v1/intents", intent_body(id, to), 200);
      wait_for_end(client(), id);
      ask("GET", "/v1/intents/" + id + "/history", json(), 200);
    }
  }
  gateway.by_default(Reply::accept());
  ask("POST", "/v1/intents:batch", json{intent_body("batch", "sms.attempts"), {{"intentId", "bad"}, {"payload", kPayload}}}, 200);
  ask("POST", "/v1/intents", intent_body("batch", "hook.attempts"), 409);

  // Forms: a dead letter that is edited, replayed and cloned.
  const auto form = [&](const std::string& id) {
    return json{{"submissionId", id}, {"formId", "contact"}, {"fields", {{"name", kPayload}}}, {"finalize", true}};
  };
  gateway.by_default(echo(500));
  ask("POST", "/v1/submissions", form("form"), 201);
  ASSERT_TRUE(eventually([&] { return client().get("/v1/dead").json().at("deadLetters").size() == 1; }));
  const std::string letter = "/v1/dead/" + client().get("/v1/dead").json().at("deadLetters")[0].at("id").get<std::string>();
  gateway.by_default(Reply::accept());
  ask("PATCH", letter, json{{"fields", {{"name", std::string(kPayload) + " edited"}}}}, 200);
  ask("POST", letter + "/replay", json(), 200);
  ask("POST", letter + "/clone", json{{"submissionId", "cloned"}}, 201);
  ask("POST", letter + "/clone", json{{"submissionId", "form"}}, 409);

  // Channels: delivered, failed, replayed, recovered, tested, rotated, gone.
  const auto channel = "/orgs/default/channels/" + add_channel("ops", "/ops");
  gateway.by_default(echo(500));
  add_event("ops", "1");
  ASSERT_TRUE(wait_for_deliveries("?status=failed", 1));
  ask("POST", channel + "/test", json(), 200);
  gateway.by_default(Reply::accept());
  const std::string delivery = client().get("/orgs/default/deliveries?status=failed").json().at("items").back().at("id");
  ask("POST", "/orgs/default/deliveries/" + delivery + "/replay", json(), 202);
  ASSERT_TRUE(wait_for_deliveries("?status=succeeded", 1));
  ask("GET", "/orgs/default/deliveries/" + delivery, json(), 200);
  ask("POST", channel + "/recover", json{{"since", "2020-01-01T00:00:00Z"}, {"until", "2099-01-01T00:00:00Z"}}, 202);
  plant_signing_secret(ask("POST", channel + "/rotate-secret", json(), 200, true));
  ask("POST", channel + "/test", json(), 200);
  add_event("ops", "2");
  ASSERT_TRUE(wait_for_deliveries("?status=succeeded", 3));
  ask("POST", channel + "/clear-secondary", json(), 204);
  add_channel("gone", "/gone");
  gateway.by_default(echo(410));
  add_event("gone", "3");
  ASSERT_TRUE(eventually([&] { return host().log().find("channel.disabled") != std::string::npos; }));
  for (const char* path : {"/orgs/default/channels", "/orgs/default/alert-rules", "/orgs/default/deliveries"})
    ask("GET", path, json(), 200);

  // Requests that are refused: their content is not repeated.
  const std::string text(kPayload);
  for (const std::string& bad : {"{\"intentId\":\"x\",\"submissionTarget\":\"sms.once\",\"payload\":{\"message\":\"" + text,
                                 "{\"intentId\":\"x\",\"submissionTarget\":\"sms.once\",\"payload\":\"" + text + "\n\"}",
                                 "{\"intentId\":\"x\",\"submissionTarget\":\"sms.once\",\"payload\":\"" + text + "\xff\"}",
                                 "{\"intentId\":\"x\",\"submissionTarget\":\"sms.once\",\"payload\":" + text + "}",
                                 "{\"intentId\":\"x\",\"submissionTarget\":\"sms.once\",\"payload\":\"" + text + "\\q\"}",
                                 "{\"intentId\":\"x\" \"" + text + "\"}", "[\"" + text + "\"]", "\"" + text + "\"",
                                 "{\"intentId\":\"x\",\"submissionTarget\":\"sms.once\",\"payload\":" + std::string(100, '[') +
                                     "\"" + text + "\"" + std::string(100, ']') + "}"}) {
    ask("POST", "/v1/intents", bad, 400);
    ask("POST", "/v1/submissions", bad, 400);
    ask("PATCH", letter, bad, 400);
    ask("POST", "/orgs/default/channels", bad, 400);
    ask("POST", "/orgs/default/alert-rules/" + rules_["ops"] + "/events", bad, 400);
    if (bad.front() == '{') ask("POST", "/v1/intents:batch", "[" + bad + "]", bad.ends_with("]}") ? 200 : 400);
  }
  for (const std::string& value : {std::string(kHeader) + "\n", "{secret:orders} " + std::string(kHeader)})
    ask("PATCH", channel, json{{"config", {{"url", gateway.url()}, {"headers", {{"X-Key", value}}}}}}, 400);
  ask("PATCH", channel, json{{"config", {{"url", "http://" + std::string(kHeader) + "@10.0.0.5/"}}}}, 400);
  for (const std::string& credentials : {"Bearer " + token_ + "x", "Bearer x" + token_, "Basic " + base64("x:" + token_)}) {
    HttpClient stranger(host().port());
    const auto refused = stranger.request("GET", "/v1/intents/x", "", {{"Authorization", credentials}});
    EXPECT_EQ(refused.status, 401);
    errors_ += refused.head + refused.body;
  }

  // A database that refuses rows, and tells why.
  for (const char* rule :
       {"submissions ADD CHECK (client_ref NOT LIKE 'refused%') NOT VALID",
        "alert_events ADD CHECK (event_id NOT LIKE 'refused%') NOT VALID",
        "channels ADD CHECK (name NOT LIKE 'refused%') NOT VALID", "dead_letter_edits ADD CHECK (actor IS NULL) NOT VALID"})
    sql().execute(std::string("ALTER TABLE waybill.") + rule);
  ask("POST", "/v1/intents", intent_body("refused", "sms.attempts"), 500);
  ask("POST", "/v1/submissions", form("refused"), 500);
  ask("POST", letter + "/clone", json{{"submissionId", "refused"}}, 500);
  add_event("ops", "refused", 500);
  ask("POST", "/orgs/default/channels",
      json{{"name", "refused"}, {"type", "webhook"}, {"config", {{"url", gateway.url()}, {"headers", {{"X-Key", kHeader}}}}}},
      500);
  sql().execute("ALTER TABLE waybill.attempts ADD CHECK (coalesce(error, '') || coalesce(answer::text, '') = '') NOT VALID");
  gateway.by_default(echo(500));
  ask("POST", "/v1/intents", intent_body("detail", "sms.once"), 200);
  ASSERT_TRUE(host().wait_for_log("settle.detail_refused"));
  add_event("ops", "4");

  const auto metrics = client().get("/metrics").body;
  const auto arguments_now = arguments();
  EXPECT_NE(arguments_now.find("serve"), std::string::npos) << arguments_now;
  const auto dump = run({.arguments = {postgres_programs() / "pg_dump", "--no-password", setup.database_url}});
  ASSERT_EQ(dump.exit_code, 0) << dump.err;
  host().terminate();
  for (const char* event : {"notify.not_carried_out", "intake.refused_by_database", "form.not_carried_out"})
    EXPECT_NE(host().log().find(event), std::string::npos) << event;
  EXPECT_EQ(found_in(host().log()), kNothing);
  EXPECT_EQ(found_in(metrics), kNothing);
  EXPECT_EQ(found_in(arguments_now), kNothing);
  EXPECT_EQ(found_in(errors_), kNothing);
  std::erase_if(secrets_, [](const auto& one) { return one.first == "header"; });  // of the channel's settings, which it shows
  EXPECT_EQ(found_in(answers_, false), kNothing);
  EXPECT_NE(dump.out.find(kPayload), std::string::npos);
  EXPECT_EQ(found_in(dump.out, false), kNothing);
}

// N1: nor where the address is wrong.
TEST_F(Canaries, APasswordInAnAddressThatIsMistypedIsNotRepeated) {
  const std::string word = kPassword;
  for (const auto& url : {"postgresql://us:" + word + "%zz@localhost:1/db", "postgresql://us:" + word + "@localhost:port/db",
                          "postgresql://us:" + word + "@[localhost/db", "postgresql://us:" + word + "@localhost:1/db",
                          "postgresql:/us:" + word + "@localhost:1/db", "postgresql://us:" + word + "x@/db?nothing=1",
                          "postgresql://localhost/db?passwort=" + word, "postgresql://localhost:1/db?password=" + word + "%zz",
                          "host=localhost port=1 password='" + word, "host=localhost port=1 password=" + word + "\\' x'",
                          "host=localhost passwort=" + word, "host=localhost port=1 password=x " + word,
                          "postgresql://us:x\"" + word + "%zz@localhost:1/db", "postgresql://localhost:1/db?password=x&" + word,
                          "host=localhost port=1 password = x" + word + " y"}) {
    for (const char* command : {"serve", "migrate"}) {
      const auto said = installation().command({command}, {{"WAYBILL_DATABASE_URL", url}});
      EXPECT_NE(said.exit_code, 0) << url;
      EXPECT_EQ(found_in(said.out + said.err), kNothing) << url << "\n" << said.out << said.err;
    }
  }
}

}  // namespace
}  // namespace waybill::testing
