// One reading of every byte, from the door to the mail: NULs, doubled names, numbers, media types, control characters.
#include <gtest/gtest.h>

#include "support/bad_plugins.h"
#include "support/forms_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using namespace std::string_literals;

// What a reader with doubles or 64 bits would change.
const std::string kNumbers = R"({"a":100.00,"b":1.10,"c":18446744073709551616,"d":1e-05,"e":[-0,1E5,0.10],"f":1.5,"g":7})";

const std::vector<std::string> kPaths{"/v1/intents",
                                      "/v1/intents:batch",
                                      "/v1/submissions",
                                      "/v1/dead/1/replay",
                                      "/v1/dead/1/clone",
                                      "/v1/dead/replay",
                                      "/v1/admin/reload",
                                      "/orgs",
                                      "/orgs/other/disable",
                                      "/orgs/other/enable",
                                      "/orgs/default/channels",
                                      "/orgs/default/alert-rules",
                                      "/forms",
                                      "/v1/submissions/a/finalize",
                                      "/v1/submissions/a/transitions",
                                      "/v1/attachments/a/scan-result",
                                      "/v1/pipelines/a/submissions"};

class StrictReading : public World {
 protected:
  StrictReading() {
    setup.forms["contact.yaml"] = form("contact", "good", gateway.url() + "/inbox");
    setup.retry = "{kind: fixed, delay: 10ms}";
    write_file(keys_.path() / "master", "a master key of a test, in 48 bytes of plain text");
    setup.more = "secrets: {master: {file: \"" + (keys_.path() / "master").string() +
                 "\"}}\nnotify: {key: master}\ntimeouts: {cooldown: 0ms, outage: 0ms, poll: 20ms}\ndead: {replay_rate: 100}\n";
    gateway.by_default(Reply::http_error(503));
  }
  static std::string form(const std::string& id, const std::string& type, const std::string& destination) {
    return "form_id: " + id + "\nname: A form\nactions:\n  - action_order: 1\n    action_type: " + type +
           "\n    destination: \"" + destination + "\"\n";
  }
  void SetUp() override { installation().add_plugin(bad_plugin("good")); }

  HttpResponse post(const std::string& path, const std::string& body, const HttpClient::Fields& fields = {}) {
    return client().request("POST", path, body, fields);
  }
  static std::string submission(const std::string& id, const std::string& fields) {
    return R"({"submissionId":")" + id + R"(","formId":"contact","fields":)" + fields + R"(,"finalize":true})";
  }
  std::string letter_of(const std::string& id) {
    EXPECT_TRUE(eventually([&] { return client().get("/v1/submissions/" + id).json().at("status") == "failed"; }));
    return client().get("/v1/dead?reference=" + id).json().at("deadLetters").at(0).at("id");
  }
  std::int64_t submissions() { return sql().number("SELECT count(*) FROM waybill.submissions"); }

 private:
  TempFolder keys_;
};

// S4
TEST_F(StrictReading, ANulIsRefusedByEveryRouteThatReadsABody) {
  for (const auto& path : kPaths)
    for (const auto& body : {"{}\0"s, "{}\0{\"x\":1}"s, "\0{}"s, "{\0}"s, "\0"s}) {
      const auto answer = post(path, body);
      EXPECT_EQ(answer.status, 400) << path;
      EXPECT_NE(answer.error_message().find("NUL"), std::string::npos) << path << ": " << answer.body;
    }
  const auto intent = sms_intent("nul", "sms.once").dump();
  EXPECT_EQ(post("/v1/intents", intent + "\0 and what no reader saw"s).status, 400);
  EXPECT_EQ(post("/v1/intents:batch", intent + "\n" + sms_intent("b", "sms.once").dump() + "\0"s).status, 400);
  EXPECT_EQ(submissions(), 0);
}

