// Organisations that share an installation: made and disabled by its operator, and strangers to each other on every route.  N3
#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Organisations : public World {
 protected:
  Organisations() {
    setup.auth = "tokens";
    setup.forms["contact.yaml"] =
        "form_id: contact\nname: A form\nactions:\n  - action_order: 1\n    action_type: good\n    destination: \"" +
        gateway.url() + "/inbox\"\n";
    setup.plugins = {"sms", "push", "webhook"};
    setup.retry = "{kind: fixed, delay: 10ms}";
    setup.more = "timeouts: {cooldown: 0ms, outage: 0ms, poll: 20ms}\ndead: {replay_rate: 100}\n";
  }
  void SetUp() override { installation().add_plugin(bad_plugin("good")); }

  CommandResult command(std::vector<std::string> words) { return installation().command(std::move(words)); }
  std::string token(const std::string& org, const std::string& role) {
    const auto made = command({"token", "create", "--org", org, "--role", role, org + "-" + role, "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    return json::parse(made.out).at("token");
  }
  HttpClient as(const std::string& token) {
    HttpClient one(host().port());
    one.authorize(token);
    return one;
  }
  static HttpResponse ask(HttpClient& who, const std::string& method, const std::string& path, const json& body = nullptr) {
    return who.request(method, path, body.is_null() ? "" : body.dump());
  }
};

// N3 S8
TEST_F(Organisations, TheOperatorMakesListsAndDisablesThemAndNobodyElseDoes) {
  host();
  auto keeper = as(token("default", "operator"));
  auto admin = as(token("default", "admin"));
  auto boss = as(token("default", "owner"));
  const auto made = ask(keeper, "POST", "/orgs", {{"name", "acme"}});
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.json().at("name"), "acme");
  EXPECT_EQ(made.json().at("disabledAt"), nullptr);
  EXPECT_EQ(ask(keeper, "POST", "/orgs", {{"name", "acme"}}).status, 409);
  for (const json& wrong : {json{{"name", "A b"}}, json{{"name", ""}}, json{{"name", 1}}, json{{"nam", "x"}}, json::array()})
    EXPECT_EQ(ask(keeper, "POST", "/orgs", wrong).status, 400) << wrong;
  const auto first = ask(keeper, "GET", "/orgs?limit=1").json();
  EXPECT_EQ(first["items"][0]["name"], "acme");
  const auto second = ask(keeper, "GET", "/orgs?limit=1&cursor=" + first["next"].get<std::string>()).json();
  EXPECT_EQ(second["items"][0]["name"], "default");
  EXPECT_EQ(second["next"], nullptr);
  EXPECT_EQ(ask(keeper, "GET", "/orgs?limit=0").status, 400);
  EXPECT_EQ(ask(keeper, "GET", "/orgs/acme").json().at("tokens"), 0);
  EXPECT_EQ(ask(keeper, "GET", "/orgs/nowhere").status, 404);
  EXPECT_EQ(ask(keeper, "POST", "/orgs/default/disable").status, 409);
  auto owner = as(token("acme", "owner"));
  for (auto* stranger : {&admin, &boss, &owner})
    for (const char* path : {"/orgs", "/orgs/acme", "/orgs/default", "/orgs/nowhere"})
      EXPECT_EQ(stranger->get(path).error_code(), "forbidden") << path;
  EXPECT_EQ(ask(owner, "POST", "/orgs/acme/disable").status, 403);
  EXPECT_EQ(keeper.request("PATCH", "/orgs/acme", R"({"weight":5})").json().at("weight"), 5);
  EXPECT_EQ(owner.request("PATCH", "/orgs/acme", R"({"weight":5})").status, 403);
  EXPECT_EQ(keeper.request("PATCH", "/orgs/nowhere", R"({"weight":5})").status, 404);
  for (const char* body :
       {R"({"weight":0})", R"({"weight":"5"})", R"({"weight":1001})", R"({"weight":1.5})", "{}", R"({"wait":5})"})
    EXPECT_EQ(keeper.request("PATCH", "/orgs/acme", body).status, 400) << body;
  EXPECT_EQ(keeper.get("/orgs/acme").json().at("weight"), 5);
}

