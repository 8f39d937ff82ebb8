// The shipped verification pipeline over HTTP, with scanners and a publisher that a test scripts: every edge of the seed's table
// is taken, and every other one refused.
#include <algorithm>
#include <set>
#include <thread>

#include "support/pipeline_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;

const std::vector<std::string> kStates{"RECEIVED",     "TIER1_SCANNING", "TIER1_FAILED", "TIER2_SCANNING", "AUTO_APPROVED",
                                       "NEEDS_REVIEW", "TIER3_REVIEW",   "PUBLISHED",    "REJECTED",       "VENDOR_APPROVED"};

class Verification : public PipelineWorld {
 protected:
  Verification() {
    gateway.script("POST /tier1", {pass()});
    gateway.script("POST /tier2", {score(92)});
    gateway.script("POST /publish", {published()});
  }
  static Reply pass() { return answer({{"verdict", "PASS"}, {"findings", json::array()}}); }
  static Reply score(double value) {
    return answer({{"score", value}, {"model", "@cf/meta/llama-3.1-70b-instruct"}, {"concerns", {"network"}}});
  }
  static Reply published() { return answer({{"version", "1.0.0"}, {"skillId", "sk_abc123"}}); }
  static json skill(const std::string& owner = "somebody") {
    return {{"repoUrl", "https://github.com/" + owner + "/skills"}, {"skillPath", "pdf/SKILL.md"}};
  }

  HttpResponse post(const std::string& id, const json& payload = skill()) { return hand_in("verification", id, payload); }
  static std::vector<std::string> way_of(const json& view) {
    std::vector<std::string> way;
    for (const auto& event : view["audit"]) way.push_back(word(event, "toState"));
    return way;
  }
};

using Way = std::vector<std::string>;

// P2, P3: the example of the source, event by event.
TEST_F(Verification, WalksTheExampleOfTheSource) {
  const auto posted = post("k-1");
  EXPECT_EQ(posted.status, 201) << posted.body;
  EXPECT_EQ(post("k-1").status, 200);
  EXPECT_EQ(post("k-1", {{"repoUrl", "another"}}).status, 409);
  const auto view = wait_for_state("k-1", "PUBLISHED");
  EXPECT_EQ(way_of(view), (Way{"RECEIVED", "TIER1_SCANNING", "TIER2_SCANNING", "AUTO_APPROVED", "PUBLISHED"}));
  const auto& audit = view["audit"];
  const auto event = [](const char* from, const char* to, const char* trigger, const char* actor, json metadata) {
    return json{{"fromState", from ? json(from) : json(nullptr)},
                {"toState", to},
                {"trigger", trigger},
                {"actor", actor},
                {"actorType", actor},
                {"metadata", std::move(metadata)}};
  };
  json expected = json::array(
      {event(nullptr, "RECEIVED", "api-submission", "system", json::object()),
       event("RECEIVED", "TIER1_SCANNING", "non-vendor-submission", "system", json::object()),
       event("TIER1_SCANNING", "TIER2_SCANNING", "tier1-pass", "worker", {{"findings", 0}}),
       event("TIER2_SCANNING", "AUTO_APPROVED", "tier2-pass", "worker",
             {{"score", 92}, {"model", "@cf/meta/llama-3.1-70b-instruct"}}),
       event("AUTO_APPROVED", "PUBLISHED", "publish-complete", "system", {{"version", "1.0.0"}, {"skillId", "sk_abc123"}})});
  ASSERT_EQ(audit.size(), expected.size());
  double last = 0;
  for (std::size_t i = 0; i < audit.size(); ++i) {
    auto one = audit[i];
    EXPECT_GE(seconds_of(one, "createdAt"), last);
    last = seconds_of(one, "createdAt");
    one.erase("createdAt");
    EXPECT_EQ(one["action"], "state_changed");
    one.erase("action");
    if (i == 2) {
      EXPECT_GE(one["metadata"]["duration_ms"].get<int>(), 0);
      one["metadata"].erase("duration_ms");
    }
    EXPECT_EQ(one, expected[i]) << i;
  }
  EXPECT_EQ(view["results"]["TIER2_SCANNING"]["score"], 92);
  EXPECT_EQ(view["version"], 1);
}

