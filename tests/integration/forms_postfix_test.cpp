// Web forms through HTTP, a running host and Debian's Postfix into mailboxes that are read back.
#include <gtest/gtest.h>

#include <set>

#include "support/forms_world.h"
#include "support/postfix.h"

namespace waybill::testing {
namespace {

using Words = std::vector<std::string>;

class FormsPostfix : public FormsWorld {
 protected:
  void SetUp() override {
    if (const auto reason = Postfix::impossible()) GTEST_SKIP() << *reason;
    relay = std::make_unique<Postfix>(Words{"a@x.test", "b@x.test", "raw@x.test"});
    relay_to(relay->url());
    setup.forms["stranger.yaml"] =
        form_file("stranger", {form_action(1, "email_template", "a@x.test, nobody@x.test", "template_id: hello"),
                               form_action(2, "email_raw", "raw@x.test"), form_action(3, "email_raw", "someone@elsewhere.test")});
  }

  std::vector<ParsedMail> mails_of(const std::string& address, std::size_t count) const {
    EXPECT_TRUE(relay->wait_for_mails(address, count)) << address;
    return parse_mails(relay->mailbox(address));
  }

  std::unique_ptr<Postfix> relay;
};

// F6 F8
TEST_F(FormsPostfix, ThreeActionsEndInTheMailboxesOfTheirRecipients) {
  hand_in(submission("s-1", "three"));
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted, deferred not_configured");
  std::set<std::string> ids;
  for (const auto* address : {"a@x.test", "b@x.test"}) {
    const auto mails = mails_of(address, 1);
    ASSERT_EQ(mails.size(), 1u) << address;
    EXPECT_EQ(mails[0].defects, Words{});
    EXPECT_EQ(mails[0].header("Delivered-To"), address);
    EXPECT_EQ(mails[0].header("Return-Path"), "<forms@x.test>");
    EXPECT_EQ(mails[0].from, "forms@x.test");
    EXPECT_EQ(mails[0].to, (Words{"a@x.test", "b@x.test"}));
    EXPECT_EQ(mails[0].subject, "Message from Zoë");
    EXPECT_EQ(mails[0].header("X-Submission"), "s-1");
    ASSERT_EQ(mails[0].parts.size(), 2u);
    EXPECT_EQ(mails[0].parts[0].text, "Hello Zoë\n");
    EXPECT_EQ(mails[0].parts[1].content_type, "text/html");
    ids.insert(mails[0].message_id);
  }
  const auto raw = mails_of("raw@x.test", 1);
  ASSERT_EQ(raw.size(), 1u);
  EXPECT_EQ(raw[0].defects, Words{});
  EXPECT_EQ(raw[0].subject, "Form The form three: submission s-1");
  ASSERT_EQ(raw[0].parts.size(), 1u);
  EXPECT_NE(raw[0].parts[0].text.find("details to follow"), std::string::npos);
  ids.insert(raw[0].message_id);
  EXPECT_EQ(ids.size(), 2u) << "one for each action";
}

// F8
TEST_F(FormsPostfix, ALinkToAnAttachmentComesThroughWhole) {
  auto body = submission("s-1", "three");
  body["attachments"] = nlohmann::json::array({attachment("a-1")});
  hand_in(body);
  scan("a-1", "clean");
  EXPECT_EQ(wait_for_form("s-1").at("status"), "routed");
  const auto mails = mails_of("a@x.test", 1);
  const auto& text = mails.at(0).parts.at(0).text;
  EXPECT_NE(text.find("a-1.pdf: https://storage.googleapis.com/bucket/uploads/a-1?"), std::string::npos) << text;
  EXPECT_NE(text.find("X-Goog-Signature="), std::string::npos) << text;
}

// F6 F10
TEST_F(FormsPostfix, AnUnknownUserFailsTheSubmissionAndTheOthersHaveTheirMail) {
  hand_in(submission("s-1", "stranger"));
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(ended.at("status"), "failed");
  EXPECT_EQ(routing(ended), "rejected invalid_recipient, accepted, rejected invalid_recipient");
  const auto& result = ended.at("deliveries").at(0).at("result");
  EXPECT_EQ(result.at("accepted"), nlohmann::json{"a@x.test"});
  EXPECT_EQ(result.at("refused").at(0).at("address"), "nobody@x.test");
  EXPECT_EQ(result.at("refused").at(0).at("code"), 550);
  EXPECT_EQ(ended.at("deliveries").at(0).at("attempts"), 1) << "not tried again";
  EXPECT_EQ(ended.at("deliveries").at(2).at("result").at("refused").at(0).at("code"), 554) << "nothing leaves the machine";
  EXPECT_EQ(mails_of("a@x.test", 1).size(), 1u);
  EXPECT_EQ(mails_of("raw@x.test", 1).size(), 1u);
}

// F7 F10
TEST_F(FormsPostfix, AGreylistedRecipientGetsItLaterAndNobodyTwice) {
  relay->script().at("RCPT b@x.test", {{.say = "450 4.7.1 greylisted"}, {.say = "450 4.7.1 greylisted"}, {}});
  hand_in(submission("s-1", "three"));
  const auto ended = wait_for_form("s-1");
  EXPECT_EQ(ended.at("status"), "routed") << ended.dump();
  EXPECT_EQ(ended.at("deliveries").at(0).at("attempts"), 3);
  const auto first = mails_of("a@x.test", 1), second = mails_of("b@x.test", 1);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].message_id, second[0].message_id);
  EXPECT_EQ(relay->script().count("RCPT a@x.test"), 1u);
  EXPECT_EQ(mails_of("raw@x.test", 1).size(), 1u);
}

// F7 F10
TEST_F(FormsPostfix, ARelayThatIsDownGetsEachMailOnceItIsBack) {
  setup.retry = "{kind: fixed, delay: 4s}";  // longer than Postfix takes to come up
  relay->stop();
  hand_in(submission("s-1", "three"));
  ASSERT_TRUE(eventually([&] { return submission_of("s-1").at("deliveries").at(1).at("attempts") > 0; }))
      << "the second action did not have its turn";
  EXPECT_EQ(
      sql().text("SELECT string_agg(DISTINCT split_part(error, ':', 1), ' ') FROM waybill.attempts WHERE outcome = 'error'"),
      "connect_failed");
  EXPECT_EQ(submission_of("s-1").at("status"), "processing");
  relay->start();
  EXPECT_EQ(routing(wait_for_form("s-1")), "accepted, accepted, deferred not_configured");
  for (const auto* address : {"a@x.test", "b@x.test", "raw@x.test"}) EXPECT_EQ(mails_of(address, 1).size(), 1u) << address;
}

}  // namespace
}  // namespace waybill::testing
