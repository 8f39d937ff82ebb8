// The webhook plugin: request, signatures, headers, and every row of its verdict table. N6
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "common/tests/network_rows.h"

namespace waybill::plugins::testing {
namespace {

using Json = nlohmann::json;
using testkit::Answer;

// The vector that Standard Webhooks publish.
constexpr const char* kSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
constexpr const char* kId = "msg_p5jXN8AQM9LWM0D4loKWxJek";
constexpr std::int64_t kTimestamp = 1614265330;
constexpr const char* kBody = R"({"test": 2432232314})";
constexpr const char* kSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

class Webhook : public ::testing::Test {  // N6
 protected:
  static testkit::Job job(Json destination = {{"url", "https://hook.test/in"}}) {
    testkit::Job out;
    out.destination = destination.dump();
    out.payload = kBody;
    out.idempotency_key = kId;
    return out;
  }
  static testkit::Job signed_job() { return job({{"url", "https://hook.test/in"}, {"secret", "hook"}}); }
  testkit::Outcome answered(std::int32_t status) {
    host_.answer(Answer::http(status));
    return sender_->attempt(job());
  }
  std::vector<testkit::Problem> problems(const Json& destination) {
    return host_.validate_destination("webhook", destination.dump());
  }
  testkit::FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<testkit::FakeSender> sender_ = host_.make_sender("webhook");
};

TEST_F(Webhook, PostsThePayloadAsItIs) {
  const std::string odd("not JSON \x00\xff at all", 17);
  auto one = job();
  one.payload = odd;
  host_.answer(Answer::http(204));
  EXPECT_EQ(sender_->attempt(one).verdict, WB_ACCEPTED);
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, "https://hook.test/in");
  EXPECT_EQ(request.body, odd);
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("webhook-id"), kId);
  EXPECT_FALSE(request.header("webhook-signature"));
  EXPECT_EQ(request.max_response_bytes, 0U) << "the host's default of 4,096";
}

TEST_F(Webhook, PostsAnEmptyBodyForNoPayload) {
  auto one = job();
  one.payload.clear();
  host_.answer(Answer::http(200));
  EXPECT_EQ(sender_->attempt(one).verdict, WB_ACCEPTED);
  EXPECT_EQ(host_.requests().at(0).body, "");
}

TEST_F(Webhook, SignsAsTheStandardsVectorSays) {
  host_.secret("hook", {kSecret});
  host_.set_unix_seconds(kTimestamp);
  host_.answer(Answer::http(200));
  EXPECT_EQ(sender_->attempt(signed_job()).verdict, WB_ACCEPTED);
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.header("webhook-id"), kId);
  EXPECT_EQ(request.header("webhook-timestamp"), "1614265330");
  EXPECT_EQ(request.header("webhook-signature"), kSignature);
}

TEST_F(Webhook, SignsWithBothSecretsDuringARotation) {
  host_.secret("hook", {"whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", kSecret});
  host_.set_unix_seconds(kTimestamp);
  host_.answer(Answer::http(200));
  sender_->attempt(signed_job());
  const auto signature = host_.requests().at(0).header("webhook-signature").value_or("");
  EXPECT_EQ(std::count(signature.begin(), signature.end(), ' '), 1);
  EXPECT_EQ(signature.substr(signature.find(' ') + 1), kSignature) << "the newer first";
  EXPECT_EQ(signature.rfind("v1,", 0), 0U);
}

TEST_F(Webhook, CvertSignsTimestampAndBodyWithTheNewestSecretOnly) {  // N6
  host_.secret("hook", {"s3cret", "the-one-before"});
  host_.set_unix_seconds(kTimestamp);
  host_.answer(Answer::http(200));
  EXPECT_EQ(sender_->attempt(job({{"url", "https://hook.test/in"}, {"secret", "hook"}, {"signing", "cvert"}})).verdict,
            WB_ACCEPTED);
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.header("X-CVErt-Timestamp"), "1614265330");
  // printf '1614265330.{"test": 2432232314}' | openssl dgst -sha256 -hmac s3cret
  EXPECT_EQ(request.header("X-CVErtOps-Signature"), "sha256=3623925dcc64e1c2aeb8951e1bb93c912303721472b8a1e601901f6680b9e713");
  for (const auto* standard : {"webhook-id", "webhook-timestamp", "webhook-signature"}) EXPECT_FALSE(request.header(standard));
  EXPECT_EQ(request.body, kBody);
}