// P2: what a stage posts.
TEST_F(Verification, SendsAStageWhatIsKnown) {
  ASSERT_EQ(hand_in("verification", "k-2", skill(), {{"reference", "B-6FYZIU1M"}}).status, 201);
  wait_for_state("k-2", "PUBLISHED");
  const auto second = json::parse(gateway.received().at(1).body);
  EXPECT_EQ(second, (json{{"submissionId", "k-2"},
                          {"pipeline", "verification"},
                          {"state", "TIER2_SCANNING"},
                          {"payload", skill()},
                          {"results", {{"TIER1_SCANNING", {{"verdict", "PASS"}, {"findings", json::array()}}}}},
                          {"metadata", {{"reference", "B-6FYZIU1M"}}}}));
  const auto found = client().get("/v1/submissions?reference=B-6FYZIU1M").json();
  ASSERT_EQ(found["items"].size(), 1u);
  EXPECT_EQ(found["items"][0]["submissionId"], "k-2");
  EXPECT_EQ(client().get("/v1/submissions?reference=nobody").json()["items"].size(), 0u);
  EXPECT_EQ(client().get("/v1/submissions?pipeline=verification&state=PUBLISHED").json()["items"].size(), 1u);
}

// P2: the trusted list, without regard to case; nothing that only looks like one of it.
TEST_F(Verification, PublishesWhatIsOfATrustedOrganisation) {
  for (const char* owner : {"anthropics", "Vercel-Labs", "GOOGLE"}) {
    const auto id = std::string("vendor-") + owner;
    ASSERT_EQ(post(id, skill(owner)).status, 201);
    const auto view = wait_for_state(id, "PUBLISHED");
    EXPECT_EQ(way_of(view), (Way{"RECEIVED", "VENDOR_APPROVED", "PUBLISHED"}));
    EXPECT_EQ(view["audit"][1]["trigger"], "vendor-auto-verify");
    EXPECT_EQ(view["audit"][1]["metadata"]["org"], owner);
  }
  int n = 0;
  for (const char* url :
       {"https://github.com/anthropics/../evil/x", "https://evil.com/anthropics/x", "https://github.com//anthropics/x",
        "https://github.com@evil.com/anthropics/x", "file://github.com/anthropics/x", "https://me:pw@github.com:99/anthropics/x",
        "anthropics", "https://github.com/anthropicsx/x"}) {
    const auto id = "pretender-" + std::to_string(++n);
    ASSERT_EQ(post(id, {{"repoUrl", url}}).status, 201);
    EXPECT_EQ(way_of(wait_for_state(id, "PUBLISHED"))[1], "TIER1_SCANNING") << url;
  }
}

// P2: the guards of tier 1 and tier 2.
TEST_F(Verification, DecidesByWhatTheScannersAnswer) {
  gateway.script("POST /tier1", {answer({{"verdict", "FAIL"}, {"findings", {"eval"}}}), pass()});
  ASSERT_EQ(post("failed").status, 201);
  const auto failed = wait_for_state("failed", "TIER1_FAILED");
  EXPECT_EQ(failed["audit"].back()["metadata"]["findings"], json::array({"eval"}));
  const std::vector<std::pair<double, std::string>> cases{{100, "PUBLISHED"},   {80, "PUBLISHED"},   {79.99, "NEEDS_REVIEW"},
                                                          {60, "NEEDS_REVIEW"}, {59.99, "REJECTED"}, {0, "REJECTED"}};
  for (const auto& [value, state] : cases) {
    gateway.script("POST /tier2", {score(value)});
    const auto id = "score-" + std::to_string(value);
    ASSERT_EQ(post(id).status, 201);
    wait_for_state(id, state);
  }
  gateway.script("POST /tier2", {score(99)});
  auto privileged = skill();
  privileged["highPrivilege"] = true;
  ASSERT_EQ(post("privileged", privileged).status, 201);
  wait_for_state("privileged", "NEEDS_REVIEW");
}

