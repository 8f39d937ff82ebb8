// The email_template plugin: texts, subjects and links, and everything that holds for mail. F8, F10
#include "common/tests/mail_suite.h"

namespace waybill::plugins::testing {

const char* const kMailType = "email_template";

class EmailTemplate : public MailTest {
 protected:
  EmailTemplate() {
    host_.registry_template("contact", {{"subject", "From the template"}, {"text", "Hello Ann"}, {"html", "<p>Hello Ann</p>"}});
  }
  static Json with_attachment(const Json& kept_until = nullptr) {
    auto form = contact_form();
    form["attachments"].push_back(attachment("cv.pdf"));
    form["retentionExpiresAt"] = kept_until;
    return form;
  }
  const Json to_team_{{"destination", "team@example.org, \"Desk, the\" <desk@example.org>"}, {"template_id", "contact"}};
};

TEST_F(EmailTemplate, HasBothTextsAndTheHeadersOfAMachinesMail) {  // F8
  const auto read = mail(to_team_);
  EXPECT_EQ(read.at("shape"), "multipart/mixed(multipart/alternative(text/plain,text/html))");
  EXPECT_EQ(read.at("texts"), (Json{{"text/plain", "Hello Ann\r\n"}, {"text/html", "<p>Hello Ann</p>\r\n"}}));
  EXPECT_EQ(read.at("from"), Json::array({{"Forms", "forms@example.org"}}));
  EXPECT_EQ(read.at("to"), Json::array({{"", "team@example.org"}, {"Desk, the", "desk@example.org"}}));
  EXPECT_EQ(read.at("subject"), "From the template");
  EXPECT_EQ(read.at("date"), "2026-03-01T12:00:00+00:00");
  EXPECT_EQ(read.at("message_id"), "<1=3As-1=3A2@example.org>");
  EXPECT_EQ(read.at("submission"), "s-1");
}

TEST_F(EmailTemplate, ATemplateWithHtmlAloneMakesOnePart) {
  host_.registry_template("rich", {{"html", "<p>Hello</p>"}});
  EXPECT_EQ(mail({{"destination", "a@x.test"}, {"template_id", "rich"}}).at("shape"), "multipart/mixed(text/html)");
}

TEST_F(EmailTemplate, TheMessageIdIsTheSameWheneverItIsComposed) {
  const auto first = mail(to_team_).at("message_id");
  host_.advance(std::chrono::hours(2));
  EXPECT_EQ(mail(to_team_).at("message_id"), first);
}

TEST_F(EmailTemplate, TheActionsSubjectComesBeforeTheTemplatesAndIsRendered) {  // F8
  auto destination = to_team_;
  destination["subject_template"] = " Message from {{fields.name}}\r\nBcc: eve@x.test ";
  EXPECT_EQ(mail(destination).at("subject"), "Message from {{fields.name}}  Bcc: eve@x.test");
  const auto data = Json::parse(host_.renderings().at(0).data);
  EXPECT_EQ(data.at("fields").at("name"), "Ann");
  EXPECT_EQ(data.at("form").at("name"), "Contact us");
  EXPECT_EQ(data.at("links"), Json::array());
}

TEST_F(EmailTemplate, ASubjectThatComesOutEmptyIsNone) {
  EXPECT_EQ(mail({{"destination", "a@x.test"}, {"subject_template", " \r\n\t"}}).at("subject"),
            "Form Contact us: submission s-1");
  EXPECT_EQ(mail({{"destination", "a@x.test"}, {"subject_template", " "}, {"template_id", "contact"}}).at("subject"),
            "From the template");
}

TEST_F(EmailTemplate, ALongSubjectIsCut) {
  std::string subject;
  for (int i = 0; i < 1000; ++i) subject += "\xc3\xa9";
  const auto read = mail({{"destination", "a@x.test"}, {"subject_template", subject}}).at("subject").get<std::string>();
  EXPECT_EQ(read, subject.substr(0, 500) + "...");
}

TEST_F(EmailTemplate, ATemplateThatIsGoneIsRefused) {  // F10
  expect_refused(composed({{"destination", "a@x.test"}, {"template_id", "gone"}}), "unknown_template", "\"gone\"");
}

TEST_F(EmailTemplate, AMalformedSubmissionIsRefused) {  // F10
  const std::pair<Json, const char*> rows[] = {
      {Json::array(), "no"},
      {Json::object(), "reference"},
      {{{"reference", ""}}, "reference"},
      {{{"reference", 7}}, "reference"},
      {{{"reference", "s"}, {"form", "contact"}}, "form"},
      {{{"reference", "s"}, {"attachments", {{"a", 1}}}}, "attachments"},
      {{{"reference", "s"}, {"attachments", {7}}}, "attachment"},
      {{{"reference", "s"}, {"attachments", {{{"name", "cv"}}}}}, "objectUri"},
      {{{"reference", "s"}, {"attachments", {attachment("cv", "s3://x/y")}}}, "s3://x/y"},
      {{{"reference", "s"}, {"retentionExpiresAt", "tomorrow"}}, "retentionExpiresAt"},
      {{{"reference", "s"}, {"retentionExpiresAt", "2026-02-30T00:00:00Z"}}, "retentionExpiresAt"},
  };
  for (const auto& [context, words] : rows) expect_refused(composed(to_team_, context), "invalid_form", words);
}

TEST_F(EmailTemplate, AMailTooLargeToStoreIsRefused) {
  host_.registry_template("large", {{"text", std::string(1'100'000, 'x')}});
  expect_refused(composed({{"destination", "a@x.test"}, {"template_id", "large"}}), "invalid_message", "more than 1048576");
}

TEST_F(EmailTemplate, AttachmentsAreListedAsLinksThatWorkForAWeek) {  // F8
  const auto read = mail(to_team_, with_attachment());
  const std::string url = "https://signed.test/bucket/a-1?ttl=604800";
  EXPECT_EQ(read.at("texts").at("text/plain"),
            "Hello Ann\r\n\r\nAttachments:\r\n- cv.pdf (1234 bytes, until 2026-03-08T12:00:00Z)\r\n  " + url + "\r\n");
  EXPECT_EQ(read.at("texts").at("text/html"), "<p>Hello Ann</p>\r\n<p>Attachments:</p>\r\n<ul>\r\n<li><a href=\"" + url +
                                                  "\">cv.pdf</a> (1234 bytes, until 2026-03-08T12:00:00Z)</li>\r\n</ul>\r\n");
  EXPECT_EQ(read.at("shape"), "multipart/mixed(multipart/alternative(text/plain,text/html))") << "never inline";
  EXPECT_EQ(Json::parse(host_.renderings().at(0).data).at("links"), (Json{{{"name", "cv.pdf"},
                                                                           {"url", url},
                                                                           {"size", 1234},
                                                                           {"contentType", "application/pdf"},
                                                                           {"expiresAt", "2026-03-08T12:00:00Z"}}}));
}

// T28: whoever entered an address is not known to own it.
TEST_F(EmailTemplate, AMailToAnAddressFromAFieldHasNoLinksUnlessTheFormSaysSo) {
  auto context = with_attachment();
  context["fields"]["email"] = "ann@y.test";
  const auto tells = [&](Json destination) {
    destination["template_id"] = to_team_.at("template_id");
    EXPECT_TRUE(host_.validate_destination(kMailType, destination.dump()).empty()) << destination;
    const auto read = mail(destination, context).dump();
    const bool has_links = read.find("signed.test") != std::string::npos;
    EXPECT_EQ(has_links, read.find("Attachments") != std::string::npos) << read;
    EXPECT_EQ(has_links, !Json::parse(host_.renderings().back().data).at("links").empty());
    return has_links;
  };
  EXPECT_FALSE(tells({{"destination_field", "email"}}));
  EXPECT_TRUE(tells({{"destination_field", "email"}, {"attachment_links", true}}));
  EXPECT_TRUE(tells({{"destination", "a@x.test"}}));
  EXPECT_FALSE(tells({{"destination", "a@x.test"}, {"attachment_links", false}}));
  const Json lookup{{"field", "email"}, {"addresses", {{"ann@y.test", "desk@x.test"}}}};
  EXPECT_TRUE(tells({{"destination_lookup", lookup}})) << "its addresses are the form's own";
}

TEST_F(EmailTemplate, ATemplateThatShowsTheLinksGetsNoList) {
  host_.registry_template(
      "shows", {{"text", "See https://signed.test/bucket/a-1?ttl=604800 ."},
                {"html", "<body><a href=\"https:&#x2F;&#x2F;signed.test&#x2F;bucket&#x2F;a-1?ttl&#x3D;604800\">cv</a>"}});
  const auto read = mail({{"destination", "a@x.test"}, {"template_id", "shows"}}, with_attachment());
  EXPECT_EQ(read.dump().find("Attachments"), std::string::npos) << read;
}

TEST_F(EmailTemplate, TheListStandsBeforeTheEndOfAnHtmlBody) {
  host_.registry_template("rich", {{"html", "<html><BODY>Hi</BODY></html>"}});
  const auto html = mail({{"destination", "a@x.test"}, {"template_id", "rich"}}, with_attachment()).at("texts").at("text/html");
  EXPECT_EQ(html.get<std::string>().find("</ul>\r\n</BODY></html>"), html.get<std::string>().size() - 23);
}

TEST_F(EmailTemplate, NoLinkOutlivesTheSubmission) {  // F8
  EXPECT_NE(mail(to_team_, with_attachment("2026-03-01T13:00:00.5Z")).dump().find("?ttl=3600"), std::string::npos);
  EXPECT_NE(mail(to_team_, with_attachment("2026-03-01T13:00:00+00:30")).dump().find("?ttl=1800"), std::string::npos);
  EXPECT_NE(mail(to_team_, with_attachment("2027-01-01T00:00:00Z")).dump().find("?ttl=604800"), std::string::npos);
}

TEST_F(EmailTemplate, AnAttachmentWhoseTimeIsUpIsNamedWithoutALink) {  // F8
  host_.no_link_key();
  for (const auto* kept_until : {"2026-03-01T12:00:00Z", "2026-03-01T00:00:00Z"}) {
    const auto read = mail(to_team_, with_attachment(kept_until));
    EXPECT_EQ(read.at("texts").at("text/plain"), "Hello Ann\r\n\r\nAttachments:\r\n- cv.pdf (no longer available)\r\n");
    EXPECT_NE(read.at("texts").at("text/html").get<std::string>().find("<li>cv.pdf (no longer available)</li>"),
              std::string::npos);
  }
}

TEST_F(EmailTemplate, TheOperatorMayMakeLinksShorter) {
  sender_ = host_.make_sender(kMailType, R"({"from":"f@x.test","link_ttl_seconds":60})");
  EXPECT_NE(mail(to_team_, with_attachment()).dump().find("?ttl=60\\r\\n"), std::string::npos);
}

TEST_F(EmailTemplate, AHostWithoutAKeyForLinksFailsThisMailAndBlamesNobodyElse) {  // F8 D1
  host_.no_link_key();
  const auto o = composed(to_team_, with_attachment());
  EXPECT_EQ(o.verdict, WB_TRANSIENT) << o;
  EXPECT_EQ(o.reason, "no_link_key");
  EXPECT_EQ(o.scope, WB_THIS_JOB);
  EXPECT_EQ(o.reach, WB_NOT_SENT);
}

TEST_F(EmailTemplate, ASubmissionWithoutFormOrFieldsIsWrittenAboutToo) {
  const auto read = mail({{"destination", "a@x.test"}}, {{"org", 1}, {"kind", "intent"}, {"reference", "key-1"}});
  EXPECT_EQ(read.at("subject"), "Form (unnamed): submission key-1");
}

TEST_F(EmailTemplate, FieldsThatTheContextLacksAreThePayloads) {
  auto job = form_job(to_team_, {{"reference", "s-1"}});
  job.payload = R"({"name":"Bob"})";
  EXPECT_EQ(sender_->compose(job).verdict, WB_ACCEPTED);
  EXPECT_EQ(Json::parse(host_.renderings().at(0).data).at("fields").at("name"), "Bob");
}

TEST_F(EmailTemplate, HalfASurrogatePairIsReplaced) {
  auto job = form_job(to_team_);
  job.context =
      R"({"reference":"s-1","fields":{"a":"\ud800","b":"\udc00x","c":"\ud83d\ude00","d":"\\ud800","e":"\ud800\ud800\udc00"}})";
  EXPECT_EQ(sender_->compose(job).verdict, WB_ACCEPTED);
  EXPECT_EQ(Json::parse(host_.renderings().at(0).data).at("fields"), (Json{{"a", "\xef\xbf\xbd"},
                                                                           {"b", "\xef\xbf\xbdx"},
                                                                           {"c", "\xf0\x9f\x98\x80"},
                                                                           {"d", "\\ud800"},
                                                                           {"e", "\xef\xbf\xbd\xf0\x90\x80\x80"}}));
}

// S4: a number that the parser would change is a text to templates, of what stands there
TEST_F(EmailTemplate, NumbersAreShownAsTheyAreWritten) {
  auto job = form_job(to_team_);
  job.context =
      R"({"reference":"s-1","fields":{"a":100.00,"b":[1.10,{"c":18446744073709551616}],"d":1e-05,"e":-0,"f":1.5,"g":-7,"h":"\"2.50","i":1E5}})";
  EXPECT_EQ(sender_->compose(job).verdict, WB_ACCEPTED);
  const auto fields = Json::parse(host_.renderings().at(0).data).at("fields").dump();
  EXPECT_EQ(
      fields,
      R"({"a":"100.00","b":["1.10",{"c":"18446744073709551616"}],"d":1e-05,"e":"-0","f":1.5,"g":-7,"h":"\"2.50","i":"1E5"})");
}

