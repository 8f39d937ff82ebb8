// What mail may be submitted, and what is refused before a byte leaves.  H4 M8
#include "services/smtp_message.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

SmtpMessage good() {
  SmtpMessage message;
  message.from = "a@example.org";
  message.recipients = {"b@example.org"};
  message.data = "Subject: x\r\n\r\nHello\r\n";
  return message;
}

TEST(SmtpMessageRules, AGoodOneHasNoFault) {
  EXPECT_EQ(fault_in(good()), std::nullopt);
  auto message = good();
  message.from.clear();  // the null reverse-path
  message.data = "no line end";
  message.recipients = {"b@[192.0.2.1]", "\"quoted\"@example.org", "m\xC3\xBCller@example.org"};
  message.user = "me";
  message.password = "key";
  EXPECT_EQ(fault_in(message), std::nullopt);
}

TEST(SmtpMessageRules, AnAddressCannotSmuggleACommand) {
  const auto longest = std::string(kMaxAddressBytes - 2, 'x') + "@y";
  for (const std::string& address :
       {std::string("a@b>\r\nRCPT TO:<c@d"), std::string("a@b\rc"), std::string("a@b\nc"), std::string("a@b c"),
        std::string("<a@b"), std::string("a>@b"), std::string("a@b\0", 4), std::string("a@b\x7F"), std::string("\ta@b"),
        std::string("no-at"), std::string("@b"), std::string("a@"), std::string("a@\xFF"), "x" + longest}) {
    auto message = good();
    message.recipients.push_back(address);
    const auto fault = fault_in(message);
    ASSERT_TRUE(fault) << address;
    EXPECT_TRUE(fault->starts_with("the address of recipient 2 ")) << *fault;
    message = good();
    message.from = address;
    EXPECT_TRUE(fault_in(message)) << address;
  }
  auto message = good();
  message.recipients = {longest};
  EXPECT_FALSE(fault_in(message));
  message.recipients = {""};
  EXPECT_TRUE(fault_in(message));
}

TEST(SmtpMessageRules, EveryLineEndIsACrlf) {
  for (const auto* data : {"a\nb\r\n", "a\rb\r\n", "\n", "a\r\n\n", "a\r\r\n", "a\r\n\r", "a\n\r\n.\r\n"}) {
    auto message = good();
    message.data = data;
    EXPECT_TRUE(fault_in(message)) << ::testing::PrintToString(data);
  }
  auto message = good();
  message.data = "\r\n\r\n";
  EXPECT_FALSE(fault_in(message));
}

TEST(SmtpMessageRules, ThereAreLimits) {
  auto message = good();
  message.recipients.assign(kMaxRecipients, "b@example.org");
  EXPECT_FALSE(fault_in(message));
  message.recipients.emplace_back("b@example.org");
  EXPECT_TRUE(fault_in(message));
  message.recipients.clear();
  EXPECT_TRUE(fault_in(message));

  message = good();
  message.data.assign(kMaxMailBytes, 'x');
  EXPECT_FALSE(fault_in(message));
  message.data += 'x';
  EXPECT_TRUE(fault_in(message));
  message.data.clear();
  EXPECT_TRUE(fault_in(message));
}

TEST(SmtpMessageRules, AUserHasAPasswordAndNoControlCharacters) {
  auto message = good();
  message.user = "me";
  EXPECT_TRUE(fault_in(message));
  message.password = "key";
  EXPECT_FALSE(fault_in(message));
  for (const std::string& user : {std::string("m\re"), std::string("m\0e", 3), std::string(kMaxUserBytes + 1, 'x')}) {
    message.user = user;
    EXPECT_TRUE(fault_in(message));
  }
}

TEST(SmtpOffersOfARelay, AreReadFromItsGreetingLines) {
  SmtpOffers offers;
  for (const auto* line : {"relay.example", "SIZE 100", "8bitmime", "SMTPUTF8X", "AUTH=LOGIN PLAIN"}) offers.take_line(line);
  EXPECT_TRUE(offers.size);
  EXPECT_TRUE(offers.eight_bit);
  EXPECT_FALSE(offers.utf8);
  offers.take_line("SMTPUTF8");
  EXPECT_TRUE(offers.utf8);
}

}  // namespace
}  // namespace waybill
