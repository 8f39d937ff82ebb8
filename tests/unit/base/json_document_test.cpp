// M13: JSON with full-line # comments, in which every value knows its line and every mistake its place.
#include "base/json_document.h"

#include <gtest/gtest.h>

#include "unit/registry/fake_action_types.h"

namespace waybill {
namespace {

using testing::joined;

JsonNode parsed(const std::string& text) {
  auto json = parse_json(text, "f");
  EXPECT_TRUE(json) << joined(json ? Problems{} : json.error());
  return json.value_or(JsonNode{});
}

std::string refusal(const std::string& text) {
  const auto json = parse_json(text, "f");
  return json ? "" : joined(json.error());
}

TEST(JsonNode, KnowsTheLineOfEachValue) {
  const auto json = parsed("\n{\n  \"a\": 1\n,\n  \"b\": [\n    2\n,    true,\n    {\"c\":\n \"d\"}\n]\n}\n");
  EXPECT_EQ(json.line, 2);
  EXPECT_EQ(json.find("a")->line, 3);  // the number is only over with the line's end behind it
  const auto& list = *json.find("b");
  EXPECT_EQ(list.line, 5);
  EXPECT_EQ(list.children[0].line, 6);
  EXPECT_EQ(list.children[1].line, 7);
  EXPECT_EQ(list.children[2].line, 8);
  EXPECT_EQ(list.children[2].find("c")->line, 8);  // a member stands where its key does
  EXPECT_EQ(json.find("z"), nullptr);
  EXPECT_EQ(list.find("a"), nullptr);
}

TEST(JsonNode, CommentsAreBlanksAndKeepTheCount) {
  EXPECT_EQ(without_comments("# a \"b\"\n {} \t# no\n\t #x\r\n#"), "       \n {} \t# no\n\t    \n ");
  const auto json = parsed("# one\r\n  # \xC3\xA9\r\n{\n# three\n\"a\": \"# kept\"}\n#last");
  EXPECT_EQ(json.find("a")->line, 5);
  EXPECT_EQ(*json.find("a")->text(), "# kept");
  EXPECT_NE(refusal("{} # behind"), "");
}

TEST(JsonNode, GivesBackTheSameValuesWithSortedKeys) {
  EXPECT_EQ(to_json(parsed(R"({"b": [null, true, false, -1, 18446744073709551615, 0.5, "\"\u00e9\n"], "a": {}})")),
            "{\"a\":{},\"b\":[null,true,false,-1,18446744073709551615,0.5,\"\\\"\xC3\xA9\\n\"]}");
}

TEST(JsonNode, MistakesAreNamedWithTheirLine) {
  EXPECT_EQ(refusal("{\n\"a\": }\n"),
            "f:2: not valid JSON: column 6: syntax error while parsing value - unexpected '}'; expected '[', "
            "'{', or a literal\n");
  EXPECT_TRUE(refusal("").starts_with("f:1: not valid JSON: ")) << refusal("");
  EXPECT_TRUE(refusal("{\n\"a\": 1\n").starts_with("f:2: not valid JSON: ")) << refusal("{\n\"a\": 1\n");
  EXPECT_TRUE(refusal("{\"a\":\n1} x").starts_with("f:2: not valid JSON: "));
  EXPECT_TRUE(refusal("[\n\"a\n\"]").starts_with("f:2: not valid JSON: "));
  EXPECT_TRUE(refusal("[\n\n1e999]").starts_with("f:3: a number is out of range: number overflow")) << refusal("[\n\n1e999]");
  EXPECT_TRUE(refusal("[1,]").starts_with("f:1: not valid JSON: "));
  EXPECT_TRUE(refusal("['a']").starts_with("f:1: not valid JSON: "));
  EXPECT_TRUE(refusal("[NaN]").starts_with("f:1: not valid JSON: "));
}

TEST(JsonNode, BytesThatAreNotUtf8AreRefusedAndNotRepeated) {
  const auto message = refusal("[\n\"a\xFF\"]");
  EXPECT_TRUE(message.starts_with("f:2: not valid JSON: ")) << message;
  for (unsigned char c : message) EXPECT_LT(c, 0x80);
  EXPECT_NE(refusal("[\"\\ud800\"]"), "");
}

TEST(JsonNode, KeyThatStandsTwiceIsNamedAtEachFurtherPlace) {
  EXPECT_EQ(refusal("{\"a\": 1,\n\"a\": 2,\n\"b\": [{}, {\"c\": 1,\n\"c\": 2}],\n\"a\": 3}"),
            "f:2: a: stands here a second time; a key may stand once\n"
            "f:4: b[1].c: stands here a second time; a key may stand once\n"
            "f:5: a: stands here a second time; a key may stand once\n");
  parsed("[{\"a\": 1}, {\"a\": 2, \"b\": {\"a\": 3}}]");
}

TEST(JsonNode, ByteOrderMarkIsRefusedInPlainWords) {
  EXPECT_EQ(refusal("\xEF\xBB\xBF{}"), "f:1: begins with a byte order mark: save it as UTF-8 without one\n");
}

TEST(JsonNode, DepthIsLimited) {
  parsed(std::string(64, '[') + std::string(64, ']'));
  EXPECT_EQ(refusal("\n" + std::string(65, '[') + std::string(65, ']')), "f:2: nested deeper than 64 levels\n");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), "f:1: nested deeper than 64 levels\n");
}

TEST(JsonNode, SizeIsLimited) {
  const auto blanks = std::string(kMaxJsonBytes - 2, ' ');
  parsed("{}" + blanks);
  EXPECT_EQ(refusal("{} " + blanks), "f: larger than 64 MiB\n");
}

TEST(FieldPath, QuotesWhatIsNoPlainWord) {
  EXPECT_EQ(field_path("", "a"), "a");
  EXPECT_EQ(field_path("t[1]", "$a-B_9"), "t[1].$a-B_9");
  EXPECT_EQ(field_path("t", "a.b\n"), "t[\"a.b\\n\"]");
  EXPECT_EQ(field_path("t", ""), "t[\"\"]");
}

TEST(InQuotes, CutsWhatIsVeryLong) {
  EXPECT_EQ(in_quotes("a\"\n"), "\"a\\\"\\n\"");
  EXPECT_EQ(in_quotes(std::string(300, 'x')).size(), 205u);
}

}  // namespace
}  // namespace waybill
