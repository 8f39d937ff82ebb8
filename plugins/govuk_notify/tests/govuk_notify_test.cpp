// The govuk_notify plugin: requests, tokens, every row of its verdict table, failures page by page. J3, J5
#include <nlohmann/json.hpp>
#include <string>

#include "common/tests/network_rows.h"

namespace waybill::plugins::testing {
namespace {

using Json = nlohmann::json;
using testkit::Answer;
using testkit::Outcome;

constexpr const char* kSettings = R"({"service_id":"8b3aa916-ec82-434e-b0c5-d5d9b371d6a3","key_secret":"notify"})";
constexpr std::int64_t kNow = 1'772'366'400;  // Sun, 1 March 2026, 12:00 UTC
// Made with Python's hmac and base64 of the claims {"iat":1772366400,"iss":"8b3aa916-..."}.
constexpr const char* kToken =
    "Bearer eyJ0eXAiOiJKV1QiLCJhbGciOiJIUzI1NiJ9."
    "eyJpYXQiOjE3NzIzNjY0MDAsImlzcyI6IjhiM2FhOTE2LWVjODItNDM0ZS1iMGM1LWQ1ZDliMzcxZDZhMyJ9."
    "bh5oc1ZY3IVxuVPAGh9cdL5IdlvHMs5CTpu0GFxbHT4";
constexpr const char* kId = "740e5834-3a29-46b4-9a6f-16142fde533a";
const std::string kApi = "https://notify.test";

std::string id_of(int number) {
  auto digits = std::to_string(number);
  return "00000000-0000-4000-8000-" + std::string(12 - digits.size(), '0') + digits;
}

std::string error(int status, const std::string& type, const std::string& message) {
  return Json{{"status_code", status}, {"errors", {{{"error", type}, {"message", message}}}}}.dump();
}
const std::string kSkew = error(403, "AuthError", "Error: Your system clock must be accurate to within 30 seconds");

class Notify : public ::testing::Test {
 protected:
  Notify() {
    host_.secret("notify", {"1b1c4b86-7f9c-4a1b-9c8d-2f8f0c1d9e11"});
    host_.set_unix_seconds(kNow);
  }
  static Json options() {
    return {{"template", "ABC-DEF"},
            {"emailAddress", "pye@example.org"},
            {"personalisation", {{"firstName", "test"}, {"middleName", nullptr}}},
            {"reference", "PF3N8EGP9L"}};
  }
  static testkit::Job job(const Json& payload = options()) {
    testkit::Job out;
    out.destination = R"({"url":"https://notify.test/"})";
    out.payload = payload.dump();
    return out;
  }
  Json posted(const Json& payload) {
    host_.answer(Answer::http(201, Json{{"id", kId}}.dump()));
    const auto o = sender_->attempt(job(payload));
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
    return Json::parse(host_.requests().back().body);
  }
  Outcome answered(int status, const std::string& body = {}) {
    host_.answer(Answer::http(status, body));
    return sender_->attempt(job());
  }
  void expect_refused(const std::string& payload, const std::string& detail) {
    auto one = job();
    one.payload = payload;
    const auto o = sender_->attempt(one);
    EXPECT_EQ(o.verdict, WB_REJECTED) << o;
    EXPECT_EQ(o.reason, "invalid_payload");
    EXPECT_EQ(o.reach, WB_NOT_SENT);
    EXPECT_EQ(o.detail, detail);
  }

  testkit::FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<testkit::FakeSender> sender_ = host_.make_sender("govuk_notify", kSettings);
};

TEST_F(Notify, OnePostADelivery) {  // J3
  EXPECT_EQ(posted(options()), (Json{{"template_id", "ABC-DEF"},
                                     {"email_address", "pye@example.org"},
                                     {"personalisation", {{"firstName", "test"}, {"middleName", nullptr}}},
                                     {"reference", "PF3N8EGP9L"}}));
  ASSERT_EQ(host_.requests().size(), 1U);
  const auto& request = host_.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, kApi + "/v2/notifications/email");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.timeout_ms, 0U) << "T25: all of the attempt's time";
}

// T8: as the workers of notarial-api write it.
TEST_F(Notify, TemplateAndAddressMayStandBesideTheOptions) {
  EXPECT_EQ(posted({{"template", "ABC-DEF"},
                    {"emailAddress", "pye@example.org"},
                    {"options", {{"personalisation", {{"post", "Rome"}}}, {"reference", "B-1"}}}}),
            (Json{{"template_id", "ABC-DEF"},
                  {"email_address", "pye@example.org"},
                  {"personalisation", {{"post", "Rome"}}},
                  {"reference", "B-1"}}));
}

