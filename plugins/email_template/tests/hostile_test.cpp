// Whatever a stranger writes into a form, exactly the intended mail is made of it, or a clear refusal. F8, F10
#include "common/form_html.h"
#include "common/tests/hostile_texts.h"
#include "common/tests/mail_fixture.h"

namespace waybill::plugins::testing {
namespace {

using Hostile = MailTest;

TEST_F(Hostile, TextsInEveryPlaceComeOutAsTheyWereMeant) {
  const auto texts = hostile_texts();
  ASSERT_EQ(texts.size(), 500U);
  std::vector<std::string> mails;
  for (const auto& text : texts) {
    host_.registry_template("all", {{"text", text}, {"html", html_escaped(text)}});
    auto form = contact_form();
    form["form"]["name"] = text;
    form["fields"] = {{text, text}};
    auto o = composed({{"destination", "a@x.test"}, {"template_id", "all"}, {"subject_template", text}}, form);
    ASSERT_EQ(o.verdict, WB_ACCEPTED) << o;
    mails.push_back(std::move(o.artifact));
    EXPECT_EQ(Json::parse(host_.renderings().back().data).at("fields"), (Json{{text, text}})) << "as the template sees it";
  }
  const auto read = read_mails(mails);
  ASSERT_EQ(read.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(i);
    expect_well_formed(read[i]);
    auto subject = as_one_line(texts[i], 500);
    if (subject.empty()) subject = "Form (unnamed): submission s-1";
    EXPECT_EQ(read[i].at("subject"), subject);
    EXPECT_EQ(read[i].at("to"), Json::array({{"", "a@x.test"}}));
    EXPECT_EQ(read[i].at("shape"), "multipart/mixed(multipart/alternative(text/plain,text/html))");
    EXPECT_EQ(read[i].at("texts").at("text/plain"), as_lines(texts[i]));
    EXPECT_EQ(read[i].at("texts").at("text/html"), as_lines(html_escaped(texts[i])));
  }
}

TEST_F(Hostile, NamesOfFormsSubmissionsAndAttachmentsStayOnTheirLine) {
  const auto texts = hostile_texts();
  std::vector<std::string> mails;
  for (const auto& text : texts) {
    auto form = contact_form();
    form["form"]["name"] = text;
    form["reference"] = text;
    form["attachments"].push_back(attachment(text));
    auto o = composed({{"destination", "a@x.test"}}, form);
    ASSERT_EQ(o.verdict, WB_ACCEPTED) << o;
    mails.push_back(std::move(o.artifact));
  }
  const auto read = read_mails(mails);
  ASSERT_EQ(read.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    SCOPED_TRACE(i);
    expect_well_formed(read[i]);
    const auto line = as_one_line(texts[i], 500), name = as_one_line(texts[i], 200);
    const auto or_unnamed = [](const std::string& text) { return text.empty() ? "(unnamed)" : text; };
    EXPECT_EQ(read[i].at("submission"), line);
    EXPECT_EQ(read[i].at("to"), Json::array({{"", "a@x.test"}}));
    EXPECT_EQ(read[i].at("texts").at("text/plain"), "A form was submitted; details to follow.\r\n\r\nSubmission: " + line +
                                                        "\r\nForm: " + or_unnamed(line) + "\r\n\r\nAttachments:\r\n- " +
                                                        or_unnamed(name) + " (1234 bytes, until 2026-03-08T12:00:00Z)\r\n" +
                                                        "  https://signed.test/bucket/a-1?ttl=604800\r\n");
  }
}

TEST_F(Hostile, RecipientsAreRefusedOrExactlyThose) {
  std::vector<std::string> mails;
  std::vector<Json> meant;
  std::size_t refused = 0;
  for (const auto& text : hostile_texts()) {
    std::string quoted;
    for (const char c : text) quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
    const std::pair<std::string, Json> rows[] = {
        {text, nullptr},
        {text + " <a@x.test>", nullptr},
        {text + "@x.test", nullptr},
        {"a@" + text, nullptr},
        {'"' + quoted + "\" <a@x.test>", Json::array({{text, "a@x.test"}})},
        {'"' + quoted + "\" <a+tag@x.test>", Json::array({{text, "a+tag@x.test"}})},
    };
    for (const auto& [list, expected] : rows) {
      const Json destination{{"destination", list}};
      const auto problems = host_.validate_destination(kMailType, destination.dump());
      auto o = composed(destination);
      ASSERT_EQ(o.verdict, problems.empty() ? WB_ACCEPTED : WB_REJECTED) << o;
      if (!problems.empty()) {
        ++refused;
        EXPECT_EQ(o.reason, "invalid_recipient");
        EXPECT_EQ(o.detail, problems[0].message);
        continue;
      }
      mails.push_back(std::move(o.artifact));
      meant.push_back(expected);
    }
  }
  EXPECT_GT(refused, 1'500U);
  EXPECT_GT(mails.size(), 50U);
  const auto read = read_mails(mails);
  ASSERT_EQ(read.size(), mails.size());
  for (std::size_t i = 0; i < mails.size(); ++i) {
    SCOPED_TRACE(mails[i].substr(0, 200));
    EXPECT_EQ(read[i].at("faults"), Json::array());
    EXPECT_EQ(read[i].at("headers").size(), 9U);
    EXPECT_EQ(read[i].at("to").size(), 1U);
    if (!meant[i].is_null()) {
      EXPECT_EQ(read[i].at("to"), meant[i]);
    }
  }
}

}  // namespace
}  // namespace waybill::plugins::testing
