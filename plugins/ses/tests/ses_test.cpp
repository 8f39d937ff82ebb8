// The ses plugin: mails with attachments from allowed origins only, every row of its verdict table. J3
#include <nlohmann/json.hpp>

#include "common/base64.h"
#include "common/tests/mail_reader.h"
#include "common/tests/network_rows.h"

namespace waybill::plugins::testing {
namespace {

using Json = nlohmann::json;
using testkit::Answer;
using testkit::Outcome;

const std::string kSes = "https://ses.test/v2/email/outbound-emails";
const std::string kFile = "http://documentupload:9000/v1/files/511ffde6.png";

Answer file(const std::string& bytes, const std::string& type = "image/png") {
  auto answer = Answer::http(200, bytes);
  answer.headers = {{"content-type", type}};
  return answer;
}

std::string decoded(const std::string& text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto at = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (at == std::string_view::npos) break;
    bits = bits << 6 | static_cast<std::uint32_t>(at), count += 6;
    if (count >= 8) out += static_cast<char>(bits >> (count -= 8) & 255);
  }
  return out;
}

class SesTest : public ::testing::Test {
 protected:
  SesTest() {
    for (const auto* name : {"key", "secret", "token"}) host_.secret(name, {std::string("the ") + name});
    host_.set_unix_seconds(1'772'366'400);
    sender_ = make();
  }
  static Json settings() {
    return {{"region", "eu-west-2"},         {"access_key_secret", "key"},
            {"secret_key_secret", "secret"}, {"from", "Getting Married Abroad Service <pye@example.org>"},
            {"to", "team@example.org"},      {"files_allowed_origins", {"http://documentupload:9000"}}};
  }
  std::unique_ptr<testkit::FakeSender> make(const Json& more = Json::object()) {
    auto all = settings();
    all.update(more);
    return host_.make_sender("ses", all.dump());
  }
  static Json attachment(const std::string& url = kFile, const std::string& title = "UK passport") {
    return {{"key", "ukPassportFile"}, {"type", "file"}, {"title", title}, {"answer", url}, {"category", "applicantDetails"}};
  }
  static Json payload(const std::vector<Json>& attachments = {}) {
    return {{"subject", "cni application, British Embassy Rome – PF3N8EGP9L"},
            {"body", "\n<p>Dear British Embassy Rome, …</p>"},
            {"metadata", {{"reference", "PF3N8EGP9L"}}},
            {"reference", "PF3N8EGP9L"},
            {"attachments", attachments}};
  }
  static testkit::Job job(const Json& body = payload(), const Json& destination = {{"url", "https://ses.test/"}}) {
    testkit::Job out;
    out.destination = destination.dump();
    out.payload = body.dump();
    out.idempotency_key = "1:s-1:2";
    return out;
  }
  Json sent(const testkit::Job& one) {
    host_.answer(kSes, Answer::http(200, R"({"MessageId":"m-1"})"));
    const auto o = sender_->attempt(one);
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
    if (host_.requests().empty()) return Json::object();
    request_ = Json::parse(host_.requests().back().body, nullptr, false);
    const auto mail = read_mail(decoded(request_.at("Content").at("Raw").at("Data")));
    expect_well_formed(mail);
    return mail;
  }
  Outcome fetched(const Answer& answer) {
    host_.answer(kFile, answer);
    return sender_->attempt(job(payload({attachment()})));
  }
  void expect_refused(const Outcome& o, const std::string& reason) {
    EXPECT_EQ(o.verdict, WB_REJECTED) << o;
    EXPECT_EQ(o.reason, reason) << o;
    EXPECT_EQ(o.reach, WB_NOT_SENT) << o;
  }

  testkit::FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<testkit::FakeSender> sender_;
  Json request_;
};

TEST_F(SesTest, AMailWithoutAttachmentsIsOneSignedRequest) {  // J3
  const auto mail = sent(job());
  ASSERT_EQ(host_.requests().size(), 1U);
  const auto& request = host_.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.url, kSes);
  EXPECT_EQ(request.sigv4_region, "eu-west-2");
  EXPECT_EQ(request.sigv4_service, "ses");
  EXPECT_EQ(request.sigv4_key_id, "key") << "names, never the secrets";
  EXPECT_EQ(request.sigv4_secret_key, "secret");
  EXPECT_EQ(request_.at("FromEmailAddress"), "pye@example.org");
  EXPECT_EQ(request_.at("Destination"), (Json{{"ToAddresses", {"team@example.org"}}}));
  EXPECT_EQ(request_.size(), 3U);
  EXPECT_EQ(mail.at("from"), Json::array({Json::array({"Getting Married Abroad Service", "pye@example.org"})}));
  EXPECT_EQ(mail.at("to"), Json::array({Json::array({"", "team@example.org"})}));
  EXPECT_EQ(mail.at("subject"), "cni application, British Embassy Rome – PF3N8EGP9L");
  EXPECT_EQ(mail.at("texts"), (Json{{"text/html", "\r\n<p>Dear British Embassy Rome, …</p>\r\n"}}));
  EXPECT_EQ(mail.at("submission"), "PF3N8EGP9L");
  EXPECT_EQ(mail.at("message_id"), "<1=3As-1=3A2@example.org>");
  EXPECT_EQ(mail.at("attachments"), Json::array());
}

TEST_F(SesTest, AttachmentsAreFetchedAtSendTimeAndAddedToTheMail) {  // J3
  const std::string bytes("\x89PNG\r\n\x1a\n\0\xff", 10);
  host_.answer(kFile, file(bytes, "Image/PNG; charset=x"));
  host_.answer("http://documentupload:9000/v1/files/a.pdf?x=1", file("%PDF", "application/pdf"));
  auto body = payload({attachment()});
  body["onComplete"] = {{"job", {{"queue", "NOTIFY_SEND"}}},
                        {"attachments", {attachment("http://documentupload:9000/v1/files/a.pdf?x=1", "Geburtsurkunde für Ann")}}};
  const auto mail = sent(job(body));
  ASSERT_EQ(host_.requests().size(), 3U);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(host_.requests()[i].method, "GET");
    EXPECT_TRUE(host_.requests()[i].headers.empty()) << "no credentials go to the file server";
    EXPECT_TRUE(host_.requests()[i].sigv4_key_id.empty());
    EXPECT_EQ(host_.requests()[i].max_response_bytes, 10'485'760U);
  }
  EXPECT_EQ(mail.at("shape"), "multipart/mixed(text/html,image/png,application/pdf)");
  EXPECT_EQ(mail.at("attachments"), (Json{{"UK passport.png", "image/png", base64(bytes)},
                                          {"Geburtsurkunde für Ann.pdf", "application/pdf", base64("%PDF")}}));
  EXPECT_EQ(sender_->extension(WB_COMPOSE_EXTENSION), nullptr) << "nothing is composed, so no file is stored";
}

