// What is taken from the JSON of a submission: by pointer, URL part, pattern and count. Much of it was sent by strangers.  P1 P2
#include "domain/facts.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace waybill {
namespace {

using nlohmann::json;

Facts facts_of(const json& payload) {
  Facts facts;
  facts.set("/payload", payload.dump());
  return facts;
}

JsonValue text(const char* value) { return std::string(value); }

// The part of a URL in the payload.
JsonValue part(const std::string& url, const std::string& name) {
  return facts_of({{"url", url}}).value({.at = "/payload/url", .url_part = name});
}

JsonValue matched(const std::string& value, const std::string& pattern, int group = 0) {
  return facts_of(value).value({.at = "/payload", .match = compile_pattern(pattern), .match_text = pattern, .group = group});
}

TEST(Facts, GiveEachKindOfValueByItsPointer) {  // P1
  const auto facts =
      facts_of(json::parse(R"({"t":"x","n":1.5,"i":-3,"b":true,"z":null,"o":{},"a":[10,[20]],"":"empty","a/b":1,"m~n":2})"));
  const std::pair<const char*, JsonValue> cases[] = {{"/payload/t", text("x")},
                                                     {"/payload/n", 1.5},
                                                     {"/payload/i", -3.0},
                                                     {"/payload/b", true},
                                                     {"/payload/z", JsonNull{}},
                                                     {"/payload/o", JsonCompound{}},
                                                     {"/payload/a", JsonCompound{}},
                                                     {"/payload/a/0", 10.0},
                                                     {"/payload/a/1/0", 20.0},
                                                     {"/payload/", text("empty")},
                                                     {"/payload/a~1b", 1.0},
                                                     {"/payload/m~0n", 2.0},
                                                     {"", JsonCompound{}}};
  for (const auto& [at, value] : cases) EXPECT_EQ(facts.value({.at = at}), value) << at;
}

TEST(Facts, LackWhatNoPointerLeadsTo) {  // P1
  const auto facts = facts_of(json::parse(R"({"t":"x","a":[10]})"));
  for (const char* at : {"/payload/u", "/payload/t/0", "/payload/a/1", "/payload/a/-", "/payload/a/x", "/payload/a/0x",
                         "/payload/a/99999999999999999999", "/payload/a/-1", "/payload/a/", "/result", "/payloa"})
    EXPECT_EQ(facts.value({.at = at}), JsonValue(JsonMissing{})) << at;
}

TEST(Facts, SetAndForgetResults) {  // P2
  Facts facts;
  facts.set("/result", R"({"score":92})");
  facts.set("/results/SCAN", R"({"ok":true})");
  facts.set("/results/JUDGE", "7");
  EXPECT_EQ(facts.value({.at = "/result/score"}), JsonValue(92.0));
  EXPECT_EQ(facts.value({.at = "/results/SCAN/ok"}), JsonValue(true));
  EXPECT_EQ(facts.json_of({.at = "/results"}), R"({"JUDGE":7,"SCAN":{"ok":true}})");
  facts.remove("/result");
  facts.remove("/stage");
  EXPECT_EQ(facts.value({.at = "/result"}), JsonValue(JsonMissing{}));
  facts.set("/result", "{no json");
  EXPECT_EQ(facts.json_of({.at = "/result"}), "");
}

TEST(Facts, TakePartsOfAUrl) {  // P2
  const std::string url = "HTTPS://GitHub.com:443/Acme/skills/tree?x=1#y";
  EXPECT_EQ(part(url, "scheme"), text("https"));
  EXPECT_EQ(part(url, "host"), text("github.com"));
  EXPECT_EQ(part(url, "path"), text("/Acme/skills/tree"));
  EXPECT_EQ(part(url, "path/0"), text("Acme"));
  EXPECT_EQ(part(url, "path/2"), text("tree"));
  EXPECT_EQ(part(url, "path/3"), JsonValue(JsonMissing{}));
}

// A trusted owner is asked for by host and first segment: nobody else may look like one.
TEST(Facts, ResolveWhatAUrlHides) {  // P2
  EXPECT_EQ(part("https://github.com/acme/../evil/x", "path/0"), text("evil"));
  EXPECT_EQ(part("https://github.com/acme/%2e%2e/evil/x", "path/0"), text("evil"));
  EXPECT_EQ(part("https://github.com/./acme/x", "path/0"), text("acme"));
  EXPECT_EQ(part("https://github.com/%61cme/x", "path/0"), text("acme"));
  EXPECT_EQ(part("https://github.com/acme/../%65vil/%2e/x", "path"), text("/evil/x"));
  EXPECT_NE(part("https://github.com//acme/x", "path/0"), text("acme"));
  EXPECT_EQ(part("https://g%69thub.com/acme", "host"), text("github.com"));
  EXPECT_EQ(part("https://github.com@evil.example/acme", "host"), text("evil.example"));
  EXPECT_EQ(part("https://acme:secret@evil.example/acme", "host"), text("evil.example"));
  EXPECT_NE(part("https://github.com.evil.example/acme", "host"), text("github.com"));
  EXPECT_NE(part("https://github.com./acme", "host"), text("github.com"));
}

// A server that does not decode %2f sees evil here, one that does sees acme.
TEST(Facts, TakeNoSegmentsOfAPathWithEncodedSlashes) {  // P2
  for (const char* url : {"https://github.com/evil/repo/..%2f..%2facme", "https://github.com/evil/..%2Facme/x",
                          "https://github.com/acme%2f..%2fevil/x"}) {
    for (const char* name : {"path", "path/0", "path/1"}) EXPECT_EQ(part(url, name), JsonValue(JsonMissing{})) << url;
    EXPECT_EQ(part(url, "host"), text("github.com"));
  }
}

TEST(Facts, TakeNothingFromWhatIsNoUrl) {  // P2
  for (const char* url :
       {"", "acme", "//github.com/acme", "https:\\\\github.com\\acme", "https://github.com\\@evil.example/acme",
        "https://github.com /acme", "https://git\nhub.com/acme", "https://[::1/acme", "\xff\xfe", "https://x/%zz"})
    for (const char* name : {"host", "path/0"})
      EXPECT_EQ(facts_of(json{{"url", json::parse(json(url).dump(-1, ' ', false, json::error_handler_t::replace))}})
                    .value({.at = "/payload/url", .url_part = name}),
                JsonValue(JsonMissing{}))
          << url;
  for (const auto& no_text : {json(7), json(nullptr), json::object(), json::array({"https://github.com/acme"})})
    EXPECT_EQ(facts_of({{"url", no_text}}).value({.at = "/payload/url", .url_part = "host"}), JsonValue(JsonMissing{}));
}

TEST(Facts, TakeAGroupOfAPattern) {  // P2
  EXPECT_EQ(matched("order 4711, paid", "order ([0-9]+)"), text("order 4711"));
  EXPECT_EQ(matched("order 4711, paid", "order ([0-9]+)", 1), text("4711"));
  EXPECT_EQ(matched("order 4711", "order ([0-9]+)", 2), JsonValue(JsonMissing{}));
  EXPECT_EQ(matched("b", "(a)|b", 1), JsonValue(JsonMissing{}));
  EXPECT_EQ(matched("nothing", "order"), JsonValue(JsonMissing{}));
  EXPECT_EQ(matched("x", "y*"), text(""));
}

TEST(Facts, RefusePatternsThatAreNone) {  // P1
  for (const char* pattern : {"(", "[", "*", "a{2,1}", "(?<x", "\\"}) EXPECT_EQ(compile_pattern(pattern), nullptr) << pattern;
}

// Such patterns take for ever on some texts: they end, and do not match.
TEST(Facts, GiveUpOnPatternsThatExplode) {  // P1
  const std::string text = std::string(200, 'a') + "!";
  for (const char* pattern : {"^(a+)+$", "^(a|aa)+$", "^(a*)*b$"})
    EXPECT_EQ(matched(text, pattern), JsonValue(JsonMissing{})) << pattern;
  const std::string longest(1024, 'a');
  EXPECT_EQ(matched(longest, "^(a+)+!$"), JsonValue(JsonMissing{}));
}

TEST(Facts, TakeNothingFromHugeTexts) {  // P1
  EXPECT_EQ(matched(std::string(1024, 'a'), "^a+$"), text(std::string(1024, 'a').c_str()));
  EXPECT_EQ(matched(std::string(1025, 'a'), "^a+$"), JsonValue(JsonMissing{}));
  EXPECT_EQ(part("https://github.com/" + std::string(8192, 'a'), "host"), JsonValue(JsonMissing{}));
  const auto plain = facts_of(std::string(1 << 20, 'a')).value({.at = "/payload"});
  EXPECT_EQ(std::get<std::string>(plain).size(), std::size_t{1} << 20);
}

TEST(Facts, CountElementsAndMembers) {  // P2
  const auto facts = facts_of(json::parse(R"({"a":[1,2,3],"none":[],"o":{"x":1},"t":"abc","n":3})"));
  const auto count = [&](const std::string& at) { return facts.value({.at = "/payload/" + at, .count = true}); };
  EXPECT_EQ(count("a"), JsonValue(3.0));
  EXPECT_EQ(count("none"), JsonValue(0.0));
  EXPECT_EQ(count("o"), JsonValue(1.0));
  for (const char* at : {"t", "n", "missing"}) EXPECT_EQ(count(at), JsonValue(JsonMissing{})) << at;
}

TEST(Facts, MakeLettersSmallAndLeaveTheRest) {  // P2
  const auto small = [](const json& value) { return facts_of(value).value({.at = "/payload", .ignore_case = true}); };
  EXPECT_EQ(small("ACME-Å9"), text("acme-Å9"));
  EXPECT_EQ(small(7), JsonValue(7.0));
}

TEST(Facts, WriteWhatTheyTookAsJson) {  // P3
  const auto facts = facts_of(json::parse(R"({"b":{"y":1,"x":[null]},"t":"a\"b"})"));
  EXPECT_EQ(facts.json_of({.at = "/payload/b"}), R"({"x":[null],"y":1})");
  EXPECT_EQ(facts.json_of({.at = "/payload/t"}), R"("a\"b")");
  EXPECT_EQ(facts.json_of({.at = "/payload/b", .count = true}), "2");
  EXPECT_EQ(facts.json_of({.at = "/payload/c"}), "");
}

TEST(Facts, TellTermsApartByTheirKeys) {  // P1
  const Term plain{.at = "/payload/a"};
  const Term others[] = {{.at = "/payload/b"},
                         {.at = "/payload/a", .url_part = "host"},
                         {.at = "/payload/a", .match_text = "x"},
                         {.at = "/payload/a", .group = 1},
                         {.at = "/payload/a", .count = true},
                         {.at = "/payload/a", .ignore_case = true}};
  for (const auto& other : others) EXPECT_NE(plain.key(), other.key());
  EXPECT_EQ(plain.key(), Term{.at = "/payload/a"}.key());
}

TEST(JsonPointer, BeginsWithASlashAndEscapesNothingElse) {  // P1
  for (const char* good : {"", "/", "/a", "/a/0", "/a~0b~1c", "//", "/ä"}) EXPECT_TRUE(is_json_pointer(good)) << good;
  for (const char* bad : {"a", "a/b", "/a~", "/a~2", "~0", "#/a"}) EXPECT_FALSE(is_json_pointer(bad)) << bad;
}

}  // namespace
}  // namespace waybill