// S4
TEST_F(StrictReading, ABatchWithOneMalformedItemIsRefusedWhole) {
  const auto good = sms_intent("good", "sms.once").dump(), other = sms_intent("other", "sms.once").dump();
  const std::vector<std::string> malformed{R"({"intentId":"a")",
                                           R"({"colour":1,"intentId":)",
                                           R"({"intentId":"a","intentId":"b",})",
                                           R"([1,2)",
                                           R"([[[}]]])",
                                           "nul",
                                           R"({"intentId":1e999})",
                                           "\"\\x\"",
                                           "{\"intentId\":\"\xff\"}",
                                           R"({"payload":[1,],"x":1})"};
  for (const auto& bad : malformed)
    for (const auto& body : {"[" + good + "," + bad + "," + other + "]", "[" + bad + "," + good + "]",
                             good + "\n" + bad + "\n" + other, good + "\n" + bad}) {
      const auto answer = post("/v1/intents:batch", body);
      EXPECT_EQ(answer.status, 400) << body << ": " << answer.body;
    }
  EXPECT_EQ(submissions(), 0) << "nothing of any of them";
  const auto mixed = post("/v1/intents:batch", "[" + good + R"(,{"colour":1},7,{"intentId":"x","intentId":"y"}])").json();
  std::vector<int> statuses;
  for (const auto& one : mixed.at("results")) statuses.push_back(one.at("status"));
  EXPECT_EQ(statuses, (std::vector<int>{200, 400, 400, 400})) << "JSON that is no intent is that item's own fault";
}