// N3
TEST_F(Organisations, TheCommandsDoTheSame) {
  host();
  const auto made = command({"org", "create", "acme", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(json::parse(made.out).at("name"), "acme");
  const auto again = command({"org", "create", "acme"});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.err.find("already"), std::string::npos) << again.err;
  const auto wrong = command({"org", "create", "Ac me"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_NE(wrong.err.find("1 to 63"), std::string::npos) << wrong.err;
  const auto all = json::parse(command({"org", "list", "--json"}).out);
  ASSERT_EQ(all.size(), 2u) << all;
  EXPECT_EQ(all[1]["name"], "default");
  EXPECT_NE(command({"org", "list"}).out.find("acme"), std::string::npos);
  EXPECT_NE(json::parse(command({"org", "disable", "acme", "--json"}).out).at("disabledAt"), nullptr);
  EXPECT_NE(command({"org", "show", "acme"}).out.find("disabled"), std::string::npos);
  EXPECT_EQ(json::parse(command({"org", "enable", "acme", "--json"}).out).at("disabledAt"), nullptr);
  for (const char* word : {"show", "disable", "enable"}) EXPECT_EQ(command({"org", word, "nowhere"}).exit_code, 1);
  EXPECT_EQ(command({"org", "disable", "default"}).exit_code, 1);
  EXPECT_EQ(json::parse(command({"org", "weight", "acme", "3", "--json"}).out).at("weight"), 3);
  EXPECT_NE(command({"org", "show", "acme"}).out.find("weight 3"), std::string::npos);
  for (const char* weight : {"0", "1001", "-1", "2.5", "many", ""}) {
    const auto refused = command({"org", "weight", "acme", weight});
    EXPECT_EQ(refused.exit_code, 1) << weight;
    EXPECT_NE(refused.err.find("from 1 to 1000"), std::string::npos) << refused.err;
  }
  EXPECT_EQ(command({"org", "weight", "nowhere", "2"}).exit_code, 1);
  EXPECT_NE(command({"org", "--help"}).out.find("create"), std::string::npos);
}

// N3: what was acknowledged before is still delivered
TEST_F(Organisations, ADisabledOneIsRefusedAndItsWorkFinished) {
  host();
  ASSERT_EQ(command({"org", "create", "acme"}).exit_code, 0);
  auto acme = as(token("acme", "member"));
  gateway.by_default(Reply::http_error(503));
  ASSERT_EQ(post_intent(acme, sms_intent("waiting", "sms.patient")).status, 200);
  ASSERT_EQ(command({"org", "disable", "acme"}).exit_code, 0);
  ASSERT_TRUE(eventually([&] { return acme.get("/v1/intents/waiting").status == 403; }));
  const auto refused = post_intent(acme, sms_intent("later", "sms.patient"));
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused.error_code(), "organisation_disabled");
  gateway.by_default(Reply::accept());
  EXPECT_TRUE(eventually(
      [&] { return sql().number("SELECT count(*) FROM waybill.deliveries WHERE status = 'accepted' AND org_id <> 1") == 1; }));
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.submissions WHERE client_ref = 'later'"), 0);
  ASSERT_EQ(command({"org", "enable", "acme"}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return acme.get("/v1/intents/waiting").status == 200; }));
}

// What belongs to the organisation `default`, and what nobody has: the same to acme, whatever it asks.
class Strangers : public Organisations {
 protected:
  void SetUp() override {
    Organisations::SetUp();
    host();
    EXPECT_EQ(command({"org", "create", "acme"}).exit_code, 0);
    ours.emplace(as(token("default", "admin")));
    theirs.emplace(as(token("acme", "owner")));
    post_intent(*ours, sms_intent("i-ours", "sms.once"), 30);
    gateway.by_default(Reply::http_error(503));
    const json form{
        {"submissionId", "f-ours"}, {"formId", "contact"}, {"fields", {{"name", "Ada"}, {"phone", "1"}}}, {"finalize", true}};
    EXPECT_EQ(ask(*ours, "POST", "/v1/submissions", form).status, 201);
    EXPECT_TRUE(eventually([&] { return !letters(*ours).empty(); }));
    letter = letters(*ours).at(0).at("id");
    const json open{{"submissionId", "g-ours"},
                    {"formId", "contact"},
                    {"fields", {{"name", "Ada"}}},
                    {"attachments",
                     {{{"attachmentId", "a-ours"},
                       {"name", "cv.pdf"},
                       {"contentType", "application/pdf"},
                       {"size", 1},
                       {"objectUri", "gs://bucket/object"}}}}};
    const auto posted = ask(*ours, "POST", "/v1/submissions", open);
    EXPECT_EQ(posted.status, 201) << posted.body;
  }
  static json letters(HttpClient& who) { return ask(who, "GET", "/v1/dead").json().at("deadLetters"); }

  // The answer to acme about something, with its name taken out.
  std::string told(const std::string& method, const std::string& path, const json& body, const std::string& name) {
    const auto answer = ask(*theirs, method, path, body);
    std::string text = std::to_string(answer.status) + " " + answer.body;
    for (std::size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), "*");
    return text;
  }

  std::optional<HttpClient> ours, theirs;
  std::string letter;
};

