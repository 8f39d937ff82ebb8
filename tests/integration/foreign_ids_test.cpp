// Every route, asked by each role of one organisation about what another one has: the answer is the one about what nobody has.
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <regex>
#include <set>

#include "support/bad_plugins.h"
#include "support/temp_folder.h"
#include "support/world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Values = std::map<std::string, std::string>;  // kind of name or id -> value

constexpr auto kMarker = "only-beta-has-this";

// One request that names things: `names` says for each parameter of docs/openapi.yaml which kind of value it is, "" for one
// that names nothing of an organisation, =word for a word that all have in common. In the body, $kind stands for a value, and $n
// for a number that was not there before.
struct Question {
  std::string operation;
  std::map<std::string, std::string> names;
  std::string body;
};

const std::map<std::string, std::string> kOrg{{"org", "org"}}, kChannel{{"org", "org"}, {"channel", "channel"}},
    kRule{{"org", "org"}, {"rule", "rule"}}, kBinding{{"org", "org"}, {"rule", "rule"}, {"channel", "channel"}},
    kDelivery{{"org", "org"}, {"delivery", "delivery"}}, kLetter{{"id", "letter"}}, kTarget{{"target", "=sms.once"}};
constexpr auto kSms = R"({"intentId":"$sent","submissionTarget":"sms.patient","payload":{"to":"+4915112345678","message":"x"}})";