TEST_F(Notify, TheTokenIsSignedByTheHostAndMintedForEachRequest) {  // J3
  posted(options());
  EXPECT_EQ(host_.requests()[0].header("Authorization"), kToken);
  host_.advance(std::chrono::seconds(31));
  posted(options());
  EXPECT_NE(host_.requests()[1].header("Authorization"), kToken);
}

TEST_F(Notify, ATargetCanHaveAServiceOfItsOwn) {
  host_.secret("other", {"another-key"});
  auto one = job();
  one.destination = R"({"url":"https://notify.test","serviceId":"11111111-2222-3333-4444-555555555555","keySecret":"other"})";
  host_.answer(Answer::http(201, Json{{"id", kId}}.dump()));
  sender_->attempt(one);
  const auto token = host_.requests().at(0).header("Authorization").value_or("");
  // {"iat":1772366400,"iss":"11111111-2222-3333-4444-555555555555"}
  EXPECT_NE(token.find(".eyJpYXQiOjE3NzIzNjY0MDAsImlzcyI6IjExMTExMTExLTIyMjItMzMzMy00NDQ0LTU1NTU1NTU1NTU1NSJ9."),
            std::string::npos)
      << token;
}

TEST_F(Notify, ThePayloadMayBeWrappedAndHaveMoreInIt) {  // J3: NOTIFY_SEND as it stands in the queue
  auto wrapped = options();
  wrapped["metadata"] = {{"reference", "ignored"}};
  wrapped["emailReplyToId"] = "8e222534-7f05-4972-86e3-17c5d9f894e2";
  wrapped["oneClickUnsubscribeURL"] = "https://forms.test/unsubscribe/7";  // T32
  auto body = posted({{"options", wrapped}, {"metadata", {{"reference", "x"}}}});
  EXPECT_EQ(body.size(), 6U);
  EXPECT_EQ(body.at("one_click_unsubscribe_url"), "https://forms.test/unsubscribe/7");
  EXPECT_EQ(body.at("email_reply_to_id"), "8e222534-7f05-4972-86e3-17c5d9f894e2");
  EXPECT_EQ(posted({{"templateId", "T"}, {"emailAddress", "a@x.test"}}).at("template_id"), "T");
}

TEST_F(Notify, TheReferenceIsThePayloadsOrTheMetadatasOrTheSubmissions) {  // J6
  auto one = options();
  one["metadata"] = {{"reference", "B-6FYZIU1M"}};
  EXPECT_EQ(posted(one).at("reference"), "PF3N8EGP9L");
  one.erase("reference");
  EXPECT_EQ(posted(one).at("reference"), "B-6FYZIU1M");
  one.erase("metadata");
  EXPECT_EQ(posted(one).at("reference"), "key-1") << "of the context";
}