// N3
TEST_F(Strangers, AnotherOrganisationsIdIsAsUnknownAsOneThatNobodyHas) {
  const auto no_letter = public_ids().text(public_ids().read(letter).value() + 1024 * 1000);
  struct Question {
    const char *method, *before, *after;
    std::string theirs, nobodys;
    json body;
  };
  const json edit{{"destination", gateway.url() + "/theirs"}};
  const std::vector<Question> questions{
      {"GET", "/v1/intents/", "", "i-ours", "i-none", nullptr},
      {"GET", "/v1/intents/", "/history", "i-ours", "i-none", nullptr},
      {"GET", "/v1/submissions/", "", "f-ours", "f-none", nullptr},
      {"GET", "/v1/submissions/", "", "g-ours", "g-none", nullptr},
      {"POST", "/v1/submissions/", "/finalize", "g-ours", "g-none", nullptr},
      {"POST", "/v1/attachments/", "/scan-result", "a-ours", "a-none", {{"clamavStatus", "clean"}}},
      {"GET", "/v1/dead/", "", letter, no_letter, nullptr},
      {"PATCH", "/v1/dead/", "", letter, no_letter, edit},
      {"POST", "/v1/dead/", "/replay", letter, no_letter, nullptr},
      {"POST", "/v1/dead/", "/replay", letter, no_letter, {{"dryRun", true}}},
      {"POST", "/v1/dead/", "/clone", letter, no_letter, {{"submissionId", "f-theirs"}}}};
  for (const auto& q : questions) {
    const auto known = told(q.method, q.before + q.theirs + q.after, q.body, q.theirs);
    EXPECT_EQ(known.substr(0, 4), "404 ") << q.method << " " << q.before << q.after << ": " << known;
    EXPECT_EQ(known, told(q.method, q.before + q.nobodys + q.after, q.body, q.nobodys)) << q.method << " " << q.before << q.after;
  }
  const auto page = [&](const std::string& id) {
    auto text =
        theirs->request("POST", "/ui/history", "intentId=" + id, {{"Content-Type", "application/x-www-form-urlencoded"}}).body;
    for (std::size_t at; (at = text.find(id)) != std::string::npos;) text.replace(at, id.size(), "*");
    return text;
  };
  EXPECT_EQ(page("i-ours"), page("i-none"));
  const auto explained = [&](const std::string& id) {
    auto text = command({"explain", id, "--org", "acme"}).err;
    for (std::size_t at; (at = text.find(id)) != std::string::npos;) text.replace(at, id.size(), "*");
    return text;
  };
  EXPECT_EQ(explained("i-ours"), explained("i-none"));
  EXPECT_EQ(ask(*ours, "GET", "/v1/submissions/g-ours").json()["status"], "received") << "nothing of it was done";
  EXPECT_EQ(ask(*ours, "GET", "/v1/submissions/g-ours").json()["attachments"][0]["clamavStatus"], "pending");
  EXPECT_EQ(ask(*ours, "GET", "/v1/dead/" + letter).json()["replayedAt"], nullptr);
}

// N3: neither by filters nor by a cursor
TEST_F(Strangers, ListsAndFiltersShowNothingOfAnotherOrganisation) {
  for (const std::string& query :
       {std::string(), std::string("?reference=f-ours"), std::string("?formId=contact"), "?id=" + letter,
        std::string("?cursor=9000000000000000.") + letter, std::string("?replayed=true&limit=1000")}) {
    EXPECT_EQ(ask(*theirs, "GET", "/v1/dead" + query).json(), (json{{"deadLetters", json::array()}, {"next", nullptr}})) << query;
  }
  for (const json& filter : {json{{"reference", "f-ours"}}, json{{"formId", "contact"}}, json{{"reason", "max_attempts"}}}) {
    const auto replayed = ask(*theirs, "POST", "/v1/dead/replay", filter).json();
    EXPECT_EQ(replayed["count"], 0) << replayed;
    EXPECT_TRUE(replayed["items"].empty()) << replayed;
  }
  EXPECT_EQ(letters(*ours).size(), 1u);
}

// N3: the same names in two organisations are two things, alone and in a batch
TEST_F(Strangers, NamesOfTwoOrganisationsDoNotMeet) {
  gateway.by_default(Reply::accept());
  const auto mine = post_intent(*theirs, sms_intent("i-ours", "sms.attempts"), 30);
  ASSERT_EQ(mine.status, 200) << mine.body;
  EXPECT_EQ(mine.json()["submissionTarget"], "sms.attempts") << "no conflict with the other's intent, and not its answer";
  const auto batch = ask(*theirs, "POST", "/v1/intents:batch", json::array({sms_intent("i-ours", "sms.attempts")})).json();
  EXPECT_EQ(batch["results"][0]["intent"]["submissionTarget"], "sms.attempts") << batch;
  EXPECT_EQ(get_intent(*ours, "i-ours")["submissionTarget"], "sms.once");
  const json form{{"submissionId", "g-ours"},
                  {"formId", "contact"},
                  {"fields", {{"name", "Bob"}}},
                  {"attachments",
                   {{{"attachmentId", "a-ours"},
                     {"name", "x.pdf"},
                     {"contentType", "application/pdf"},
                     {"size", 2},
                     {"objectUri", "gs://bucket/theirs"}}}}};
  const auto posted = ask(*theirs, "POST", "/v1/submissions", form);
  ASSERT_EQ(posted.status, 201) << posted.body;
  EXPECT_EQ(ask(*theirs, "POST", "/v1/attachments/a-ours/scan-result", {{"clamavStatus", "infected"}}).status, 200);
  EXPECT_EQ(ask(*ours, "GET", "/v1/submissions/g-ours").json()["attachments"][0]["clamavStatus"], "pending");
}

}  // namespace
}  // namespace waybill::testing
