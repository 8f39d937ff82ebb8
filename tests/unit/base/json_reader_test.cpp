// One reader of JSON: to the last byte, each name once, each number as it was written.  S4
#include "base/json_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_document.h"

namespace waybill {
namespace {

using namespace std::string_literals;

constexpr JsonReading kAnyNames{.doubled_names = JsonReading::DoubledNames::kept};

std::string pick(std::vector<std::string> words) { return *rc::gen::elementOf(std::move(words)); }

std::string digits(int most) {
  std::string text;
  for (int left = *rc::gen::inRange(1, most + 1); left > 0; --left) text += static_cast<char>('0' + *rc::gen::inRange(0, 10));
  return text;
}

// By the grammar of RFC 8259, and within what a double holds.
std::string random_number() {
  auto whole = digits(25);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  return pick({"", "-"}) + whole + (*rc::gen::arbitrary<bool>() ? "." + digits(30) : "") +
         (*rc::gen::arbitrary<bool>() ? pick({"e", "E"}) + pick({"", "+", "-"}) + digits(2) : "");
}

// Compact, as dump() writes: only names that differ.
std::string random_text(int levels) {
  switch (*rc::gen::inRange(0, levels > 0 ? 5 : 3)) {
    case 0:
      return random_number();
    case 1:
      return pick({"true", "false", "null", "\"\"", "\"a b\"", "\"Zoë\"", "\"\\u0000\"", "\"\\u007f\\u0085\"", "\"1.50\""});
    case 2:
      return pick({"1.10", "100.00", "18446744073709551616", "1e-05", "-0", "-0.0", "1E5", "0.1", "9007199254740993"});
    case 3: {
      std::string all = "[";
      for (int left = *rc::gen::inRange(0, 4); left > 0; --left) all += random_text(levels - 1) + (left > 1 ? "," : "");
      return all + "]";
    }
    default: {
      std::string all = "{";
      for (int left = *rc::gen::inRange(0, 4); left > 0; --left)
        all += "\"name" + std::to_string(left) + "\":" + random_text(levels - 1) + (left > 1 ? "," : "");
      return all + "}";
    }
  }
}

TEST(ReadJson, WritesEachNumberAsItCame) {
  for (const std::string number :
       {"100.00", "1.10", "18446744073709551616", "-9223372036854775809", "1e-05", "1E5", "1e5", "-0", "-0.0", "0.0", "0", "12",
        "18446744073709551615", "-9223372036854775808", "0.1", "1e-400", "123456789012345678901234567890.000"}) {
    const auto read = read_json(number);
    ASSERT_TRUE(read) << number;
    EXPECT_EQ(dump(*read), number);
    EXPECT_EQ(dump_sorted(*read_sorted_json("[" + number + "]")), "[" + number + "]");
    EXPECT_EQ(to_json(*parse_json("{\"a\":" + number + "}", "f")), "{\"a\":" + number + "}");
    EXPECT_EQ(number_of(*read_sorted_json(number)), std::strtod(number.c_str(), nullptr)) << number;
  }
  EXPECT_EQ(number_text(*read_json("1.50")), "1.50");
  EXPECT_EQ(number_text(*read_json("1.5")), std::nullopt) << "a number like any other";
  EXPECT_EQ(number_text(*read_json("\"1.50\"")), std::nullopt);
}

TEST(ReadJson, ANumberThatNoDoubleHoldsIsOutOfRange) {
  for (const auto& number : {"1e400"s, "-1e999"s, "1" + std::string(400, '0')}) {
    const auto read = read_json("[" + number + "]");
    ASSERT_FALSE(read) << number;
    EXPECT_TRUE(read.error().what.starts_with("a number is out of range before byte ")) << read.error().what;
    const auto file = parse_json("\n[" + number + "]", "f");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().front().line, 2);
    EXPECT_TRUE(file.error().front().message.starts_with("a number is out of range")) << file.error().front().message;
  }
}

RC_GTEST_PROP(ReadJson, WritesARandomTextAsItCame, ()) {
  const auto text = random_text(4);
  RC_ASSERT(dump(*read_json(text)) == text);
  RC_ASSERT(is_json(text));
  RC_ASSERT(check_names(text).has_value());
  RC_ASSERT(dump(*read_json(dump(*read_json(text), 2))) == text);
}

RC_GTEST_PROP(ReadJson, ANulIsRefusedWhereverItStands, ()) {
  auto text = pick({"", " "}) + random_text(3) + pick({"", "\n"});
  text.insert(*rc::gen::inRange<std::size_t>(0, text.size() + 1), 1, '\0');
  text += pick({"", "x", "{\"a\":1}"});
  for (const auto& fault :
       {read_json(text, kAnyNames).map([](const auto&) {}), read_sorted_json(text).map([](const auto&) {}), check_names(text)}) {
    RC_ASSERT(!fault.has_value());
    RC_ASSERT(fault.error().what == "malformed JSON at byte " + std::to_string(*nul_in(text) + 1) + ": a NUL byte");
  }
  RC_ASSERT(!is_json(text));
  RC_ASSERT(!parse_json(text, "f").has_value());
  RC_ASSERT(!parse_json("# a comment with \0 in it\n{}"s, "f").has_value());
}

TEST(ReadJson, ADoubledNameIsRefusedAtEveryDepth) {
  for (const std::string doubled : {R"({"a":1,"a":1})", R"({"a":1,"b":2,"\u0061":3})", R"({"":0,"":0})"}) {
    std::string text = doubled;
    for (int depth = 0; depth < 60; ++depth) {
      EXPECT_FALSE(read_json(text)) << text;
      EXPECT_FALSE(read_sorted_json(text)) << text;
      EXPECT_FALSE(check_names(text)) << text;
      EXPECT_TRUE(read_json(text, kAnyNames)) << text;
      EXPECT_TRUE(is_json(text)) << text;
      text = depth % 2 == 0 ? "[0," + text + "]" : "{\"n\":" + text + ",\"m\":{\"a\":1}}";
    }
  }
  EXPECT_EQ(read_json(R"([{"a":{"b":1,"b":2}}])").error().what, "the name \"b\" stands twice in one object");
  EXPECT_EQ(dump(*read_json(R"({"a":1,"b":2,"a":3})", kAnyNames)), R"({"a":1,"b":2,"a":3})") << "both are written again";
  EXPECT_TRUE(read_json(R"([{"a":1},{"a":1},{"b":{"a":1},"a":1}])")) << "in different objects";
}

TEST(ReadJson, HasALimitOfLevels) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(read_json(nested(64), {.levels = 64}));
  EXPECT_EQ(read_json(nested(65), {.levels = 64}).error().what, "JSON is nested more than 64 levels deep");
  EXPECT_FALSE(read_json(nested(1'000'000)));
  EXPECT_TRUE(is_json(nested(1'000'000)));
}

