// SMTP as plugins get it, against relays that take, refuse, stall and break off at every step.  H4 H5 M8
#include "services/smtp_client.h"

#include <sys/socket.h>

#include "unit/services/mail_world.h"

namespace waybill {
namespace {

using namespace std::chrono_literals;
using testing::RelayScript;
using testing::ScriptedRelay;
using Lines = std::vector<std::string>;

class Smtp : public testing::Mail {};

// Where a relay can fail, and how far the message has got by then.
struct Step {
  const char* command;
  SmtpStage stage;
  Reach without_answer;
};
const Step kSteps[] = {{"greeting", SmtpStage::connect, Reach::not_sent}, {"EHLO", SmtpStage::connect, Reach::not_sent},
                       {"MAIL", SmtpStage::mail, Reach::not_sent},        {"RCPT", SmtpStage::rcpt, Reach::not_sent},
                       {"DATA", SmtpStage::data, Reach::not_sent},        {".", SmtpStage::data, Reach::maybe_sent}};

TEST_F(Smtp, AMessageArrivesAsItWasWritten) {
  ScriptedRelay relay;
  auto mail = message(relay.url());
  mail.recipients = {"b@example.org", "c@example.org"};
  mail.data = "Subject: x\r\n\r\n.\r\n..two\r\nlast line without end";
  const auto reply = submit(mail);
  EXPECT_EQ(reply.error, NetError::ok) << reply.error_text;
  EXPECT_EQ(reply.reach, Reach::answered);
  EXPECT_EQ(reply.stage, SmtpStage::data);
  EXPECT_EQ(reply.answer.code, 250);
  EXPECT_EQ(reply.answer.text, "2.0.0 queued");
  ASSERT_EQ(reply.recipients.size(), 2u);
  EXPECT_EQ(reply.recipients[1].code, 250);
  EXPECT_EQ(reply.recipients[1].text, "2.1.0 fine");
  EXPECT_TRUE(reply.error_text.empty());
  auto commands = relay.commands();
  ASSERT_FALSE(commands.empty());
  EXPECT_TRUE(commands[0].starts_with("EHLO "));
  commands.erase(commands.begin());
  EXPECT_EQ(commands, (Lines{"MAIL FROM:<a@example.org> SIZE=" + std::to_string(mail.data.size()), "RCPT TO:<b@example.org>",
                             "RCPT TO:<c@example.org>", "DATA", "."}));
  EXPECT_EQ(relay.messages(), Lines{"Subject: x\r\n\r\n..\r\n...two\r\nlast line without end\r\n"});
}

TEST_F(Smtp, TheNullReversePathIsAnEmptyPair) {
  ScriptedRelay relay({.offers = {}});
  auto mail = message(relay.url());
  mail.from.clear();
  EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_TRUE(relay.heard("MAIL FROM:<>"));
}

TEST_F(Smtp, EachRecipientHasItsOwnAnswer) {
  ScriptedRelay relay(
      {.says = {{"RCPT TO:<no@", "550-5.1.1 Nobody\r\n550 5.1.1 here"}, {"RCPT TO:<later@", "450 4.2.1 \xFF busy"}}});
  auto mail = message(relay.url());
  mail.recipients = {"no@x", "yes@x", "later@x"};
  const auto reply = submit(mail);
  EXPECT_EQ(reply.stage, SmtpStage::data);
  EXPECT_EQ(reply.answer.code, 250);
  EXPECT_EQ(reply.recipients[0].text, "5.1.1 Nobody here");
  EXPECT_EQ(reply.recipients[1].code, 250);
  EXPECT_EQ(reply.recipients[2].code, 450);
  EXPECT_EQ(reply.recipients[2].text, "4.2.1 \xEF\xBF\xBD busy");
  EXPECT_EQ(relay.messages().size(), 1u);
}

TEST_F(Smtp, ARefusalIsAnAnswerWithItsStageAndTheRelayIsLeftInOrder) {
  for (const auto& step : kSteps) {
    for (const auto* text : {"421 4.3.2 closing", "451 4.7.1 later", "554 5.7.1 never"}) {
      if (std::string_view(step.command) == "EHLO" && !std::string_view(text).starts_with("421")) continue;  // HELO follows
      ScriptedRelay relay({.says = {{step.command, text}, {"HELO", "421 4.3.2 closing"}}});
      const auto reply = submit(message(relay.url()));
      EXPECT_EQ(reply.error, NetError::ok) << step.command << ": " << reply.error_text;
      EXPECT_EQ(reply.reach, Reach::answered) << step.command;
      EXPECT_EQ(reply.stage, step.stage) << step.command;
      EXPECT_EQ(std::to_string(reply.answer.code) + " " + reply.answer.text, text);
      EXPECT_EQ(reply.recipients.size(), 1u);
      EXPECT_EQ(relay.messages().size(), std::string_view(step.command) == "." ? 1u : 0u);
      EXPECT_TRUE(step.stage == SmtpStage::connect || relay.wait_for("QUIT")) << step.command;
    }
  }
}

TEST_F(Smtp, ABrokenConnectionHasTheReachOfTheStepItBrokeAt) {
  for (const auto& step : kSteps) {
    ScriptedRelay relay({.says = {{step.command, RelayScript::kDrop}}});
    const auto reply = submit(message(relay.url()));
    EXPECT_EQ(reply.error, NetError::broken) << step.command;
    EXPECT_EQ(reply.reach, step.without_answer) << step.command;
    EXPECT_EQ(reply.stage, SmtpStage::none) << step.command;
    EXPECT_EQ(reply.answer.code, 0) << step.command;
    EXPECT_TRUE(reply.error_text.starts_with("127.0.0.1:")) << reply.error_text;
    EXPECT_EQ(relay.connections(), 1) << "nothing is tried again behind the host's back";
  }
}

TEST_F(Smtp, ASilentRelayTimesOutWithTheReachOfTheStepItStalledAt) {
  for (const auto& step : kSteps) {
    ScriptedRelay relay({.says = {{step.command, RelayScript::kSilence}}});
    auto mail = message(relay.url());
    mail.timeout = 300ms;
    const auto reply = submit(mail);
    EXPECT_EQ(reply.error, NetError::timeout) << step.command;
    EXPECT_EQ(reply.reach, step.without_answer) << step.command;
    EXPECT_EQ(reply.stage, SmtpStage::none) << step.command;
    EXPECT_EQ(reply.recipients.at(0).code, step.stage == SmtpStage::data ? 250 : 0) << step.command;
  }
}

TEST_F(Smtp, TheDeadlineHoldsWhateverTheMessageAsksFor) {
  ScriptedRelay relay({.says = {{"greeting", RelayScript::kSilence}}});
  auto mail = message(relay.url());
  mail.timeout = 60s;
  mail.deadline = clock_.now() + 200ms;
  EXPECT_EQ(submit(mail).error, NetError::timeout);
  mail.deadline = clock_.now() - 1ms;
  EXPECT_EQ(submit(mail).error, NetError::timeout);
}

TEST_F(Smtp, AnEndThatIsAnsweredLateHoldsUpNobodyElse) {
  ScriptedRelay slow({.says = {{".", RelayScript::kSilence}}});
  ScriptedRelay quick;
  auto mail = message(slow.url());
  mail.deadline = clock_.now() + 30s;
  std::uint64_t id = 0;
  auto stuck = begin(mail, &id);
  ASSERT_TRUE(slow.wait_for("."));
  const auto before = clock_.now();
  EXPECT_EQ(submit(message(quick.url())).answer.code, 250);
  EXPECT_LT(clock_.now() - before, 20s);
  on_loop([&] { client_->cancel(id); });
  const auto reply = stuck.get();
  EXPECT_EQ(reply.error, NetError::cancelled);
  EXPECT_EQ(reply.reach, Reach::maybe_sent);
}

TEST_F(Smtp, RepliesMayComeByteByByte) {
  ScriptedRelay relay({.says = {{"RCPT", "250-2.1.5 one\r\n250 2.1.5 two"}}, .piece = 1});
  const auto reply = submit(message(relay.url()));
  EXPECT_EQ(reply.answer.code, 250) << reply.error_text;
  EXPECT_EQ(reply.recipients[0].text, "2.1.5 one two");
}

TEST_F(Smtp, AReplyNobodyAskedForBreaksTheConversation) {
  for (const auto* step : {"MAIL", "RCPT", "DATA"}) {
    ScriptedRelay relay({.says = {{step, "250 fine\r\n250 and fine again"}}});
    const auto reply = submit(message(relay.url()));
    EXPECT_EQ(reply.error, NetError::broken) << step;
    EXPECT_EQ(reply.reach, Reach::not_sent) << step;
    EXPECT_TRUE(relay.messages().empty());
  }
}

TEST_F(Smtp, WhatIsNotSmtpBreaksOff) {
  for (const auto& step : kSteps) {
    ScriptedRelay relay({.says = {{step.command, "HTTP/1.1 400 Bad Request"}}});
    const auto reply = submit(message(relay.url()));
    EXPECT_EQ(reply.error, NetError::broken) << step.command;
    EXPECT_EQ(reply.reach, step.without_answer) << step.command;
  }
}

TEST_F(Smtp, AnEndlessReplyBreaksOff) {
  for (const auto* step : {"greeting", "EHLO", "MAIL"}) {
    std::string endless;
    for (int i = 0; i < 20'000; ++i) endless += std::string(step) == "greeting" ? "220-more\r\n" : "250-more\r\n";
    ScriptedRelay relay({.says = {{step, endless}}});
    const auto reply = submit(message(relay.url()));
    EXPECT_EQ(reply.error, NetError::broken) << step;
    EXPECT_EQ(reply.reach, Reach::not_sent) << step;
  }
}

TEST_F(Smtp, ARelayWithoutExtensionsIsGreetedTheOldWay) {
  ScriptedRelay relay({.says = {{"EHLO", "502 5.5.1 what?"}}});
  EXPECT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_TRUE(relay.heard("HELO"));
  EXPECT_TRUE(relay.heard("MAIL FROM:<a@example.org>"));
  EXPECT_FALSE(relay.heard("MAIL FROM:<a@example.org> SIZE"));
}

TEST_F(Smtp, AddressesInUtf8GoToARelayThatOffersIt) {
  ScriptedRelay with({.offers = {"SMTPUTF8"}});
  auto mail = message(with.url());
  mail.recipients = {"m\xC3\xBCller@b\xC3\xBC.example"};
  EXPECT_EQ(submit(mail).answer.code, 250);
  EXPECT_TRUE(with.heard("MAIL FROM:<a@example.org> SMTPUTF8"));
  EXPECT_TRUE(with.heard("RCPT TO:<m\xC3\xBCller@b\xC3\xBC.example>"));

  ScriptedRelay without;
  mail.relay = without.url();
  EXPECT_EQ(submit(mail).answer.code, 553);
  EXPECT_FALSE(without.heard("MAIL"));
}

TEST_F(Smtp, ALargeMessageGoesThroughWhileOthersAreServed) {
  ScriptedRelay relay;
  auto large = message(relay.url());
  while (large.data.size() < 20'000'000) large.data += std::string(70, 'x') + "\r\n.\r\n";
  auto expected = large.data;
  auto sent = begin(large);
  EXPECT_EQ(submit(message(relay.url())).answer.code, 250);
  EXPECT_EQ(sent.get().answer.code, 250);
  std::size_t dots = 0;
  std::size_t size = 0;
  for (const auto& one : relay.messages()) {
    if (one.size() < 1000) continue;
    size = one.size();
    for (std::size_t at = one.find("\n..\r"); at != std::string::npos; at = one.find("\n..\r", at + 1)) ++dots;
  }
  EXPECT_EQ(size - dots, expected.size());
  EXPECT_GT(dots, 200'000u);
}

TEST_F(Smtp, ARelayThatTiresOfALargeMessageIsHeard) {
  testing::ScriptedServer relay([](testing::Connection& connection) {
    testing::SmtpPeer peer(connection);
    std::string line;
    peer.say("220 hi\r\n");
    for (int i = 0; i < 4 && peer.line(line); ++i) peer.say(line == "DATA" ? "354 go\r\n" : "250 fine\r\n");
    peer.line(line);
    peer.say("552 5.3.4 too big\r\n");
    peer.hang();
  });
  auto mail = message("smtp://127.0.0.1:" + std::to_string(relay.port()));
  while (mail.data.size() < 30'000'000) mail.data += std::string(1000, 'x') + "\r\n";
  const auto reply = submit(mail);
  EXPECT_EQ(reply.error, NetError::ok) << reply.error_text;
  EXPECT_EQ(reply.stage, SmtpStage::data);
  EXPECT_EQ(reply.answer.code, 552);
  EXPECT_EQ(reply.reach, Reach::answered);
}

TEST_F(Smtp, NobodyListeningMeansNotSent) {
  std::string url;
  {
    testing::ScriptedServer gone([](testing::Connection&) {});
    url = "smtp://127.0.0.1:" + std::to_string(gone.port());
  }
  const auto reply = submit(message(url));
  EXPECT_EQ(reply.error, NetError::connect);
  EXPECT_EQ(reply.reach, Reach::not_sent);
  EXPECT_FALSE(reply.error_text.empty());
}

TEST_F(Smtp, ANameThatDoesNotResolveMeansNotSent) {
  const auto reply = submit(message("smtp://no-such-host.invalid"));
  EXPECT_EQ(reply.error, NetError::resolve);
  EXPECT_EQ(reply.reach, Reach::not_sent);
}

TEST_F(Smtp, AnAddressThatIsNotAllowedIsRefusedBeforeAConnection) {
  ScriptedRelay relay;
  start({.egress = std::make_shared<const EgressPolicy>(EgressRules{.guard = EgressGuard::strict})});
  const auto reply = submit(message(relay.url()));
  EXPECT_EQ(reply.error, NetError::refused);
  EXPECT_EQ(reply.reach, Reach::not_sent);
  EXPECT_TRUE(reply.error_text.ends_with("the address is not allowed")) << reply.error_text;
  EXPECT_EQ(relay.connections(), 0);
}

TEST_F(Smtp, WhatBreaksARuleIsRefusedWithoutAConnection) {
  ScriptedRelay relay;
  std::vector<SmtpMessage> bad;
  const auto url = relay.url();
  for (const auto& broken : std::vector<std::string>{"http://x", "smtp://", url + "/hello", url + "?a", "",
                                                     "smtp://me:word@127.0.0.1", url + "/\r\nMAIL"})
    bad.push_back(message(broken));
  bad.push_back(message(url));
  bad.back().recipients = {"b@x>\r\nRCPT TO:<c@x"};
  bad.push_back(message(url));
  bad.back().data = "x\n.\nMAIL FROM:<>";
  bad.push_back(message(url));
  bad.back().user = "me";
  bad.back().password = "unheard-of";
  for (const auto& mail : bad) {
    const auto reply = submit(mail);
    EXPECT_EQ(reply.error, NetError::refused) << mail.relay;
    EXPECT_EQ(reply.reach, Reach::not_sent);
    EXPECT_EQ(reply.recipients.size(), 1u);
    EXPECT_FALSE(reply.error_text.empty());
    EXPECT_EQ(reply.error_text.find("me:word"), std::string::npos) << reply.error_text;
  }
  EXPECT_EQ(relay.connections(), 0);
}

}  // namespace
}  // namespace waybill
