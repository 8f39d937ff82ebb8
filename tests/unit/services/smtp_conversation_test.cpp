// One message and one relay, reply by reply: what is said next, how far it got, what became of each recipient.  H4
#include "services/smtp_conversation.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

using Lines = std::vector<std::string>;

SmtpMessage to(std::vector<std::string> recipients, std::string data = "x\r\n") {
  SmtpMessage message;
  message.from = "a@example.org";
  message.recipients = std::move(recipients);
  message.data = std::move(data);
  return message;
}

// Writes all that there is to write, in pieces.
std::string drain(SmtpConversation& conversation, std::size_t piece = 1 << 20) {
  std::string all;
  while (!conversation.output().empty()) {
    const auto part = conversation.output().substr(0, piece);
    all += part;
    conversation.written(part.size());
  }
  return all;
}

// What is said when the relay gives these answers.
Lines said(SmtpConversation& conversation, const std::vector<SmtpAnswer>& answers) {
  Lines lines{drain(conversation)};
  for (const auto& answer : answers) {
    conversation.take(answer);
    lines.push_back(drain(conversation));
  }
  return lines;
}

const SmtpAnswer kFine{250, "fine"};
const SmtpAnswer kGo{354, "go"};

TEST(SmtpConversation, GoesFromMailToTheAnswerToTheEnd) {
  const auto message = to({"b@example.org", "c@example.org"});
  SmtpConversation conversation(message, {});
  EXPECT_EQ(said(conversation, {kFine, kFine, kFine, kGo, {250, "2.0.0 queued"}}),
            (Lines{"MAIL FROM:<a@example.org>\r\n", "RCPT TO:<b@example.org>\r\n", "RCPT TO:<c@example.org>\r\n", "DATA\r\n",
                   "x\r\n.\r\n", ""}));
  EXPECT_TRUE(conversation.over());
  EXPECT_TRUE(conversation.connection_is_clean());
  const auto result = conversation.result();
  EXPECT_EQ(result.error, NetError::ok);
  EXPECT_EQ(result.reach, Reach::answered);
  EXPECT_EQ(result.stage, SmtpStage::data);
  EXPECT_EQ(result.answer.code, 250);
  EXPECT_EQ(result.answer.text, "2.0.0 queued");
  ASSERT_EQ(result.recipients.size(), 2u);
  EXPECT_EQ(result.recipients[1].code, 250);
}

TEST(SmtpConversation, SaysWhatTheRelayWantsToKnowOfTheMessage) {
  auto message = to({"b@example.org"}, "m\xC3\xBCll");
  message.from.clear();
  SmtpOffers all;
  all.size = all.eight_bit = all.utf8 = true;
  EXPECT_EQ(SmtpConversation(message, all).output(), "MAIL FROM:<> SIZE=5 BODY=8BITMIME\r\n");
  EXPECT_EQ(SmtpConversation(message, {}).output(), "MAIL FROM:<>\r\n");
  message.recipients = {"m\xC3\xBCller@example.org"};
  EXPECT_EQ(SmtpConversation(message, all).output(), "MAIL FROM:<> SIZE=5 BODY=8BITMIME SMTPUTF8\r\n");
}

TEST(SmtpConversation, DotsThatBeginALineAreDoubledAndTheEndIsALineOfItsOwn) {
  for (const auto& [data, wire] :
       std::vector<std::pair<std::string, std::string>>{{"x\r\n", "x\r\n.\r\n"},
                                                        {"x", "x\r\n.\r\n"},
                                                        {".\r\n", "..\r\n.\r\n"},
                                                        {"a\r\n.\r\nb\r\n", "a\r\n..\r\nb\r\n.\r\n"},
                                                        {"a\r\n..\r\n", "a\r\n...\r\n.\r\n"},
                                                        {".hidden\r\na.b\r\n.", "..hidden\r\na.b\r\n..\r\n.\r\n"},
                                                        {"\r\n\r\n", "\r\n\r\n.\r\n"}}) {
    for (const std::size_t piece : {1, 2, 3, 1000}) {
      const auto message = to({"b@example.org"}, data);
      SmtpConversation conversation(message, {});
      said(conversation, {kFine, kFine});
      conversation.take(kGo);
      EXPECT_EQ(drain(conversation, piece), wire) << ::testing::PrintToString(data);
    }
  }
}