TEST_F(Webhook, CvertsHeadersCanHaveOtherNames) {  // N6
  host_.secret("hook", {"s3cret"});
  host_.set_unix_seconds(kTimestamp);
  host_.answer(Answer::http(200));
  sender_->attempt(job({{"url", "https://hook.test/in"},
                        {"secret", "hook"},
                        {"signing", "cvert"},
                        {"timestampHeader", "X-Time"},
                        {"signatureHeader", "X-Hub-Signature-256"}}));
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.header("X-Time"), "1614265330");
  EXPECT_EQ(request.header("X-Hub-Signature-256").value_or("").rfind("sha256=", 0), 0U);
  for (const auto* usual : {"X-CVErt-Timestamp", "X-CVErtOps-Signature"}) EXPECT_FALSE(request.header(usual));
}

TEST_F(Webhook, CvertWithoutASecretIsUnsignedAndWithAnUnknownOneNotSent) {  // N6
  host_.answer(Answer::http(200));
  EXPECT_EQ(sender_->attempt(job({{"url", "https://hook.test/in"}, {"signing", "cvert"}})).verdict, WB_ACCEPTED);
  EXPECT_EQ(host_.requests().at(0).header("X-CVErtOps-Signature"), std::nullopt);
  const auto o = sender_->attempt(job({{"url", "https://hook.test/in"}, {"secret", "nobody"}, {"signing", "cvert"}}));
  EXPECT_EQ(o.reason, "unknown_secret");
  EXPECT_EQ(host_.requests().size(), 1U);
}

TEST_F(Webhook, AHeaderThatItMayNotSetIsNotSentEvenIfNobodyChecked) {  // N6
  host_.secret("hook", {"s3cret"});
  host_.answer(Answer::http(200));
  sender_->attempt(job({{"url", "https://hook.test/in"},
                        {"secret", "hook"},
                        {"signing", "cvert"},
                        {"timestampHeader", "X-Time"},
                        {"headers",
                         {{"hOST", "elsewhere"},
                          {"content-type", "text/html"},
                          {"Proxy-Authorization", "x"},
                          {"webhook-signature", "v1,forged"},
                          {"x-cvertops-signature", "sha256=forged"},
                          {"X-TIME", "0"},
                          {"X-Fine", "y"}}}}));
  const auto& request = host_.requests().at(0);
  std::set<std::string> names;
  for (const auto& [name, value] : request.headers) EXPECT_TRUE(names.insert(name).second) << name;
  EXPECT_EQ(names, (std::set<std::string>{"Content-Type", "X-CVErtOps-Signature", "X-Fine", "X-Time"}));
}

TEST_F(Webhook, ARetryKeepsTheIdAndSignsAnew) {
  host_.secret("hook", {kSecret});
  host_.answer(Answer::http(503));
  host_.answer(Answer::http(200));
  sender_->attempt(signed_job());
  host_.advance(std::chrono::seconds(30));
  auto again = signed_job();
  again.attempt = 2;
  sender_->attempt(again);
  const auto& first = host_.requests().at(0);
  const auto& second = host_.requests().at(1);
  EXPECT_EQ(first.header("webhook-id"), second.header("webhook-id"));
  EXPECT_EQ(std::stoll(*second.header("webhook-timestamp")) - std::stoll(*first.header("webhook-timestamp")), 30);
  EXPECT_NE(first.header("webhook-signature"), second.header("webhook-signature"));
}

TEST_F(Webhook, AnUnknownSecretRestsTheTargetWithoutACall) {
  host_.secret("empty", {});
  for (const auto* name : {"hook", "empty"}) {
    const auto o = sender_->attempt(job({{"url", "https://hook.test/in"}, {"secret", name}}));
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "unknown_secret");
    EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
    EXPECT_EQ(o.reach, WB_NOT_SENT);
    EXPECT_EQ(o.detail, std::string("this host has no secret named \"") + name + '"');
  }
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(Webhook, OwnHeadersGoAlongWithTheirSecretsFilledInByTheHost) {
  host_.secret("api", {"t0ps3cret"});
  host_.answer(Answer::http(200));
  sender_->attempt(
      job({{"url", "https://hook.test/in"}, {"headers", {{"Authorization", "Bearer {secret:api}"}, {"X-Empty", ""}}}}));
  const auto& request = host_.requests().at(0);
  EXPECT_EQ(request.header("Authorization"), "Bearer {secret:api}") << "the plugin never sees the value";
  EXPECT_EQ(request.filled_header("Authorization"), "Bearer t0ps3cret");
  EXPECT_EQ(request.header("X-Empty"), "");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
}

