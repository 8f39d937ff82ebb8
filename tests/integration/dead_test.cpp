// Dead letters worked on over HTTP and on the command line, with a host that sends what was mended.
#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

class Dead : public World {
 protected:
  Dead() {
    setup.forms["contact.yaml"] = form("contact", "good", gateway.url() + "/inbox");
    setup.forms["mail.yaml"] = form("mail", "email_raw", "desk@example.org");
    setup.plugins = {"email_raw", "sms", "push", "webhook"};
    setup.retry = "{kind: fixed, delay: 10ms}";
    setup.more =
        "senders:\n  email_raw: {relay: \"smtp://127.0.0.1:1\", from: \"forms@example.org\"}\n"
        "timeouts: {cooldown: 0ms, outage: 0ms, poll: 20ms}\ndead: {replay_rate: 100}\n";
    gateway.by_default(Reply::http_error(503));
  }
  static std::string form(const std::string& id, const std::string& type, const std::string& destination) {
    return "form_id: " + id + "\nname: A form\nactions:\n  - action_order: 1\n    action_type: " + type +
           "\n    destination: \"" + destination + "\"\n";
  }
  void SetUp() override { installation().add_plugin(bad_plugin("good")); }

  HttpResponse ask(const std::string& method, const std::string& path, const json& body = nullptr) {
    return client().request(method, path, body.is_null() ? "" : body.dump());
  }
  std::string state_of(const std::string& id) { return ask("GET", "/v1/submissions/" + id).json().at("status"); }
  bool comes_to(const std::string& id, const std::string& state) {
    return eventually([&] { return state_of(id) == state; });
  }
  json submission(const std::string& id, const std::string& form = "contact") {
    return {{"submissionId", id}, {"formId", form}, {"fields", {{"name", "Ada"}, {"phone", "1"}}}, {"finalize", true}};
  }
  // The id of its dead letter, once it has one.
  std::string died(const std::string& id, const std::string& form = "contact") {
    const auto posted = ask("POST", "/v1/submissions", submission(id, form));
    EXPECT_EQ(posted.status, 201) << posted.body;
    EXPECT_TRUE(comes_to(id, "failed"));
    return letter_of(id);
  }
  std::string letter_of(const std::string& id) {
    const auto letters = ask("GET", "/v1/dead?reference=" + id).json().at("deadLetters");
    return letters.empty() ? "" : letters[0].at("id").get<std::string>();
  }
  CommandResult dead(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "dead");
    return installation().command(std::move(arguments));
  }
  json explained(const std::string& id) { return json::parse(installation().command({"explain", id, "--json"}).out); }
};

// F10
TEST_F(Dead, ALetterIsFoundLookedAtMendedTriedAndSentAgain) {
  const auto id = died("f-1");
  const auto listed = ask("GET", "/v1/dead?reference=&formId=contact&reason=max_attempts&before=2100-01-01T00:00:00Z").json();
  ASSERT_EQ(listed["deadLetters"].size(), 1u) << listed;
  EXPECT_EQ(listed["deadLetters"][0]["reference"], "f-1");
  EXPECT_EQ(listed["next"], nullptr);
  EXPECT_TRUE(ask("GET", "/v1/dead?formId=mail").json()["deadLetters"].empty());
  auto letter = ask("GET", "/v1/dead/" + id).json();
  EXPECT_EQ(letter["fields"], (json{{"name", "Ada"}, {"phone", "1"}}));
  EXPECT_EQ(letter["attempts"].size(), 5u);

  const auto mended =
      ask("PATCH", "/v1/dead/" + id, {{"fields", {{"name", "Ada"}, {"phone", "2"}}}, {"destination", gateway.url() + "/mended"}});
  ASSERT_EQ(mended.status, 200) << mended.body;
  EXPECT_EQ(mended.json()["edited"], (json{"fields", "destination"}));
  EXPECT_EQ(mended.json()["edits"].size(), 2u);
  const auto dry = ask("POST", "/v1/dead/" + id + "/replay", {{"dryRun", true}}).json();
  EXPECT_EQ(dry["count"], 1);
  EXPECT_EQ(dry["items"][0]["outcome"], "would_be_replayed");
  EXPECT_EQ(state_of("f-1"), "failed");

  gateway.by_default(Reply::accept());
  const auto replayed = ask("POST", "/v1/dead/" + id + "/replay");
  ASSERT_EQ(replayed.status, 200) << replayed.body;
  EXPECT_EQ(replayed.json()["items"][0]["outcome"], "replayed");
  EXPECT_TRUE(comes_to("f-1", "routed"));
  const auto last = gateway.received().back();
  EXPECT_EQ(last.path, "/mended");
  EXPECT_NE(last.body.find(R"("phone":"2")"), std::string::npos) << last.body;
  EXPECT_EQ(gateway.count(), 6u) << "five attempts before, one after";

  const auto view = ask("GET", "/v1/submissions/f-1").json();
  EXPECT_EQ(view["routingResult"]["1"]["status"], "accepted");
  std::vector<std::string> actions;
  for (const auto& row : view["audit"]) {
    actions.push_back(row["action"]);
    if (row["action"] == "dead_letter_edited" && row["metadata"]["field"] == "fields") {
      EXPECT_EQ(row.value("before", json::object()).value("phone", "gone"), "1");
      EXPECT_EQ(row.value("after", json::object()).value("phone", "gone"), "2");
      EXPECT_EQ(row["actorType"], "admin");
    }
  }
  EXPECT_EQ(actions,
            (std::vector<std::string>{"good_failure", "submission_route_failed", "dead_letter_edited", "dead_letter_edited",
                                      "dead_letter_replayed", "good_success", "submission_routed"}));
  letter = ask("GET", "/v1/dead/" + id).json();
  EXPECT_EQ(letter["replayedBy"], "nobody") << "without tokens nobody has a name";
  EXPECT_TRUE(ask("GET", "/v1/dead").json()["deadLetters"].empty());
  EXPECT_EQ(ask("GET", "/v1/dead?replayed=true").json()["deadLetters"].size(), 1u);
  const auto again = ask("POST", "/v1/dead/" + id + "/replay");
  EXPECT_EQ(again.status, 409);
  EXPECT_NE(again.error_message().find("replayed already"), std::string::npos) << again.body;
  EXPECT_EQ(ask("PATCH", "/v1/dead/" + id, {{"destination", "x"}}).status, 409);
}

