// Mail through real servers: the plugin email_raw on the host's own services, to aiosmtpd, which does as it is told, and to
// Postfix. F8 F10
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/parsed_mail.h"
#include "support/postfix.h"
#include "support/smtp_sink.h"
#include "unit/senders/plugin_world.h"

namespace waybill::testing {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

// One delivery by email_raw: composed once, then attempted as often as the test likes.
class Mailing {
 public:
  Mailing(const std::string& relay, const std::string& recipients, int timeout_ms = 60'000)
      : world_(
            {"../../plugins/email_raw"}, PluginWorld::kPatient, {}, nullptr,
            {{"email_raw", json{{"from", "Forms <forms@example.org>"}, {"relay", relay}, {"timeout_ms", timeout_ms}}.dump()}}) {
    contract_->target = "mail";
    contract_->action_type = "email_raw";
    contract_->destination = json{{"destination", recipients}, {"subject_template", "Für {{fields.name}}"}}.dump();
    artifact_ = world_.run(job()).outcome.value_or(Outcome{}).artifact;
    if (!artifact_) throw std::runtime_error("nothing was composed");
  }
  const std::string& bytes() const { return artifact_->bytes; }
  Outcome attempt() {
    begin();
    return end();
  }
  void begin() {
    auto next = job();
    last_ = next.delivery.value;
    next.artifact = artifact_;
    next.progress = progress_;
    world_.start(std::move(next));
  }
  bool ended() { return world_.finished_count() == static_cast<std::size_t>(last_); }
  Outcome end() {
    const auto outcome = world_.wait(last_).outcome.value_or(Outcome{});
    progress_ = outcome.result;
    return outcome;
  }

 private:
  Job job() {
    auto made = world_.job("email_raw", "mail");
    made.contract = contract_;
    made.idempotency_key = "1:s-1:2";
    made.context = R"({"reference":"s-1","form":{"name":"Contact us"},"fields":{"name":"Änne"}})";
    return made;
  }

  PluginWorld world_;
  std::shared_ptr<Contract> contract_ = std::make_shared<Contract>();
  std::optional<Artifact> artifact_;
  std::string progress_;
  std::int64_t last_ = 0;
};

void expect_transient(const Outcome& outcome, const std::string& reason, Reach reach) {
  EXPECT_EQ(outcome.verdict, Verdict::transient) << outcome.detail;
  EXPECT_EQ(outcome.reason, reason) << outcome.detail;
  EXPECT_EQ(outcome.reach, reach) << outcome.detail;
}

void expect_rejected(const Outcome& outcome, const std::string& reason, int code) {
  EXPECT_EQ(outcome.verdict, Verdict::rejected) << outcome.detail;
  EXPECT_EQ(outcome.reason, reason) << outcome.detail;
  EXPECT_EQ(outcome.code, code) << outcome.detail;
}

void expect_ours(const ParsedMail& mail, const Words& to) {
  EXPECT_EQ(mail.defects, Words{});
  EXPECT_EQ(mail.subject, "Für Änne");
  EXPECT_EQ(mail.from, "forms@example.org");
  EXPECT_EQ(mail.to, to);
  EXPECT_FALSE(mail.message_id.empty());
  EXPECT_FALSE(mail.date.empty());
  EXPECT_TRUE(mail.header("content-type").starts_with("multipart/mixed"));
  ASSERT_EQ(mail.parts.size(), 1u);
  EXPECT_EQ(mail.parts[0].content_type, "text/plain");
  EXPECT_EQ(mail.parts[0].text, "A form was submitted; details to follow.\n\nSubmission: s-1\nForm: Contact us\n");
}

TEST(ParsedMail, TellsTheTextsOfAllPartsAndWhatItHadToForgive) {
  const auto mail = parse_mail(
      "Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=\r\nTo: Ann <ann@x.test>\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n"
      "--b\r\n\r\nplain\r\n--b\r\nContent-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\nPGI+Jmx0OzwvYj4=\r\n");
  EXPECT_EQ(mail.subject, "Grüße");
  EXPECT_EQ(mail.to, Words{"ann@x.test"});
  EXPECT_EQ(mail.from + mail.date + mail.message_id, "");
  ASSERT_EQ(mail.parts.size(), 2u);
  EXPECT_EQ(mail.parts[0].content_type + ": " + mail.parts[0].text, "text/plain: plain");
  EXPECT_EQ(mail.parts[1].content_type + ": " + mail.parts[1].text, "text/html: <b>&lt;</b>");
  EXPECT_EQ(mail.defects, Words{"CloseBoundaryNotFoundDefect()"});
}

// ---- a server that does as it is told ----

TEST(SmtpSink, KeepsAMailAsItCame) {  // F8
  SmtpSink sink;
  Mailing mailing(sink.url(), "Ann <ann@x.test>, bob@x.test");
  const auto outcome = mailing.attempt();
  EXPECT_EQ(outcome.verdict, Verdict::accepted) << outcome.detail;
  EXPECT_EQ(outcome.provider_ref, "sink-1");
  const auto mails = sink.received();
  ASSERT_EQ(mails.size(), 1u);
  EXPECT_EQ(mails[0].from, "forms@example.org");
  EXPECT_EQ(mails[0].recipients, (Words{"ann@x.test", "bob@x.test"}));
  EXPECT_EQ(mails[0].data, mailing.bytes());
  expect_ours(parse_mail(mails[0].data), mails[0].recipients);
}

TEST(SmtpSink, AGreylistedRecipientGetsTheSameMailLaterAndTheOthersGetItOnce) {  // F8 F10
  SmtpSink sink;
  sink.script().at("RCPT bob@x.test", {{.say = "451 4.7.1 greylisted"}, {.say = "451 4.7.1 greylisted"}, {}});
  Mailing mailing(sink.url(), "ann@x.test, bob@x.test");
  for (int i = 0; i < 2; ++i) {
    const auto outcome = mailing.attempt();
    expect_transient(outcome, "some_recipients_later", Reach::answered);
    EXPECT_EQ(outcome.detail, "bob@x.test: 451 4.7.1 greylisted");
  }
  EXPECT_EQ(mailing.attempt().verdict, Verdict::accepted);
  const auto mails = sink.received();
  ASSERT_EQ(mails.size(), 2u);
  EXPECT_EQ(mails[0].recipients, Words{"ann@x.test"});
  EXPECT_EQ(mails[1].recipients, Words{"bob@x.test"});
  EXPECT_EQ(mails[0].data, mails[1].data);
  EXPECT_EQ(sink.script().count("RCPT ann@x.test"), 1u);
  EXPECT_EQ(sink.script().count("RCPT bob@x.test"), 3u);
}

TEST(SmtpSink, ARecipientRefusedForEverEndsTheDeliveryAndTheOthersHaveTheirMail) {  // F10
  SmtpSink sink;
  sink.script().at("RCPT bob@x.test", {{.say = "550 5.1.1 nobody here"}});
  Mailing mailing(sink.url(), "ann@x.test, bob@x.test");
  expect_rejected(mailing.attempt(), "invalid_recipient", 550);
  ASSERT_EQ(sink.received().size(), 1u);
  EXPECT_EQ(sink.received()[0].recipients, Words{"ann@x.test"});
}

TEST(SmtpSink, ARefusalMeansTheSameWhateverItIsAnAnswerTo) {  // F10
  SmtpSink sink;
  for (const auto* moment : {"greeting", "EHLO", "MAIL", "RCPT ann@x.test", "DATA", "."}) {
    sink.script().at(moment, {{.say = "421 4.3.2 not now"}});
    const auto outcome = Mailing(sink.url(), "ann@x.test").attempt();
    expect_transient(outcome, "try_later", Reach::answered);
    EXPECT_EQ(outcome.code, 421) << moment;
    sink.script().at(moment, {});
  }
  sink.script().at(".", {{.say = "554 5.6.0 no"}});
  expect_rejected(Mailing(sink.url(), "ann@x.test").attempt(), "invalid_message", 554);
  EXPECT_TRUE(sink.received().empty());
}

TEST(SmtpSink, AConnectionThatBreaksTellsHowFarTheMailHadGot) {  // F8
  SmtpSink sink;
  Mailing mailing(sink.url(), "ann@x.test");
  for (const auto* moment : {"greeting", "EHLO", "MAIL", "RCPT ann@x.test", "DATA"}) {
    sink.script().at(moment, {{.cut = SmtpStep::Cut::before}, {}});
    expect_transient(mailing.attempt(), "connection_broken", Reach::not_sent);
  }
  EXPECT_TRUE(sink.received().empty());
  sink.script().at(".", {{.cut = SmtpStep::Cut::before}, {.cut = SmtpStep::Cut::after}, {}});
  expect_transient(mailing.attempt(), "connection_broken", Reach::maybe_sent);
  EXPECT_EQ(sink.received().size(), 1u) << "it was taken, and nobody knows";
  EXPECT_EQ(mailing.attempt().verdict, Verdict::accepted);
  EXPECT_EQ(mailing.attempt().verdict, Verdict::accepted) << "nobody is left to send to";
  EXPECT_EQ(Mailing(sink.url(), "ann@x.test").attempt().verdict, Verdict::accepted) << "a new connection";
  EXPECT_EQ(sink.received().size(), 3u);
}

TEST(SmtpSink, AConnectionCanBreakRightAfterAnAnswer) {
  SmtpSink sink;
  sink.script().at("MAIL", {{.say = "250 2.1.0 welcome", .cut = SmtpStep::Cut::after}});
  auto client = Socket::connect(sink.port());
  ASSERT_TRUE(client.send("HELO test\r\nMAIL FROM:<ann@x.test>\r\n"));
  std::string heard;
  std::optional<std::string> more;
  while ((more = client.receive(kBound)) && !more->empty()) heard += *more;
  EXPECT_EQ(more, "") << "it is not closed";
  EXPECT_TRUE(heard.ends_with("\r\n250 2.1.0 welcome\r\n")) << heard;
}

TEST(SmtpSink, ALateAnswerIsWaitedFor) {
  SmtpSink sink;
  sink.script().at(".", {{.held = true}});
  Mailing mailing(sink.url(), "ann@x.test");
  mailing.begin();
  ASSERT_TRUE(eventually([&] { return sink.received().size() == 1; }));
  EXPECT_FALSE(mailing.ended());
  sink.script().release();
  EXPECT_EQ(mailing.end().verdict, Verdict::accepted);
}

TEST(SmtpSink, AnAnswerThatNeverComesIsGivenUp) {  // F10
  SmtpSink sink;
  sink.script().at("greeting", {{.held = true}});
  expect_transient(Mailing(sink.url(), "ann@x.test", 300).attempt(), "timeout", Reach::not_sent);
  EXPECT_EQ(sink.script().count("MAIL"), 0u);
}

// ---- Debian's Postfix ----

class PostfixRelay : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto reason = Postfix::impossible()) GTEST_SKIP() << *reason;
    relay = std::make_unique<Postfix>(Words{"ann@x.test", "bob@y.test"});
  }
  std::unique_ptr<Postfix> relay;
};

