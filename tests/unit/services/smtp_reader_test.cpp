// Replies out of whatever a relay sends, in whatever pieces.  H4
#include "services/smtp_reader.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace waybill {
namespace {

SmtpAnswer only(std::string_view bytes) {
  SmtpReader reader;
  reader.feed(bytes);
  const auto reply = reader.next();
  EXPECT_TRUE(reply) << bytes;
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.empty());
  return reply.value_or(SmtpAnswer{});
}

TEST(SmtpReader, AReplyIsACodeAndOneLineOfText) {
  EXPECT_EQ(only("250 2.1.5 fine\r\n").code, 250);
  EXPECT_EQ(only("250 2.1.5 fine\r\n").text, "2.1.5 fine");
  EXPECT_EQ(only("354\r\n").code, 354);
  EXPECT_EQ(only("220 \n").text, "");
}

TEST(SmtpReader, SeveralLinesBecomeOneAndNameTheEnhancedCodeOnce) {
  EXPECT_EQ(only("550-5.1.1 No such user,\r\n550-5.1.1 look at\r\n550 5.1.1 https://example.org\r\n").text,
            "5.1.1 No such user, look at https://example.org");
  EXPECT_EQ(only("250-relay\r\n250-SIZE 1\r\n250 HELP\r\n").text, "relay SIZE 1 HELP");
}

TEST(SmtpReader, PiecesAndRunsOfRepliesMakeNoDifference) {
  SmtpReader reader;
  const std::string_view bytes = "250-a\r\n250 b\r\n550 c\r\n";
  std::vector<SmtpAnswer> replies;
  for (const char byte : bytes) {
    reader.feed({&byte, 1});
    while (auto reply = reader.next()) replies.push_back(*reply);
    EXPECT_FALSE(reader.broken());
  }
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].text, "a b");
  EXPECT_EQ(replies[1].code, 550);

  reader.feed(bytes);
  EXPECT_EQ(reader.next()->code, 250);
  EXPECT_FALSE(reader.empty());
  EXPECT_EQ(reader.next()->code, 550);
  EXPECT_TRUE(reader.empty());
}

TEST(SmtpReader, TextThatIsNotCleanIsCleanedAndCut) {
  const auto reply = only("550 \xFF\x01 m\xC3\xBCll\r\n");
  EXPECT_EQ(reply.text, "\xEF\xBF\xBD  m\xC3\xBCll");
  const auto longest = only("550 " + std::string(20'000, 'x') + "\r\n");
  EXPECT_EQ(longest.text, std::string(kMaxReplyText, 'x'));
  std::string lines;
  for (int i = 0; i < 999; ++i) lines += "250-\xC3\xBC\xC3\xBC\xC3\xBC\r\n";
  const auto many = only(lines + "250 end\r\n");
  EXPECT_LE(many.text.size(), kMaxReplyText);
  EXPECT_TRUE(is_valid_utf8(many.text));
}

TEST(SmtpReader, WhatIsNoReplyBreaksIt) {
  for (const std::string bytes :
       {"HTTP/1.1 400 Bad\r\n", "25 short\r\n", "\r\n", "650 x\r\n", "250x\r\n", "250-a\r\n550 b\r\n", "2\xB2\xB2 x\r\n"}) {
    SmtpReader reader;
    reader.feed(bytes);
    EXPECT_FALSE(reader.next()) << bytes;
    EXPECT_TRUE(reader.broken()) << bytes;
  }
}

TEST(SmtpReader, AReplyWithoutEndBreaksIt) {
  SmtpReader line;
  line.feed(std::string(kMaxReplyBytes, '2'));
  EXPECT_FALSE(line.next());
  EXPECT_FALSE(line.broken());
  line.feed("2");
  EXPECT_FALSE(line.next());
  EXPECT_TRUE(line.broken());

  SmtpReader lines;
  for (int i = 0; i < 10'000 && !lines.broken(); ++i) {
    lines.feed("250-more\r\n");
    EXPECT_FALSE(lines.next());
  }
  EXPECT_TRUE(lines.broken());
}

}  // namespace
}  // namespace waybill