TEST_F(Webhook, AHeaderThatNamesAnUnknownSecretIsRefusedByTheHost) {
  const auto o = sender_->attempt(job({{"url", "https://hook.test/in"}, {"headers", {{"X-Key", "{secret:nobody}"}}}}));
  EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
  EXPECT_EQ(o.reason, "refused_by_host");
  EXPECT_EQ(o.reach, WB_NOT_SENT);
}

TEST_F(Webhook, EachDestinationIsItsOwnWhateverWasParsedLast) {
  for (const auto* name : {"a", "b", "b", "a"}) {
    host_.answer(Answer::http(200));
    sender_->attempt(job({{"url", std::string("https://") + name + ".test/"}, {"headers", {{"X-Name", name}}}}));
    EXPECT_EQ(host_.requests().back().url, std::string("https://") + name + ".test/");
    EXPECT_EQ(host_.requests().back().header("X-Name"), name);
  }
}

TEST_F(Webhook, ADestinationThatWasNeverCheckedCostsOneAttempt) {  // H5
  for (const auto* bad : {"", "{}", "x", R"({"url":7})", R"({"url":"https://h.test","secret":7})",
                          R"({"url":"https://h.test","headers":{"X":1}})"}) {
    auto one = job();
    one.destination = bad;
    EXPECT_EQ(sender_->attempt(one).reason, "plugin_error") << bad;
  }
  EXPECT_TRUE(host_.requests().empty());
}

struct Row {
  std::int32_t status;
  wb_verdict verdict;
  wb_scope scope;
  const char* reason;
};

TEST_F(Webhook, EveryStatusHasItsVerdict) {
  const Row rows[] = {
      {200, WB_ACCEPTED, WB_THIS_JOB, ""},
      {201, WB_ACCEPTED, WB_THIS_JOB, ""},
      {204, WB_ACCEPTED, WB_THIS_JOB, ""},
      {299, WB_ACCEPTED, WB_THIS_JOB, ""},
      {300, WB_TRANSIENT, WB_THIS_JOB, "redirect"},
      {301, WB_TRANSIENT, WB_THIS_JOB, "redirect"},
      {302, WB_TRANSIENT, WB_THIS_JOB, "redirect"},
      {307, WB_TRANSIENT, WB_THIS_JOB, "redirect"},
      {308, WB_TRANSIENT, WB_THIS_JOB, "redirect"},
      {399, WB_TRANSIENT, WB_THIS_JOB, "redirect"},
      {400, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {401, WB_TRANSIENT, WB_WHOLE_TARGET, "unauthorized"},
      {402, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {403, WB_TRANSIENT, WB_WHOLE_TARGET, "forbidden"},
      {404, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {405, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {408, WB_TRANSIENT, WB_THIS_JOB, "request_timeout"},
      {409, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {410, WB_REJECTED, WB_THIS_JOB, "gone"},
      {413, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {422, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {425, WB_TRANSIENT, WB_THIS_JOB, "too_early"},
      {429, WB_TRANSIENT, WB_WHOLE_TARGET, "too_many_requests"},
      {499, WB_REJECTED, WB_THIS_JOB, "client_error"},
      {500, WB_TRANSIENT, WB_THIS_JOB, "server_error"},
      {502, WB_TRANSIENT, WB_WHOLE_TARGET, "server_error"},  // T14
      {503, WB_TRANSIENT, WB_WHOLE_TARGET, "server_error"},
      {504, WB_TRANSIENT, WB_WHOLE_TARGET, "server_error"},
      {599, WB_TRANSIENT, WB_THIS_JOB, "server_error"},
      {100, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
      {199, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
      {0, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
      {600, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
      {999, WB_TRANSIENT, WB_THIS_JOB, "invalid_answer"},
  };
  for (const auto& row : rows) {
    const auto o = answered(row.status);
    EXPECT_EQ(o.verdict, row.verdict) << o;
    EXPECT_EQ(o.scope, row.scope) << o;
    EXPECT_EQ(o.reason, row.reason) << o;
    EXPECT_EQ(o.reach, WB_ANSWERED) << o;
    EXPECT_EQ(o.code, row.status) << o;
    EXPECT_EQ(o.detail, row.verdict == WB_ACCEPTED ? "" : "https://hook.test/in answered " + std::to_string(row.status));
  }
}

TEST_F(Webhook, RetryAfterIsHonoured) {
  for (const auto status : {408, 425, 429, 500, 503}) {
    auto busy = Answer::http(status);
    busy.retry_after_ms = 120'000;
    host_.answer(busy);
    EXPECT_EQ(sender_->attempt(job()).retry_after_ms, 120'000) << status;
    EXPECT_EQ(answered(status).retry_after_ms, -1) << status;
  }
}

TEST_F(Webhook, ARedirectIsNotFollowed) {
  auto moved = Answer::http(302);
  moved.headers = {{"location", "https://elsewhere.test/"}};
  host_.answer(moved);
  sender_->attempt(job());
  EXPECT_EQ(host_.requests().size(), 1U);
}

TEST_F(Webhook, TheDetailNamesTheUrlWithoutWhatMayBeACredential) {
  const std::pair<const char*, const char*> rows[] = {
      {"https://user:pass@hook.test/in?key=k#f", "https://hook.test/in answered 500"},
      {"https://user:p@ss@hook.test", "https://hook.test answered 500"},
      {"https://hook.test/@me?x", "https://hook.test/@me answered 500"},
      {"https://hook.test?token=t", "https://hook.test answered 500"},
      {"http://hook.test:8080/a/b", "http://hook.test:8080/a/b answered 500"},
  };
  for (const auto& [url, detail] : rows) {
    host_.answer(Answer::http(500));
    EXPECT_EQ(sender_->attempt(job({{"url", url}})).detail, detail);
  }
}

TEST_F(Webhook, AHugeOrOddAnswerChangesNothing) {
  host_.answer(Answer::http(200, std::string(1'000'000, '\xff')));
  EXPECT_EQ(sender_->attempt(job()).verdict, WB_ACCEPTED);
  host_.answer(Answer::http(400, std::string("\0\n\xff", 3)));
  EXPECT_EQ(sender_->attempt(job()).reason, "client_error");
}

TEST_F(Webhook, NetworkErrorsAreTransientWithTheHostsReach) { expect_network_errors_are_transient(host_, *sender_, job()); }

TEST_F(Webhook, CancelAbortsTheRequestAndEndsTheCall) { expect_cancel_aborts_and_completes(host_, *sender_, job()); }

TEST_F(Webhook, TheTimeoutIsASetting) { expect_timeout_setting(wb_plugin_v1(), "webhook", job()); }

TEST_F(Webhook, NeedsItsThreeServices) {  // H1
  for (const auto* id : {WB_HTTP_SERVICE, WB_TIMER_SERVICE, WB_SIGN_SERVICE}) {
    testkit::FakeHost poor(wb_plugin_v1());
    poor.remove_service(id);
    EXPECT_EQ(poor.make_sender("webhook"), nullptr);
    EXPECT_NE(poor.create_problems().at(0).message.find(id), std::string::npos);
  }
}

TEST_F(Webhook, GoodDestinationsPass) {  // M13
  EXPECT_TRUE(problems({{"url", "https://h.test"}}).empty());
  EXPECT_TRUE(problems({{"url", "https://h.test/?a=b"}, {"secret", "s"}}).empty());
  EXPECT_TRUE(problems({{"url", "https://h.test"}, {"headers", Json::object()}}).empty());
  EXPECT_TRUE(
      problems({{"url", "https://h.test"},
                {"headers",
                 {{"X-A!#$%&'*+-.^_`|~9", "caf\u00e9 {secret:a} and {secret:b}"}, {"Content-Typed", "x"}, {"Accept", "{}"}}}})
          .empty());
}

TEST_F(Webhook, ReservedHeadersAreRefusedByName) {
  for (const std::string name : {"Host",
                                 "Content-Length",
                                 "Transfer-Encoding",
                                 "Connection",
                                 "Content-Type",
                                 "webhook-id",
                                 "webhook-timestamp",
                                 "webhook-signature",
                                 "HOST",
                                 "content-type",
                                 "Webhook-Signature",
                                 "X-CVErt-Timestamp",
                                 "X-CVErtOps-Signature",
                                 "x-cvertops-signature",
                                 "Keep-Alive",
                                 "TE",
                                 "Trailer",
                                 "Upgrade",
                                 "Expect",
                                 "Proxy-Authorization",
                                 "Proxy-Connection",
                                 "proxy-authenticate",
                                 "PROXY-X"}) {
    const auto found = problems({{"url", "https://h.test"}, {"headers", {{name, "v"}, {"X-Fine", "v"}}}});
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_EQ(found[0].path, "/headers/" + name);
    EXPECT_NE(found[0].message.find('"' + name + '"'), std::string::npos) << found[0];
  }
}

TEST_F(Webhook, HeaderNamesMustBeTokens) {
  for (const std::string name :
       {"", " ", "X A", "X:", "X\r\nY", "X\tY", "(X)", "X,Y", "\"X\"", "caf\u00e9", "X\x7f", "a{b}", "a@b"}) {
    const auto found = problems({{"url", "https://h.test"}, {"headers", {{name, "v"}}}});
    ASSERT_EQ(found.size(), 1U) << name;
    EXPECT_NE(found[0].message.find("no token"), std::string::npos);
  }
  EXPECT_EQ(problems({{"url", "https://h.test"}, {"headers", {{"a/b~c", "v"}}}}).at(0).path, "/headers/a~1b~0c");
}

TEST_F(Webhook, HeaderValuesMustHaveNoControlCharacters) {
  for (const auto& value : {std::string("a\r\nEvil: 1"), std::string("a\nb"), std::string("a\tb"), std::string("\x7f"),
                            std::string("a\0b", 3), std::string("a\u202eb"), std::string("\u2028"), std::string("a\u200b"),
                            std::string("\u00ad"), std::string("\u180e"), std::string("\U000e0041")}) {  // T32
    const auto found = problems({{"url", "https://h.test"}, {"headers", {{"X-A", value}}}});
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].path, "/headers/X-A");
    EXPECT_NE(found[0].message.find("control character"), std::string::npos);
  }
}

TEST_F(Webhook, SecretsInHeadersMustBeNamedAndClosed) {
  for (const auto* value : {"{secret:", "{secret:a", "{secret:}", "{secret:a} {secret:}", "{secret:a}{secret:b"})
    EXPECT_EQ(problems({{"url", "https://h.test"}, {"headers", {{"X-A", value}}}}).size(), 1U) << value;
}

TEST_F(Webhook, TheSameHeaderTwiceIsRefused) {
  const auto found = problems({{"url", "https://h.test"}, {"headers", {{"X-A", "1"}, {"x-a", "2"}}}});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NE(found[0].message.find("twice"), std::string::npos);
}

TEST_F(Webhook, EachProblemIsReportedWithItsPlace) {  // M13
  const auto found = problems({{"url", ""}, {"secret", 7}, {"headers", {{"Host", 1}}}});
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].path, "/url");
  EXPECT_EQ(found[1].path, "/secret");
  EXPECT_EQ(found[2].path, "/headers/Host");
  EXPECT_EQ(found[3].path, "/headers/Host");
  EXPECT_EQ(problems({{"url", "https://h.test"}, {"headers", "X-A: b"}}).at(0).path, "/headers");
}

TEST_F(Webhook, ASchemeAndItsHeadersAreChecked) {  // N6 M13
  const auto with = [](Json more) {
    more["url"] = "https://h.test";
    return more;
  };
  for (const auto& good : {with({{"signing", "standard"}}), with({{"signing", "cvert"}}),
                           with({{"signing", "cvert"}, {"timestampHeader", "X-Time"}}),
                           with({{"signing", "cvert"},
                                 {"timestampHeader", "x-cvert-timestamp"},
                                 {"signatureHeader", "X-Sig"},
                                 {"headers", {{"X-A", "b"}}}})})
    EXPECT_TRUE(problems(good).empty()) << good;
  const std::tuple<Json, const char*, const char*> rows[] = {
      {with({{"signing", "CVERT"}}), "/signing", "must be \"standard\" or \"cvert\""},
      {with({{"signing", 1}}), "/signing", "must be"},
      {with({{"timestampHeader", "X-Time"}}), "/timestampHeader", "only for signing \"cvert\""},
      {with({{"signing", "standard"}, {"signatureHeader", "X-Sig"}}), "/signatureHeader", "only for signing \"cvert\""},
      {with({{"signing", "cvert"}, {"timestampHeader", "X Time"}}), "/timestampHeader", "must be the name of a header"},
      {with({{"signing", "cvert"}, {"timestampHeader", ""}}), "/timestampHeader", "must be the name of a header"},
      {with({{"signing", "cvert"}, {"signatureHeader", 7}}), "/signatureHeader", "must be the name of a header"},
      {with({{"signing", "cvert"}, {"signatureHeader", "Content-Length"}}), "/signatureHeader", "reserved"},
      {with({{"signing", "cvert"}, {"signatureHeader", "Proxy-Authorization"}}), "/signatureHeader", "reserved"},
      {with({{"signing", "cvert"}, {"timestampHeader", "X-A"}, {"signatureHeader", "x-a"}}), "/signatureHeader",
       "the same header"},
      {with({{"signing", "cvert"}, {"signatureHeader", "X-Sig"}, {"headers", {{"x-sig", "forged"}}}}), "/headers/x-sig",
       "carries the signature"},
  };
  for (const auto& [destination, path, message] : rows) {
    const auto found = problems(destination);
    ASSERT_EQ(found.size(), 1U) << destination;
    EXPECT_EQ(found[0].path, path);
    EXPECT_NE(found[0].message.find(message), std::string::npos) << found[0];
  }
}

TEST_F(Webhook, GarbageIsReportedAndHurtsNobody) {
  for (const auto& garbage :
       {std::string(), std::string("x"), std::string("[]"), std::string("{\"url\":\"\xff\"}"), std::string(10'000'000, '[')}) {
    const auto found = host_.validate_destination("webhook", garbage);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].path, "");
  }
}

// P2: the answer is a stage's result, whole or not at all.
TEST_F(Webhook, TheJsonOfAnAnswerIsTheResultWhereItIsAskedFor) {
  const auto asks = job({{"url", "https://hook.test/in"}, {"answer", "json"}});
  const std::string text = R"({"score": 92, "notes": ["a", {"b": null}]})";
  host_.answer(Answer::http(200, text));
  const auto kept = sender_->attempt(asks);
  EXPECT_EQ(kept.verdict, WB_ACCEPTED);
  EXPECT_EQ(kept.result, text);
  EXPECT_EQ(host_.requests().at(0).max_response_bytes, 1U << 20);
  host_.answer(Answer::http(204));
  EXPECT_EQ(sender_->attempt(asks).result, "");
  for (const char* garbage : {"OK", "{\"score\": 92", "<html>"}) {
    host_.answer(Answer::http(200, garbage));
    const auto refused = sender_->attempt(asks);
    EXPECT_EQ(refused.verdict, WB_TRANSIENT) << garbage;
    EXPECT_EQ(refused.reason, "invalid_answer");
    EXPECT_EQ(refused.reach, WB_ANSWERED);
  }
  host_.answer(Answer::http(200, text));
  EXPECT_EQ(sender_->attempt(job()).result, "") << "nobody asked";
}

// P5: what the receiver names as the reason decides how often it is tried, and is no outage.
TEST_F(Webhook, AnAnswerMayNameTheReasonOfAFailure) {
  const auto asks = job({{"url", "https://hook.test/in"}, {"errorAt", "/error/code"}});
  for (const std::int32_t status : {400, 422, 410, 500, 503}) {
    host_.answer(Answer::http(status, R"({"error": {"code": "clone_failed"}})"));
    const auto named = sender_->attempt(asks);
    EXPECT_EQ(named.verdict, WB_TRANSIENT) << status;
    EXPECT_EQ(named.reason, "clone_failed");
    EXPECT_EQ(named.scope, WB_THIS_JOB);
    EXPECT_EQ(named.code, status);
  }
  for (const char* other : {"", "x", "{}", R"({"error": "clone_failed"})", R"({"error": {"code": 1}})"}) {
    host_.answer(Answer::http(422, other));
    EXPECT_EQ(sender_->attempt(asks).reason, "client_error") << other;
  }
  for (const Json& wrong : {Json("error"), Json(""), Json(1), Json("/a~b")})
    EXPECT_EQ(problems({{"url", "https://hook.test/in"}, {"errorAt", wrong}}).size(), 1U) << wrong;
  EXPECT_EQ(problems({{"url", "https://hook.test/in"}, {"answer", "xml"}}).size(), 1U);
}

TEST_F(Webhook, TheDescriptorDeclaresItsReasonsAndSchemas) {
  const auto* action = host_.action("webhook");
  ASSERT_EQ(action->reason_count, 2U);
  EXPECT_EQ(std::string(action->reasons[0].name.ptr, action->reasons[0].name.len), "gone");
  EXPECT_EQ(std::string(action->reasons[1].name.ptr, action->reasons[1].name.len), "client_error");
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(action->reasons[i].flags, static_cast<std::uint32_t>(WB_REASON_PERMANENT));
  const auto destination = Json::parse(std::string(action->destination_schema.ptr, action->destination_schema.len));
  EXPECT_EQ(destination.at("additionalProperties"), false);
  EXPECT_EQ(destination.at("properties").size(), 8U);
}

}  // namespace
}  // namespace waybill::plugins::testing