const std::vector<Question>& questions() {
  static const std::vector<Question> kAll{
      {"POST /v1/intents", {{"waitSeconds", ""}}, kSms},
      {"POST /v1/intents:batch", {}, std::string("[") + kSms + "]"},
      {"GET /v1/intents/{id}", {{"id", "intent"}}, ""},
      {"GET /v1/intents/{id}/history", {{"id", "intent"}}, ""},
      {"POST /v1/submissions", {}, R"({"submissionId":"$posted","formId":"form-alfa","fields":{}})"},
      {"POST /v1/submissions",
       {},
       R"({"submissionId":"fresh-$n","formId":"form-alfa","fields":{},"attachments":[{"attachmentId":"$posted_file",
           "name":"a.pdf","contentType":"application/pdf","size":1,"objectUri":"gs://bucket/a"}]})"},
      {"GET /v1/submissions/{id}", {{"id", "submission"}}, ""},
      {"GET /v1/submissions/{id}", {{"id", "open"}}, ""},
      {"POST /v1/submissions/{id}/finalize", {{"id", "open"}}, ""},
      {"POST /v1/attachments/{id}/scan-result", {{"id", "file"}}, R"({"clamavStatus":"infected"})"},
      {"GET /v1/intents",
       {{"target", "=sms.once"}, {"cursor", "intent_cursor"}, {"status", ""}, {"since", ""}, {"until", ""}, {"limit", ""}},
       ""},
      {"GET /v1/submissions",
       {{"pipeline", "=approval"}, {"state", ""}, {"reference", "reference"}, {"cursor", "walk_cursor"}, {"limit", ""}},
       ""},
      {"GET /v1/submissions",
       {{"formId", "form"}, {"cursor", "walk_cursor"}, {"status", ""}, {"since", ""}, {"until", ""}, {"limit", ""}},
       ""},
      {"GET /v1/submissions/{id}", {{"id", "walk"}}, ""},
      {"POST /v1/pipelines/{name}/submissions", {{"name", "=approval"}}, R"({"submissionId":"$begun","payload":{}})"},
      {"POST /v1/submissions/{id}/transitions", {{"id", "walk"}}, R"({"to":"DONE","trigger":"approve"})"},
      {"POST /v1/submissions/{id}/repair", {{"id", "walk"}}, R"({"do":"rerun","dryRun":true})"},
      {"POST /v1/pipelines/{name}/repair", {{"name", "=approval"}}, R"({"do":"end","reference":"$reference"})"},
      {"POST /forms", {}, R"({"submissionId":"$posted","answers":{}})"},
      {"GET /v1/stats", {}, ""},
      {"GET /v1/dead",
       {{"reference", "submission"},
        {"formId", "form"},
        {"reason", "reason"},
        {"id", "letter"},
        {"cursor", "letter_cursor"},
        {"before", ""},
        {"after", ""},
        {"replayed", ""},
        {"limit", ""}},
       ""},
      {"GET /v1/dead/{id}", kLetter, ""},
      {"PATCH /v1/dead/{id}", kLetter, R"({"fields":{"name":"Eve"}})"},
      {"POST /v1/dead/{id}/replay", kLetter, ""},
      {"POST /v1/dead/{id}/replay", kLetter, R"({"dryRun":true})"},
      {"POST /v1/dead/{id}/clone", kLetter, R"({"submissionId":"$cloned"})"},
      {"POST /v1/dead/replay", {}, R"({"reference":"$submission"})"},
      {"POST /v1/dead/replay", {}, R"({"formId":"$form"})"},
      {"POST /v1/dead/replay", {}, R"({"reason":"$reason","dryRun":true})"},
      {"GET /v1/proofs/{id}", {{"id", "intent"}, {"kind", ""}}, ""},
      {"GET /v1/proofs/{id}", {{"id", "walk"}, {"kind", ""}}, ""},
      {"GET /v1/queue", {{"org", "org"}, {"target", "=sms.once"}, {"actionType", ""}}, ""},
      {"GET /v1/waiting",
       {{"org", "org"}, {"target", "=sms.once"}, {"kind", ""}, {"olderThanSeconds", ""}, {"limit", ""}, {"cursor", ""}},
       ""},
      {"POST /v1/waiting:end", {}, R"({"target":"sms.once","reason":"r","org":"$org"})"},
      {"POST /v1/waiting:reroute", {}, R"({"target":"sms.once","to":"sms.patient","org":"$org"})"},
      {"GET /v1/rates", {}, ""},
      {"POST /v1/targets/{target}/rate", kTarget, R"({"rate":"5/s","org":"$org"})"},
      {"POST /v1/targets/{target}/clear-rate", kTarget, R"({"org":"$org"})"},
      {"GET /v1/targets", {{"limit", ""}, {"cursor", ""}}, ""},
      {"POST /v1/targets/{target}/pause", kTarget, R"({"reason":"r","org":"$org"})"},
      {"POST /v1/targets/{target}/resume", kTarget, R"({"org":"$org"})"},
      {"GET /v1/failures",
       {{"reference", "submission"},
        {"formId", "form"},
        {"target", ""},
        {"kind", ""},
        {"pipeline", ""},
        {"channel", ""},
        {"reason", ""},
        {"status", ""},
        {"since", ""},
        {"until", ""},
        {"limit", ""},
        {"cursor", ""}},
       ""},
      {"POST /v1/failures:resend", {}, R"({"reference":"$submission"})"},
      {"POST /v1/failures:resend", {}, R"({"ids":["$letter"]})"},
      {"POST /v1/failures:resend", {}, R"({"formId":"$form","dryRun":true})"},
      {"GET /v1/hosts", {}, ""},
      {"POST /v1/hosts/{host}/drain", {{"host", "=nowhere"}}, R"({"reason":"r"})"},
      {"POST /v1/hosts/{host}/resume", {{"host", "=nowhere"}}, ""},
      {"GET /v1/registry/versions", {{"limit", ""}, {"cursor", ""}}, ""},
      {"GET /v1/registry/versions/{version}", {{"version", "=1"}}, ""},
      {"GET /orgs/{org}/channels", {{"org", "org"}, {"after", "channel_name"}}, ""},
      {"POST /orgs/{org}/channels", kOrg, R"({"name":"$second","type":"webhook","config":{"url":"http://127.0.0.1:9/"}})"},
      {"GET /orgs/{org}/channels/{channel}", kChannel, ""},
      {"PATCH /orgs/{org}/channels/{channel}", kChannel, R"({"name":"$third"})"},
      {"DELETE /orgs/{org}/channels/{channel}", kChannel, ""},
      {"POST /orgs/{org}/channels/{channel}/rotate-secret", kChannel, ""},
      {"POST /orgs/{org}/channels/{channel}/clear-secondary", kChannel, ""},
      {"POST /orgs/{org}/channels/{channel}/test", kChannel, ""},
      {"POST /orgs/{org}/channels/{channel}/recover", kChannel,
       R"({"since":"2020-01-01T00:00:00Z","until":"2099-01-01T00:00:00Z"})"},
      {"GET /orgs/{org}/alert-rules", {{"org", "org"}, {"cursor", ""}}, ""},
      {"POST /orgs/{org}/alert-rules", kOrg, R"({"name":"$rule_name"})"},
      {"GET /orgs/{org}/alert-rules/{rule}", kRule, ""},
      {"PATCH /orgs/{org}/alert-rules/{rule}", kRule, R"({"name":"$rule_name","status":"active"})"},
      {"DELETE /orgs/{org}/alert-rules/{rule}", kRule, ""},
      {"GET /orgs/{org}/alert-rules/{rule}/channels", {{"org", "org"}, {"rule", "rule"}, {"after", "channel_name"}}, ""},
      {"PUT /orgs/{org}/alert-rules/{rule}/channels/{channel}", kBinding, ""},
      {"DELETE /orgs/{org}/alert-rules/{rule}/channels/{channel}", kBinding, ""},
      {"POST /orgs/{org}/alert-rules/{rule}/events", kRule, R"({"eventId":"$event","snapshot":1})"},
      {"GET /orgs/{org}/deliveries",
       {{"org", "org"},
        {"rule_id", "rule"},
        {"channel_id", "channel"},
        {"cursor", "delivery_cursor"},
        {"status", ""},
        {"limit", ""}},
       ""},
      {"GET /orgs/{org}/deliveries/{delivery}", kDelivery, ""},
      {"GET /orgs/{org}/deliveries/{delivery}/explain", kDelivery, ""},
      {"POST /orgs/{org}/deliveries/{delivery}/replay", kDelivery, ""},
      {"POST /v1/admin/reload", {}, ""},
      {"POST /orgs", {}, R"({"name":"$org"})"},
      {"GET /orgs", {{"cursor", "org"}, {"limit", ""}}, ""},
      {"GET /orgs/{org}", kOrg, ""},
      {"PATCH /orgs/{org}", kOrg, R"({"weight":2})"},
      {"POST /orgs/{org}/disable", kOrg, ""},
      {"POST /orgs/{org}/enable", kOrg, ""},
      {"POST /ui/history", {}, "intentId=$intent"},
      {"GET /healthz", {}, ""},
      {"GET /v1/openapi.yaml", {}, ""},
      {"GET /readyz", {}, ""},
      {"GET /metrics", {}, ""}};
  return kAll;
}

