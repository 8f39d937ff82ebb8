// What holds for every normalised gateway: included by the tests of each, which define `kGateway`. M8, M16
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/tests/network_rows.h"

namespace waybill::plugins::testing {

struct GatewayProtocol {
  const char* type;
  const char* path;
  const char* payload;             // the least that is good
  std::vector<wb_reason> reasons;  // what the taxonomy must be
};
extern const GatewayProtocol kGateway;

using Json = nlohmann::json;
using testkit::Answer;

class Gateway : public ::testing::Test {  // M8, M16
 protected:
  static testkit::Job job(std::string payload = kGateway.payload) {
    testkit::Job out;
    out.destination = R"({"url":"http://gateway.test"})";
    out.payload = std::move(payload);
    return out;
  }
  testkit::Outcome answered(Answer answer) {
    host_.answer(std::move(answer));
    return sender_->attempt(job());
  }
  testkit::Outcome answered(std::int32_t status, std::string body) { return answered(Answer::http(status, std::move(body))); }
  void expect_invalid(const testkit::Outcome& o, std::int32_t code, const std::string& detail) {
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "invalid_answer") << o;
    EXPECT_EQ(o.reach, WB_ANSWERED) << o;
    EXPECT_EQ(o.code, code) << o;
    EXPECT_EQ(o.detail, detail);
  }
  void expect_invalid_request(const std::string& payload) {
    const auto o = sender_->attempt(job(payload));
    EXPECT_EQ(o.verdict, WB_REJECTED) << payload.substr(0, 200) << o;
    EXPECT_EQ(o.reason, "invalid_request") << o;
    EXPECT_EQ(o.reach, WB_NOT_SENT) << o;
    EXPECT_EQ(o.code, 0) << o;
    EXPECT_FALSE(o.detail.empty());
    EXPECT_TRUE(host_.requests().empty()) << "without a call";
  }
  // What is sent for a payload that is good.
  Json sent(const std::string& payload) {
    host_.answer(Answer::http(200, R"({"status":"accepted"})"));
    const auto o = sender_->attempt(job(payload));
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << payload << o;
    return Json::parse(host_.requests().back().body);
  }
  testkit::FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<testkit::FakeSender> sender_ = host_.make_sender(kGateway.type);
};

TEST_F(Gateway, APostGoesToTheProtocolsPathAsJson) {
  sent(kGateway.payload);
  ASSERT_EQ(host_.requests().size(), 1U);
  const auto& request = host_.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, std::string("http://gateway.test") + kGateway.path);
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.header("Accept"), "application/json");
}

TEST_F(Gateway, ARetryKeepsTheReference) {
  auto one = job();
  one.idempotency_key = "ref-7";
  for (std::uint32_t attempt = 1; attempt <= 2; ++attempt) {
    one.attempt = attempt;
    host_.answer(Answer::http(503));
    sender_->attempt(one);
    EXPECT_EQ(Json::parse(host_.requests().back().body).at("referenceId"), "ref-7");
  }
  EXPECT_EQ(host_.requests().at(0).body, host_.requests().at(1).body);
}

TEST_F(Gateway, SlashesAtTheEndOfTheUrlAreNotDoubled) {
  for (const auto* base :
       {"http://g.test", "http://g.test/", "http://g.test//", "https://g.test:8443/base", "https://g.test:8443/base/"}) {
    host_.answer(Answer::http(200, R"({"status":"accepted"})"));
    auto one = job();
    one.destination = Json{{"url", base}}.dump();
    sender_->attempt(one);
    std::string expected = base;
    while (expected.back() == '/') expected.pop_back();
    EXPECT_EQ(host_.requests().back().url, expected + kGateway.path);
  }
}

TEST_F(Gateway, EachDestinationIsItsOwnWhateverWasParsedLast) {
  for (const auto* base : {"http://a.test", "http://b.test", "http://b.test", "http://a.test"}) {
    host_.answer(Answer::http(200, R"({"status":"accepted"})"));
    auto one = job();
    one.destination = Json{{"url", base}}.dump();
    sender_->attempt(one);
    EXPECT_EQ(host_.requests().back().url, std::string(base) + kGateway.path);
  }
}