// S4
TEST_F(StrictReading, NamesStandOnceWhereWaybillReads) {
  const std::vector<std::pair<std::string, std::string>> doubled{
      {"/v1/intents", R"({"intentId":"a","intentId":"a","submissionTarget":"sms.once"})"},
      {"/v1/submissions", submission("d", R"({"name":"x","name":"y"})")},
      {"/v1/submissions", submission("d", R"({"a":[{"b":{"c":1,"\u0063":2}}]})")},
      {"/v1/submissions",
       R"({"submissionId":"d","formId":"contact","fields":{},"attachments":[{"attachmentId":"a","attachmentId":"b",
         "name":"n","contentType":"t","size":1,"objectUri":"gs://bucket/o"}]})"},
      {"/v1/pipelines/p/submissions", R"({"submissionId":"d","payload":{"a":{"b":1,"b":1}}})"},
      {"/v1/pipelines/p/submissions", R"({"submissionId":"d","payload":{},"metadata":{"a":1,"a":1}})"},
      {"/forms", R"({"answers":[{"a":1,"a":1}]})"}};
  for (const auto& [path, body] : doubled) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 400) << body << ": " << answer.body;
    EXPECT_NE(answer.error_message().find("twice"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(submissions(), 0);
  gateway.by_default(Reply::accept());
  const std::string payload = R"({"a":1, "a":2,"n":1.10})";  // the client's own bytes
  EXPECT_EQ(
      post("/v1/intents?waitSeconds=30", R"({"intentId":"own","submissionTarget":"hook.once","payload":)" + payload + "}").status,
      200);
  EXPECT_EQ(gateway.received().back().body, payload);
}

// S4
TEST_F(StrictReading, FinalizeTakesNoBodyOrAnEmptyObject) {
  for (const std::string id : {"f-1", "f-2"})
    ASSERT_EQ(post("/v1/submissions", R"({"submissionId":")" + id + R"(","formId":"contact","fields":{}})").status, 201);
  for (const auto& body : {R"({"finalize":true})"s, "[]"s, "null"s, "x"s, "{}{}"s})
    EXPECT_EQ(post("/v1/submissions/f-1/finalize", body).status, 400) << body;
  EXPECT_EQ(client().get("/v1/submissions/f-1").json().at("finalizedAt"), nullptr);
  EXPECT_EQ(post("/v1/submissions/f-1/finalize", "").status, 202);
  EXPECT_EQ(post("/v1/submissions/f-2/finalize", " {} ").status, 202);
}

// S4
TEST_F(StrictReading, NumbersStayAsTheyWereThroughDeadLettersAndEdits) {
  ASSERT_EQ(post("/v1/submissions", submission("n-1", kNumbers)).status, 201);
  const auto letter = "/v1/dead/" + letter_of("n-1");
  const auto shown = client().get(letter).body;
  EXPECT_NE(shown.find("\"fields\":" + kNumbers), std::string::npos) << shown;

  auto edited = kNumbers;  // as somebody does who mends one field of what was read
  edited.replace(edited.find("\"g\":7"), 5, "\"g\":8");
  const auto patched = client().request("PATCH", letter, R"({"fields":)" + edited + "}");
  ASSERT_EQ(patched.status, 200) << patched.body;
  for (const auto& body : {patched.body, client().get(letter).body}) {
    EXPECT_NE(body.find("\"fields\":" + edited), std::string::npos) << body;
    EXPECT_NE(body.find("\"before\":" + kNumbers), std::string::npos) << body;
    EXPECT_NE(body.find("\"after\":" + edited), std::string::npos) << body;
  }
  const auto told = installation().command({"dead", "show", letter.substr(9)});
  EXPECT_NE(told.out.find(edited), std::string::npos) << told.out;
  gateway.by_default(Reply::accept());
  ASSERT_EQ(post(letter + "/replay", "").status, 200);
  EXPECT_TRUE(eventually([&] { return client().get("/v1/submissions/n-1").json().at("status") == "routed"; }));
  EXPECT_NE(gateway.received().back().body.find(edited), std::string::npos) << gateway.received().back().body;

  const auto cloned = post(letter + "/clone", R"({"submissionId":"n-2"})");
  ASSERT_EQ(cloned.status, 201) << cloned.body;
  EXPECT_TRUE(eventually([&] { return client().get("/v1/submissions/n-2").json().at("status") == "routed"; }));
  EXPECT_NE(gateway.received().back().body.find(edited), std::string::npos);
}

// S4
TEST_F(StrictReading, ANumberOutOfRangeIsCalledThat) {
  for (
      const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
          {"/v1/intents", R"({"intentId":"a","submissionTarget":"sms.once","payload":1e400})"},
          {"/v1/submissions", submission("a", R"({"n":-1e999})")},
          {"/v1/submissions",
           R"({"submissionId":"a","formId":"contact","fields":{},"attachments":[{"attachmentId":"a","name":"n","contentType":"t","size":18446744073709551616,"objectUri":"gs://bucket/o"}]})"},
          {"/v1/submissions",
           R"({"submissionId":"a","formId":"contact","fields":{},"attachments":[{"attachmentId":"a","name":"n","contentType":"t","size":9007199254740993,"objectUri":"gs://bucket/o"}]})"}}) {
    const auto answer = post(path, body);
    EXPECT_EQ(answer.status, 400) << body;
    EXPECT_NE(answer.error_message().find("out of range"), std::string::npos) << answer.body;
  }
}

// S4: also what curl sends without being told
TEST_F(StrictReading, ABodyMustBeWhatTheRouteReads) {
  const auto body = sms_intent("typed", "sms.once").dump();
  for (const std::string type : {"application/x-www-form-urlencoded", "text/plain", "application/xml", "application/x-ndjson"}) {
    const auto answer = post("/v1/intents", body, {{"Content-Type", type}});
    EXPECT_EQ(answer.status, 415) << type;
    EXPECT_EQ(answer.error_code(), "unsupported_media_type");
    EXPECT_NE(answer.error_message().find("application/json"), std::string::npos) << answer.body;
  }
  EXPECT_EQ(post("/v1/intents", body, {{"Content-Encoding", "gzip"}}).status, 415);
  EXPECT_EQ(post("/v1/intents", body, {{"Content-Encoding", "identity"}, {"Content-Encoding", "br"}}).status, 415);
  EXPECT_EQ(post("/ui/history", "intentId=a").status, 415) << "the console reads forms";
  EXPECT_EQ(submissions(), 0);
  EXPECT_EQ(
      post("/v1/intents", body, {{"Content-Type", "Application/JSON; charset=utf-8"}, {"Content-Encoding", "identity"}}).status,
      200);
  EXPECT_EQ(post("/v1/intents:batch", body + "\n", {{"Content-Type", "application/x-ndjson"}}).status, 200);
  const auto untyped = client().exchange("POST /v1/intents HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: " +
                                         std::to_string(body.size()) + "\r\n\r\n" + body);
  ASSERT_TRUE(untyped);
  EXPECT_EQ(untyped->status, 200) << untyped->body;
}

// S6
TEST_F(StrictReading, C1ControlsAreRefusedInIdsAndNames) {
  for (const std::string control : {"\\u0080", "\\u0085", "\\u009b", "\xc2\x80", "\xc2\x9f", "\\u007f", "\\u001b"}) {
    const std::vector<std::pair<std::string, std::string>> bodies{
        {"/v1/intents", R"({"intentId":"a)" + control + R"(","submissionTarget":"sms.once"})"},
        {"/v1/intents", R"({"intentId":"a","submissionTarget":"sms.)" + control + R"("})"},
        {"/v1/submissions", R"({"submissionId":"a)" + control + R"(","formId":"contact","fields":{}})"},
        {"/v1/submissions", R"({"submissionId":"a","formId":"contact)" + control + R"(","fields":{}})"},
        {"/v1/submissions", R"({"submissionId":"a","formId":"contact","fields":{},"attachments":[{"attachmentId":"a)" + control +
                                R"(","name":"n","contentType":"t","size":1,"objectUri":"gs://bucket/o"}]})"},
        {"/v1/submissions", R"({"submissionId":"a","formId":"contact","fields":{},"attachments":[{"attachmentId":"a","name":"n",)"
                            R"("contentType":"t","size":1,"objectUri":"gs://bucket/o)" +
                                control + R"("}]})"},
        {"/orgs", R"({"name":"a)" + control + R"("})"},
        {"/orgs/default/alert-rules", R"({"name":"a)" + control + R"("})"},
        {"/orgs/default/channels", R"({"name":"a)" + control + R"(","type":"webhook","config":{"url":"https://example.org/"}})"},
        {"/v1/dead/1/clone", R"({"submissionId":"a)" + control + R"("})"}};
    for (const auto& [path, body] : bodies) EXPECT_EQ(post(path, body).status, 400) << path << " " << body;
  }
  EXPECT_EQ(submissions(), 0);
  EXPECT_EQ(post("/v1/intents", R"({"intentId":"a\u00a0Zoë","submissionTarget":"hook.once"})").status, 200) << "no control";
}

