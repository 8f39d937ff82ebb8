// What holds for every sender of mail, included by the tests of each: the relay's answers, retries, settings, recipients. F8, F10
#pragma once

#include "common/tests/mail_fixture.h"
#include "common/tests/network_rows.h"

namespace waybill::plugins::testing {

using Mail = MailTest;

TEST_F(Mail, IsSubmittedAsItWasComposed) {  // F8
  const auto o = sent(MailAnswer::refused(WB_SMTP_DATA, 250, "2.0.0 Ok: queued as 4XyZ1"));
  EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
  EXPECT_EQ(o.provider_ref, "4XyZ1");
  EXPECT_EQ(o.code, 250);
  EXPECT_EQ(Json::parse(o.result), (Json{{"accepted", {"a@x.test", "b@x.test", "c@x.test"}}, {"refused", Json::array()}}));
  const auto& mail = host_.mails().at(0);
  EXPECT_EQ(mail.data, o.artifact);
  EXPECT_EQ(mail.from, "forms@example.org");
  EXPECT_EQ(mail.recipients, (std::vector<std::string>{"a@x.test", "b@x.test", "c@x.test"}));
  EXPECT_EQ(mail.relay, "smtp://localhost:25");
  EXPECT_EQ(mail.tls, WB_TLS_IF_OFFERED);
  EXPECT_EQ(mail.user, "");
  EXPECT_EQ(mail.timeout_ms, 0U) << "T25: all of the attempt's time";
}

TEST_F(Mail, SendsTheStoredBytesWhateverTheContextSaysNow) {
  host_.mail_answer(MailAnswer::taken());
  auto job = form_job({{"destination", "a@x.test"}});
  job.artifact = "Subject: stored\r\n\r\n";
  job.context = "{}";
  EXPECT_EQ(sender_->attempt(job).verdict, WB_ACCEPTED);
  EXPECT_EQ(host_.mails().at(0).data, job.artifact);
}

TEST_F(Mail, KnowsTheQueueIdsOfCommonRelays) {
  const std::pair<const char*, const char*> rows[] = {{"2.0.0 Ok: queued as 9F1", "9F1"},
                                                      {"OK id=1abc-000-De", "1abc-000-De"},
                                                      {"2.6.0 Queued as <x@y>, delivery begins", "<x@y>"},
                                                      {"2.0.0 queued as ", ""},
                                                      {"thanks", ""}};
  for (const auto& [text, id] : rows) EXPECT_EQ(sent(MailAnswer::refused(WB_SMTP_DATA, 250, text)).provider_ref, id);
}

struct SmtpRow {
  wb_smtp_stage stage;
  int code;
  wb_verdict verdict;
  const char* reason;
  wb_scope scope = WB_THIS_JOB;
};

TEST_F(Mail, EachRefusalMeansWhatItsStageSays) {  // F10
  constexpr SmtpRow kRows[] = {
      {WB_SMTP_CONNECT, 421, WB_TRANSIENT, "try_later", WB_WHOLE_TARGET},
      {WB_SMTP_CONNECT, 554, WB_TRANSIENT, "relay_refused", WB_WHOLE_TARGET},
      {WB_SMTP_AUTH, 454, WB_TRANSIENT, "try_later", WB_WHOLE_TARGET},
      {WB_SMTP_AUTH, 535, WB_TRANSIENT, "relay_login_refused", WB_WHOLE_TARGET},
      {WB_SMTP_MAIL, 451, WB_TRANSIENT, "try_later"},
      {WB_SMTP_MAIL, 421, WB_TRANSIENT, "try_later"},
      {WB_SMTP_MAIL, 530, WB_TRANSIENT, "relay_login_refused", WB_WHOLE_TARGET},
      {WB_SMTP_MAIL, 552, WB_REJECTED, "invalid_message"},
      {WB_SMTP_MAIL, 550, WB_REJECTED, "sender_refused"},
      {WB_SMTP_RCPT, 450, WB_TRANSIENT, "try_later"},
      {WB_SMTP_RCPT, 421, WB_TRANSIENT, "try_later"},
      {WB_SMTP_RCPT, 550, WB_REJECTED, "invalid_recipient"},
      {WB_SMTP_DATA, 451, WB_TRANSIENT, "try_later"},
      {WB_SMTP_DATA, 421, WB_TRANSIENT, "try_later"},
      {WB_SMTP_DATA, 554, WB_REJECTED, "invalid_message"},
  };
  for (const auto& row : kRows) {
    const auto o = sent(MailAnswer::refused(row.stage, row.code, "4.7.0 words\nof the relay"));
    EXPECT_EQ(o.verdict, row.verdict) << o;
    EXPECT_EQ(o.reason, row.reason) << o;
    EXPECT_EQ(o.scope, row.scope) << o;
    EXPECT_EQ(o.code, row.code) << o;
    EXPECT_EQ(o.reach, WB_ANSWERED) << o;
    EXPECT_NE(o.detail.find(std::to_string(row.code) + " 4.7.0 words of the relay"), std::string::npos) << o;
  }
}

TEST_F(Mail, ARelayWithoutALoginThatTheHostKnowsRestsTheTarget) {
  auto broken = MailAnswer::failure(WB_NET_BROKEN, WB_NOT_SENT, "no common login");
  broken.stage = WB_SMTP_AUTH;
  const auto o = sent(broken);
  EXPECT_EQ(o.reason, "relay_login_refused") << o;
  EXPECT_EQ(o.scope, WB_WHOLE_TARGET) << o;
  EXPECT_EQ(o.reach, WB_NOT_SENT) << o;
}

TEST_F(Mail, NetworkErrorsAreTransientWithTheHostsReach) {  // F10
  for (const auto& row : kNetworkRows) {
    const auto o = sent(MailAnswer::failure(row.error, row.reach, "what the host\nsaw"));
    EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
    EXPECT_EQ(o.reason, row.reason) << o;
    EXPECT_EQ(o.reach, row.reach) << o;
    EXPECT_EQ(o.scope, row.scope) << o;
    EXPECT_EQ(o.detail, "what the host saw");
  }
}

TEST_F(Mail, WhoWasRefusedForNowIsAskedAgainAndNobodyElse) {  // F7, F10
  host_.mail_answer(MailAnswer::taken().to("b@x.test", 450, "4.2.0 greylisted"));
  host_.mail_answer(MailAnswer::taken());
  const auto ends = sender_->deliver(form_job({{"destination", "a@x.test, b@x.test, c@x.test"}}), 3);
  ASSERT_EQ(ends.size(), 2U);
  EXPECT_EQ(ends[0].verdict, WB_TRANSIENT) << ends[0];
  EXPECT_EQ(ends[0].reason, "some_recipients_later");
  EXPECT_EQ(ends[0].code, 450);
  EXPECT_EQ(ends[0].detail, "b@x.test: 450 4.2.0 greylisted");
  EXPECT_EQ(Json::parse(ends[0].result),
            (Json{{"accepted", {"a@x.test", "c@x.test"}},
                  {"refused", {{{"address", "b@x.test"}, {"code", 450}, {"text", "4.2.0 greylisted"}}}}}));
  EXPECT_EQ(ends[1].verdict, WB_ACCEPTED) << ends[1];
  EXPECT_EQ(Json::parse(ends[1].result), (Json{{"accepted", {"a@x.test", "c@x.test", "b@x.test"}}, {"refused", Json::array()}}));
  EXPECT_EQ(host_.mails().at(1).recipients, std::vector<std::string>{"b@x.test"});
  EXPECT_EQ(host_.mails().at(1).data, host_.mails().at(0).data);
}

TEST_F(Mail, WhoWasRefusedForGoodIsNotAskedAgainAndEndsTheDelivery) {  // F10
  host_.mail_answer(MailAnswer::taken().to("a@x.test", 550, "5.1.1 unknown").to("b@x.test", 451, "4.3.0 full"));
  host_.mail_answer(MailAnswer::failure(WB_NET_TIMEOUT, WB_NOT_SENT));
  host_.mail_answer(MailAnswer::taken());
  const auto ends = sender_->deliver(form_job({{"destination", "a@x.test, b@x.test, c@x.test"}}), 5);
  ASSERT_EQ(ends.size(), 3U);
  EXPECT_EQ(ends[0].reason, "some_recipients_later") << ends[0];
  EXPECT_EQ(host_.mails().at(1).recipients, std::vector<std::string>{"b@x.test"});
  EXPECT_EQ(host_.mails().at(2).recipients, std::vector<std::string>{"b@x.test"}) << "a failure on the way forgets nothing";
  EXPECT_EQ(ends[2].verdict, WB_REJECTED) << ends[2];
  EXPECT_EQ(ends[2].reason, "invalid_recipient");
  EXPECT_EQ(ends[2].detail, "a@x.test: 550 5.1.1 unknown");
  EXPECT_EQ(Json::parse(ends[2].result).at("accepted"), (Json{"c@x.test", "b@x.test"})) << "the partial result is kept";
}

TEST_F(Mail, SomeTakenAndTheRestRefusedForGoodIsRejectedWithThePartialResult) {  // F10
  const auto o = sent(MailAnswer::taken().to("c@x.test", 553, "5.1.3 bad"));
  EXPECT_EQ(o.verdict, WB_REJECTED) << o;
  EXPECT_EQ(o.reason, "invalid_recipient");
  EXPECT_EQ(Json::parse(o.result).at("accepted"), (Json{"a@x.test", "b@x.test"}));
  EXPECT_EQ(Json::parse(o.result).at("refused").at(0).at("address"), "c@x.test");
}

TEST_F(Mail, NobodyHasAMailThatWasRefusedAsAWhole) {
  const auto o = sent(MailAnswer::refused(WB_SMTP_DATA, 452, "4.3.1 full").to("b@x.test", 550, "5.1.1 unknown"));
  EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
  EXPECT_EQ(Json::parse(o.result).at("accepted"), Json::array());
  sent(MailAnswer::taken(), o.result);
  EXPECT_EQ(host_.mails().back().recipients, (std::vector<std::string>{"a@x.test", "c@x.test"}));
}

TEST_F(Mail, AReplayAsksThoseWhoWereRefusedIfNobodyElseIsLeft) {
  const auto before =
      R"({"accepted":["a@x.test","b@x.test","old@x.test"],"refused":[{"address":"C@X.test","code":550,"text":"no"}]})";
  const auto o = sent(MailAnswer::taken(), before);
  EXPECT_EQ(host_.mails().at(0).recipients, std::vector<std::string>{"c@x.test"});
  EXPECT_EQ(o.verdict, WB_ACCEPTED) << o;
}

TEST_F(Mail, ADeliveryWhoseRecipientsAllHaveItAsksNobody) {  // F7
  auto job = form_job({{"destination", "a@x.test"}});
  job.progress = R"({"accepted":["a@x.test"],"refused":[]})";
  EXPECT_EQ(sender_->attempt(job).verdict, WB_ACCEPTED);
  EXPECT_TRUE(host_.mails().empty());
}

TEST_F(Mail, ProgressThatMakesNoSenseIsNone) {
  for (const auto* progress :
       {"x", "[]", "{}", R"({"accepted":"a@x.test","refused":7})",
        R"({"accepted":[7,null,{}],"refused":[7,{},{"address":"a@x.test"},{"address":7,"code":550,"text":""}]})"}) {
    EXPECT_EQ(sent(MailAnswer::taken(), progress).verdict, WB_ACCEPTED);
    EXPECT_EQ(host_.mails().back().recipients.size(), 3U) << progress;
  }
}

TEST_F(Mail, ACancelledSubmissionIsAbortedAndEndsTheCall) {
  host_.mail_answer(MailAnswer::silence(WB_MAYBE_SENT));
  auto job = form_job({{"destination", "a@x.test"}});
  job.artifact = "Subject: x\r\n\r\n";
  const auto call = sender_->send(job);
  sender_->cancel(call);
  host_.run_until_idle();
  ASSERT_TRUE(host_.outcome(call));
  EXPECT_EQ(host_.outcome(call)->reason, "cancelled");
  EXPECT_EQ(host_.outcome(call)->reach, WB_MAYBE_SENT);
  EXPECT_TRUE(host_.mails().at(0).aborted);
}

TEST_F(Mail, TheOperatorNamesTheRelay) {
  auto sender = host_.make_sender(kMailType, R"({"from":"f@x.test","relay":"smtps://relay.test:465","tls":"required",
      "user":"forms","password_secret":"relay","timeout_ms":250})");
  ASSERT_TRUE(sender) << host_.create_problems().at(0);
  host_.secret("relay", {"s3cret"});
  host_.mail_answer(MailAnswer::taken());
  EXPECT_EQ(sender->attempt(form_job({{"destination", "a@x.test"}})).verdict, WB_ACCEPTED);
  const auto& mail = host_.mails().at(0);
  EXPECT_EQ(mail.relay, "smtps://relay.test:465");
  EXPECT_EQ(mail.tls, WB_TLS_REQUIRED);
  EXPECT_EQ(mail.user, "forms");
  EXPECT_EQ(mail.password, "relay");
  EXPECT_EQ(mail.timeout_ms, 250U);
}

