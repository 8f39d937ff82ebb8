// Mail on the fake host, through the C++ wrapper: what is scripted arrives, what a host must refuse is refused, breaches fail. H3
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "waybill/plugin.hpp"
#include "waybill/testkit.hpp"

namespace waybill::testkit {
namespace {
namespace wp = waybill::plugin;
using std::chrono::milliseconds;

// What the one sender of a test does, and what it was told.
struct Script {
  wp::Message message;
  std::function<void(wp::Call, const wp::SmtpReply&)> done;
  std::vector<wp::NetError> errors;
  wp::SubmissionId last{};
  bool complete_at_once = false;
  bool abort_as_a_fetch = false;
};
Script* script = nullptr;

class Mailer final : public wp::Sender {
 public:
  Mailer(wp::Host host, std::string_view) : smtp_(host.smtp()), http_(host.http()) {}
  void send(Call call, Job) override {
    if (script->complete_at_once) call.complete(wp::Outcome::accepted());
    script->last = smtp_.submit(call, script->message, [call](const wp::SmtpReply& reply) {
      script->errors.push_back(reply.error);
      script->done(call, reply);
    });
    EXPECT_TRUE(script->errors.empty()) << "never before submit returns";
  }
  void cancel(Call) override {
    if (script->abort_as_a_fetch)
      http_.abort(wp::FetchId(static_cast<std::uint64_t>(script->last)));
    else
      smtp_.abort(script->last);
  }

 private:
  wp::Smtp smtp_;
  wp::Http http_;
};
constexpr auto kMailer = wp::action<Mailer>("mailer");
constexpr wb_plugin kPlugin = wp::detail::describe<kMailer>("mailer", "1");

class Mail : public testing::Test {
 protected:
  Mail() {
    script = &script_;
    script_.message.relay = "smtp://relay.test";
    script_.message.from = "forms@a.test";
    script_.message.recipients = {"ann@b.test", "bob@b.test"};
    script_.message.data = "Subject: s\r\n\r\ntext\r\n";
    script_.done = [](wp::Call call, const wp::SmtpReply& reply) {
      call.complete(reply.taken() ? wp::Outcome::accepted()
                                  : wp::Outcome::transient("not_taken").reach(reply.reach).code(reply.code));
    };
  }
  ~Mail() override { script = nullptr; }
  wp::Message& message() { return script_.message; }
  // The codes of the recipients when the relay answers so.
  std::vector<int> codes(MailAnswer answer) {
    std::vector<int> out;
    script_.done = [&](wp::Call call, const wp::SmtpReply& reply) {
      stage_ = reply.stage, code_ = reply.code, text_ = reply.text;
      for (std::size_t i = 0; i < reply.recipient_count; ++i) out.push_back(reply.recipient(i).code);
      EXPECT_EQ(reply.recipient(reply.recipient_count).code, 0);
      call.complete(wp::Outcome::accepted());
    };
    script_.errors.clear();
    host_.mail_answer(std::move(answer));
    sender_->attempt({});
    return out;
  }