// F10
TEST_F(Dead, AnEditIsRefusedThatThePluginWouldNotTake) {
  const auto id = died("m-1", "mail");
  const auto refused = ask("PATCH", "/v1/dead/" + id, {{"destination", "no address"}});
  EXPECT_EQ(refused.status, 400) << refused.body;
  EXPECT_NE(refused.error_message().find("destination"), std::string::npos) << refused.body;
  EXPECT_EQ(ask("GET", "/v1/dead/" + id).json()["edits"].size(), 0u);
  EXPECT_EQ(ask("PATCH", "/v1/dead/" + id, {{"destination", "help@example.org"}}).status, 200);
  const auto on_line = dead({"edit", id, "--destination", "no address"});
  EXPECT_EQ(on_line.exit_code, 1);
  EXPECT_NE(on_line.err.find("destination"), std::string::npos) << on_line.err;
}

// F10
TEST_F(Dead, BadRequestsAreRefusedByNameOfTheField) {
  const auto id = died("f-1");
  struct Case {
    std::string method, path, body;
    int status;
    std::string says;
  };
  const std::vector<Case> cases{{"GET", "/v1/dead?before=yesterday", "", 400, "before"},
                                {"GET", "/v1/dead?limit=0", "", 400, "limit"},
                                {"GET", "/v1/dead?limit=1001", "", 400, "limit"},
                                {"GET", "/v1/dead?cursor=x", "", 400, "cursor"},
                                {"GET", "/v1/dead?cursor=9223372036854775807.1", "", 400, "cursor"},
                                {"GET", "/v1/dead?id=x", "", 400, "id"},
                                {"GET", "/v1/dead?replayed=yes", "", 400, "replayed"},
                                {"GET", "/v1/dead/1024", "", 404, "1024"},
                                {"GET", "/v1/dead/x", "", 404, "x"},
                                {"PATCH", "/v1/dead/" + id, "{}", 400, "fields or destination"},
                                {"PATCH", "/v1/dead/" + id, R"({"fields":[]})", 400, "fields"},
                                {"PATCH", "/v1/dead/" + id, R"({"destination":1})", 400, "destination"},
                                {"PATCH", "/v1/dead/" + id, R"({"destination":""})", 400, "destination"},
                                {"PATCH", "/v1/dead/" + id, R"({"payload":{}})", 400, "payload"},
                                {"PATCH", "/v1/dead/1024", R"({"fields":{}})", 404, "1024"},
                                {"POST", "/v1/dead/" + id + "/replay", R"({"dryRun":1})", 400, "dryRun"},
                                {"POST", "/v1/dead/" + id + "/replay", R"({"dry":true})", 400, "dry"},
                                {"POST", "/v1/dead/1024/replay", "", 404, "1024"},
                                {"POST", "/v1/dead/replay", R"({"dryRun":true})", 400, "at least one"},
                                {"POST", "/v1/dead/replay", R"({"after":"now"})", 400, "after"},
                                {"POST", "/v1/dead/replay", "", 400, "JSON"},
                                {"POST", "/v1/dead/" + id + "/clone", "{}", 400, "submissionId"},
                                {"POST", "/v1/dead/" + id + "/clone", R"({"submissionId":""})", 400, "submissionId"},
                                {"POST", "/v1/dead/" + id + "/clone", R"({"submissionId":"f-1"})", 409, "f-1"},
                                {"POST", "/v1/dead/1024/clone", R"({"reference":"f-2"})", 404, "1024"}};
  for (const auto& one : cases) {
    const auto response = client().request(one.method, one.path, one.body);
    EXPECT_EQ(response.status, one.status) << one.method << " " << one.path << " " << one.body << ": " << response.body;
    EXPECT_NE(response.error_message().find(one.says), std::string::npos) << one.path << " " << one.body << ": " << response.body;
  }
  EXPECT_EQ(ask("GET", "/v1/dead").json()["deadLetters"].size(), 1u) << "nothing was changed";
}