TEST(SmtpConversation, ALongMessageIsStuffedAcrossItsPieces) {
  std::string data;
  std::string wire;
  for (int i = 0; i < 60'000; ++i) {
    const auto line = std::string(static_cast<std::size_t>(i % 7), '.') + "\r\n";
    data += line;
    wire += (i % 7 != 0 ? "." : "") + line;
  }
  data += std::string(200'000, 'y');
  wire += std::string(200'000, 'y') + "\r\n.\r\n";
  const auto message = to({"b@example.org"}, data);
  SmtpConversation conversation(message, {});
  said(conversation, {kFine, kFine});
  conversation.take(kGo);
  EXPECT_EQ(drain(conversation, 1000), wire);
}

TEST(SmtpConversation, ARefusedRecipientDoesNotKeepTheOthersFromTheirs) {
  const auto message = to({"b@x", "c@x", "d@x"});
  SmtpConversation conversation(message, {});
  const auto lines = said(conversation, {kFine, {550, "5.1.1 nobody"}, kFine, {451, "4.7.1 later"}, kGo, kFine});
  EXPECT_EQ(lines[4], "DATA\r\n");
  const auto result = conversation.result();
  EXPECT_EQ(result.stage, SmtpStage::data);
  EXPECT_EQ(result.recipients[0].code, 550);
  EXPECT_EQ(result.recipients[0].text, "5.1.1 nobody");
  EXPECT_EQ(result.recipients[1].code, 250);
  EXPECT_EQ(result.recipients[2].code, 451);
}

TEST(SmtpConversation, WhenAllAreRefusedOneThatMayBeTakenLaterDecides) {
  const auto message = to({"b@x", "c@x"});
  SmtpConversation mixed(message, {});
  said(mixed, {kFine, {550, "never"}, {452, "later"}});
  EXPECT_TRUE(mixed.over());
  EXPECT_FALSE(mixed.connection_is_clean());
  EXPECT_EQ(mixed.result().stage, SmtpStage::rcpt);
  EXPECT_EQ(mixed.result().answer.code, 452);
  EXPECT_EQ(mixed.result().reach, Reach::answered);

  SmtpConversation never(message, {});
  said(never, {kFine, {550, "never"}, {551, "nor here"}});
  EXPECT_EQ(never.result().answer.code, 550);
}

TEST(SmtpConversation, ARefusalDecidesWhereItComes) {
  const auto message = to({"b@x"});
  const std::vector<SmtpAnswer> good{kFine, kFine, kGo};
  const SmtpStage stages[] = {SmtpStage::mail, SmtpStage::rcpt, SmtpStage::data, SmtpStage::data};
  for (std::size_t before = 0; before <= good.size(); ++before) {
    for (const int code : {421, 451, 552}) {
      SmtpConversation conversation(message, {});
      said(conversation, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(before)});
      conversation.take({code, "no"});
      EXPECT_TRUE(conversation.over());
      EXPECT_TRUE(conversation.output().empty());
      EXPECT_EQ(conversation.result().error, NetError::ok);
      EXPECT_EQ(conversation.result().stage, stages[before]);
      EXPECT_EQ(conversation.result().answer.code, code);
      EXPECT_EQ(conversation.result().reach, Reach::answered);
      EXPECT_EQ(conversation.result().recipients[0].code, before == 0 ? 0 : before == 1 ? code : 250);
    }
  }
}

TEST(SmtpConversation, AClosingRelayAsksNobodyElse) {
  const auto message = to({"b@x", "c@x"});
  SmtpConversation conversation(message, {});
  said(conversation, {kFine, {421, "shutting down"}});
  EXPECT_TRUE(conversation.over());
  EXPECT_EQ(conversation.result().recipients[0].code, 421);
  EXPECT_EQ(conversation.result().recipients[1].code, 0);
}

TEST(SmtpConversation, AnAnswerThatIsNoneBreaksIt) {
  const auto message = to({"b@x"});
  const std::vector<SmtpAnswer> good{kFine, kFine, kGo};
  for (std::size_t before = 0; before <= good.size(); ++before) {
    SmtpConversation conversation(message, {});
    said(conversation, {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(before)});
    conversation.take(before == 2 ? kFine : kGo);  // 250 to DATA has taken nothing
    EXPECT_EQ(conversation.result().error, NetError::broken);
    EXPECT_EQ(conversation.result().stage, SmtpStage::none);
    EXPECT_EQ(conversation.result().reach, before == 3 ? Reach::maybe_sent : Reach::not_sent);
  }
}

TEST(SmtpConversation, AnAnswerBeforeTheQuestionCountsForNothing) {
  const auto message = to({"b@x"});
  SmtpConversation conversation(message, {});
  conversation.take(kFine);  // MAIL has not left yet
  EXPECT_EQ(conversation.result().error, NetError::broken);

  SmtpConversation refusing(message, {});
  refusing.take({550, "no"});
  EXPECT_EQ(refusing.result().error, NetError::broken);

  SmtpConversation closing(message, {});
  closing.take({421, "too long idle"});  // which a relay may say at any time
  EXPECT_EQ(closing.result().error, NetError::ok);
  EXPECT_EQ(closing.result().stage, SmtpStage::mail);
}

TEST(SmtpConversation, ARefusalInTheMiddleOfTheMessageEndsItUnsent) {
  const auto message = to({"b@x"}, std::string(1 << 20, 'x'));
  SmtpConversation conversation(message, {});
  said(conversation, {kFine, kFine});
  conversation.take(kGo);
  conversation.written(conversation.output().size());
  ASSERT_FALSE(conversation.output().empty());
  conversation.take({552, "5.3.4 too big"});
  EXPECT_TRUE(conversation.over());
  EXPECT_TRUE(conversation.output().empty());
  EXPECT_EQ(conversation.result().stage, SmtpStage::data);
  EXPECT_EQ(conversation.result().answer.code, 552);
}

TEST(SmtpConversation, ItMayHaveBeenSentOnlyOnceAllOfItsEndHasLeft) {
  const auto message = to({"b@x"});
  SmtpConversation conversation(message, {});
  said(conversation, {kFine, kFine});
  EXPECT_EQ(conversation.reach(), Reach::not_sent);
  conversation.take(kGo);
  conversation.written(conversation.output().size() - 1);
  EXPECT_EQ(conversation.reach(), Reach::not_sent);
  conversation.written(1);
  EXPECT_EQ(conversation.reach(), Reach::maybe_sent);
  conversation.lost(NetError::broken, "gone");
  EXPECT_EQ(conversation.result().reach, Reach::maybe_sent);
  EXPECT_EQ(conversation.result().error_text, "gone");
  conversation.take(kFine);  // too late
  EXPECT_EQ(conversation.result().reach, Reach::maybe_sent);
}

TEST(SmtpConversation, AnAddressInUtf8NeedsARelayThatTakesIt) {
  const auto message = to({"m\xC3\xBCller@x", "b@x"});
  SmtpConversation without(message, {});
  const auto lines = said(without, {kFine, kFine, kGo, kFine});
  EXPECT_EQ(lines[1], "RCPT TO:<b@x>\r\n");
  EXPECT_EQ(without.result().recipients[0].code, 553);
  EXPECT_TRUE(without.result().recipients[0].text.starts_with("5.6.7 "));
  EXPECT_EQ(without.result().recipients[1].code, 250);

  SmtpOffers utf8;
  utf8.utf8 = true;
  SmtpConversation with(message, utf8);
  EXPECT_EQ(said(with, {kFine})[1], "RCPT TO:<m\xC3\xBCller@x>\r\n");

  const auto alone = to({"m\xC3\xBCller@x"});
  SmtpConversation nobody(alone, {});
  EXPECT_TRUE(nobody.over());
  EXPECT_TRUE(nobody.output().empty());
  EXPECT_EQ(nobody.result().stage, SmtpStage::rcpt);
  EXPECT_EQ(nobody.result().answer.code, 553);

  auto sender = to({"b@x"});
  sender.from = "m\xC3\xBCller@x";
  SmtpConversation from(sender, {});
  EXPECT_EQ(from.result().stage, SmtpStage::mail);
  EXPECT_EQ(from.result().answer.code, 553);
}

}  // namespace
}  // namespace waybill