TEST_F(Mail, ALoginAsksForTls) {  // S11
  const auto tls_of = [&](const std::string& more) {
    auto sender = host_.make_sender(kMailType, R"({"from":"f@x.test","relay":"smtp://[::1]:25")" + more + "}");
    host_.secret("relay", {"s3cret"});
    host_.mail_answer(MailAnswer::taken());
    EXPECT_EQ(sender->attempt(form_job({{"destination", "a@x.test"}})).verdict, WB_ACCEPTED);
    return host_.mails().back().tls;
  };
  const std::string login = R"(,"user":"forms","password_secret":"relay")";
  EXPECT_EQ(tls_of(""), WB_TLS_IF_OFFERED);
  EXPECT_EQ(tls_of(login), WB_TLS_REQUIRED);
  EXPECT_EQ(tls_of(login + R"(,"tls":"if_offered")"), WB_TLS_IF_OFFERED) << "the operator's word";
}

TEST_F(Mail, SettingsThatCannotWorkAreRefused) {
  const std::pair<const char*, const char*> rows[] = {
      {R"({})", "/from"},
      {R"({"from":7})", "/from"},
      {R"({"from":"nobody"})", "/from"},
      {R"({"from":"a@x.test, b@x.test"})", "/from"},
      {R"({"from":"a@x.test","relay":"http://x.test"})", "/relay"},
      {R"({"from":"a@x.test","relay":"smtp://"})", "/relay"},
      {R"({"from":"a@x.test","relay":"smtp://x.test/?y"})", "/relay"},
      {R"({"from":"a@x.test","relay":"smtp://x.test:99999"})", "/relay"},  // S12
      {R"({"from":"a@x.test","relay":"smtp://x.test:0"})", "/relay"},
      {R"({"from":"a@x.test","relay":"smtp://x.test:"})", "/relay"},
      {R"({"from":"a@x.test","relay":"smtp://[::1]:65536"})", "/relay"},
      {R"({"from":"a@x.test","tls":"perhaps"})", "/tls"},
      {R"({"from":"a@x.test","user":"me"})", "/user"},
      {R"({"from":"a@x.test","password_secret":"me"})", "/user"},
      {R"({"from":"a@x.test","link_ttl_seconds":604801})", "/link_ttl_seconds"},
      {R"({"from":"a@x.test","timeout_ms":0})", "/timeout_ms"},
  };
  for (const auto& [settings, path] : rows) {
    const auto problems = host_.validate_settings(kMailType, settings);
    ASSERT_FALSE(problems.empty()) << settings;
    EXPECT_EQ(problems.at(0).path, path) << problems.at(0);
    EXPECT_EQ(host_.make_sender(kMailType, settings), nullptr) << settings;
  }
  for (const auto* garbage : {"", "x", "[]", "null"}) EXPECT_EQ(host_.validate_settings(kMailType, garbage).size(), 1U);
  EXPECT_TRUE(host_.validate_settings(kMailType, R"({"from":"Forms <f@x.test>","tls":"never"})").empty());
}

TEST_F(Mail, AnAddressThatCannotBeSentToIsRefusedByName) {  // F10
  const std::pair<const char*, const char*> rows[] = {
      {"", "missing"},
      {"a@x.test,", "missing"},
      {"nobody", "\"nobody\""},
      {"a@x.test b@x.test", "\"a@x.test b@x.test\""},
      {"j\xc3\xb6rg@x.test", "SMTPUTF8"},
      {"a@b\xc3\xbc"
       "cher.test",
       "xn--"},
      {"Team: a@x.test, b@x.test;", "groups"},
      {"\"a b\"@x.test", "quoted"},
      {"a@[127.0.0.1]", "brackets"},
      {"a@-x.test", "hyphen"},
      {"a..b@x.test", "before the @"},
      {"=?UTF-8?B?QmNj?=@x.test", "encoded word"},
      {"a@x..test", "behind the @"},
      {"Team (sales) <a@x.test>", "quotes"},
      {"\"Team <a@x.test>", "\"\"Team <a@x.test>\""},
      {"a\r\nRCPT TO:<b@x.test>@x.test", "control"},
      {"Eve\r\nBcc: b@x.test <a@x.test>", "control"},
      {"Eve \u202e <a@x.test>", "control"},  // T32
      {"a\u200b@x.test", "control"},
  };
  for (const auto& [list, words] : rows) {
    const auto destination = Json{{"destination", list}}.dump();
    const auto problems = host_.validate_destination(kMailType, destination);
    ASSERT_EQ(problems.size(), 1U) << list;
    EXPECT_EQ(problems[0].path, "/destination");
    EXPECT_NE(problems[0].message.find(words), std::string::npos) << problems[0];
    expect_refused(composed(Json::parse(destination)), "invalid_recipient", words);
    testkit::Job job = form_job(Json::parse(destination));
    job.artifact = "Subject: x\r\n\r\n";
    expect_refused(sender_->attempt(job), "invalid_recipient", words);
  }
}

TEST_F(Mail, ThereAreAtMostAHundredRecipients) {
  std::string list = "a0@x.test";
  for (int i = 1; i < 100; ++i) list += ", a" + std::to_string(i) + "@x.test";
  EXPECT_TRUE(host_.validate_destination(kMailType, Json{{"destination", list}}.dump()).empty());
  EXPECT_TRUE(host_.validate_destination(kMailType, Json{{"destination", list + ", A0@X.TEST"}}.dump()).empty())
      << "once is once";
  EXPECT_EQ(host_.validate_destination(kMailType, Json{{"destination", list + ", z@x.test"}}.dump()).size(), 1U);
  EXPECT_EQ(mail({{"destination", list}}).at("to").size(), 100U);
}

// Names and addresses as the reader tells them.
inline Json pairs(const std::vector<std::pair<std::string, std::string>>& all) { return all; }

TEST_F(Mail, AFormMayHaveItsOwnSenderAndFurtherRecipients) {  // D4
  const Json destination{{"destination", "a@x.test"},
                         {"from", "Contact <contact@x.test>"},
                         {"reply_to", "desk@x.test, Team <team@x.test>"},
                         {"cc", "Boss <boss@x.test>, a@x.test"},
                         {"bcc", "archive@x.test"}};
  EXPECT_TRUE(host_.validate_destination(kMailType, destination.dump()).empty());
  const auto read = mail(destination);
  EXPECT_EQ(read.at("from"), pairs({{"Contact", "contact@x.test"}}));
  EXPECT_EQ(read.at("reply_to"), pairs({{"", "desk@x.test"}, {"Team", "team@x.test"}}));
  EXPECT_EQ(read.at("to"), pairs({{"", "a@x.test"}}));
  EXPECT_EQ(read.at("cc"), pairs({{"Boss", "boss@x.test"}, {"", "a@x.test"}}));
  EXPECT_EQ(read.dump().find("archive"), std::string::npos) << "nobody sees who gets it as Bcc";
  EXPECT_NE(read.at("message_id").get<std::string>().find("@x.test>"), std::string::npos);
  host_.mail_answer(MailAnswer::taken());
  EXPECT_EQ(sender_->attempt(form_job(destination)).verdict, WB_ACCEPTED);
  const auto& sent = host_.mails().at(0);
  EXPECT_EQ(sent.from, "contact@x.test");
  EXPECT_EQ(sent.recipients, (std::vector<std::string>{"a@x.test", "boss@x.test", "archive@x.test"})) << "each once";
}

TEST_F(Mail, FieldsMaySayWhoGetsItAndWhereAnswersGo) {  // D4
  auto context = contact_form();
  context["fields"]["email"] = "ann@y.test";
  context["fields"]["department"] = "sales";
  const Json confirmation{{"destination_field", "email"}};
  const Json lookup{{"field", "department"}, {"addresses", {{"sales", "sales@x.test, b@x.test"}, {"it", "it@x.test"}}}};
  const Json by_lookup{{"destination_lookup", lookup}, {"reply_to_field", "email"}};
  for (const auto& destination : {confirmation, by_lookup})
    EXPECT_TRUE(host_.validate_destination(kMailType, destination.dump()).empty()) << destination;
  EXPECT_EQ(mail(confirmation, context).at("to"), pairs({{"", "ann@y.test"}}));
  const auto read = mail(by_lookup, context);
  EXPECT_EQ(read.at("to"), pairs({{"", "sales@x.test"}, {"", "b@x.test"}}));
  EXPECT_EQ(read.at("reply_to"), pairs({{"", "ann@y.test"}}));
  host_.mail_answer(MailAnswer::taken());
  EXPECT_EQ(sender_->attempt(form_job(confirmation, context)).verdict, WB_ACCEPTED);
  EXPECT_EQ(host_.mails().at(0).recipients, (std::vector<std::string>{"ann@y.test"}));

  context["fields"].erase("email");
  EXPECT_EQ(mail(by_lookup, context).at("reply_to"), Json::array()) << "nobody said where answers go";
  context["fields"]["department"] = "marketing";
  auto with_default = by_lookup;
  with_default["destination_lookup"]["default"] = "all@x.test";
  EXPECT_EQ(mail(with_default, context).at("to"), pairs({{"", "all@x.test"}}));
}

TEST_F(Mail, NoFieldBringsAHeaderOrARecipientOfItsOwn) {  // D4
  const Json lookup{{"field", "department"}, {"addresses", {{"sales", "sales@x.test"}}}};
  for (const auto* hostile : {"ann@y.test, eve@y.test", "ann@y.test;eve@y.test", "Ann <ann@y.test>",
                              "ann@y.test\r\nBcc: eve@y.test", "ann@y.test\nBcc: eve@y.test", "ann@y.test ", "\"a\"@y.test", "",
                              "ann", "ann@y.test\tx", "=?utf-8?q?a?=@y.test", "Team: ann@y.test;"}) {
    auto context = contact_form();
    context["fields"]["email"] = context["fields"]["department"] = hostile;
    for (const Json& destination : {Json{{"destination_field", "email"}}, Json{{"destination_lookup", lookup}}}) {
      expect_refused(composed(destination, context), "invalid_recipient", "the field");
      auto job = form_job(destination, context);
      job.artifact = "Subject: x\r\n\r\n";
      expect_refused(sender_->attempt(job), "invalid_recipient", "the field");
    }
    if (*hostile != '\0')
      expect_refused(composed({{"destination", "a@x.test"}, {"reply_to_field", "email"}}, context), "invalid_recipient", "email");
  }
  for (const Json& value : {Json(7), Json::array({"ann@y.test"}), Json(nullptr), Json(true)}) {
    auto context = contact_form();
    context["fields"]["email"] = value;
    expect_refused(composed({{"destination_field", "email"}}, context), "invalid_recipient", "it has no text");
  }
}

TEST_F(Mail, WhatIsWrongWithAFormsAddressesIsFoundInItsFile) {  // D4
  const Json good_lookup{{"field", "f"}, {"addresses", {{"a", "a@x.test"}}}};
  std::string hundred = "a0@x.test";
  for (int i = 1; i < 100; ++i) hundred += ", a" + std::to_string(i) + "@x.test";
  const std::pair<Json, const char*> rows[] = {
      {{{"destination", "a@x.test"}, {"destination_field", "f"}}, "/destination"},
      {{{"destination", "a@x.test"}, {"destination_lookup", good_lookup}}, "/destination"},
      {{{"destination_field", "f"}, {"destination_lookup", good_lookup}}, "/destination"},
      {{{"destination_lookup", {{"field", "f"}, {"addresses", {{"a", "nobody"}}}}}}, "/destination_lookup/addresses/a"},
      {{{"destination_lookup", {{"field", "f"}, {"addresses", {{"a", "a@x.test"}}}, {"default", "x"}}}},
       "/destination_lookup/default"},
      {{{"destination_lookup", {{"field", "f"}}}}, "/destination_lookup"},
      {{{"destination_lookup", "x"}}, "/destination_lookup"},
      {{{"destination", "a@x.test"}, {"from", "a@x.test, b@x.test"}}, "/from"},
      {{{"destination", "a@x.test"}, {"from", "Forms\r\nBcc: b@x.test <a@x.test>"}}, "/from"},
      {{{"destination", "a@x.test"}, {"reply_to", "x"}}, "/reply_to"},
      {{{"destination", "a@x.test"}, {"reply_to", "a@x.test"}, {"reply_to_field", "f"}}, "/reply_to_field"},
      {{{"destination", "a@x.test"}, {"cc", "x"}}, "/cc"},
      {{{"destination", "a@x.test"}, {"bcc", "a@x.test\r\nX: y"}}, "/bcc"},
      {{{"destination", hundred}, {"cc", "b@x.test"}}, "/cc"},
      {{{"destination", "a@x.test"}, {"cc", 7}}, "/cc"},
  };
  for (const auto& [destination, path] : rows) {
    const auto problems = host_.validate_destination(kMailType, destination.dump());
    ASSERT_FALSE(problems.empty()) << destination;
    EXPECT_EQ(problems[0].path, path) << problems[0];
  }
}

TEST_F(Mail, GarbageAsDestinationIsOneProblem) {
  for (const auto& garbage : {std::string(), std::string("x"), std::string("[]"), std::string(10'000'000, '{'),
                              R"({"destination":7})" + std::string(), Json{{"destination", std::string(10'000'000, ',')}}.dump()})
    EXPECT_EQ(host_.validate_destination(kMailType, garbage).size(), 1U);
}

TEST_F(Mail, TheDescriptorSaysWhatMayEndADelivery) {  // F10
  const auto* action = host_.action(kMailType);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < action->reason_count; ++i) {
    names.emplace_back(action->reasons[i].name.ptr, action->reasons[i].name.len);
    const bool is_permanent = names.back() != "no_link_key";
    EXPECT_EQ(action->reasons[i].flags, is_permanent ? static_cast<std::uint32_t>(WB_REASON_PERMANENT) : 0u) << names.back();
  }
  EXPECT_EQ(names, (std::vector<std::string>{"invalid_recipient", "invalid_message", "sender_refused", "unknown_template",
                                             "invalid_form", "no_link_key"}));
  for (const auto& schema : {action->settings_schema, action->destination_schema}) {
    const auto json = Json::parse(std::string(schema.ptr, schema.len));
    EXPECT_EQ(json.at("additionalProperties"), false);
    EXPECT_FALSE(json.at("examples").empty());
  }
  EXPECT_EQ(wb_plugin_v1()->needs_minor, 2U);
}

}  // namespace waybill::plugins::testing