  Script script_;
  wp::SmtpStage stage_ = wp::SmtpStage::none;
  int code_ = 0;
  std::string text_;
  FakeHost host_{&kPlugin};
  std::unique_ptr<FakeSender> sender_ = host_.make_sender("mailer");
};

TEST_F(Mail, IsRecordedAsThePluginHandedItIn) {
  host_.secret("relay", {"s3cret"});
  host_.mail_answer(MailAnswer::taken());
  message().tls = wp::Tls::required;
  message().user = "forms";
  message().password = "relay";
  message().timeout = milliseconds(700);
  EXPECT_EQ(sender_->attempt({}).verdict, WB_ACCEPTED);
  ASSERT_EQ(host_.mails().size(), 1U);
  const auto& mail = host_.mails()[0];
  EXPECT_EQ(mail.relay, "smtp://relay.test");
  EXPECT_EQ(mail.tls, WB_TLS_REQUIRED);
  EXPECT_EQ(mail.user, "forms");
  EXPECT_EQ(mail.password, "relay") << "the name: the plugin never has the secret";
  EXPECT_TRUE(mail.password_known);
  EXPECT_EQ(mail.from, "forms@a.test");
  EXPECT_EQ(mail.recipients, (std::vector<std::string>{"ann@b.test", "bob@b.test"}));
  EXPECT_EQ(mail.data, "Subject: s\r\n\r\ntext\r\n");
  EXPECT_EQ(mail.timeout_ms, 700U);
  EXPECT_FALSE(mail.aborted);
}

TEST_F(Mail, EachRecipientHasItsOwnAnswer) {
  EXPECT_EQ(codes(MailAnswer::taken().to("bob@b.test", 550, "5.1.1 nobody")), (std::vector<int>{250, 550}));
  EXPECT_EQ(stage_, wp::SmtpStage::data);
  EXPECT_EQ(code_, 250);
}

TEST_F(Mail, WhoseRecipientsAreAllRefusedIsNeverTaken) {
  EXPECT_EQ(codes(MailAnswer::taken().to("ann@b.test", 550).to("bob@b.test", 450, "4.2.2 full")), (std::vector<int>{550, 450}));
  EXPECT_EQ(stage_, wp::SmtpStage::rcpt);
  EXPECT_EQ(code_, 450);
  EXPECT_EQ(text_, "4.2.2 full");
  EXPECT_EQ(codes(MailAnswer::refused(WB_SMTP_RCPT, 554, "no")), (std::vector<int>{554, 554}));
}

TEST_F(Mail, ThatIsRefusedEarlierAsksNoRecipient) {
  for (const auto stage : {WB_SMTP_CONNECT, WB_SMTP_AUTH, WB_SMTP_MAIL}) {
    EXPECT_EQ(codes(MailAnswer::refused(stage, 421, "4.3.2 busy")), (std::vector<int>{0, 0}));
    EXPECT_EQ(stage_, static_cast<wp::SmtpStage>(stage));
    EXPECT_EQ(text_, "4.3.2 busy");
  }
  EXPECT_EQ(codes(MailAnswer::refused(WB_SMTP_DATA, 554)), (std::vector<int>{250, 250}));
  EXPECT_EQ(codes(MailAnswer::failure(WB_NET_CONNECT, WB_NOT_SENT)), (std::vector<int>{0, 0}));
}

TEST_F(Mail, ThatAHostMustRefuseIsRefusedAndStillAnswered) {
  const auto good = message();
  const auto refused = [&](const std::function<void(wp::Message&)>& spoil) {
    message() = good;
    spoil(message());
    script_.errors.clear();
    const auto end = sender_->attempt({});
    EXPECT_EQ(end.reach, WB_NOT_SENT) << end;
    return script_.errors == std::vector<wp::NetError>{wp::NetError::refused};
  };
  for (const auto* relay : {"", "relay.test", "http://relay.test", "smtp://", "smtp://:25", "smtp://a@relay.test"})
    EXPECT_TRUE(refused([&](wp::Message& m) { m.relay = relay; })) << relay;
  for (const auto* address : {"", "ann", "@b.test", "ann@", "ann@b.test\r\nDATA", "<ann@b.test>", "ann smith@b.test"})
    EXPECT_TRUE(refused([&](wp::Message& m) { m.recipients = {"bob@b.test", address}; })) << address;
  EXPECT_TRUE(refused([](wp::Message& m) { m.recipients.clear(); }));
  EXPECT_TRUE(refused([](wp::Message& m) { m.from = "forms"; }));
  EXPECT_TRUE(refused([](wp::Message& m) { m.user = "forms", m.password = "unknown"; }));
  EXPECT_FALSE(host_.mails().back().password_known);
}

TEST_F(Mail, MayComeFromNobody) {
  message().from.clear();
  host_.mail_answer(MailAnswer::taken());
  EXPECT_EQ(sender_->attempt({}).verdict, WB_ACCEPTED);
}

TEST_F(Mail, TimesOutByItsOwnLimitOrItsCalls) {
  Job job;
  job.deadline_ms = 800;
  message().timeout = milliseconds(500);
  for (const auto expected : {milliseconds(500), milliseconds(800)}) {
    script_.errors.clear();
    host_.mail_answer(MailAnswer::silence());
    const auto call = sender_->send(job);
    host_.advance(expected - milliseconds(1));
    EXPECT_FALSE(host_.outcome(call));
    EXPECT_EQ(host_.open_submissions(), 1U);
    EXPECT_EQ(host_.open_fetches(), 0U);
    host_.advance(milliseconds(1));
    ASSERT_TRUE(host_.outcome(call));
    EXPECT_EQ(script_.errors.at(0), wp::NetError::timeout);
    EXPECT_EQ(host_.outcome(call)->reach, WB_MAYBE_SENT);
    message().timeout = milliseconds(0);
  }
}

TEST_F(Mail, ThatIsAbortedIsStillAnsweredOnce) {
  host_.mail_answer(MailAnswer::silence(WB_NOT_SENT));
  const auto call = sender_->send({});
  script_.abort_as_a_fetch = true;
  sender_->cancel(call);
  host_.run_until_idle();
  EXPECT_FALSE(host_.outcome(call)) << "the numbers of fetches mean nothing here";
  script_.abort_as_a_fetch = false;
  sender_->cancel(call);
  host_.run_until_idle();
  ASSERT_TRUE(host_.outcome(call));
  EXPECT_EQ(script_.errors, std::vector<wp::NetError>{wp::NetError::cancelled});
  EXPECT_EQ(host_.outcome(call)->reach, WB_NOT_SENT);
  EXPECT_TRUE(host_.mails()[0].aborted);
}

TEST_F(Mail, ForACallThatHasEndedFailsAndIsCancelled) {
  script_.complete_at_once = true;
  script_.done = [](wp::Call, const wp::SmtpReply& reply) { EXPECT_EQ(reply.reach, wp::Reach::not_sent); };
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "smtp.submit was called on behalf of call 1, which is not open");
  EXPECT_EQ(script_.errors, std::vector<wp::NetError>{wp::NetError::cancelled});
}

TEST_F(Mail, WithoutAScriptedAnswerFails) {
  EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "no answer is scripted for a mail to ann@b.test");
}

TEST_F(Mail, WithBareLineFeedsFails) {
  for (const auto* data : {"a\nb", "a\r", "a\rb\r\n", "\n"}) {
    script_.errors.clear();
    host_.mail_answer(MailAnswer::taken());
    message().data = data;
    EXPECT_NONFATAL_FAILURE(sender_->attempt({}), "line ends that are not CRLF");
  }
}

TEST_F(Mail, WhoseCallbackThrowsIsThePluginsError) {  // H5
  host_.mail_answer(MailAnswer::taken());
  script_.done = [](wp::Call, const wp::SmtpReply&) { throw std::runtime_error("thrown on purpose"); };
  const auto end = sender_->attempt({});
  EXPECT_EQ(end.reason, "plugin_error");
  EXPECT_EQ(end.detail, "thrown on purpose");
}

TEST_F(Mail, NeedsTheService) {
  FakeHost poor(&kPlugin);
  poor.remove_service(WB_SMTP_SERVICE);
  EXPECT_EQ(poor.make_sender("mailer"), nullptr);
  EXPECT_EQ(poor.create_problems().at(0).message, "this host has no service waybill.smtp/1");
}

}  // namespace
}  // namespace waybill::testkit