// P4: decisions of people, and what is published after them.
TEST_F(Verification, IsDecidedByPeople) {
  gateway.script("POST /tier2", {score(70)});
  for (const char* id : {"approved", "rejected", "rejected-at-once"}) {
    ASSERT_EQ(post(id).status, 201);
    wait_for_state(id, "NEEDS_REVIEW");
  }
  EXPECT_EQ(decide("rejected-at-once", "REJECTED", "reject").status, 200);
  for (const char* id : {"approved", "rejected"}) EXPECT_EQ(decide(id, "TIER3_REVIEW", "escalate").status, 200);
  EXPECT_EQ(calls("/publish"), 0u);
  EXPECT_EQ(decide("rejected", "REJECTED", "reject").status, 200);
  EXPECT_EQ(decide("approved", "PUBLISHED", "approve").status, 200);
  ASSERT_TRUE(eventually([&] { return view_of("approved")["results"].contains("PUBLISHED"); }));
  const auto view = view_of("approved");
  EXPECT_EQ(view["results"]["PUBLISHED"]["skillId"], "sk_abc123");
  EXPECT_EQ(view["audit"].back()["actorType"], "admin");
  EXPECT_EQ(decide("nobody", "REJECTED", "reject").status, 404);
}

// P1: from each of the ten states to each of them, whatever the trigger: only what is declared, by whom it is declared.
TEST_F(Verification, RefusesWhatIsNotDeclared) {
  gateway.script("POST /tier1", {Reply::hang()});
  gateway.script("POST /publish", {Reply::hang()});
  std::map<std::string, std::string> at;  // a submission in each state
  const auto bring = [&](const std::string& state, const json& payload) {
    at[state] = "at-" + state;
    ASSERT_EQ(post(at[state], payload).status, 201);
    wait_for_state(at[state], state);
  };
  bring("TIER1_SCANNING", skill());
  bring("VENDOR_APPROVED", skill("openai"));
  gateway.script("POST /tier1", {answer({{"verdict", "FAIL"}})});
  bring("TIER1_FAILED", skill());
  gateway.script("POST /tier1", {pass()});
  bring("AUTO_APPROVED", skill());
  gateway.script("POST /tier2", {Reply::hang()});
  const auto scans = calls("/tier2");
  bring("TIER2_SCANNING", skill());
  ASSERT_TRUE(eventually([&] { return calls("/tier2") > scans; }));  // from here on others are answered
  gateway.script("POST /tier2", {score(70)});
  for (const char* state : {"NEEDS_REVIEW", "TIER3_REVIEW", "PUBLISHED", "REJECTED"}) {
    at[state] = std::string("at-") + state;
    ASSERT_EQ(post(at[state]).status, 201);
    wait_for_state(at[state], "NEEDS_REVIEW");
  }
  ASSERT_EQ(decide(at["TIER3_REVIEW"], "TIER3_REVIEW", "escalate").status, 200);
  ASSERT_EQ(decide(at["PUBLISHED"], "TIER3_REVIEW", "escalate").status, 200);
  ASSERT_EQ(decide(at["PUBLISHED"], "PUBLISHED", "approve").status, 200);
  ASSERT_EQ(decide(at["REJECTED"], "REJECTED", "reject").status, 200);
  const std::set<std::string> triggers{"api-submission",
                                       "vendor-auto-verify",
                                       "non-vendor-submission",
                                       "tier1-pass",
                                       "tier1-fail",
                                       "tier2-pass",
                                       "tier2-concerns",
                                       "tier2-fail",
                                       "escalate",
                                       "reject",
                                       "approve",
                                       "publish-complete"};
  const std::set<std::string> by_people{"NEEDS_REVIEW TIER3_REVIEW escalate", "NEEDS_REVIEW REJECTED reject",
                                        "TIER3_REVIEW PUBLISHED approve", "TIER3_REVIEW REJECTED reject"};
  std::size_t refused = 0;
  for (const auto& [from, id] : at)
    for (const auto& to : kStates)
      for (const auto& trigger : triggers) {
        if (by_people.contains(from + " " + to + " " + trigger)) continue;
        const auto response = decide(id, to, trigger);
        EXPECT_EQ(response.status, 409) << from << " " << to << " " << trigger << ": " << response.body;
        EXPECT_EQ(response.json()["error"]["code"], "illegal_transition");
        ++refused;
      }
  EXPECT_EQ(refused, 9 * 10 * triggers.size() - by_people.size());  // RECEIVED is left in the transaction that begins it
  for (const auto& [from, id] : at) EXPECT_EQ(state_of(id), from);
  gateway.release();
}