TEST_F(SesTest, FilesThatWereNotHandedInAreNone) {  // J3
  auto none = attachment("");
  auto null = attachment();
  null["answer"] = nullptr;
  EXPECT_EQ(sent(job(payload({none, null}))).at("attachments"), Json::array());
}

TEST_F(SesTest, NothingIsFetchedFromAnywhereElse) {  // J3
  for (const auto* url :
       {"https://documentupload:9000/x", "http://documentupload/x", "http://documentupload:9001/x",
        "http://documentupload:9000@evil.test/x", "http://evil.test/http://documentupload:9000/x",
        "http://evil.test#@documentupload:9000/x", "http://documentupload:9000.evil.test/x", "http://documentupload.:9000/x",
        "http://evil.test\\@documentupload:9000/x", "http://document\tupload:9000/x", "http://documentupload%3a9000/x",
        "http:documentupload:9000/x", "http:///documentupload:9000/x", "//documentupload:9000/x", "file:///etc/passwd",
        "http://169.254.169.254/latest", "http://documentupload:09000000000000000000/x", "x"}) {
    const auto o = sender_->attempt(job(payload({attachment(), attachment(url)})));
    expect_refused(o, "attachment_not_allowed");
    EXPECT_TRUE(host_.requests().empty()) << url << ": not even the first is fetched";
  }
}