TEST_F(PostfixRelay, DeliversIntoTheMailboxesOfTheRecipients) {  // F8
  const auto outcome = Mailing(relay->url(), "Ann <ann@x.test>, bob@y.test").attempt();
  EXPECT_EQ(outcome.verdict, Verdict::accepted) << outcome.detail;
  EXPECT_NE(relay->log().find(" " + outcome.provider_ref + ": "), std::string::npos) << "not its queue's id";
  for (const auto* address : {"ann@x.test", "bob@y.test"}) {
    ASSERT_TRUE(relay->wait_for_mails(address, 1)) << address;
    const auto mail = parse_mail(relay->mailbox(address)[0]);
    expect_ours(mail, {"ann@x.test", "bob@y.test"});
    EXPECT_EQ(mail.header("Return-Path"), "<forms@example.org>");
    EXPECT_EQ(mail.header("Delivered-To"), address);
  }
}

TEST_F(PostfixRelay, RefusesWhomItDoesNotKnowAndWhatWouldLeaveTheMachine) {  // F10
  Mailing unknown(relay->url(), "ann@x.test, nobody@x.test");
  const auto outcome = unknown.attempt();
  expect_rejected(outcome, "invalid_recipient", 550);
  EXPECT_NE(outcome.detail.find("User unknown"), std::string::npos) << outcome.detail;
  EXPECT_TRUE(relay->wait_for_mails("ann@x.test", 1));
  expect_rejected(Mailing(relay->url(), "someone@elsewhere.test").attempt(), "invalid_recipient", 554);
}

