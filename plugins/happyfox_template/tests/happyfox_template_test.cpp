// The happyfox_template plugin: tickets, the search before a doubtful resend, every answer. F9, F10
#include <nlohmann/json.hpp>

#include "common/tests/form_jobs.h"
#include "common/tests/hostile_texts.h"
#include "common/tests/network_rows.h"

namespace waybill::plugins::testing {
namespace {

using testkit::Answer;
using testkit::Outcome;

constexpr const char* kSettings =
    R"({"account":"example.happyfox.com","api_key_secret":"happyfox_key","auth_code_secret":"happyfox_code"})";
const std::string kTickets = "https://example.happyfox.com/api/1.1/json/tickets/";
const std::string kSearch = kTickets + "?status=_all&size=50&q=%22%5Bwaybill%3A1%3D3As-1%3D3A2%5D%22";
constexpr const char* kMarker = "[waybill:1=3As-1=3A2]";

class HappyFox : public ::testing::Test {
 protected:
  HappyFox() {
    host_.secret("happyfox_key", {"k3y"});
    host_.secret("happyfox_code", {"c0de"});
    host_.set_unix_seconds(1'772'366'400);  // Sun, 1 March 2026, 12:00 UTC
    host_.registry_template("contact", {{"subject", "Help"}, {"text", "Hello"}, {"html", "<p>Hello</p>"}});
  }
  static Json with_contact() {
    auto form = contact_form();
    form["fields"]["email"] = "ann@x.test";
    return form;
  }
  testkit::Job job(const Json& form = with_contact()) const {
    return form_job({{"destination", "support"}, {"happyfox_category", "3"}, {"template_id", "contact"}}, form);
  }
  testkit::Job doubtful() const {
    auto out = job();
    out.maybe_sent_before = true;
    return out;
  }
  Outcome answered(int status, const std::string& body) {
    host_.answer(kTickets, Answer::http(status, body));
    return sender_->attempt(job());
  }
  Json posted(const testkit::Job& one) {
    host_.answer(kTickets, Answer::http(200, R"({"id":7})"));
    const auto o = sender_->attempt(one);
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
    return Json::parse(host_.requests().back().body);
  }

  testkit::FakeHost host_{wb_plugin_v1()};
  std::unique_ptr<testkit::FakeSender> sender_ = host_.make_sender("happyfox_template", kSettings);
};

TEST_F(HappyFox, WithoutCredentialsItIsDeferred) {  // F9
  for (const auto* settings :
       {"{}", R"({"account":"example.happyfox.com"})", R"({"account":"example.happyfox.com","api_key_secret":"happyfox_key"})",
        R"({"api_key_secret":"happyfox_key","auth_code_secret":"happyfox_code"})"}) {
    auto sender = host_.make_sender("happyfox_template", settings);
    auto one = job(Json::object());
    one.destination = "garbage";
    const auto o = sender->attempt(one);
    EXPECT_EQ(o.verdict, WB_DEFERRED) << o;
    EXPECT_EQ(o.reason, "not_configured");
    EXPECT_EQ(o.reach, WB_NOT_SENT);
    EXPECT_EQ(sender->status(one).reason, "not_configured");
  }
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(HappyFox, ATicketIsMadeOfTheForm) {  // F9
  EXPECT_EQ(posted(job()), (Json{{"name", "Ann"},
                                 {"email", "ann@x.test"},
                                 {"category", 3},
                                 {"subject", std::string("Help ") + kMarker},
                                 {"text", "Hello"},
                                 {"html", "<p>Hello</p>"}}));
  ASSERT_EQ(host_.requests().size(), 1U) << "nothing to search for in a first attempt";
  const auto& request = host_.requests()[0];
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.basic_user, "happyfox_key") << "names, never the secrets";
  EXPECT_EQ(request.basic_password, "happyfox_code");
  EXPECT_EQ(request.filled_header("Authorization"), "Basic azN5OmMwZGU=");
  EXPECT_EQ(request.timeout_ms, 0U) << "T25: all of the attempt's time";
}

TEST_F(HappyFox, TheTicketsIdIsOnRecord) {  // F9
  const auto o = answered(200, R"({"id":1234,"display_id":"#HF00001234","subject":"Help"})");
  EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
  EXPECT_EQ(o.provider_ref, "1234");
  EXPECT_EQ(Json::parse(o.result), (Json{{"ticketId", "1234"}, {"displayId", "#HF00001234"}}));
  EXPECT_EQ(o.reach, WB_ANSWERED);
}

TEST_F(HappyFox, TheSettingsNameTheFieldsAndWhereOurIdGoes) {
  sender_ = host_.make_sender("happyfox_template", R"({"account":"example.happyfox.com","api_key_secret":"happyfox_key",
      "auth_code_secret":"happyfox_code","name_field":"who","email_field":"mail","custom_field":{"id":9,"name":"Way \"bill"}})");
  ASSERT_TRUE(sender_);
  auto form = contact_form();
  form["fields"] = {{"who", "Bob\r\nB"}, {"mail", " bob@x.test\n"}};
  const auto ticket = posted(job(form));
  EXPECT_EQ(ticket.at("name"), "Bob  B");
  EXPECT_EQ(ticket.at("email"), "bob@x.test");
  EXPECT_EQ(ticket.at("subject"), "Help");
  EXPECT_EQ(ticket.at("t-cf-9"), kMarker);

  auto again = job(form);
  again.maybe_sent_before = true;
  host_.answer(Answer::http(200, Json{{"data", {{{"id", 5}, {"custom_fields", {{{"id", 9}, {"value", kMarker}}}}}}}}.dump()));
  EXPECT_EQ(sender_->attempt(again).provider_ref, "5");
  EXPECT_NE(host_.requests().back().url.find("q=%22Way%20%22bill%22%3A%22%5Bwaybill"), std::string::npos);
}

TEST_F(HappyFox, AContactWithoutANameHasItsAddress) {
  auto form = with_contact();
  form["fields"]["name"] = 7;
  EXPECT_EQ(posted(job(form)).at("name"), "ann@x.test");
}

TEST_F(HappyFox, ADoubtfulAttemptIsSearchedForFirst) {  // F7, F9
  const Json ours{{"id", 7}, {"display_id", "#HF7"}, {"subject", std::string("Help ") + kMarker}};
  const Json others = {{{"id", 1}, {"subject", "[waybill:1=3As-1=3A22]"}}, {{"id", 2}, {"subject", nullptr}}, 7, ours};
  for (const auto& answer : {Json{{"page_info", Json::object()}, {"data", others}}, Json::array({Json{{"data", others}}})}) {
    host_.answer(kSearch, Answer::http(200, answer.dump()));
    const auto o = sender_->attempt(doubtful());
    EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
    EXPECT_EQ(o.provider_ref, "7");
    EXPECT_EQ(Json::parse(o.result).at("displayId"), "#HF7");
    EXPECT_EQ(host_.requests().back().method, "GET");
    EXPECT_EQ(host_.requests().back().basic_user, "happyfox_key");
  }
}

TEST_F(HappyFox, WhatIsNotFoundIsPosted) {  // F9
  host_.answer(kSearch, Answer::http(200, R"({"data":[{"id":1,"subject":"[waybill:1=3As-1=3A22]"},{"id":2}]})"));
  host_.answer(kTickets, Answer::http(200, R"({"id":8})"));
  EXPECT_EQ(sender_->attempt(doubtful()).provider_ref, "8");
  EXPECT_EQ(host_.requests().size(), 2U);
}

TEST_F(HappyFox, NothingIsPostedWhileTheSearchHasNoUsableAnswer) {  // F7
  for (const auto* body : {"", "x", "[]", "{}", R"({"data":7})", R"([{"data":[]},{"data":[]}])"}) {
    host_.answer(kSearch, Answer::http(200, body));
    const auto o = sender_->attempt(doubtful());
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "invalid_answer") << o;
    EXPECT_EQ(o.reach, WB_NOT_SENT);
  }
  for (const auto status : {400, 401, 404, 429, 500}) {
    host_.answer(kSearch, Answer::http(status));
    const auto o = sender_->attempt(doubtful());
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reach, WB_NOT_SENT) << o;
  }
  host_.answer(kSearch, Answer::failure(WB_NET_TIMEOUT, WB_MAYBE_SENT));
  EXPECT_EQ(sender_->attempt(doubtful()).reach, WB_NOT_SENT);
}

TEST_F(HappyFox, ARefusedTicketIsRejectedWithHappyFoxsWords) {  // F10
  const std::pair<std::pair<int, const char*>, const char*> rows[] = {
      {{400, R"({"error":[{"field":"email","errors":["Enter a valid\ne-mail address.","more"]}]})"},
       "status 400: email: Enter a valid e-mail address."},
      {{200, R"({"error":[{"field":"category","errors":["Select a valid choice."]}]})"}, "category: Select a valid choice."},
      {{422, R"({"error":"no"})"}, "status 422: no"},
      {{400, R"({"error":[]})"}, "status 400: []"},
      {{400, R"({"error":[{"errors":{"a":1}}]})"}, "status 400: {\"a\":1}"},
      {{404, "<html>"}, "status 404"},
  };
  for (const auto& [answer, detail] : rows) {
    const auto o = answered(answer.first, answer.second);
    EXPECT_EQ(o.verdict, WB_REJECTED) << o;
    EXPECT_EQ(o.reason, "invalid_ticket");
    EXPECT_EQ(o.detail, detail);
    EXPECT_EQ(o.code, answer.first);
  }
}

TEST_F(HappyFox, BadCredentialsRestTheAccount) {  // F9
  for (const auto status : {401, 403}) {
    const auto o = answered(status, "");
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "unauthorized");
    EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
  }
}