// F10
TEST_F(Dead, OnlyAdminsWorkOnThemAndTheAuditHasTheirNames) {
  setup.auth = "tokens";
  give_up_host();
  Installation guarded(setup);
  guarded.add_plugin(bad_plugin("good"));
  const Daemon daemon(guarded);
  const auto token = [&](const std::string& name, const std::string& role) -> std::string {
    return json::parse(guarded.command({"token", "create", "--name", name, "--role", role, "--json"}).out).at("token");
  };
  HttpClient web = daemon.client(), admin = daemon.client();
  web.authorize(token("web", "member"));
  admin.authorize(token("ada", "admin"));
  ASSERT_EQ(web.request("POST", "/v1/submissions", submission("f-1").dump()).status, 201);
  ASSERT_TRUE(eventually([&] { return admin.get("/v1/dead?reference=f-1").json()["deadLetters"].size() == 1; }));
  const std::string id = admin.get("/v1/dead").json()["deadLetters"][0]["id"];
  EXPECT_EQ(web.get("/v1/dead").status, 403);
  EXPECT_EQ(web.request("PATCH", "/v1/dead/" + id, R"({"fields":{}})").status, 403);
  EXPECT_EQ(web.request("POST", "/v1/dead/" + id + "/replay").status, 403);
  EXPECT_EQ(web.request("POST", "/v1/dead/replay", R"({"formId":"contact"})").status, 403);
  EXPECT_EQ(web.request("POST", "/v1/dead/" + id + "/clone", R"({"reference":"f-2"})").status, 403);
  EXPECT_EQ(admin.request("PATCH", "/v1/dead/" + id, R"({"fields":{}})").json()["edits"][0]["actor"], "ada");
  EXPECT_EQ(admin.request("POST", "/v1/dead/" + id + "/replay").status, 200);
  EXPECT_EQ(admin.get("/v1/dead/" + id).json()["replayedBy"], "ada");
}

// T31
TEST_F(Dead, IdsAreOpaqueAndNumbersOfBeforeStayValid) {
  sql().execute("UPDATE waybill.id_keys SET shown_until = 1000000");
  const auto id = died("f-1"), number = number_of(id);
  died("f-2");
  EXPECT_TRUE(id.starts_with("d_")) << id;
  const std::string next = ask("GET", "/v1/dead?limit=1").json().at("next");
  EXPECT_TRUE(next.substr(next.find('.') + 1).starts_with("d_")) << next;
  for (const auto& name : {id, number}) {
    EXPECT_EQ(ask("GET", "/v1/dead/" + name).json().at("id"), id);
    EXPECT_EQ(ask("GET", "/v1/dead?id=" + name).json().at("deadLetters").size(), 1u);
    EXPECT_EQ(installation().command({"dead", "show", name}).exit_code, 0);
    EXPECT_EQ(json::parse(installation().command({"dead", "show", name, "--json"}).out).at("id"), number);
  }
  const auto edited = ask("PATCH", "/v1/dead/" + id, {{"fields", {{"name", "Bob"}}}}).json();
  EXPECT_TRUE(edited.at("edits")[0].at("editId").get<std::string>().starts_with("d_")) << edited;
  const auto replayed = ask("POST", "/v1/dead/" + id + "/replay").json().at("items")[0];
  EXPECT_EQ(replayed.at("id"), id);
  EXPECT_TRUE(replayed.at("replayId").get<std::string>().starts_with("d_")) << replayed;
  for (const char* unknown : {"1024000", "d_0", "x"})
    EXPECT_EQ(ask("GET", std::string("/v1/dead/") + unknown).json().at("error").at("message"),
              std::string("there is no dead letter ") + unknown);
}