TEST_F(SesTest, TheOriginIsComparedAsAUrlsPartsAre) {  // J3
  sender_ = make({{"files_allowed_origins", {"HTTPS://Files.Test/", "http://[::1]:8080"}}});
  for (const auto* url : {"https://files.test:443/a.png", "https://FILES.test/a.png", "http://[::1]:8080/a.png"}) {
    host_.answer(url, file("x"));
    EXPECT_EQ(sent(job(payload({attachment(url)}))).at("attachments").size(), 1U) << url;
  }
  auto other =
      job(payload({attachment()}), {{"url", "https://ses.test"}, {"filesAllowedOrigins", {"http://documentupload:9000"}}});
  host_.answer(kFile, file("x"));
  EXPECT_EQ(sent(other).at("attachments").size(), 1U) << "a target's own list";
  sender_ = make({{"files_allowed_origins", Json::array()}});
  expect_refused(sender_->attempt(job(payload({attachment()}))), "attachment_not_allowed");
}

TEST_F(SesTest, ARedirectIsAFailureNotAWay) {  // J3
  auto moved = Answer::http(302);
  moved.headers = {{"location", "http://evil.test/"}};
  EXPECT_EQ(fetched(moved).reason, "attachment_unavailable");
  EXPECT_EQ(host_.requests().size(), 1U);
}

TEST_F(SesTest, AFileThatDoesNotComeIsTriedAgain) {  // J3
  for (const auto status : {301, 401, 404, 429, 500, 503}) {
    auto answer = Answer::http(status);
    answer.retry_after_ms = 9'000;
    const auto o = fetched(answer);
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "attachment_unavailable");
    EXPECT_EQ(o.reach, WB_NOT_SENT) << "SES knows nothing of it";
    EXPECT_EQ(o.scope, WB_THIS_JOB);
    EXPECT_EQ(o.retry_after_ms, 9'000);
    EXPECT_EQ(o.detail, kFile + " answered " + std::to_string(status));
  }
  for (const auto& row : kNetworkRows) {
    const auto o = fetched(Answer::failure(row.error, row.reach, "gone"));
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, row.error == WB_NET_CANCELLED ? "cancelled" : "attachment_unavailable");
    EXPECT_EQ(o.reach, WB_NOT_SENT);
    EXPECT_EQ(o.scope, row.scope) << "without a connection no mail with files can be sent";
  }
  EXPECT_EQ(sent(job()).at("attachments"), Json::array()) << "no place is lost";
}

TEST_F(SesTest, WhatIsTooLargeIsRefused) {  // J3
  sender_ = make({{"max_attachments", 2}, {"max_attachment_bytes", 10}, {"max_total_bytes", 15}});
  expect_refused(fetched(file(std::string(11, 'x'))), "attachment_too_large");
  EXPECT_EQ(host_.requests().back().max_response_bytes, 10U);
  host_.answer(kFile, file(std::string(10, 'x')));
  host_.answer(kFile, file(std::string(6, 'x')));
  expect_refused(sender_->attempt(job(payload({attachment(), attachment()}))), "attachment_too_large");
  const auto before = host_.requests().size();
  expect_refused(sender_->attempt(job(payload({attachment(), attachment(), attachment()}))), "too_many_attachments");
  EXPECT_EQ(host_.requests().size(), before) << "nothing is fetched";
  host_.answer(kFile, file(std::string(10, 'x')));
  host_.answer(kFile, file(std::string(5, 'x')));
  EXPECT_EQ(sent(job(payload({attachment(), attachment()}))).at("attachments").size(), 2U);
}

TEST_F(SesTest, OnlyListedTypesAreAttached) {  // J3
  for (const auto* type : {"text/html", "image/svg+xml", "application/octet-stream", "application/x-msdownload", "", "image/",
                           "png", "image/png\tx", "multipart/mixed"})
    expect_refused(fetched(file("x", type)), "attachment_not_allowed");
  sender_ = make({{"attachment_types", {"application/zip"}}});
  expect_refused(fetched(file("x", "image/png")), "attachment_not_allowed");
  host_.answer(kFile, file("x", "application/zip"));
  EXPECT_EQ(sent(job(payload({attachment()}))).at("attachments")[0][1], "application/zip");
}

