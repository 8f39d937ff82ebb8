// The quick way of reading JSON takes nothing that the thorough one refuses, and sees the same in what it takes.  M2 M4
#include "api/json_object.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "api/json_text.h"

namespace waybill {
namespace {

constexpr std::array<std::string_view, 3> kNames{"intentId", "submissionTarget", "payload"};
const JsonObject::Fields kKnown{kNames[0], kNames[1], kNames[2]};

// What a reader can tell of an object, or why it is none.
std::string seen(const Result<JsonObject>& object) {
  if (!object) return object.error().what;
  std::string all;
  for (const auto name : kNames) {
    const auto text = object->string(name);
    all.append(name).append("=").append(object->raw(name)).append(" ").append(text ? *text : text.error().what).append("\n");
  }
  return all;
}
bool is_quick(const std::string& text) { return JsonObject::parse_quickly(text, kKnown).has_value(); }

// Whether the quick way took it.
bool expect_agreement(const std::string& text) {
  const auto thorough = JsonObject::parse_thoroughly(text, kKnown);
  EXPECT_EQ(seen(JsonObject::parse(text, kKnown)), seen(thorough)) << text;
  const auto quick = JsonObject::parse_quickly(text, kKnown);
  if (quick) {
    EXPECT_TRUE(thorough) << text << ": " << thorough.error().what;
    EXPECT_EQ(seen(*quick), seen(thorough)) << text;
  }
  return quick.has_value();
}

std::string with_payload(const std::string& payload) {
  return R"({"intentId":"a","submissionTarget":"t","payload":)" + payload + "}";
}
std::string nested(std::size_t levels, const std::string& core) {
  return std::string(levels, '[') + core + std::string(levels, ']');
}

TEST(JsonObject, TakesOrdinaryTextTheQuickWay) {
  for (const std::string payload :
       {R"({"to":"+15550100","n":[1,-2.5e3,true,null]})", R"("Zoë \"\\\u0041 \ud83d\ude00")", "0", "-0.0", "[]", "{}", R"("")"})
    EXPECT_TRUE(expect_agreement(with_payload(payload))) << payload;
  EXPECT_TRUE(expect_agreement(" \n{ \"payload\" : 1 } \t"));
  EXPECT_TRUE(expect_agreement(R"({"pay\u006coad":"}{\""})"));
  EXPECT_TRUE(expect_agreement("{}"));
  EXPECT_TRUE(expect_agreement(with_payload('"' + std::string(300'000, 'x') + '"'))) << "longer than a parser is kept for";
  EXPECT_TRUE(expect_agreement(with_payload(nested(kMaxJsonLevels - 2, "1"))));
}

TEST(JsonObject, LooksTwiceAtWhatTheParsersMayTakeDifferently) {
  const std::vector<std::string> payloads{"123456789012345678901234567890",
                                          "-9223372036854775809",
                                          "1e999",
                                          "1.7976931348623158e308",
                                          "1.7976931348623159e308",
                                          "4e-400",
                                          "01",
                                          "1.",
                                          ".5",
                                          "+1",
                                          "-",
                                          R"("\ud800")",
                                          R"("\udc00")",
                                          R"("\ud800\ud800")",
                                          R"("\ud800\u0041")",
                                          R"("\x")",
                                          "\"\x7f\"",
                                          "\"\t\"",
                                          std::string("\"\0\"", 3),
                                          "\"\xed\xa0\x80\"",
                                          "\"\xf4\x90\x80\x80\"",
                                          "\"\xc0\x80\"",
                                          "\"\xff\"",
                                          "truee",
                                          "nul",
                                          "[1,]",
                                          "[1 2]",
                                          R"({"a" 1})",
                                          R"({"a":1,})",
                                          R"({"a":1,"a":2})",
                                          nested(kMaxJsonLevels - 1, ""),
                                          nested(kMaxJsonLevels - 1, "1"),
                                          nested(kMaxJsonLevels, ""),
                                          nested(kMaxJsonLevels, "1")};
  for (const auto& payload : payloads) expect_agreement(with_payload(payload));
  const std::string good = with_payload("1");
  for (const auto& text : {"\xef\xbb\xbf" + good, good + '\0', good + '\0' + "x", good + good, good + "x", "[" + good + "]",
                           std::string(), std::string(" "), std::string("\"{\""), std::string(R"({"":1})"),
                           std::string(R"({"payload":1,"pay\u006coad":2})"), std::string(R"({"payloads":1})")})
    expect_agreement(text);
}

TEST(JsonObject, BothWaysAgreeWhateverByteIsChangedOrMissing) {
  for (const std::string sample : {R"({"intentId":"a"b","payload":{"a":[1,-2.5e3,"x\\",null],"\u00e9":{"c":true}}})",
                                   R"( { "pay\u006coad" : "\ud83d\ude00 Zoë" , "submissionTarget" : false } )"}) {
    for (std::size_t at = 0; at < sample.size(); ++at) {
      expect_agreement(sample.substr(0, at));
      expect_agreement(sample.substr(0, at) + sample.substr(at + 1));
      for (int byte = 0; byte < 256; ++byte) {
        auto text = sample;
        text[at] = static_cast<char>(byte);
        expect_agreement(text);
      }
    }
  }
}

std::string pick(std::vector<std::string> words) { return *rc::gen::elementOf(std::move(words)); }

std::string random_string() {
  std::string text = "\"";
  const int pieces = *rc::gen::inRange(0, 5);
  for (int i = 0; i < pieces; ++i)
    text += pick({"a", "xyz", "\\\"", "\\\\", "\\n", "\\u00e9", "\\ud83d\\ude00", "Zoë", "😀", "{", "}", "[", "]", ":", ",", " ",
                  "payload", "\\u0000"});
  return text + "\"";
}

std::string random_value(int levels) {
  switch (*rc::gen::inRange(0, levels > 0 ? 5 : 3)) {
    case 0:
      return pick({"0", "-1", "2.5e3", "1E-7", "18446744073709551616", "true", "false", "null", "1e308"});
    case 1:
    case 2:
      return random_string();
    case 3: {
      std::string all = "[";
      for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
        all += random_value(levels - 1) + (left > 1 ? pick({",", " , "}) : "");
      return all + "]";
    }
    default: {
      std::string all = "{";
      for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
        all += random_string() + pick({":", " :\n"}) + random_value(levels - 1) + (left > 1 ? "," : "");
      return all + "}";
    }
  }
}

std::string random_object() {
  std::string all = pick({"{", " {", "{ "});
  for (int left = *rc::gen::inRange(0, 5); left > 0; --left)
    all += pick({R"("intentId")", R"("submissionTarget")", R"("payload")", R"("pay\u006coad")", R"( "intentId" )",
                 random_string()}) +
           ":" + pick({"", " "}) + random_value(3) + (left > 1 ? pick({",", ", "}) : "");
  return all + pick({"}", " }", "}\n"});
}

RC_GTEST_PROP(JsonObject, BothWaysAgreeOnRandomText, ()) {
  const auto text = random_object();
  RC_CLASSIFY(is_quick(text), "quick");
  expect_agreement(text);
  RC_ASSERT(!::testing::Test::HasFailure());
}

RC_GTEST_PROP(JsonObject, BothWaysAgreeOnDamagedText, ()) {
  auto text = random_object();
  for (int left = *rc::gen::inRange(1, 4); left > 0 && !text.empty(); --left) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        text.erase(at, *rc::gen::inRange<std::size_t>(1, 4));
        break;
      case 1:
        text[at] = static_cast<char>(*rc::gen::inRange(0, 256));
        break;
      default:
        text.insert(at, pick({"\"", "\\", "{", "}", "[", "]", ",", ":", " ", "0", "\\u", "\xc3", "\xef\xbb\xbf"}));
    }
  }
  RC_CLASSIFY(is_quick(text), "quick");
  expect_agreement(text);
  RC_ASSERT(!::testing::Test::HasFailure());
}

TEST(JsonText, FindsTheEndOfStringsAndValues) {
  const auto string_in = [](std::string_view text) { return text.substr(0, end_of_string(text, 0)); };
  EXPECT_EQ(string_in(R"("a"b")"), R"("a")");
  EXPECT_EQ(string_in(R"("\"" ")"), R"("\"")");
  EXPECT_EQ(string_in(R"("\\" ")"), R"("\\")");
  EXPECT_EQ(string_in(R"("\\\"" ")"), R"("\\\"")");
  EXPECT_EQ(string_in("\"\""), "\"\"");
  for (const std::string_view open : {"\"", "\"a", "\"\\", "\"\\\""}) EXPECT_EQ(string_in(open), open);
  const auto value_in = [](std::string_view text) { return text.substr(0, end_of_value(text, 0)); };
  EXPECT_EQ(value_in("12,3"), "12");
  EXPECT_EQ(value_in("12 3"), "12");
  EXPECT_EQ(value_in(R"([1,"]",{"a":[]}],2)"), R"([1,"]",{"a":[]}])");
  EXPECT_EQ(value_in("x]"), "x");
  EXPECT_EQ(value_in("]"), "");
  EXPECT_EQ(value_in("[1"), "[1");
}

}  // namespace
}  // namespace waybill