// P4: a decision needs its role, and says who made it.
TEST_F(Verification, ADecisionNeedsItsRole) {
  setup.auth = "tokens";
  gateway.script("POST /tier2", {score(70)});
  const auto as = [&](const std::string& role) {
    const auto made = installation().command({"token", "create", "--role", role, role + "-ann", "--json"});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    HttpClient one(host().port());
    one.authorize(json::parse(made.out).at("token"));
    return one;
  };
  auto member = as("member"), admin = as("admin");
  const json handed_in{{"submissionId", "k"}, {"payload", skill()}};
  ASSERT_EQ(member.request("POST", "/v1/pipelines/verification/submissions", handed_in.dump()).status, 201);
  json view;
  ASSERT_TRUE(eventually([&] { return word(view = member.get("/v1/submissions/k").json(), "state") == "NEEDS_REVIEW"; }));
  EXPECT_EQ(view["decisions"].size(), 2u);
  const auto escalate = json{{"to", "TIER3_REVIEW"}, {"trigger", "escalate"}, {"comment", "look at the network"}}.dump();
  EXPECT_EQ(member.request("POST", "/v1/submissions/k/transitions", escalate).status, 403);
  EXPECT_EQ(word(member.get("/v1/submissions/k").json(), "state"), "NEEDS_REVIEW");
  EXPECT_EQ(admin.request("POST", "/v1/submissions/k/transitions", escalate).status, 200);
  const auto event = admin.get("/v1/submissions/k").json()["audit"].back();
  EXPECT_EQ(event["actor"], "admin-ann");
  EXPECT_EQ(event["actorType"], "admin");
  EXPECT_EQ(event["metadata"], (json{{"comment", "look at the network"}}));
}

// P4: of an approval and a rejection at the same moment one wins.
TEST_F(Verification, OneOfTwoDecisionsWins) {
  gateway.script("POST /tier2", {score(70)});
  const int pairs = all_rounds() ? 1000 : 100;
  const int threads = 8;
  for (int i = 0; i < pairs; ++i) ASSERT_EQ(post("race-" + std::to_string(i)).status, 201);
  for (int i = 0; i < pairs; ++i) {
    const auto id = "race-" + std::to_string(i);
    wait_for_state(id, "NEEDS_REVIEW");
    ASSERT_EQ(decide(id, "TIER3_REVIEW", "escalate").status, 200);
  }
  std::vector<int> won(pairs), lost(pairs);
  std::mutex mutex;
  {
    std::vector<std::jthread> deciding;
    for (int t = 0; t < threads; ++t)
      deciding.emplace_back([&, t] {
        HttpClient own(host().port());
        for (int i = 0; i < pairs; ++i) {
          const bool approves = (i + t) % 2 == 0;
          const auto response = own.request("POST", "/v1/submissions/race-" + std::to_string(i) + "/transitions",
                                            json{{"to", approves ? "PUBLISHED" : "REJECTED"},
                                                 {"trigger", approves ? "approve" : "reject"},
                                                 {"from", "TIER3_REVIEW"}}
                                                .dump());
          const std::lock_guard lock(mutex);
          ++(response.status == 200 ? won : lost)[i];
          if (response.status != 200) {
            EXPECT_EQ(response.status, 409) << response.body;
            EXPECT_EQ(response.json()["error"]["code"], "conflict") << response.body;
          }
        }
      });
  }
  for (int i = 0; i < pairs; ++i) {
    EXPECT_EQ(won[i], 1) << i;
    const auto view = view_of("race-" + std::to_string(i));
    EXPECT_EQ(way_of(view).size(), 6u);
  }
}