TEST_F(SesTest, AFilesNameCannotBreakOutOfItsHeader) {  // J3
  const std::pair<std::string, std::string> rows[] = {
      {"x\r\nBcc: eve@x.test", "x  Bcc: eve@x.test.png"},
      {"../../etc/passwd", ".._.._etc_passwd.png"},
      {"a\"; filename=\"evil.exe", "a_; filename=_evil.exe.png"},
      {"photo.PNG", "photo.PNG"},
      {"=?UTF-8?B?QmNj?=", "=?UTF-8?B?QmNj?=.png"},
      {"", "511ffde6.png"},
      {std::string(80, 'n'), std::string(80, 'n') + ".png"},
      {"مرحبا — \xf0\x9f\x98\x80", "مرحبا — \xf0\x9f\x98\x80.png"},
  };
  for (const auto& [title, name] : rows) {
    host_.answer(kFile, file("x"));
    const auto mail = sent(job(payload({attachment(kFile, title)})));
    EXPECT_EQ(mail.at("attachments")[0][0], name);
    EXPECT_EQ(mail.at("attachments").size(), 1U);
  }
}

TEST_F(SesTest, OnlySoManyMailsWithFilesAreMadeAtOneTime) {
  sender_ = make({{"concurrent_with_attachments", 1}});
  host_.answer(kFile, Answer::silence(WB_MAYBE_SENT));
  host_.answer(kFile, file("x"));
  host_.answer(kSes, Answer::http(200, R"({"MessageId":"m-0"})"));
  host_.answer(kSes, Answer::http(200, R"({"MessageId":"m-1"})"));
  const auto first = sender_->send(job(payload({attachment()})));
  const auto second = sender_->send(job(payload({attachment()})));
  const auto third = sender_->send(job(payload({attachment()})));
  EXPECT_EQ(host_.requests().size(), 1U);
  EXPECT_EQ(sender_->attempt(job()).provider_ref, "m-0") << "one without files does not wait";
  sender_->cancel(third);
  host_.run_until_idle();
  ASSERT_TRUE(host_.outcome(third));
  EXPECT_EQ(host_.outcome(third)->reason, "cancelled");
  EXPECT_EQ(host_.outcome(third)->reach, WB_NOT_SENT);
  sender_->cancel(first);
  host_.run_until_idle();
  ASSERT_TRUE(host_.outcome(first) && host_.outcome(second));
  EXPECT_EQ(host_.outcome(first)->reason, "cancelled");
  EXPECT_EQ(host_.outcome(second)->provider_ref, "m-1");
}

struct Row {
  int status;
  const char* type;
  wb_verdict verdict;
  const char* reason;
  wb_scope scope;
};

