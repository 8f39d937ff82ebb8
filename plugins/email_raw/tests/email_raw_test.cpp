// The email_raw plugin: plain text, and everything that holds for mail. F8, F10
#include "common/tests/mail_suite.h"

namespace waybill::plugins::testing {

const char* const kMailType = "email_raw";

using EmailRaw = MailTest;

TEST_F(EmailRaw, WithoutATemplateSaysTheLeast) {  // F8
  const auto read = mail({{"destination", "team@example.org"}});
  EXPECT_EQ(read.at("shape"), "multipart/mixed(text/plain)");
  EXPECT_EQ(read.at("subject"), "Form Contact us: submission s-1");
  EXPECT_EQ(read.at("texts").at("text/plain"),
            "A form was submitted; details to follow.\r\n\r\nSubmission: s-1\r\nForm: Contact us\r\n");
}

TEST_F(EmailRaw, TakesThePlainTextOfATemplateOnly) {  // F8
  host_.registry_template("contact", {{"subject", "Hi"}, {"text", "plain"}, {"html", "<p>rich</p>"}});
  const auto read = mail({{"destination", "team@example.org"}, {"template_id", "contact"}});
  EXPECT_EQ(read.at("shape"), "multipart/mixed(text/plain)");
  EXPECT_EQ(read.at("texts"), (Json{{"text/plain", "plain\r\n"}}));
  EXPECT_EQ(read.at("subject"), "Hi");
}

TEST_F(EmailRaw, ATemplateWithoutPlainTextSaysTheLeast) {
  host_.registry_template("contact", {{"html", "<p>rich</p>"}});
  const auto read = mail({{"destination", "team@example.org"}, {"template_id", "contact"}});
  EXPECT_NE(read.at("texts").at("text/plain").get<std::string>().find("details to follow"), std::string::npos);
  EXPECT_EQ(read.at("shape"), "multipart/mixed(text/plain)");
}

}  // namespace waybill::plugins::testing