// P5: a timeout is tried three times more, a clone that failed once more; then a dead letter, an alert, and a replay that goes
// on.
TEST_F(Verification, TriesAsOftenAsItsReasonAllows) {
  gateway.script("POST /tier1", {answer({{"error", "clone_failed"}}, 422)});
  ASSERT_EQ(post("no-clone").status, 201);
  ASSERT_TRUE(eventually([&] { return !view_of("no-clone")["blockedAt"].is_null(); }));
  EXPECT_EQ(calls("/tier1"), 2u);
  EXPECT_EQ(view_of("no-clone")["deliveries"][0]["failures"][0]["error"].get<std::string>().substr(0, 12), "clone_failed");
  gateway.script("POST /tier1", {Reply::http_error(500)});
  ASSERT_EQ(post("broken").status, 201);
  ASSERT_TRUE(eventually([&] { return !view_of("broken")["blockedAt"].is_null(); }));
  EXPECT_EQ(calls("/tier1"), 2u + 4u);
  EXPECT_EQ(state_of("broken"), "TIER1_SCANNING");
  const auto letters = client().get("/v1/dead?reference=broken").json()["deadLetters"];
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0]["kind"], "pipeline");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'dead_letter'"), 1);
  gateway.script("POST /tier1", {pass()});
  const auto replayed = client().request("POST", "/v1/dead/" + word(letters[0], "id") + "/replay");
  EXPECT_EQ(replayed.status, 200) << replayed.body;
  const auto view = wait_for_state("broken", "PUBLISHED");
  EXPECT_EQ(way_of(view), (Way{"RECEIVED", "TIER1_SCANNING", "TIER2_SCANNING", "AUTO_APPROVED", "PUBLISHED"}));
  EXPECT_TRUE(view["blockedAt"].is_null());
}

// P2: an answer that the guards can do nothing with is none.
TEST_F(Verification, TriesAgainWhereTheResultLacksWhatIsCompared) {
  gateway.script("POST /tier2", {answer({{"score", "high"}}), answer(json::array()), Reply::not_json(), score(85)});
  ASSERT_EQ(post("odd").status, 201);
  wait_for_state("odd", "PUBLISHED");
  EXPECT_EQ(calls("/tier2"), 4u);
  auto nul = score(85);
  nul.body.insert(1, "\"note\":\"a\\u0000\",");
  gateway.script("POST /tier2", {nul, answer(json::parse(std::string(70, '[') + std::string(70, ']'))), score(85)});
  ASSERT_EQ(post("not-kept").status, 201);
  const auto view = wait_for_state("not-kept", "PUBLISHED");
  EXPECT_EQ(view["deliveries"][1]["failures"][0]["error"], "invalid_result: the result has a NUL character");
  EXPECT_EQ(view["deliveries"][1]["failures"][1]["error"], "invalid_result: the result has more than 64 levels");
}

// P1: whoever holds a submission's row delays no other submission.
TEST_F(Verification, WaitsForItsOwnRowsOnly) {
  auto held = score(92);
  held.held = true;
  gateway.script("POST /tier2", {held});
  ASSERT_EQ(post("held").status, 201);
  ASSERT_TRUE(gateway.wait_for([&] { return calls("/tier2") == 1; }));
  SqlClient locks(setup.database_url);
  locks.execute("BEGIN");
  ASSERT_EQ(locks.rows("SELECT * FROM waybill.pipeline_submissions FOR UPDATE").size(), 1u);
  gateway.release();
  ASSERT_EQ(post("free").status, 201);
  wait_for_state("free", "PUBLISHED");
  EXPECT_EQ(state_of("held"), "TIER2_SCANNING");
  EXPECT_EQ(decide("free", "REJECTED", "reject").status, 409);
  locks.execute("ROLLBACK");
  wait_for_state("held", "PUBLISHED");
}

// P1 P5: where what follows cannot be written, the answer is kept and nobody is asked again; it goes on when that can be written.
TEST_F(Verification, StandsStillWhereTheNextStateCannotBeWritten) {
  client();
  sql().execute(
      "CREATE FUNCTION waybill.no_more() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no more' USING ERRCODE = "
      "'check_violation'; END $$;"
      "CREATE TRIGGER no_more BEFORE INSERT ON waybill.pipeline_steps FOR EACH ROW WHEN (NEW.state = 'AUTO_APPROVED')"
      " EXECUTE FUNCTION waybill.no_more()");
  ASSERT_EQ(post("stuck").status, 201);
  ASSERT_TRUE(eventually([&] { return !view_of("stuck")["blockedAt"].is_null(); }));
  EXPECT_EQ(state_of("stuck"), "TIER2_SCANNING");
  EXPECT_EQ(sql().number("SELECT count(*) FROM waybill.alerts WHERE kind = 'pipeline_stuck'"), 1);
  gateway.script("POST /tier2", {score(70)});
  ASSERT_EQ(post("other").status, 201);
  wait_for_state("other", "NEEDS_REVIEW");
  sql().execute("DROP TRIGGER no_more ON waybill.pipeline_steps");
  restart_host();  // the sweep is among the first things that a host does
  wait_for_state("stuck", "PUBLISHED");
  EXPECT_EQ(calls("/tier2"), 2u) << "once each";
}