// S4
TEST_F(EmailTemplate, AContextThatIsNoJsonStaysThatWhateverItsNumbers) {
  const std::vector<std::string> malformed{R"({"reference":"s-1","fields":{"a":01}})",
                                           R"({"reference":"s-1","a":1.2.3})",
                                           R"({"reference":"s-1","a":+1})",
                                           R"({"reference":"s-1","a":1e400})",
                                           R"({"reference":"s-1","a":-})",
                                           R"({"reference":"s-1"})" + std::string(1, '\0')};
  for (const auto& bad : malformed) {
    auto job = form_job(to_team_);
    job.context = bad;
    EXPECT_EQ(sender_->compose(job).verdict, WB_REJECTED) << bad;
  }
}

TEST_F(EmailTemplate, AHostWithoutTheServicesRefusesThePlugin) {
  for (const auto* service : {WB_SMTP_SERVICE, WB_TEMPLATE_SERVICE, WB_LINK_SERVICE, WB_TIMER_SERVICE}) {
    testkit::FakeHost poor(wb_plugin_v1());
    poor.remove_service(service);
    EXPECT_EQ(poor.make_sender(kMailType, R"({"from":"f@x.test"})"), nullptr);
    EXPECT_NE(poor.create_problems().at(0).message.find(service), std::string::npos);
  }
}

}  // namespace waybill::plugins::testing
