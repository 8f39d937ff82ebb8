// The fields of settings and destinations as a plugin without a JSON library reads them. H3
#include "waybill/plugin/fields.hpp"

#include <gtest/gtest.h>

namespace {
using waybill::plugin::Fields;

TEST(Fields, AreFoundByTheirNameAndType) {
  const Fields fields(R"( { "url" : "https://a.test/x", "timeout_ms":250,"deep":{"url":[1,{"no":"}"}]} , "on":true} )");
  EXPECT_EQ(fields.text("url"), "https://a.test/x");
  EXPECT_EQ(fields.number("timeout_ms"), 250);
  EXPECT_EQ(fields.flag("on"), true);
}

TEST(Fields, ThatAreMissingOrNullAreNone) {
  const Fields fields(R"({"url":null})");
  EXPECT_FALSE(fields.text("url"));
  EXPECT_FALSE(fields.number("no"));
  EXPECT_FALSE(Fields("{}").flag("no"));
}

TEST(Fields, OfAnotherTypeAreNamed) {
  const Fields fields(R"({"url":7,"timeout_ms":"7","half":1.5,"big":18446744073709551615,"on":1})");
  EXPECT_THROW(fields.text("url"), std::invalid_argument);
  EXPECT_THROW(fields.number("timeout_ms"), std::invalid_argument);
  EXPECT_THROW(fields.number("half"), std::invalid_argument);
  EXPECT_THROW(fields.number("big"), std::invalid_argument);
  try {
    fields.flag("on");
    FAIL() << "1 is no flag";
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "on is neither true nor false");
  }
}

TEST(Fields, LoseTheirEscapes) {
  const Fields fields(R"({"a":"\"\\\/\b\f\n\r\t","u":"\u00e9\u20AC\ud83d\ude00","\u0061b":"x"})");
  EXPECT_EQ(fields.text("a"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(fields.text("u"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(fields.text("ab"), "x");
}

TEST(Fields, WithEscapesThatMeanNothingAreStillUtf8) {
  const Fields fields(R"({"a":"\ud83d!","b":"\ude00","c":"\q!","d":"\u12"})");
  EXPECT_EQ(fields.text("a"), "\xef\xbf\xbd!");
  EXPECT_EQ(fields.text("b"), "\xef\xbf\xbd");
  EXPECT_EQ(fields.text("c"), "\xef\xbf\xbd!");
  EXPECT_EQ(fields.text("d"), "\xef\xbf\xbd");
}

TEST(Fields, AreOnlyReadFromAnObject) {
  for (const char* bad : {"",           " ",        "null",       "[]",      "7",        "\"{}\"",   "{",
                          "{\"",        "{\"a",     "{\"a\"",     "{\"a\":", "{\"a\":}", "{\"a\":1", "{\"a\":1,",
                          "{\"a\":1,}", "{\"a\":[", "{\"a\":[1}", "{a:1}",   "{}x",      "{} {}",    "{\"a\":\"\\"})
    EXPECT_THROW(Fields{bad}, std::invalid_argument) << bad;
}

TEST(Fields, MayNestDeeply) {
  const std::string deep = R"({"a":)" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + R"(,"b":1})";
  EXPECT_EQ(Fields(deep).number("b"), 1);
}

}  // namespace
