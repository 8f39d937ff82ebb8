// Where a secret's name may stand in a request, and what it is filled in with.  D8
#include "services/placeholders.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

const Secrets& secrets() {
  static const Secrets secrets(Secrets::Values{
      {"bot", {Secret("12:AbC-d_e"), Secret("old")}}, {"slack", {Secret("T0/B0/x")}}, {"odd", {Secret("a\"b c\n")}}});
  return secrets;
}

TEST(UrlWithSecrets, IsFilledInBehindTheHost) {  // D8
  EXPECT_EQ(filled_url("https://a.test/bot{secret:bot}/send?k={secret:bot}", secrets()).value(),
            "https://a.test/bot12:AbC-d_e/send?k=12:AbC-d_e");
  EXPECT_EQ(filled_url("https://a.test/{secret:slack}", secrets()).value(), "https://a.test/T0/B0/x");
  EXPECT_EQ(filled_url("https://a.test?k={secret:bot}", secrets()).value(), "https://a.test?k=12:AbC-d_e");
  EXPECT_EQ(filled_url("https://a.test/{other}", secrets()).value(), "https://a.test/{other}");
}

TEST(UrlWithSecrets, IsRefusedWhereASecretWouldChangeWhereItLeads) {  // D8
  for (const auto& [url, words] : {std::pair{"https://{secret:bot}/x", "outside of its path"},
                                   {"https://a.test:{secret:bot}/{secret:bot}", "outside of its path"},
                                   {"{secret:bot}", "outside of its path"},
                                   {"https://a.test/{secret:nobody}", "unknown secret"},
                                   {"https://a.test/{secret:bot", "unfinished {secret:"},
                                   {"https://a.test/{secret:odd}", "percent-encoded"}}) {
    const auto filled = filled_url(url, secrets());
    ASSERT_FALSE(filled) << url;
    EXPECT_NE(filled.error().what.find(words), std::string::npos) << filled.error().what;
  }
}

TEST(BodyWithSecrets, HasThemAtTheirPlacesInTheirForms) {  // D8
  const std::vector<BodySecret> inserts{{0, "bot", SecretForm::raw}, {3, "odd", SecretForm::json}, {5, "odd", SecretForm::form}};
  EXPECT_EQ(filled_body("abcde", inserts, secrets()).value(), "12:AbC-d_eabca\\\"b c\\nde" + std::string("a%22b%20c%0A"));
  EXPECT_EQ(filled_body("{secret:bot}", {}, secrets()).value(), "{secret:bot}") << "a text is no place";
  EXPECT_FALSE(filled_body("ab", std::vector<BodySecret>{{3, "bot"}}, secrets()));
  EXPECT_FALSE(filled_body("ab", std::vector<BodySecret>{{2, "bot"}, {1, "bot"}}, secrets()));
  EXPECT_FALSE(filled_body("ab", std::vector<BodySecret>{{1, "nobody"}}, secrets()));
}

TEST(Placeholders, OfTheOperatorAreToldFromThoseThatWereSubmitted) {  // D8
  const Submitted submitted(
      R"({"text":"I like {secret:a}","escaped":"\u007bsecret:c}","split":["{oauth2:","d}"],"{secret:e}":1})",
      "no JSON {secret:f}");
  const Submitted nothing("", "");
  EXPECT_EQ(operators_placeholder("x {secret:b} y", submitted), "{secret:b}");
  EXPECT_EQ(operators_placeholder("x {oauth2:b}", submitted), "{oauth2:b}");
  EXPECT_EQ(operators_placeholder("{secret:a} {secret:b}", submitted), "{secret:b}");
  EXPECT_EQ(submitted_placeholder("{secret:b} {secret:a}", submitted), "{secret:a}");
  EXPECT_EQ(submitted_placeholder("{secret:b}", submitted), std::nullopt);
  for (const auto* text : {"{secret:a}", "{secret:c}", "{oauth2:d}", "{secret:e}", "{secret:f}"}) {
    EXPECT_EQ(operators_placeholder(text, submitted), std::nullopt) << text;
    EXPECT_EQ(submitted_placeholder(text, submitted), text);
  }
  for (const auto* text : {"{secret:}", "{secret:a b}", "{secret:a", "{secrets:a}", "secret:a}", "{{secret:}}"}) {
    EXPECT_EQ(operators_placeholder(text, nothing), std::nullopt) << text;
    EXPECT_FALSE(names_any(text)) << text;
  }
  EXPECT_TRUE(names_any("{{secret:a}}"));
}

TEST(PercentEncoding, LeavesUnreservedCharactersAlone) {  // D8
  EXPECT_EQ(percent_encoded("aZ0-._~ +/é"), "aZ0-._~%20%2B%2F%C3%A9");
}

}  // namespace
}  // namespace waybill