TEST_F(Gateway, ADestinationThatWasNeverCheckedCostsOneAttempt) {  // H5
  for (const auto* bad : {"", "{}", "[]", "x", R"({"url":7})", R"({"url":""})", R"({"url":null})"}) {
    auto one = job();
    one.destination = bad;
    const auto o = sender_->attempt(one);
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "plugin_error") << o;
  }
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(Gateway, AcceptedIsAccepted) {
  const auto o = answered(200, R"({"referenceId":"key-1","status":"accepted","gatewayMessageId":"gw-9"})");
  EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
  EXPECT_EQ(o.reach, WB_ANSWERED);
  EXPECT_EQ(o.scope, WB_THIS_JOB);
  EXPECT_EQ(o.code, 200);
  EXPECT_EQ(o.provider_ref, "gw-9");
  for (const auto status : {201, 202, 299})
    EXPECT_EQ(answered(status, R"({"status":"accepted"})").verdict, WB_ACCEPTED) << status;
}

TEST_F(Gateway, AnOddMessageIdIsLeftOut) {
  for (const auto* id : {"7", "null", "{}", "[\"a\"]"}) {
    const auto o = answered(200, std::string(R"({"status":"accepted","gatewayMessageId":)") + id + "}");
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
    EXPECT_EQ(o.provider_ref, "");
  }
  EXPECT_EQ(answered(200, R"({"status":"accepted","gatewayMessageId":"a\nb"})").provider_ref, "a b");
}

TEST_F(Gateway, EachDeclaredReasonRejects) {
  for (const auto& reason : kGateway.reasons) {
    const std::string name(reason.name.ptr, reason.name.len);
    const auto o = answered(200, Json{{"referenceId", "key-1"}, {"status", "rejected"}, {"reason", name}}.dump());
    EXPECT_EQ(o.verdict, WB_REJECTED) << o;
    EXPECT_EQ(o.reason, name);
    EXPECT_EQ(o.reach, WB_ANSWERED);
    EXPECT_EQ(o.code, 200);
  }
}