void replace_all(std::string& text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// What an operation of docs/openapi.yaml is: its least role, and where each of its parameters stands.
struct Operation {
  std::string role;
  std::map<std::string, std::string> places;  // parameter -> path, query or header
};

std::map<std::string, Operation> described() {
  const auto page = YAML::LoadFile(WAYBILL_SOURCE_FOLDER "/docs/openapi.yaml");
  const auto add = [&](Operation& operation, const YAML::Node& parameters) {
    for (YAML::Node one : parameters) {
      if (one["$ref"]) {
        const auto name = one["$ref"].as<std::string>();
        one = page["components"]["parameters"][name.substr(name.rfind('/') + 1)];
      }
      operation.places[one["name"].as<std::string>()] = one["in"].as<std::string>();
    }
  };
  std::map<std::string, Operation> all;
  for (const auto& path : page["paths"])
    for (const auto& entry : path.second) {
      auto method = entry.first.as<std::string>();
      if (method == "parameters") continue;
      std::transform(method.begin(), method.end(), method.begin(), [](unsigned char c) { return std::toupper(c); });
      auto& operation = all[method + " " + path.first.as<std::string>()];
      operation.role = entry.second["x-role"].as<std::string>();
      add(operation, path.second["parameters"]);
      add(operation, entry.second["parameters"]);
    }
  return all;
}

// Three organisations that have some of everything: alfa asks, beta is asked about, and so does the operator's own (dflt).
class ForeignIds : public World {
 protected:
  ForeignIds() {
    setup.auth = "tokens";
    for (const std::string tag : {"alfa", "beta", "dflt"})
      setup.forms["form-" + tag + ".yaml"] = "form_id: form-" + tag +
                                             "\nname: A form\nactions:\n  - action_order: 1\n    action_type: good\n"
                                             "    destination: \"" +
                                             gateway.url() + "/inbox\"\n";
    setup.pipelines["approval.json"] =
        R"({"pipeline":"approval","path":"/forms","initial":"ASKED","states":{"ASKED":{},"DONE":{"terminal":true}},
            "transitions":[{"from":"ASKED","to":"DONE","trigger":"approve","actor":"admin","role":"member"}]})";
    setup.retry = "{kind: fixed, delay: 10ms}";
    write_file(keys_.path() / "master", "a master key, of more than 32 bytes.");
    setup.more = "secrets: { master: { file: \"" + (keys_.path() / "master").string() +
                 "\" } }\nnotify: { key: master, debounce: 10m, attempts: 1, disable_after: 30d }\n"
                 "egress: { allow: [\"127.0.0.1/32\"] }\ntimeouts: { cooldown: 0ms, outage: 0ms, poll: 20ms }\n";
  }
  void SetUp() override {
    installation().add_plugin(bad_plugin("good"));
    sql().execute("SELECT setval('waybill.object_ids', 1000000)");  // ids of one length
    host();
    for (const char* org : {"alfa", "beta"}) ASSERT_EQ(installation().command({"org", "create", org}).exit_code, 0);
    for (const char* tag : {"alfa", "beta", "dflt"}) fill(tag);
    values_["nobody"] = nobodys();
    gateway.by_default(Reply::accept_when_released());  // nothing ends from here on
  }

  static std::string org_of(const std::string& tag) { return tag == "dflt" ? "default" : tag; }
  HttpClient as(const std::string& tag, const std::string& role) {
    auto& token = tokens_[tag + "-" + role];
    if (token.empty()) {
      const auto made =
          installation().command({"token", "create", "--org", org_of(tag), "--role", role, tag + "-" + role, "--json"});
      EXPECT_EQ(made.exit_code, 0) << made.err;
      token = json::parse(made.out).at("token");
    }
    HttpClient one(host().port());
    one.authorize(token);
    return one;
  }

  static json answered(HttpClient& who, int status, const std::string& method, const std::string& path, const json& body = {}) {
    const auto response = who.request(method, path, body.is_null() ? "" : body.dump());
    EXPECT_EQ(response.status, status) << method << " " << path << ": " << response.body;
    return response.body.empty() ? json() : response.json();
  }

  // Gives an organisation some of everything that can be named, all of it at rest.
  void fill(const std::string& tag) {
    auto& mine = values_[tag];
    for (const char* kind : {"intent", "sent", "submission", "posted", "posted_file", "open", "file", "cloned", "form",
                             "channel_name", "second", "third", "rule_name", "event", "walk", "begun", "reference"})
      mine[kind] = std::string(kind) + "-" + tag;
    mine["org"] = org_of(tag);
    auto owner = as(tag, "owner");
    const std::string here = "/orgs/" + org_of(tag);
    gateway.by_default(Reply::accept());
    for (const char* kind : {"intent", "sent"}) post_intent(owner, sms_intent(mine[kind], "sms.once"), 30);
    const auto form = [&](const std::string& id, const std::string& file) {
      json body{{"submissionId", id}, {"formId", mine["form"]}, {"fields", {{"name", kMarker}}}, {"attachments", json::array()}};
      if (!file.empty())
        body["attachments"].push_back({{"attachmentId", file},
                                       {"name", "a.pdf"},
                                       {"contentType", "application/pdf"},
                                       {"size", 1},
                                       {"objectUri", "gs://bucket/object"}});
      answered(owner, 201, "POST", "/v1/submissions", body);
    };
    form(mine["open"], mine["file"]);
    form(mine["posted"], mine["posted_file"]);
    form(mine["cloned"], "");
    gateway.by_default(Reply::http_error(503));
    for (const std::string& id : {mine["submission"], "another-" + tag}) {
      form(id, "");
      answered(owner, 202, "POST", "/v1/submissions/" + id + "/finalize");
    }
    ASSERT_TRUE(eventually([&] { return answered(owner, 200, "GET", "/v1/dead")["deadLetters"].size() == 2; }));
    mine["letter"] = answered(owner, 200, "GET", "/v1/dead?reference=" + mine["submission"])["deadLetters"][0]["id"];
    mine["reason"] = "reason-" + tag;
    sql().execute("UPDATE waybill.dead_letters SET reason = '" + mine["reason"] + "' WHERE id = " + number_of(mine["letter"]));

    for (const std::string& id : {mine["begun"], mine["walk"], mine["walk"] + "-2"})
      answered(owner, 201, "POST", "/v1/pipelines/approval/submissions",
               {{"submissionId", id}, {"payload", kMarker}, {"metadata", {{"reference", mine["reference"]}}}});
    mine["walk_cursor"] = word(answered(owner, 200, "GET", "/v1/submissions?limit=1"), "next");
    mine["intent_cursor"] = word(answered(owner, 200, "GET", "/v1/intents?limit=1"), "next");

    for (const char* kind : {"channel_name", "second", "third"}) {
      const json body{{"name", mine[kind]},
                      {"type", "webhook"},
                      {"config", {{"url", gateway.url() + "/" + (tag == "beta" ? kMarker : "hook")}}}};
      const auto made = answered(owner, 201, "POST", here + "/channels", body);
      if (kind == std::string("channel_name")) mine["channel"] = made["id"];
    }
    answered(owner, 200, "POST", here + "/channels/" + mine["channel"] + "/rotate-secret");
    mine["rule"] = answered(owner, 201, "POST", here + "/alert-rules", {{"name", mine["rule_name"]}})["id"];
    const std::string rule = here + "/alert-rules/" + mine["rule"];
    owner.request("PUT", rule + "/channels/" + mine["channel"]);
    answered(owner, 202, "POST", rule + "/events", {{"eventId", mine["event"]}, {"snapshot", kMarker}});
    sql().execute("UPDATE waybill.ready SET due_at = now() WHERE status = 'open'");
    ASSERT_TRUE(eventually([&] { return answered(owner, 200, "GET", here + "/deliveries?status=failed")["items"].size() == 1; }));
    mine["delivery"] = answered(owner, 200, "GET", here + "/deliveries")["items"][0]["id"];
    answered(owner, 202, "POST", rule + "/events", {{"eventId", mine["event"] + "-2"}, {"snapshot", kMarker}});
    mine["delivery_cursor"] = word(answered(owner, 200, "GET", here + "/deliveries?limit=1"), "next");
    mine["letter_cursor"] = word(answered(owner, 200, "GET", "/v1/dead?limit=1"), "next");
  }

  // As beta's, but of no one. Sorted by name, nothing is between the two.
  Values nobodys() {
    Values nobody;
    for (const auto& [kind, value] : values_["beta"]) {
      nobody[kind] = value;
      replace_all(nobody[kind], "beta", "bera");
    }
    const auto ids = public_ids();
    const auto later = [&](const std::string& id, std::int64_t by) { return ids.text(ids.read(id).value() + 1024 * by); };
    for (const char* kind : {"letter", "delivery"}) nobody[kind] = later(nobody[kind], 100'000);
    for (const char* kind : {"letter_cursor", "delivery_cursor"}) {
      const auto dot = nobody[kind].find('.');
      nobody[kind] = nobody[kind].substr(0, dot + 1) + later(nobody[kind].substr(dot + 1), 100'000);
    }
    for (const char* kind : {"walk_cursor", "intent_cursor"}) {  // alfa has nothing between the two
      const auto dot = nobody[kind].find('.');
      nobody[kind] = nobody[kind].substr(0, dot + 1) + later(nobody[kind].substr(dot + 1), 1);
    }
    for (const char* kind : {"channel", "rule"}) nobody[kind] = "00000000-0000-4000-8000-000000000000";
    for (const auto& [kind, value] : nobody) {
      EXPECT_NE(value, values_["beta"][kind]) << kind;
      EXPECT_EQ(value.size(), values_["beta"][kind].size()) << kind;
    }
    return nobody;
  }

  // The answer with what the request named taken out, and with what is new in every answer.
  std::string told(HttpClient& who, const Question& question, const Operation& operation, Values said,
                   const std::string& method = "") {
    char number[8];
    std::snprintf(number, sizeof number, "%05d", ++asked_);
    said["n"] = number;
    std::string path = question.operation.substr(question.operation.find(' ') + 1), query, body = question.body;
    for (const auto& [parameter, kind] : question.names) {
      if (kind.starts_with('=')) said[kind] = kind.substr(1);
      if (kind.empty() || !said.contains(kind)) continue;
      if (operation.places.at(parameter) == "path")
        replace_all(path, "{" + parameter + "}", said[kind]);
      else
        query += (query.empty() ? "?" : "&") + parameter + "=" + said[kind];
    }
    std::vector<std::pair<std::string, std::string>> longest_first(said.begin(), said.end());
    std::sort(longest_first.begin(), longest_first.end(),
              [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
    for (const auto& [kind, value] : longest_first) replace_all(body, "$" + kind, value);
    const bool is_form = question.operation.ends_with("/ui/history");
    const auto response =
        who.request(method.empty() ? question.operation.substr(0, question.operation.find(' ')) : method, path + query, body,
                    {{"Content-Type", is_form ? "application/x-www-form-urlencoded" : "application/json"}});
    status_ = response.status;
    EXPECT_EQ(response.body.find(kMarker), std::string::npos) << question.operation << ": " << response.body;
    std::string text = response.head + response.body;
    static const std::regex kDate("Date: [^\r]*"), kTime(R"(\d{4}-\d\d-\d\dT[\d:.]+Z)"),
        kUuid("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), kSecret("whsec_[A-Za-z0-9+/=]+"),
        kWalked(R"("next":"0\.d_[0-9a-f]+")");  // so far below the cursor that was given
    text = std::regex_replace(std::regex_replace(std::regex_replace(text, kDate, "D"), kTime, "T"), kWalked, "P");
    for (const auto& [kind, value] : said) replace_all(text, value, "*");
    return std::to_string(status_) + " " + std::regex_replace(std::regex_replace(text, kUuid, "U"), kSecret, "S");
  }

  static std::vector<std::string> kinds_of(const Question& question) {
    std::set<std::string> kinds;
    for (const auto& [parameter, kind] : question.names)
      if (!kind.empty() && !kind.starts_with('=')) kinds.insert(kind);
    static const std::regex kNamed(R"(\$([a-z_]+))");
    for (std::sregex_iterator at(question.body.begin(), question.body.end(), kNamed), end; at != end; ++at)
      if ((*at)[1] != "n") kinds.insert((*at)[1]);
    return {kinds.begin(), kinds.end()};
  }

  // Each table's rows of beta, as text. Alerts go on being told to the operator, and a host gives up channels that rest,
  // whoever asks for what.
  std::map<std::string, std::string> betas_rows(SqlClient& client, const char* lock = "") {
    std::map<std::string, std::string> all;
    for (const auto& row :
         client.rows("SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'org_id'"
                     " WHERE c.relnamespace = 'waybill'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
                     " AND c.relname NOT IN ('alerts', 'channel_hosts')")) {
      const std::string& table = *row.at(0);
      auto& text = all[table];
      for (const auto& one : client.rows(
               "SELECT t::text FROM waybill." + table +
               " t WHERE org_id = (SELECT org_id FROM waybill.organisations WHERE name = 'beta') ORDER BY t::text" + lock))
        text += *one.at(0) + "\n";
    }
    return all;
  }

  // Asks everything that names beta's, by every caller, and the same about nobody's.
  void ask_all() {
    const auto operations = described();
    std::size_t pairs = 0;
    for (const auto& [tag, role] : std::vector<std::pair<std::string, std::string>>{
             {"alfa", "member"}, {"alfa", "admin"}, {"alfa", "owner"}, {"dflt", "owner"}}) {
      auto who = as(tag, role);
      for (const auto& question : questions()) {
        const auto& operation = operations.at(question.operation);
        const auto kinds = kinds_of(question);
        for (unsigned chosen = 1; chosen < 1U << kinds.size(); ++chosen, ++pairs) {
          Values foreign, unknown;
          bool in_path = false;
          for (std::size_t i = 0; i < kinds.size(); ++i) {
            const auto& kind = kinds[i];
            const bool is_chosen = (chosen >> i & 1) != 0;
            for (const auto& [parameter, named] : question.names)
              in_path |= is_chosen && named == kind && operation.places.at(parameter) == "path";
            foreign[kind] = values_[is_chosen ? "beta" : tag][kind];
            unknown[kind] = values_[is_chosen ? "nobody" : tag][kind];
          }
          std::string words = question.operation + " by " + tag + "-" + role + " about";
          for (const auto& [kind, value] : foreign) words += " " + kind + "=" + value;
          const auto known = told(who, question, operation, foreign);
          EXPECT_LT(status_, 500) << words << ": " << known;
          if (in_path) {
            EXPECT_TRUE(status_ == 404 || status_ == 403) << words << ": " << known;
          }
          EXPECT_EQ(known, told(who, question, operation, unknown)) << words;
          if (question.operation.starts_with("GET ")) {
            EXPECT_EQ(told(who, question, operation, foreign, "HEAD"), told(who, question, operation, unknown, "HEAD")) << words;
          }
        }
      }
    }
    EXPECT_GT(pairs, 400u);
  }

  std::map<std::string, Values> values_;
  std::map<std::string, std::string> tokens_;
  int status_ = 0;
  int asked_ = 0;

 private:
  TempFolder keys_;
};

// N3 D5: whoever adds a route or a parameter says here what it names.
TEST(ForeignIdsOf, EveryRouteAndParameterOfOpenApi) {
  const auto operations = described();
  std::map<std::string, std::set<std::string>> asked;
  for (const auto& question : questions()) {
    ASSERT_TRUE(operations.contains(question.operation)) << question.operation;
    auto& parameters = asked[question.operation];
    for (const auto& [parameter, kind] : question.names) parameters.insert(parameter);
  }
  for (const auto& [name, operation] : operations) {
    EXPECT_TRUE(asked.contains(name)) << name << " is asked nowhere";
    for (const auto& [parameter, place] : operation.places) {
      if (place == "header") continue;  // names nothing that is stored
      EXPECT_TRUE(asked[name].contains(parameter)) << name << ": " << parameter;
    }
  }
}

// N3: the status and every byte of the answer, and nothing of beta's changes.
TEST_F(ForeignIds, AreAnsweredAsIdsThatNobodyHas) {
  const auto before = betas_rows(sql());
  EXPECT_GE(std::count_if(before.begin(), before.end(), [](const auto& table) { return !table.second.empty(); }), 20);
  ask_all();
  EXPECT_EQ(betas_rows(sql()), before);
}

// N3: nor does the time that an answer takes depend on beta's rows: nobody waits for their locks.
TEST_F(ForeignIds, AreAnsweredWhileTheirRowsAreLocked) {
  SqlClient locks(setup.database_url);
  locks.execute("BEGIN");
  betas_rows(locks, " FOR UPDATE");
  ask_all();
  locks.execute("ROLLBACK");
}

// N3: what is asked about above is there, for those whose it is.
TEST_F(ForeignIds, AreThereForTheirOwnOrganisation) {
  const auto operations = described();
  auto owner = as("beta", "owner");
  for (const auto& question : questions()) {
    const auto& operation = operations.at(question.operation);
    if (!question.operation.starts_with("GET ") || operation.role == "operator") continue;
    std::string path = question.operation.substr(4);
    for (const auto& [parameter, kind] : question.names)
      if (operation.places.at(parameter) == "path" && !kind.starts_with('='))
        replace_all(path, "{" + parameter + "}", values_["beta"][kind]);
    const auto plain = owner.get(path);
    EXPECT_EQ(plain.status, 200) << path << ": " << plain.body;
    for (const auto& [parameter, kind] : question.names) {
      if (kind.empty() || kind.starts_with('=') || operation.places.at(parameter) == "path") continue;
      const auto ours = owner.get(path + "?" + parameter + "=" + values_["beta"][kind]);
      EXPECT_EQ(ours.status, 200) << path << " " << parameter << ": " << ours.body;
      EXPECT_NE(ours.body, owner.get(path + "?" + parameter + "=" + values_["nobody"][kind]).body) << path << " " << parameter;
    }
  }
  const auto before = betas_rows(sql());
  answered(owner, 200, "PATCH", "/orgs/beta/alert-rules/" + values_["beta"]["rule"], {{"status", "draft"}});
  EXPECT_NE(betas_rows(sql()), before);
}

}  // namespace
}  // namespace waybill::testing