// S10
TEST_F(StrictReading, ThePageOfTheConsoleMayDoNothingAndBeFramedByNobody) {
  EXPECT_EQ(post("/v1/intents", sms_intent("page", "sms.once").dump()).status, 200);
  for (const auto* id : {"page", "nobody", ""}) {
    const auto page = post("/ui/history", "intentId="s + id, {{"Content-Type", "application/x-www-form-urlencoded"}});
    EXPECT_EQ(page.header("Content-Security-Policy").value_or(""),
              "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'");
    for (const auto* inlined : {"<script", "<style", " style=", " on", "javascript:", "<link", "<img"})
      EXPECT_EQ(page.body.find(inlined), std::string::npos) << inlined << " in " << page.body;
  }
}

class ExactMail : public FormsWorld {};

// S4
TEST_F(ExactMail, NumbersReachAMailAsTheyWereWritten) {
  setup.templates["hello.txt"] = "{{fields.sum}} {{fields.rate}} {{fields.id}} {{fields.tiny}} {{fields.list}} {{fields.plain}}|";
  const auto body =
      R"({"submissionId":"m-1","formId":"three","fields":{"name":"x","sum":100.00,"rate":1.10,"id":18446744073709551616,"tiny":1e-05,"list":[-7,2.5],"plain":7},"finalize":true})";
  ASSERT_EQ(client().request("POST", "/v1/submissions", body).status, 201);
  wait_for_form("m-1");
  const auto mails = mail.received();
  ASSERT_FALSE(mails.empty());
  const auto text = "100.00 1.10 18446744073709551616 1e-05 [-7,2.5] 7|"s;
  EXPECT_TRUE(std::any_of(mails.begin(), mails.end(), [&](const auto& one) { return one.data.find(text) != std::string::npos; }));
}

}  // namespace
}  // namespace waybill::testing