TEST_F(HappyFox, TooManyRequestsRestTheAccountForTenMinutesAtLeast) {  // F9, F10
  for (const auto& [asked, waited] : {std::pair{-1, 600'000}, std::pair{5'000, 600'000}, std::pair{900'000, 900'000}}) {
    auto busy = Answer::http(429);
    busy.retry_after_ms = asked;
    host_.answer(kTickets, busy);
    const auto o = sender_->attempt(job());
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, "rate_limited");
    EXPECT_EQ(o.scope, WB_WHOLE_TARGET);
    EXPECT_EQ(o.retry_after_ms, waited);
  }
}

TEST_F(HappyFox, EverythingElseIsTriedAgain) {  // F10
  for (const auto status : {302, 408, 425, 500, 503}) EXPECT_EQ(answered(status, "").verdict, WB_TRANSIENT) << status;
  for (const auto* body : {"", "x", "[]", "{}", R"({"id":"7"})", R"({"id":null})"}) {
    const auto o = answered(200, body);
    EXPECT_EQ(o.reason, "invalid_answer") << o;
    EXPECT_EQ(o.reach, WB_ANSWERED) << o;
  }
}

TEST_F(HappyFox, NetworkErrorsAreTransientWithTheHostsReach) { expect_network_errors_are_transient(host_, *sender_, job()); }

TEST_F(HappyFox, CancelAbortsTheRequestAndEndsTheCall) { expect_cancel_aborts_and_completes(host_, *sender_, job()); }

TEST_F(HappyFox, AFormThatCannotBeATicketIsRefused) {  // F10
  auto no_address = contact_form();
  auto blank = with_contact();
  blank["fields"]["email"] = " \r\n";
  auto listed = with_contact();
  listed["fields"] = {"a", "b"};
  for (const auto& form : {Json::object(), no_address, blank, listed}) {
    const auto o = sender_->attempt(job(form));
    EXPECT_EQ(o.verdict, WB_REJECTED) << o;
    EXPECT_EQ(o.reason, "invalid_form");
    EXPECT_EQ(o.reach, WB_NOT_SENT);
  }
  auto gone = job();
  gone.destination = R"({"happyfox_category":"3","template_id":"gone"})";
  EXPECT_EQ(sender_->attempt(gone).reason, "unknown_template");
  for (const auto* destination : {"", "{}", R"({"happyfox_category":"three"})", R"({"happyfox_category":3})"}) {
    auto bad = job();
    bad.destination = destination;
    EXPECT_EQ(sender_->attempt(bad).reason, "invalid_form") << destination;
  }
  EXPECT_TRUE(host_.requests().empty());
}

TEST_F(HappyFox, AttachmentsAreLinksInTheText) {  // F8, F9
  auto form = with_contact();
  form["attachments"].push_back(attachment("cv.pdf"));
  const auto ticket = posted(job(form));
  for (const auto* part : {"text", "html"})
    EXPECT_NE(ticket.at(part).get<std::string>().find("https://signed.test/bucket/a-1?ttl=604800"), std::string::npos);
}

// T28
TEST_F(HappyFox, AFormMaySayThatATicketHasNoLinks) {
  auto form = with_contact();
  form["attachments"].push_back(attachment("cv.pdf"));
  auto one = job(form);
  auto destination = Json::parse(one.destination);
  for (const bool has_links : {true, false}) {
    destination["attachment_links"] = has_links;
    EXPECT_TRUE(host_.validate_destination("happyfox_template", destination.dump()).empty()) << destination;
    one.destination = destination.dump();
    EXPECT_EQ(posted(one).dump().find("signed.test") != std::string::npos, has_links);
  }
}

TEST_F(HappyFox, ALongSubjectKeepsOurId) {
  auto one = job();
  one.destination = Json{{"happyfox_category", "3"}, {"subject_template", std::string(5'000, 'x')}}.dump();
  EXPECT_EQ(posted(one).at("subject"), std::string(200, 'x') + "... " + kMarker);
}

TEST_F(HappyFox, HostileTextsComeOutAsTheyWereMeant) {  // F10
  for (const auto& text : hostile_texts()) {
    host_.registry_template("contact", {{"text", text}});
    auto form = with_contact();
    form["fields"]["name"] = text;
    form["form"]["name"] = text;
    const auto ticket = posted(job(form));
    EXPECT_EQ(ticket.at("text"), text);
    EXPECT_EQ(ticket.at("email"), "ann@x.test");
    for (const auto* name : {"name", "subject"})
      EXPECT_EQ(ticket.at(name).get<std::string>().find_first_of(std::string("\r\n\0", 3)), std::string::npos);
    EXPECT_EQ(ticket.size(), 5U);
  }
}

TEST_F(HappyFox, ItTellsWhetherATicketIsThere) {
  auto one = job();
  one.provider_ref = "7";
  const std::string url = "https://example.happyfox.com/api/1.1/json/ticket/7/";
  const std::pair<int, wb_verdict> rows[] = {{200, WB_ACCEPTED},  {404, WB_REJECTED},  {400, WB_TRANSIENT},
                                             {401, WB_TRANSIENT}, {429, WB_TRANSIENT}, {500, WB_TRANSIENT}};
  for (const auto& [status, verdict] : rows) {
    host_.answer(url, Answer::http(status, "{}"));
    EXPECT_EQ(sender_->status(one).verdict, verdict) << status;
  }
  one.provider_ref = "../users";
  EXPECT_EQ(sender_->status(one).reason, "unknown_ticket");
}

TEST_F(HappyFox, ACategoryIsANumber) {  // F2
  const auto problems = [&](const char* json) { return host_.validate_destination("happyfox_template", json); };
  EXPECT_TRUE(problems(R"({"destination":"support","happyfox_category":"3"})").empty());
  for (const auto* bad : {"{}", R"({"happyfox_category":""})", R"({"happyfox_category":"x"})", R"({"happyfox_category":3})",
                          R"({"happyfox_category":"1234567890123456789"})"}) {
    ASSERT_EQ(problems(bad).size(), 1U) << bad;
    EXPECT_EQ(problems(bad)[0].path, "/happyfox_category");
  }
  for (const auto* garbage : {"", "x", "[]"}) EXPECT_EQ(problems(garbage).size(), 1U);
}

TEST_F(HappyFox, SettingsThatCannotWorkAreRefused) {
  const std::pair<const char*, const char*> rows[] = {{R"({"account":"a/b"})", "/account"},
                                                      {R"({"base_url":"ftp://x"})", "/base_url"},
                                                      {R"({"api_key_secret":7})", "/api_key_secret"},
                                                      {R"({"custom_field":"t-cf-1"})", "/custom_field"},
                                                      {R"({"custom_field":{"id":0,"name":"x"}})", "/custom_field"},
                                                      {R"({"link_ttl_seconds":0})", "/link_ttl_seconds"},
                                                      {"[]", ""}};
  for (const auto& [settings, path] : rows) {
    const auto problems = host_.validate_settings("happyfox_template", settings);
    ASSERT_EQ(problems.size(), 1U) << settings;
    EXPECT_EQ(problems[0].path, path);
    EXPECT_EQ(host_.make_sender("happyfox_template", settings), nullptr);
  }
  for (const auto* good : {"{}", kSettings, R"({"base_url":"http://127.0.0.1:8080/"})"})
    EXPECT_TRUE(host_.validate_settings("happyfox_template", good).empty()) << good;
}

}  // namespace
}  // namespace waybill::plugins::testing