TEST(ReadJson, SaysWhereATextIsNoJson) {
  EXPECT_EQ(read_json("[1,}").error().what.substr(0, 24), "malformed JSON at byte 4");
  EXPECT_EQ(read_json("").error().what.substr(0, 22), "malformed JSON at byte");
  EXPECT_FALSE(read_json("1 2"));
  EXPECT_FALSE(read_json("{}x"));
}

// S6
TEST(WriteJson, EscapesDelAndC1) {
  const std::string text = "a\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\xc3\x80";
  EXPECT_EQ(json_string(text), "\"a\\u007f\\u0080\\u009b\\u009f\xc2\xa0\xc3\x80\"");
  EXPECT_EQ(dump({{text, text}}), "{" + json_string(text) + ":" + json_string(text) + "}");
  EXPECT_EQ(read_json(json_string(text))->get<std::string>(), text);
  EXPECT_EQ(json_string("\xc2"), "\"\xef\xbf\xbd\"") << "half a character";
  EXPECT_EQ(json_string(std::string(1'000'000, '\x7f')).size(), 6'000'002u) << "in a time that grows with the text only";
}

TEST(WriteJson, IndentsForPeople) {
  EXPECT_EQ(dump(*read_json(R"({"a":[],"b":{},"c":[1,{"d":1.10}]})"), 2),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": 1.10\n    }\n  ]\n}");
}

}  // namespace
}  // namespace waybill