TEST_F(Gateway, AnIncompleteAnswerDecidesNothing) {
  const std::pair<std::string, const char*> rows[] = {
      {"", "the answer is empty"},
      {"accepted", "the answer is not JSON"},
      {"{\"status\":\"accepted\"", "the answer is not JSON"},
      {"{\"status\":\"accepted\"} x", "the answer is not JSON"},
      {"{\"status\":\"acc\xffpted\"}", "the answer is not JSON"},
      {"[]", "the answer is not a JSON object"},
      {"\"accepted\"", "the answer is not a JSON object"},
      {"null", "the answer is not a JSON object"},
      {std::string(10'000, '['), "the answer nests deeper than 64 levels"},
      {R"({"status":"accepted","x":")" + std::string(70'000, 'x') + "\"}", "the answer is too long"},
      {"{}", "the answer has no status"},
      {R"({"status":null})", "the answer has no status"},
      {R"({"Status":"accepted"})", "the answer has no status"},
      {R"({"status":1})", "the answer's status is not a string"},
      {R"({"status":true})", "the answer's status is not a string"},
      {R"({"status":""})", "unknown status \"\""},
      {R"({"status":"Accepted"})", "unknown status \"Accepted\""},
      {R"({"status":"queued\nup"})", "unknown status \"queued up\""},
      {R"({"status":"rejected"})", "rejected without a reason"},
      {R"({"status":"rejected","reason":null})", "rejected without a reason"},
      {R"({"status":"rejected","reason":""})", "rejected with an empty reason"},
      {R"({"status":"rejected","reason":3})", "rejected with a reason that is not a string"},
      {R"({"status":"rejected","reason":"bad_mood"})", "rejected with the unknown reason \"bad_mood\""},
      {R"({"status":"accepted","referenceId":"key-2"})", "the answer is about another referenceId: \"key-2\""},
      {R"({"status":"rejected","reason":"invalid_request","referenceId":""})", "the answer is about another referenceId: \"\""},
      {R"({"status":"accepted","referenceId":1})", "the answer's referenceId is not a string"},
  };
  for (const auto& [body, detail] : rows) expect_invalid(answered(200, body), 200, detail);
}

TEST_F(Gateway, ALongWordIsCutBetweenCharacters) {
  std::string word;
  for (int i = 0; i < 300; ++i) word += "\xc3\xa9";
  const auto o = answered(200, Json{{"status", word}}.dump());
  EXPECT_LT(o.detail.size(), 300U);
  EXPECT_NE(o.detail.find("..."), std::string::npos) << o;
}

TEST_F(Gateway, NoOtherStatusThan2xxCountsWhateverItsBodySays) {
  for (const auto status : {100, 199, 300, 301, 304, 307, 400, 404, 408, 409, 410, 422, 425, 429, 500, 502, 503, 504, 599, 999}) {
    for (const auto* body : {"", R"({"status":"accepted"})", R"({"status":"rejected","reason":"invalid_request"})"}) {
      const auto o = answered(status, body);
      expect_invalid(o, status, "status " + std::to_string(status));
      EXPECT_EQ(o.scope, status == 429 || (status >= 502 && status <= 504) ? WB_WHOLE_TARGET : WB_THIS_JOB) << o;  // E14
      EXPECT_EQ(o.retry_after_ms, -1) << o;
    }
  }
}

TEST_F(Gateway, BadCredentialsRestTheWholeTarget) {
  for (const auto status : {401, 403}) {
    const auto o = answered(status, R"({"status":"accepted"})");
    expect_invalid(o, status, "status " + std::to_string(status));
    EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
  }
}

TEST_F(Gateway, RetryAfterIsHonoured) {
  for (const auto status : {429, 503}) {
    auto busy = Answer::http(status);
    busy.retry_after_ms = 17'000;
    const auto o = answered(busy);
    EXPECT_EQ(o.retry_after_ms, 17'000) << o;
    EXPECT_EQ(o.code, status);
  }
}

TEST_F(Gateway, NetworkErrorsAreTransientWithTheHostsReach) { expect_network_errors_are_transient(host_, *sender_, job()); }

TEST_F(Gateway, CancelAbortsTheRequestAndEndsTheCall) { expect_cancel_aborts_and_completes(host_, *sender_, job()); }

TEST_F(Gateway, TheTimeoutIsASetting) { expect_timeout_setting(wb_plugin_v1(), kGateway.type, job()); }

TEST_F(Gateway, TwoSendersDoNotMeet) {
  auto other = host_.make_sender(kGateway.type);
  host_.answer(Answer::silence());
  host_.answer(Answer::http(200, R"({"status":"accepted"})"));
  const auto first = sender_->send(job());
  EXPECT_EQ(other->attempt(job()).verdict, WB_ACCEPTED);
  EXPECT_FALSE(host_.outcome(first));
  sender_->cancel(first);
  host_.run_until_idle();
  EXPECT_TRUE(host_.outcome(first));
}

TEST_F(Gateway, APayloadThatIsNoJsonObjectIsRejectedWithoutACall) {
  const auto good = Json::parse(kGateway.payload);
  for (const auto& payload :
       {std::string(), std::string("x"), std::string("null"), std::string("[]"), std::string("7"), std::string("\"text\""),
        std::string("{"), std::string("{}"), "[" + good.dump() + "]", good.dump() + good.dump(), good.dump() + "\xff",
        std::string("{\"to\":\"\xc3\x28\",\"message\":\"m\",\"token\":\"\xed\xa0\x80\",\"title\":\"x\"}"),
        std::string(R"({"to":"\ud800","message":"m","token":"\ud800","title":"x"})"),
        std::string(R"({"to":"a","message":"m","token":"t","title":"x","n":1e999})"), std::string(1'000'000, '['),
        std::string(1'000'000, '{'), nested(63), nested(100'000)})
    expect_invalid_request(payload);
}

TEST_F(Gateway, NestingWithinTheBoundIsNoProblem) { sent(nested(62)); }

TEST_F(Gateway, BracketsInTextAreNoNesting) {
  auto good = Json::parse(kGateway.payload);
  good["comment"] = std::string(200, '[') + "\\\"" + std::string(200, '{');
  sent(good.dump());
}

TEST_F(Gateway, TenantIdIsPassedOnAndMustBeText) {
  auto payload = Json::parse(kGateway.payload);
  EXPECT_FALSE(sent(payload.dump()).contains("tenantId"));
  payload["tenantId"] = "t1";
  EXPECT_EQ(sent(payload.dump()).at("tenantId"), "t1");
  payload["tenantId"] = nullptr;
  EXPECT_FALSE(sent(payload.dump()).contains("tenantId"));
}

TEST_F(Gateway, ATenantIdOfAnotherTypeIsRejected) {
  auto payload = Json::parse(kGateway.payload);
  for (const auto& bad : {Json(7), Json(true), Json::object(), Json::array({"t"})}) {
    payload["tenantId"] = bad;
    expect_invalid_request(payload.dump());
  }
}

TEST_F(Gateway, ThePayloadCannotChooseTheReferenceNorAddFields) {
  auto payload = Json::parse(kGateway.payload);
  payload["referenceId"] = "mine";
  payload["priority"] = "high";
  const auto body = sent(payload.dump());
  EXPECT_EQ(body.at("referenceId"), "key-1");
  EXPECT_FALSE(body.contains("priority"));
}

TEST_F(Gateway, TheDescriptorDeclaresTheTaxonomy) {  // M13, M17
  const auto* action = host_.action(kGateway.type);
  ASSERT_EQ(action->reason_count, kGateway.reasons.size());
  for (std::size_t i = 0; i < kGateway.reasons.size(); ++i) {
    EXPECT_EQ(std::string(action->reasons[i].name.ptr, action->reasons[i].name.len),
              std::string(kGateway.reasons[i].name.ptr, kGateway.reasons[i].name.len));
    EXPECT_EQ(action->reasons[i].flags, kGateway.reasons[i].flags) << i;
  }
  EXPECT_EQ(action->flags, 0U) << "it does not block";
}

TEST_F(Gateway, TheSchemasAreJsonAndTakeNoFurtherFields) {  // M13
  const auto* action = host_.action(kGateway.type);
  const auto destination = Json::parse(std::string(action->destination_schema.ptr, action->destination_schema.len));
  EXPECT_EQ(destination.at("required"), Json::array({"url"}));
  EXPECT_EQ(destination.at("additionalProperties"), false);
  EXPECT_EQ(destination.at("properties").size(), 1U);
  const auto settings = Json::parse(std::string(action->settings_schema.ptr, action->settings_schema.len));
  EXPECT_EQ(settings.at("additionalProperties"), false);
  EXPECT_TRUE(settings.at("properties").contains("timeout_ms"));
}

TEST_F(Gateway, ADestinationNeedsAUrlWithNothingBehindItsPath) {  // M13
  const auto problems = [&](const std::string& json) { return host_.validate_destination(kGateway.type, json); };
  EXPECT_TRUE(problems(R"({"url":"http://gateway.test:8080/base"})").empty());
  for (const auto* bad : {"{}", R"({"url":null})", R"({"url":7})", R"({"url":""})", R"({"url":"http://g.test/?a=b"})",
                          R"({"url":"http://g.test/#x"})"}) {
    ASSERT_EQ(problems(bad).size(), 1U) << bad;
    EXPECT_EQ(problems(bad)[0].path, "/url") << bad;
  }
  for (const auto& garbage :
       {std::string(), std::string("x"), std::string("[]"), std::string(10'000'000, '{'), std::string(10'000'000, ' ')}) {
    ASSERT_EQ(problems(garbage).size(), 1U);
    EXPECT_EQ(problems(garbage)[0].path, "");
  }
}

}  // namespace waybill::plugins::testing