// P1: a submission keeps the version that it began with.
TEST_F(Verification, KeepsItsVersion) {
  gateway.script("POST /tier2", {score(70)});
  ASSERT_EQ(post("old").status, 201);
  wait_for_state("old", "NEEDS_REVIEW");
  auto text = shipped("verification");
  const std::string escalate = "\"trigger\": \"escalate\"";
  text.replace(text.find(escalate), escalate.size(), "\"trigger\": \"raise\"");
  installation().write_pipeline("verification.json", text);
  ASSERT_EQ(client().request("POST", "/v1/admin/reload").status, 200);
  ASSERT_EQ(post("new").status, 201);
  EXPECT_EQ(wait_for_state("new", "NEEDS_REVIEW")["version"], 2);
  EXPECT_EQ(decide("new", "TIER3_REVIEW", "escalate").status, 409);
  EXPECT_EQ(decide("new", "TIER3_REVIEW", "raise").status, 200);
  EXPECT_EQ(decide("old", "TIER3_REVIEW", "raise").status, 409);
  EXPECT_EQ(decide("old", "TIER3_REVIEW", "escalate").status, 200);
  EXPECT_EQ(view_of("old")["version"], 1);
}

// J7: what was archived is not walked again under the same id.
TEST_F(Verification, AnArchivedSubmissionsIdIsTaken) {
  ASSERT_EQ(post("k").status, 201);
  wait_for_state("k", "PUBLISHED");
  sql().execute("SET search_path TO waybill");
  ASSERT_EQ(
      sql().number("SELECT archive_submissions(0::smallint, ARRAY(SELECT id FROM submissions), interval '0', interval '0')"), 1);
  EXPECT_EQ(client().get("/v1/submissions/k").status, 404);
  EXPECT_EQ(post("k").status, 409);
  EXPECT_EQ(calls("/tier1"), 1u);
}

// P6: under the source's names, with its service levels beside them.
TEST_F(Verification, CountsAndMeasures) {
  ASSERT_EQ(post("one").status, 201);
  wait_for_state("one", "PUBLISHED");
  gateway.script("POST /tier2", {score(70)});
  ASSERT_EQ(post("two").status, 201);
  wait_for_state("two", "NEEDS_REVIEW");
  const auto stats = client().get("/v1/stats").json()["pipelines"]["verification"];
  EXPECT_EQ(stats["states"]["PUBLISHED"], (json{{"submissions", 1}, {"isLowerBound", false}, {"blocked", 0}}));
  EXPECT_EQ(stats["receivedLastDay"], 2);
  EXPECT_EQ(stats["rates"], (json{{"auto_approve_rate", 0.5}, {"rejection_rate", 0.0}, {"needs_review_rate", 0.5}}));
  ASSERT_EQ(stats["sla"].size(), 5u);
  EXPECT_EQ(stats["sla"][0]["name"], "Tier 1 scan");
  EXPECT_EQ(stats["sla"][0]["target"], "500ms");
  EXPECT_EQ(stats["sla"][0]["p95"], "1s");
  EXPECT_EQ(stats["sla"][0]["count"], 2);
  EXPECT_EQ(stats["sla"][3]["count"], 1) << "what people decide is left out of the end-to-end time";
  EXPECT_EQ(stats["sla"][4]["now"]["open"], 1);
  EXPECT_EQ(metric(client(), "submissions_received_total{pipeline=\"verification\"}"), 2);
  EXPECT_EQ(metric(client(), "tier1_scan_duration_ms_count{pipeline=\"verification\"}"), 2);
  EXPECT_EQ(metric(client(), "tier2_scan_duration_ms_count{pipeline=\"verification\"}"), 2);
}

}  // namespace
}  // namespace waybill::testing
