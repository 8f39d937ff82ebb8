// What is wrong with settings and destinations is said in the words of whoever wrote them, not in those of JSON Schema.
#include "base/json_check.h"

#include <gtest/gtest.h>

#include <array>

namespace waybill {
namespace {

constexpr auto kSchema = R"({"type":"object","required":["from"],"additionalProperties":false,"properties":{
  "from":{"type":"string","minLength":3,"description":"the sender","examples":["Forms <forms@example.org>"]},
  "relay":{"type":"string","pattern":"^smtps?://[^/]+$","default":"smtp://localhost:25","description":"the relay"},
  "tls":{"enum":["required","never"]},
  "timeout_ms":{"type":"integer","minimum":1,"maximum":600000},
  "retries":{"type":"integer","minimum":1},
  "to":{"type":"array","maxItems":2,"uniqueItems":true,"items":{"type":"string"}},
  "headers":{"type":"object","additionalProperties":{"type":"string"}},
  "login":{"type":"object","required":["user"],"additionalProperties":false,"properties":{"user":{"type":["string","null"]}}}}})";

std::string said(const std::string& json) {
  const auto check = JsonCheck::compile(kSchema);
  EXPECT_TRUE(check);
  const auto problems = check->check(json);
  EXPECT_EQ(problems.size(), 1u) << json;
  return problems.empty() ? "" : problems.front().field + ": " + problems.front().message;
}

TEST(JsonCheckWords, SayWhatIsAllowedAndWhere) {  // D11
  EXPECT_EQ(said("{}"), "from: is missing: the sender (such as Forms <forms@example.org>)");
  EXPECT_EQ(said(R"({"from":7})"), "from: must be a text: the sender (such as Forms <forms@example.org>)");
  EXPECT_EQ(said(R"({"from":"abc","relay":"localhost:25"})"),
            "relay: does not have the form that it must have: the relay (such as smtp://localhost:25)");
  EXPECT_EQ(
      said(R"({"from":"abc","rellay":"x"})"),
      "rellay: unknown field; did you mean \"relay\"? (known here: from, headers, login, relay, retries, timeout_ms, tls, to)");
  EXPECT_EQ(said(R"({"from":"abc","tls":"maybe"})"), "tls: must be one of required, never");
  EXPECT_EQ(said(R"({"from":"abc","timeout_ms":0})"), "timeout_ms: must be a whole number from 1 to 600000");
  EXPECT_EQ(said(R"({"from":"abc","timeout_ms":"5s"})"), "timeout_ms: must be a whole number");
  EXPECT_EQ(said(R"({"from":"abc","retries":0})"), "retries: must be a whole number, at least 1");
  EXPECT_EQ(said(R"({"from":"abc","to":["a","b","c"]})"), "to: must have at most 2 entries");
  EXPECT_EQ(said(R"({"from":"abc","to":["a","a"]})"), "to: must not hold the same entry twice");
  EXPECT_EQ(said(R"({"from":"abc","to":["a",1]})"), "to[1]: must be a text");
  EXPECT_EQ(said(R"({"from":"abc","headers":{"X-A":1}})"), "headers.X-A: must be a text");
  EXPECT_EQ(said(R"({"from":"abc","login":{}})"), "login.user: is missing");
  EXPECT_EQ(said(R"({"from":"abc","login":{"user":1}})"), "login.user: must be a text or null");
}

TEST(JsonCheckWords, HaveNoJargon) {  // D11
  const auto check = JsonCheck::compile(kSchema);
  for (const char* json : {"{}", R"({"from":""})", R"({"from":"abc","x":1,"tls":1,"to":1,"login":{"y":1},"timeout_ms":1.5})"})
    for (const auto& problem : check->check(json))
      for (const char* jargon : {"constraint", "schema", "regex", "propert", "validat", "enum", "Target value"})
        EXPECT_EQ(problem.message.find(jargon), std::string::npos) << problem.message;
}

// A schema of a plugin is read in the host: one that has no end must not end the host.  I5
TEST(JsonCheck, ASchemaWithoutEndIsRefused) {
  for (const char* schema :
       {R"({"$ref": "#"})",
        R"({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/b"}, "b": {"$ref": "#/definitions/a"}}})",
        R"({"allOf": [{"$ref": "#"}]})",
        R"({"if": {"not": {"$ref": "#/definitions/x%7e1y"}}, "definitions": {"x/y": {"$ref": "#"}}})",
        R"({"properties": {"a": {"anyOf": [{"$ref": "#/properties/a"}]}}})", R"({"dependencies": {"a": {"$ref": "#"}}})"}) {
    const auto check = JsonCheck::compile(schema);
    ASSERT_FALSE(check) << schema;
    EXPECT_EQ(check.error().what, "the schema refers to itself without end") << schema;
  }
  const auto tree = JsonCheck::compile(R"({"properties": {"child": {"$ref": "#"}, "n": {"type": "integer"}}})");
  ASSERT_TRUE(tree) << tree.error().what;
  EXPECT_TRUE(tree->check(R"({"child": {"child": {"n": 1}}})").empty());
  EXPECT_FALSE(tree->check(R"({"child": {"child": {"n": "x"}}})").empty());
}

// Thirty definitions, each of which applies the next one twice, would be a billion checks of one value.
TEST(JsonCheck, ASchemaThatMultipliesItselfIsRefused) {
  const auto doubling = [](int levels) {
    std::string definitions = "\"d" + std::to_string(levels) + "\": {\"type\": \"object\"}";
    for (int i = 0; i < levels; ++i) {
      const auto next = "{\"$ref\": \"#/definitions/d" + std::to_string(i + 1) + "\"}";
      definitions += ", \"d" + std::to_string(i) + "\": {\"allOf\": [" + next + ", " + next + "]}";
    }
    return "{\"allOf\": [{\"$ref\": \"#/definitions/d0\"}], \"definitions\": {" + definitions + "}}";
  };
  const auto check = JsonCheck::compile(doubling(30));
  ASSERT_FALSE(check);
  EXPECT_NE(check.error().what.find("more than 10000 parts"), std::string::npos) << check.error().what;
  EXPECT_TRUE(JsonCheck::compile(doubling(5)));
}

}  // namespace
}  // namespace waybill
