// What a pipeline's conditions say of a value, and how they read.  P1 P2
#include "domain/guard.h"

#include <gtest/gtest.h>

#include "base/json_document.h"
#include "domain/guard_reader.h"

namespace waybill {
namespace {

class Reader : public GuardReader {
 public:
  Reader() : GuardReader("p.json") { lists_["trusted"] = {"acme", "Globex"}; }
};

Guard guard_of(const std::string& text) {
  Reader reader;
  auto guard = reader.read_guard(*parse_json(text, "p.json"), "when");
  EXPECT_TRUE(reader.problems.empty()) << text << ": " << to_string(reader.problems.front());
  return guard;
}

bool says(const std::string& guard, const std::string& payload) {
  Facts facts;
  facts.set("/payload", payload);
  return holds(guard_of(guard), facts);
}

// Of {"at": "/payload/x", OPERATOR}, with "x" in the payload.
bool compares(const std::string& op, const std::string& x) {
  return says(R"({"at": "/payload/x", )" + op + "}", "{\"x\":" + x + "}");
}

TEST(Guard, ComparesNumbersOnBothSidesOfItsBound) {  // P2
  struct Case {
    const char* op;
    bool below, at, above;
  };
  for (const auto& one : {Case{"\"lessThan\": 80", true, false, false}, Case{"\"atMost\": 80", true, true, false},
                          Case{"\"moreThan\": 80", false, false, true}, Case{"\"atLeast\": 80", false, true, true},
                          Case{"\"equals\": 80", false, true, false}, Case{"\"notEquals\": 80", true, false, true}}) {
    EXPECT_EQ(compares(one.op, "79.999"), one.below) << one.op;
    EXPECT_EQ(compares(one.op, "80"), one.at) << one.op;
    EXPECT_EQ(compares(one.op, "80.0"), one.at) << one.op;
    EXPECT_EQ(compares(one.op, "80.001"), one.above) << one.op;
  }
}

TEST(Guard, OfAnotherTypeIsFalseAndItsNegationTrue) {  // P1
  for (const char* x : {"\"80\"", "true", "null", "[80]", "{\"y\":80}"}) {
    for (const char* op :
         {"\"lessThan\": 1e300", "\"atMost\": 1e300", "\"moreThan\": -1e300", "\"atLeast\": -1e300", "\"equals\": 80"})
      EXPECT_FALSE(compares(op, x)) << op << " " << x;
    EXPECT_TRUE(compares("\"notEquals\": 80", x)) << x;
    EXPECT_TRUE(compares("\"notIn\": [\"81\"]", x)) << x;
  }
  EXPECT_TRUE(says(R"({"at": "/payload/y", "notEquals": 80})", "{}"));
  EXPECT_FALSE(says(R"({"at": "/payload/y", "equals": null})", "{}"));
}

TEST(Guard, EqualsAStringANumberABooleanOrNull) {  // P1
  EXPECT_TRUE(compares("\"equals\": \"PASS\"", "\"PASS\""));
  EXPECT_FALSE(compares("\"equals\": \"PASS\"", "\"pass\""));
  EXPECT_TRUE(compares("\"equals\": true", "true"));
  EXPECT_FALSE(compares("\"equals\": true", "false"));
  EXPECT_TRUE(compares("\"equals\": null", "null"));
  EXPECT_FALSE(compares("\"equals\": null", "0"));
  EXPECT_TRUE(compares("\"equals\": -3", "-3"));
}

TEST(Guard, IsInAListByNameOrWrittenOut) {  // P2
  EXPECT_TRUE(compares("\"in\": \"trusted\"", "\"acme\""));
  EXPECT_FALSE(compares("\"in\": \"trusted\"", "\"ACME\""));
  EXPECT_TRUE(compares("\"in\": [\"a\", \"b\"]", "\"b\""));
  EXPECT_FALSE(compares("\"in\": [\"1\"]", "1"));
  EXPECT_TRUE(compares("\"notIn\": \"trusted\"", "\"other\""));
}

TEST(Guard, WithIgnoreCaseIsBlindToCaseOnBothSides) {  // P2
  EXPECT_TRUE(compares("\"ignoreCase\": true, \"in\": \"trusted\"", "\"gLOBEX\""));
  EXPECT_TRUE(compares("\"ignoreCase\": true, \"equals\": \"Pass\"", "\"pASS\""));
  EXPECT_FALSE(compares("\"ignoreCase\": true, \"equals\": \"Pass\"", "\"passed\""));
}

TEST(Guard, KnowsWhatIsThere) {  // P1
  EXPECT_TRUE(compares("\"exists\": true", "null"));
  EXPECT_TRUE(says(R"({"at": "/payload/y", "exists": false})", R"({"x":1})"));
  EXPECT_FALSE(says(R"({"at": "/payload/y", "exists": true})", R"({"x":1})"));
}

TEST(Guard, MatchesARegularExpressionAnywhereInTheText) {  // P1
  EXPECT_TRUE(compares(R"("matches": "b+")", "\"abba\""));
  EXPECT_FALSE(compares(R"("matches": "^b+$")", "\"abba\""));
  EXPECT_FALSE(compares(R"("matches": "1")", "1"));
}

TEST(Guard, WithSeveralOperatorsNeedsAllOfThem) {  // P2
  const std::string band = "\"atLeast\": 60, \"lessThan\": 80";
  EXPECT_FALSE(compares(band, "59.9"));
  EXPECT_TRUE(compares(band, "60"));
  EXPECT_TRUE(compares(band, "79.9"));
  EXPECT_FALSE(compares(band, "80"));
}

TEST(Guard, CombinesOthersByAllAnyAndNot) {  // P2
  const std::string x = R"({"at": "/payload/x", "equals": 1})", y = R"({"at": "/payload/y", "equals": 1})";
  for (const int a : {0, 1})
    for (const int b : {0, 1}) {
      const auto payload = "{\"x\":" + std::to_string(a) + ",\"y\":" + std::to_string(b) + "}";
      EXPECT_EQ(says("{\"all\": [" + x + "," + y + "]}", payload), a && b);
      EXPECT_EQ(says("{\"any\": [" + x + "," + y + "]}", payload), a || b);
      EXPECT_EQ(says("{\"not\": {\"any\": [" + x + "," + y + "]}}", payload), !a && !b);
    }
}

TEST(Guard, WithoutAConditionAlwaysHolds) {  // P1
  EXPECT_TRUE(holds(Guard{}, Facts{}));
  EXPECT_TRUE(Guard{}.is_always());
  EXPECT_EQ(to_text(Guard{}), "always");
}

TEST(Guard, ReadsAsPeopleWriteIt) {  // P1
  const std::pair<const char*, const char*> cases[] = {
      {R"({"at": "/result/score", "atLeast": 60, "lessThan": 80})", "/result/score >= 60 and /result/score < 80"},
      {R"({"at": "/result/score", "atMost": 0.5})", "/result/score <= 0.5"},
      {R"({"at": "/payload/a", "notEquals": "b\"c"})", R"(not (/payload/a = "b\"c"))"},
      {R"({"at": "/payload/a", "in": "trusted"})", "/payload/a in trusted"},
      {R"({"at": "/payload/a", "in": ["b", "c"]})", R"(/payload/a in ["b", "c"])"},
      {R"({"at": "/payload/a", "exists": false})", "not (/payload/a is there)"},
      {R"({"at": "/payload/a", "count": true, "moreThan": 3})", "count of /payload/a > 3"},
      {R"({"at": "/payload/a", "urlPart": "host", "equals": "b"})", R"(URL's host of /payload/a = "b")"},
      {R"-({"at": "/payload/a", "match": "(b)", "group": 1, "equals": "b"})-", R"-(/payload/a ~ "(b)" group 1 = "b")-"},
      {R"({"any": [{"at": "/payload/a", "equals": true}, {"all": [{"at": "/payload/b", "equals": null},
           {"at": "/payload/c", "moreThan": 1}]}]})",
       "/payload/a = true or (/payload/b = null and /payload/c > 1)"}};
  for (const auto& [text, words] : cases) EXPECT_EQ(to_text(guard_of(text)), words);
}

}  // namespace
}  // namespace waybill