TEST_F(SesTest, EveryAnswerHasItsVerdict) {  // J3
  const Row rows[] = {
      {429, "TooManyRequestsException", WB_TRANSIENT, "rate_limited", WB_WHOLE_TARGET},
      {400, "ThrottlingException", WB_TRANSIENT, "rate_limited", WB_WHOLE_TARGET},
      {400, "Throttling", WB_TRANSIENT, "rate_limited", WB_WHOLE_TARGET},
      {400, "LimitExceededException", WB_TRANSIENT, "limit_exceeded", WB_WHOLE_TARGET},
      {400, "SendingPausedException", WB_TRANSIENT, "sending_paused", WB_WHOLE_TARGET},
      {400, "AccountSuspendedException", WB_TRANSIENT, "account_suspended", WB_WHOLE_TARGET},
      {403, "InvalidSignatureException", WB_TRANSIENT, "unauthorized", WB_WHOLE_TARGET},
      {403, "ExpiredTokenException", WB_TRANSIENT, "unauthorized", WB_WHOLE_TARGET},
      {400, "RequestExpired", WB_TRANSIENT, "unauthorized", WB_WHOLE_TARGET},
      {400, "BadRequestException", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {400, "MessageRejected", WB_REJECTED, "message_rejected", WB_THIS_JOB},
      {400, "MailFromDomainNotVerifiedException", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {404, "NotFoundException", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {413, "", WB_REJECTED, "bad_request", WB_THIS_JOB},
      {408, "", WB_TRANSIENT, "try_later", WB_THIS_JOB},
      {500, "InternalFailure", WB_TRANSIENT, "server_error", WB_THIS_JOB},
      {503, "ServiceUnavailable", WB_TRANSIENT, "server_error", WB_WHOLE_TARGET},
      {302, "", WB_TRANSIENT, "invalid_answer", WB_THIS_JOB},
  };
  for (const auto& row : rows)
    for (const int place : {0, 1, 2}) {
      Json body{{"message", "some\nwords"}};
      if (place == 0) body["__type"] = "com.amazonaws.sesv2#" + std::string(row.type);
      auto answer = Answer::http(row.status, place == 2 ? "" : body.dump());
      if (place != 0) answer.headers = {{"x-amzn-errortype", std::string(row.type) + ":http://internal.amazon.com/coral/"}};
      host_.answer(kSes, answer);
      const auto o = sender_->attempt(job());
      EXPECT_EQ(o.verdict, row.verdict) << o;
      EXPECT_EQ(o.reason, row.reason) << o << row.type;
      EXPECT_EQ(o.scope, row.scope) << o;
      EXPECT_EQ(o.reach, WB_ANSWERED) << o;
      EXPECT_EQ(o.code, row.status);
      const auto type = *row.type != '\0' ? " " + std::string(row.type) : "";
      EXPECT_EQ(o.detail, "status " + std::to_string(row.status) + type + (place == 2 ? "" : ": some words"));
    }
  for (const auto* body : {"", "x", "{}", R"({"MessageId":7})"}) {
    host_.answer(kSes, Answer::http(200, body));
    EXPECT_EQ(sender_->attempt(job()).reason, "invalid_answer") << body;
  }
}

TEST_F(SesTest, TheDaysQuotaIsAnOutageThatIsAskedForNowAndThen) {  // T10
  for (const auto& [status, type] :
       {std::pair{429, "TooManyRequestsException"}, {400, "Throttling"}, {400, "LimitExceededException"}}) {
    auto answer = Answer::http(status, R"({"message":"Daily message quota exceeded."})");
    answer.headers = {{"x-amzn-errortype", type}};
    host_.answer(kSes, answer);
    const auto o = sender_->attempt(job());
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "daily_limit") << o;
    EXPECT_EQ(o.scope, WB_WHOLE_TARGET) << o;
    EXPECT_EQ(o.retry_after_ms, 600'000) << o;
  }
}

TEST_F(SesTest, TheMessageIdIsOnRecord) {
  host_.answer(kSes, Answer::http(200, R"({"MessageId":"0102018f-1"})"));
  const auto o = sender_->attempt(job());
  EXPECT_EQ(o.provider_ref, "0102018f-1");
  EXPECT_EQ(Json::parse(o.result), (Json{{"messageId", "0102018f-1"}}));
}

TEST_F(SesTest, NetworkErrorsAreTransientWithTheHostsReach) { expect_network_errors_are_transient(host_, *sender_, job()); }

TEST_F(SesTest, CancelAbortsTheRequestAndEndsTheCall) { expect_cancel_aborts_and_completes(host_, *sender_, job()); }

TEST_F(SesTest, ASessionTokenIsAHeaderThatIsNeverQuoted) {
  sender_ = make({{"session_token_secret", "token"}, {"configuration_set", "forms"}});
  sent(job());
  EXPECT_EQ(host_.requests().back().header("X-Amz-Security-Token"), "{secret:token}");
  EXPECT_EQ(host_.requests().back().filled_header("X-Amz-Security-Token"), "the token");
  EXPECT_EQ(request_.at("ConfigurationSetName"), "forms");
  host_.answer(kSes, Answer::http(400, R"({"__type":"BadRequestException","message":"the token is odd"})"));
  EXPECT_EQ(sender_->attempt(job()).detail, "status 400 BadRequestException");
}

TEST_F(SesTest, ATargetSaysWhoSendsAndToWhom) {
  const auto mail =
      sent(job(payload(), {{"url", "https://ses.test"}, {"from", "desk@x.test"}, {"to", "Ann <a@x.test>, b@x.test"}}));
  EXPECT_EQ(mail.at("to"), Json::array({Json::array({"Ann", "a@x.test"}), Json::array({"", "b@x.test"})}));
  EXPECT_EQ(request_.at("FromEmailAddress"), "desk@x.test");
  EXPECT_EQ(request_.at("Destination").at("ToAddresses"), (Json{"a@x.test", "b@x.test"}));
  auto nobody = settings();
  nobody.erase("to");
  const auto o = host_.make_sender("ses", nobody.dump())->attempt(job());
  EXPECT_EQ(o.reason, "no_recipient") << o;
  EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
}

TEST_F(SesTest, WhatCannotBeSentIsRefusedWithItsReason) {  // J3
  const std::pair<const char*, const char*> rows[] = {
      {"", "the payload is empty"},
      {"[]", "the payload is not a JSON object"},
      {R"({"body":"x"})", "the payload has no subject"},
      {R"({"subject":"x"})", "the payload has no body"},
      {R"({"subject":7,"body":"x"})", "the payload has a field subject that is not text"},
      {R"({"subject":"x","body":"x","attachments":{}})", "the payload has attachments that are not a list"},
      {R"({"subject":"x","body":"x","attachments":[7]})", "the payload has an attachment that is not an object"},
      {R"({"subject":"x","body":"x","attachments":[{"type":"text","answer":"x"}]})",
       "the payload has an attachment of the unknown type \"text\""},
      {R"({"subject":"x","body":"x","onComplete":{"attachments":[{"answer":7}]}})",
       "the payload has a field answer that is not text"}};
  for (const auto& [json, detail] : rows) {
    auto one = job();
    one.payload = json;
    const auto o = sender_->attempt(one);
    expect_refused(o, "invalid_payload");
    EXPECT_EQ(o.detail, detail);
  }
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(SesTest, SettingsAndDestinationsThatCannotWorkAreRefused) {
  const std::pair<Json, const char*> rows[] = {{{{"region", "eu west"}}, "/region"},
                                               {{{"access_key_secret", nullptr}}, "/access_key_secret"},
                                               {{{"secret_key_secret", ""}}, "/secret_key_secret"},
                                               {{{"from", "nobody"}}, "/from"},
                                               {{{"to", "a@x.test, nobody"}}, "/to"},
                                               {{{"files_allowed_origins", {"http://a.test/path"}}}, "/files_allowed_origins/0"},
                                               {{{"files_allowed_origins", {"https://a.test", "*"}}}, "/files_allowed_origins/1"},
                                               {{{"files_allowed_origins", "http://a.test"}}, "/files_allowed_origins"},
                                               {{{"attachment_types", {"*/*"}}}, "/attachment_types/0"},
                                               {{{"max_attachment_bytes", 16'777'217}}, "/max_attachment_bytes"},
                                               {{{"max_total_bytes", 0}}, "/max_total_bytes"}};
  for (const auto& [more, path] : rows) {
    auto all = settings();
    all.update(more);
    const auto problems = host_.validate_settings("ses", all.dump());
    ASSERT_EQ(problems.size(), 1U) << more;
    EXPECT_EQ(problems[0].path, path);
    EXPECT_EQ(host_.make_sender("ses", all.dump()), nullptr);
  }
  EXPECT_TRUE(host_.validate_settings("ses", settings().dump()).empty());
  const std::pair<const char*, const char*> destinations[] = {
      {"{}", "/url"},
      {R"({"url":"https://x.test#a"})", "/url"},
      {R"({"url":"https://x.test","from":"x"})", "/from"},
      {R"({"url":"https://x.test","filesAllowedOrigins":["ftp://x"]})", "/filesAllowedOrigins/0"},
      {"x", ""}};
  for (const auto& [json, path] : destinations) {
    const auto problems = host_.validate_destination("ses", json);
    ASSERT_EQ(problems.size(), 1U) << json;
    EXPECT_EQ(problems[0].path, path);
  }
  EXPECT_TRUE(host_.validate_destination("ses", R"({"url":"https://x.test"})").empty());
}

}  // namespace
}  // namespace waybill::plugins::testing