// F10 F7
TEST_F(Dead, ManyAreReplayedAtOnceNoFasterThanTheRate) {
  for (const auto* id : {"f-1", "f-2", "f-3"}) died(id);
  const auto dry = ask("POST", "/v1/dead/replay", {{"formId", "contact"}, {"dryRun", true}}).json();
  EXPECT_EQ(dry["count"], 3);
  gateway.by_default(Reply::accept());
  const auto replayed = ask("POST", "/v1/dead/replay", {{"formId", "contact"}}).json();
  EXPECT_EQ(replayed["count"], 3);
  EXPECT_EQ(replayed["more"], false);
  for (std::size_t i = 1; i < 3; ++i)
    EXPECT_NEAR(seconds_of(replayed["items"][i], "dueAt") - seconds_of(replayed["items"][i - 1], "dueAt"), 0.01, 1e-6);
  for (const auto* id : {"f-1", "f-2", "f-3"}) EXPECT_TRUE(comes_to(id, "routed")) << id;
  EXPECT_EQ(gateway.count(), 3u * 5 + 3) << "nothing went out twice";
  EXPECT_EQ(ask("POST", "/v1/dead/replay", {{"formId", "contact"}}).json()["count"], 0);
}

// F10
TEST_F(Dead, AListIsReadInPages) {
  for (const auto* id : {"f-1", "f-2", "f-3"}) died(id);
  const auto first = ask("GET", "/v1/dead?limit=2").json();
  EXPECT_EQ(first["deadLetters"].size(), 2u);
  EXPECT_EQ(first["deadLetters"][0]["reference"], "f-3");
  const auto rest = ask("GET", "/v1/dead?limit=2&cursor=" + first["next"].get<std::string>()).json();
  ASSERT_EQ(rest["deadLetters"].size(), 1u);
  EXPECT_EQ(rest["deadLetters"][0]["reference"], "f-1");
  EXPECT_EQ(rest["next"], nullptr);
}

// F10
TEST_F(Dead, ACloneRunsTheFormsActionsOfToday) {
  const auto id = died("f-1");
  installation().write_form("contact.yaml", form("contact", "good", gateway.url() + "/today"));
  ASSERT_EQ(ask("POST", "/v1/admin/reload").status, 200);
  gateway.by_default(Reply::accept());
  const auto cloned = ask("POST", "/v1/dead/" + id + "/clone", {{"submissionId", "f-1b"}});
  ASSERT_EQ(cloned.status, 201) << cloned.body;
  EXPECT_EQ(cloned.json()["submissionId"], "f-1b");
  EXPECT_TRUE(comes_to("f-1b", "routed"));
  EXPECT_EQ(gateway.received().back().path, "/today");
  EXPECT_EQ(state_of("f-1"), "failed");
}