TEST_F(PostfixRelay, AGreylistLetsTheSecondAttemptThrough) {  // F8 F10
  relay->script().at("RCPT bob@y.test", {{.say = "450 4.7.1 greylisted"}, {}});
  Mailing mailing(relay->url(), "ann@x.test, bob@y.test");
  expect_transient(mailing.attempt(), "some_recipients_later", Reach::answered);
  ASSERT_TRUE(relay->wait_for_mails("ann@x.test", 1));
  EXPECT_TRUE(relay->mailbox("bob@y.test").empty());
  EXPECT_EQ(mailing.attempt().verdict, Verdict::accepted);
  ASSERT_TRUE(relay->wait_for_mails("bob@y.test", 1));
  EXPECT_EQ(relay->mailbox("ann@x.test").size(), 1u);
  EXPECT_EQ(relay->script().count("RCPT ann@x.test"), 1u);
}

TEST_F(PostfixRelay, ARelayThatWasDownGetsTheMailWhenItIsBack) {  // F10
  Mailing mailing(relay->url(), "ann@x.test");
  relay->stop();
  expect_transient(mailing.attempt(), "connect_failed", Reach::not_sent);
  relay->start();
  EXPECT_EQ(mailing.attempt().verdict, Verdict::accepted);
  EXPECT_TRUE(relay->wait_for_mails("ann@x.test", 1));
}

}  // namespace
}  // namespace waybill::testing
