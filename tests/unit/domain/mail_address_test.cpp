// One plain address, and nothing that could be read as more.
#include "domain/mail_address.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "base/names.h"
#include "common/control_characters.h"
#include "common/mail_address.h"
#include "support/unseen.h"

namespace waybill {
namespace {

TEST(MailAddress, IsOnePlainAddress) {  // D4
  for (const char* good : {"ann@example.org", "a.b+c@x-y.example", "o'neil@example.org", "1@2.example", "ANN@EXAMPLE.ORG",
                           "a=b@example.org", "x@localhost", "a/b@example.org"})
    EXPECT_EQ(fault_in_address(good), "") << good;
  EXPECT_EQ(fault_in_address(std::string(64, 'a') + "@" + std::string(63, 'b') + ".example"), "");
}

// T32: the plugins refuse the same characters as the host
TEST(MailAddress, HasNoCharacterThatHostOrPluginsDoNotSee) {
  for (const auto& unseen : testing::kUnseen)
    EXPECT_EQ(fault_in_address("ann" + std::string(unseen.text) + "@example.org"), "it has a control character") << unseen.json;
  for (char32_t code = 0; code < 0x110000; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    const auto byte = [](char32_t bits) { return static_cast<char>(bits); };
    const auto tail = [&](int shift) { return byte(0x80 | ((code >> shift) & 0x3F)); };
    const std::string text = code < 0x80      ? std::string{byte(code)}
                             : code < 0x800   ? std::string{byte(0xC0 | code >> 6), tail(0)}
                             : code < 0x10000 ? std::string{byte(0xE0 | code >> 12), tail(6), tail(0)}
                                              : std::string{byte(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
    ASSERT_EQ(has_control_character(text), plugins::has_control_character(text))
        << "U+" << std::hex << static_cast<unsigned>(code);
  }
}

TEST(MailAddress, IsNothingElse) {  // D4
  const std::pair<std::string, std::string> cases[] = {
      {"", "it is empty"},
      {"ann", "it is not of the form name@domain"},
      {"@example.org", "it is not of the form name@domain"},
      {"ann@", "it is not of the form name@domain"},
      {"ann@example.org\r\nBcc: all@example.org", "it has a control character"},
      {"ann@example.org\nX: y", "it has a control character"},
      {std::string("ann\0@example.org", 16), "it has a control character"},
      {"ann@example.org\xC2\x85", "it has a control character"},
      {"ann@example.org, bob@example.org", "it has more in it than an address"},
      {"ann@example.org,bob@example.org", "it has more in it than an address"},
      {"ann@example.org;bob@example.org", "it has more in it than an address"},
      {"Ann <ann@example.org>", "it has more in it than an address"},
      {" ann@example.org", "it has more in it than an address"},
      {"\"a b\"@example.org", "it has more in it than an address"},
      {"group:ann@example.org", "it has more in it than an address"},
      {"ann@[192.0.2.1]", "it has more in it than an address"},
      {"ann(x)@example.org", "it has more in it than an address"},
      {"ann@bob@example.org", "what stands before the @ is no name"},
      {"a..b@example.org", "what stands before the @ is no name"},
      {"=?utf-8?q?a?=@example.org", "what stands before the @ is no name"},
      {"z\xC3\xB6@example.org", "what stands before the @ is no name"},
      {std::string(65, 'a') + "@example.org", "what stands before the @ is no name"},
      {"ann@example..org", "what stands behind the @ is no domain"},
      {"ann@-example.org", "what stands behind the @ is no domain"},
      {"ann@ex\xC3\xA4mple.org", "what stands behind the @ is no domain"},
      {"ann@" + std::string(251, 'b'), "it is longer than 254 bytes"}};
  for (const auto& [text, wanted] : cases) EXPECT_EQ(fault_in_address(text), wanted) << text;
}

// The plugin has the last word, and must have no other one: what intake takes, it takes as the same one address.
RC_GTEST_PROP(MailAddress, ThatIntakeTakesIsOneThatThePluginsTake, ()) {  // D4
  const auto word = rc::gen::container<std::string>(
      rc::gen::element('a', 'Z', '7', '.', '-', '+', '@', ' ', ',', '<', '"', '=', '?', '\n', '\0', '\xC3', '\xB6', ';', '('));
  const auto text = *rc::gen::oneOf(
      word, rc::gen::map(rc::gen::pair(word, word), [](const auto& parts) { return parts.first + "@" + parts.second; }));
  if (!fault_in_address(text).empty()) return;
  std::string problem;
  const auto read = plugins::parse_mailboxes(text, problem);
  RC_ASSERT(read.has_value());
  RC_ASSERT(read->size() == 1u);
  RC_ASSERT(read->front().address == text && read->front().name.empty());
}

}  // namespace
}  // namespace waybill