TEST_F(Notify, WhatCannotBeSentIsRefusedWithItsReason) {  // J3
  expect_refused("", "the payload is empty");
  expect_refused("x", "the payload is not JSON");
  expect_refused("[]", "the payload is not a JSON object");
  expect_refused("{}", "the payload has no template");
  expect_refused(R"({"template":"","emailAddress":"a@x.test"})", "the payload has no template");
  expect_refused(R"({"template":"T"})", "the payload has no emailAddress");
  expect_refused(R"({"template":"T","emailAddress":7})", "the payload has a field emailAddress that is not text");
  expect_refused(R"({"template":"T","emailAddress":"a@x.test","personalisation":[]})",
                 "the payload has a personalisation that is not an object");
  expect_refused(R"({"options":"T"})", "the payload has options that are not an object");
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(Notify, TheNotificationsIdIsOnRecord) {
  const auto o = answered(201, Json{{"id", kId}, {"reference", "PF3N8EGP9L"}}.dump());
  EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
  EXPECT_EQ(o.provider_ref, kId);
  EXPECT_EQ(Json::parse(o.result), (Json{{"notificationId", kId}}));
}

struct Row {
  int status;
  const char* error;
  wb_verdict verdict;
  const char* reason;
  wb_scope scope;
};

TEST_F(Notify, EveryAnswerHasItsVerdict) {  // J3
  const Row rows[] = {
      {400, "ValidationError", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {400, "BadRequestError", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {404, "NoResultFound", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {401, "AuthError", WB_TRANSIENT, "unauthorized", WB_WHOLE_TARGET},
      {403, "AuthError", WB_TRANSIENT, "unauthorized", WB_WHOLE_TARGET},
      {408, "", WB_TRANSIENT, "try_later", WB_THIS_JOB},
      {429, "RateLimitError", WB_TRANSIENT, "rate_limited", WB_WHOLE_TARGET},
      {429, "TooManyRequestsError", WB_TRANSIENT, "daily_limit", WB_WHOLE_TARGET},
      {500, "Exception", WB_TRANSIENT, "server_error", WB_THIS_JOB},
      {503, "", WB_TRANSIENT, "server_error", WB_WHOLE_TARGET},
      {302, "", WB_TRANSIENT, "invalid_answer", WB_THIS_JOB},
  };
  for (const auto& row : rows) {
    const auto o = answered(row.status, error(row.status, row.error, "some\nwords"));
    EXPECT_EQ(o.verdict, row.verdict) << o;
    EXPECT_EQ(o.reason, row.reason) << o;
    EXPECT_EQ(o.scope, row.scope) << o;
    EXPECT_EQ(o.code, row.status);
    EXPECT_EQ(o.reach, WB_ANSWERED);
    EXPECT_EQ(o.detail,
              "status " + std::to_string(row.status) + (*row.error != '\0' ? " " + std::string(row.error) : "") + ": some words");
  }
  for (const auto* body : {"", "<html>", "[]", R"({"errors":[]})", R"({"errors":["x"]})", R"({"errors":7})"})
    EXPECT_EQ(answered(400, body).detail, "status 400") << body;
  for (const auto* body : {"", "<html>", "{}", R"({"id":7})"}) EXPECT_EQ(answered(201, body).reason, "invalid_answer") << body;
}

TEST_F(Notify, WhenTheDaysMessagesAreUsedUpItWaitsForMidnightUtc) {  // J3
  const auto used_up = error(429, "TooManyRequestsError", "Exceeded send limits (50) for today");
  EXPECT_EQ(answered(429, used_up).retry_after_ms, 12 * 3'600'000);
  host_.set_unix_seconds(kNow + 12 * 3600 - 1);
  EXPECT_EQ(answered(429, used_up).retry_after_ms, 1'000);
  host_.set_unix_seconds(kNow + 12 * 3600);
  EXPECT_EQ(answered(429, used_up).retry_after_ms, 86'400'000);
  auto busy = Answer::http(429, error(429, "RateLimitError", "Exceeded rate limit"));
  busy.retry_after_ms = 7'000;
  host_.answer(busy);
  EXPECT_EQ(sender_->attempt(job()).retry_after_ms, 7'000);
}

TEST_F(Notify, ATokenWhoseTimeIsOffIsMintedAgainOnce) {  // J3
  auto skewed = Answer::http(403, kSkew);
  skewed.headers = {{"date", "Sun, 01 Mar 2026 12:00:00 GMT"}};
  host_.set_unix_seconds(kNow - 90);
  host_.answer(skewed);
  host_.answer(Answer::http(201, Json{{"id", kId}}.dump()));
  EXPECT_EQ(sender_->attempt(job()).verdict, WB_ACCEPTED);
  ASSERT_EQ(host_.requests().size(), 2U);
  EXPECT_NE(host_.requests()[0].header("Authorization"), kToken);
  EXPECT_EQ(host_.requests()[1].header("Authorization"), kToken) << "with the time of the other side";
  EXPECT_EQ(host_.requests()[0].body, host_.requests()[1].body);

  for (const auto* date : {"", "yesterday", "Sun, 31 Feb 2026 12:00:00 GMT", "Sun, 01 Mar 2026 12:00:00 CET"}) {
    skewed.headers = {{"date", date}};
    host_.answer(skewed);
    host_.answer(Answer::http(403, kSkew));
    const auto o = sender_->attempt(job());
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "clock_skew");
    EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
    EXPECT_EQ(host_.requests().back().header("Authorization"), host_.requests()[0].header("Authorization")) << "our own time";
  }
  EXPECT_EQ(host_.requests().size(), 10U) << "once each";
}

TEST_F(Notify, AnUnknownSecretRestsTheTargetWithoutARequest) {
  const auto sender =
      host_.make_sender("govuk_notify", R"({"service_id":"8b3aa916-ec82-434e-b0c5-d5d9b371d6a3","key_secret":"nobody"})");
  const auto o = sender->attempt(job());
  EXPECT_EQ(o.reason, "unknown_secret") << o;
  EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
  EXPECT_EQ(o.reach, WB_NOT_SENT);
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(Notify, NetworkErrorsAreTransientWithTheHostsReach) { expect_network_errors_are_transient(host_, *sender_, job()); }

TEST_F(Notify, CancelAbortsTheRequestAndEndsTheCall) { expect_cancel_aborts_and_completes(host_, *sender_, job()); }

TEST_F(Notify, ItTellsWhatBecameOfANotification) {
  auto one = job();
  one.provider_ref = kId;
  const std::pair<const char*, std::pair<wb_verdict, const char*>> rows[] = {
      {"delivered", {WB_ACCEPTED, ""}},
      {"created", {WB_DEFERRED, "created"}},
      {"sending", {WB_DEFERRED, "sending"}},
      {"pending", {WB_DEFERRED, "pending"}},
      {"permanent-failure", {WB_REJECTED, "permanent_failure"}},
      {"temporary-failure", {WB_REJECTED, "temporary_failure"}},
      {"technical-failure", {WB_REJECTED, "technical_failure"}},
      {"lost", {WB_TRANSIENT, "invalid_answer"}}};
  for (const auto& [word, expected] : rows) {
    host_.answer(kApi + "/v2/notifications/" + kId, Answer::http(200, Json{{"status", word}}.dump()));
    const auto o = sender_->status(one);
    EXPECT_EQ(o.verdict, expected.first) << o;
    EXPECT_EQ(o.reason, expected.second) << o;
  }
  for (const auto& [status, verdict] :
       {std::pair{404, WB_REJECTED}, {400, WB_TRANSIENT}, {403, WB_TRANSIENT}, {500, WB_TRANSIENT}}) {
    host_.answer(Answer::http(status));
    EXPECT_EQ(sender_->status(one).verdict, verdict) << status;
  }
  one.provider_ref = "../../v2/templates";
  EXPECT_EQ(sender_->status(one).reason, "unknown_notification");
}

Json notification(int number, const char* status, const char* completed) {
  return {{"id", id_of(number)},        {"reference", "REF-" + std::to_string(number)},
          {"status", status},           {"created_at", "2026-02-28T09:00:00.000000Z"},
          {"sent_at", nullptr},         {"completed_at", completed ? Json(completed) : Json(nullptr)},
          {"template", {{"id", "T1"}}}, {"email_address", "ann@example.org"}};
}

TEST_F(Notify, EveryPageOfEveryFailedStatusIsRead) {  // J5
  const auto url = [](const std::string& status) { return kApi + "/v2/notifications?template_type=email&status=" + status; };
  const auto page = [](int first, int count, bool more) {
    Json list = Json::array();
    for (int i = 0; i < count; ++i) list.push_back(notification(first - i, "permanent-failure", "2026-03-01T10:00:00Z"));
    Json links{{"current", "x"}};
    if (more) links["next"] = "y";
    return Answer::http(200, Json{{"notifications", list}, {"links", links}}.dump());
  };
  host_.answer(url("temporary-failure"), page(0, 0, false));
  host_.answer(url("permanent-failure"), page(1000, 250, true));
  host_.answer(url("permanent-failure") + "&older_than=" + id_of(751), page(750, 250, true));
  host_.answer(url("permanent-failure") + "&older_than=" + id_of(501),
               page(500, 3, true));  // as the real one does: always "next"
  host_.answer(url("permanent-failure") + "&older_than=" + id_of(498), page(0, 0, false));
  host_.answer(url("technical-failure"), page(5, 1, false));
  const auto list = sender_->failures(job(), kNow - 86'400);
  EXPECT_EQ(list.outcomes.size(), 6U) << "one request a page";
  for (const auto& o : list.outcomes) EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
  ASSERT_EQ(list.failures.size(), 504U);
  EXPECT_EQ(list.failures[0].provider_ref, id_of(1000));
  EXPECT_EQ(list.failures[0].idempotency_key, "REF-1000");
  EXPECT_EQ(list.failures[0].reason, "permanent-failure");
  EXPECT_EQ(list.failures[0].failed_at, kNow - 7200);
  EXPECT_EQ(list.failures[0].detail, "template T1");
  EXPECT_EQ(list.failures[503].reason, "technical-failure");
  EXPECT_EQ(host_.requests()[0].method, "GET");
  EXPECT_EQ(host_.requests()[0].header("Authorization"), kToken);
}

TEST_F(Notify, FailuresFromBeforeAreLeftOutAndTheirTimeIsTheBestKnown) {  // J5
  auto sent = notification(2, "temporary-failure", nullptr);
  sent["sent_at"] = "2026-03-01T11:00:00.5Z";
  auto created = notification(3, "temporary-failure", nullptr);
  auto timeless = notification(4, "temporary-failure", nullptr);
  timeless["created_at"] = "?";
  timeless["reference"] = nullptr;
  const Json all{notification(1, "temporary-failure", "2026-03-01T11:59:59Z"), sent, created, timeless};
  host_.answer(Answer::http(200, Json{{"notifications", all}}.dump()));
  for (int i = 0; i < 2; ++i) host_.answer(Answer::http(200, R"({"notifications":[]})"));
  const auto list = sender_->failures(job(), kNow - 3600).failures;
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0].failed_at, kNow - 1);
  EXPECT_EQ(list[1].failed_at, kNow - 3600);
  EXPECT_EQ(list[2].failed_at, 0) << "unknown, so it is reported";
  EXPECT_EQ(list[2].idempotency_key, "");
}

TEST_F(Notify, AListThatCannotBeReadIsNotComplete) {  // J5
  for (const auto* body :
       {"", "x", "{}", R"({"notifications":7})", R"({"notifications":[{"id":"../x"}]})", R"({"notifications":[7]})"}) {
    host_.answer(Answer::http(200, body));
    const auto list = sender_->failures(job(), 0);
    ASSERT_EQ(list.outcomes.size(), 1U);
    EXPECT_EQ(list.outcomes[0].reason, "invalid_answer") << body;
  }
  for (const auto status : {400, 403, 429, 500}) {
    host_.answer(Answer::http(status));
    EXPECT_EQ(sender_->failures(job(), 0).outcomes.back().verdict, WB_TRANSIENT) << status;
  }
  const auto again = Json{{"notifications", {notification(1, "x", nullptr)}}, {"links", {{"next", "y"}}}}.dump();
  host_.answer(Answer::http(200, again));
  host_.answer(Answer::http(200, again));
  const auto list = sender_->failures(job(), 0);
  EXPECT_EQ(list.outcomes.back().detail, "the answer repeats the page before it");
}

TEST_F(Notify, SettingsAndDestinationsThatCannotWorkAreRefused) {
  const std::pair<const char*, const char*> settings[] = {
      {R"({"service_id":"live-8b3aa916","key_secret":"k"})", "/service_id"},
      {R"({"service_id":"8b3aa916-ec82-434e-b0c5-d5d9b371d6a3"})", "/key_secret"},
      {R"({"service_id":"8b3aa916-ec82-434e-b0c5-d5d9b371d6a3","key_secret":"k","timeout_ms":0})", "/timeout_ms"},
      {"[]", ""}};
  for (const auto& [json, path] : settings) {
    const auto problems = host_.validate_settings("govuk_notify", json);
    ASSERT_EQ(problems.size(), 1U) << json;
    EXPECT_EQ(problems[0].path, path);
    EXPECT_EQ(host_.make_sender("govuk_notify", json), nullptr);
  }
  EXPECT_TRUE(host_.validate_settings("govuk_notify", kSettings).empty());
  const std::pair<const char*, const char*> destinations[] = {
      {"{}", "/url"},
      {R"({"url":"https://x.test?a"})", "/url"},
      {R"({"url":"https://x.test","serviceId":"8b3aa916-ec82-434e-b0c5-d5d9b371d6a3"})", "/serviceId"},
      {R"({"url":"https://x.test","serviceId":"x","keySecret":"k"})", "/serviceId"},
      {R"({"url":"https://x.test","serviceId":7})", "/serviceId"},
      {"x", ""}};
  for (const auto& [json, path] : destinations) {
    const auto problems = host_.validate_destination("govuk_notify", json);
    ASSERT_EQ(problems.size(), 1U) << json;
    EXPECT_EQ(problems[0].path, path);
  }
  EXPECT_TRUE(host_.validate_destination("govuk_notify", R"({"url":"https://x.test"})").empty());
}

}  // namespace
}  // namespace waybill::plugins::testing