// F10
TEST_F(Dead, TheCommandLineWorksOnThemWhileAHostSends) {
  const auto id = died("f-1");
  const auto other = died("f-2");
  const auto listed = dead({"list", "--form", "contact"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(listed.out.substr(0, 2), "ID");
  const auto number = sql().text(
      "SELECT d.id FROM waybill.dead_letters d JOIN waybill.submissions s ON s.id = d.submission_id WHERE s.client_ref = 'f-1'");
  for (const auto& text : {number, std::string("f-1"), std::string("f-2"), std::string("1 good"), std::string("max_attempts")})
    EXPECT_NE(listed.out.find(text), std::string::npos) << text << " in " << listed.out;
  EXPECT_EQ(dead({"show", number}).out, dead({"show", id}).out) << "a command takes the API's ids as well as its own";
  EXPECT_EQ(json::parse(dead({"list", "--reference", "f-1", "--json"}).out)["deadLetters"].size(), 1u);
  EXPECT_EQ(json::parse(dead({"list", "--id", id, "--json"}).out)["deadLetters"].size(), 1u);
  EXPECT_EQ(dead({"list", "--reason", "nothing"}).out, "no dead letters\n");
  EXPECT_NE(dead({"list", "--limit", "1"}).out.find("there are more"), std::string::npos);
  EXPECT_NE(dead({"list", "--before", "soon"}).err.find("--before"), std::string::npos);

  const auto shown = dead({"show", id});
  EXPECT_NE(shown.out.find(R"("phone":"1")"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("attempt 5"), std::string::npos) << shown.out;
  EXPECT_EQ(dead({"show", "1024"}).exit_code, 1);

  write_file(installation().folder() / "fields.json", R"({"name":"Ada","phone":"3"})");
  const auto edited =
      dead({"edit", id, "--fields", "fields.json", "--destination", gateway.url() + "/mended", "--actor", "grace"});
  EXPECT_EQ(edited.exit_code, 0) << edited.err;
  EXPECT_NE(edited.out.find(R"({"name":"Ada","phone":"1"} -> {"name":"Ada","phone":"3"})"), std::string::npos) << edited.out;
  EXPECT_NE(edited.out.find("grace"), std::string::npos) << edited.out;
  EXPECT_NE(dead({"edit", id}).err.find("fields or destination"), std::string::npos);

  EXPECT_NE(dead({"replay"}).err.find("--all"), std::string::npos);
  EXPECT_NE(dead({"replay", "--all", "--form", "contact"}).err.find("no filter"), std::string::npos);
  const auto dry = dead({"replay", "--all", "--dry-run"});
  EXPECT_NE(dry.out.find("2 of 2 would be replayed; nothing was changed"), std::string::npos) << dry.out << dry.err;
  EXPECT_EQ(state_of("f-1"), "failed");
  gateway.by_default(Reply::accept());
  const auto replayed = dead({"replay", id});
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  EXPECT_NE(replayed.out.find("1 of 1 replayed"), std::string::npos) << replayed.out;
  EXPECT_TRUE(comes_to("f-1", "routed")) << "a running host notices by itself";
  EXPECT_NE(gateway.received().back().body.find(R"("phone":"3")"), std::string::npos);
  const auto again = dead({"replay", "--id", id});
  EXPECT_EQ(again.exit_code, 1);
  EXPECT_NE(again.out.find("refused: it was replayed already"), std::string::npos) << again.out;
  EXPECT_FALSE(sql().text("SELECT replayed_by FROM waybill.dead_letters WHERE replayed_at IS NOT NULL").empty());

  const auto cloned = dead({"clone", other, "f-2b"});
  EXPECT_EQ(cloned.out, "f-2b: processing\n") << cloned.err;
  EXPECT_TRUE(comes_to("f-2b", "routed"));
  EXPECT_NE(dead({"clone", other, "f-2b"}).err.find("is taken"), std::string::npos);
}

// F10
TEST_F(Dead, ExplainTellsWhereAFormsSubmissionIs) {
  auto waiting = submission("f-1");
  waiting["attachments"] = {{{"attachmentId", "a-1"},
                             {"name", "cv.pdf"},
                             {"contentType", "application/pdf"},
                             {"size", 1},
                             {"objectUri", "gs://bucket/cv"}}};
  waiting.erase("finalize");
  ASSERT_EQ(ask("POST", "/v1/submissions", waiting).status, 201);
  EXPECT_EQ(explained("f-1")["code"], "not_finalized");
  ask("POST", "/v1/submissions/f-1/finalize");
  EXPECT_EQ(explained("f-1")["code"], "waiting_for_scans");
  EXPECT_NE(std::string(explained("f-1")["why"]).find("without it, it fails at 20"), std::string::npos);  // T1
  EXPECT_NE(explained("f-1")["why"].get<std::string>().find("a-1"), std::string::npos);
  gateway.by_default(Reply::accept_when_released());
  ask("POST", "/v1/attachments/a-1/scan-result", {{"clamavStatus", "clean"}});
  ASSERT_TRUE(gateway.wait_for([&] { return gateway.count() == 1; }));
  const auto running = explained("f-1");
  EXPECT_EQ(running["code"], "running");
  EXPECT_EQ(running["actions"][0]["code"], "claimed") << running;
  EXPECT_NE(installation().command({"explain", "f-1"}).out.find("action 1 (good)"), std::string::npos);
  gateway.release();
  EXPECT_TRUE(comes_to("f-1", "routed"));
  EXPECT_EQ(explained("f-1")["code"], "done");
  gateway.by_default(Reply::http_error(503));
  died("f-2");
  EXPECT_NE(explained("f-2")["why"].get<std::string>().find("waybill dead list --reference f-2"), std::string::npos);
  EXPECT_NE(installation().command({"explain", "nobody"}).err.find("neither an intent nor a submission"), std::string::npos);
}

}  // namespace
}  // namespace waybill::testing
