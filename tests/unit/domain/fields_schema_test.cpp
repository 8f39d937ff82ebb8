// The schema of a form's fields: what it refuses names the field, and no text of a stranger's costs more than reading it.
#include "domain/fields_schema.h"

#include <gtest/gtest.h>

#include "base/bounded_check.h"

namespace waybill {
namespace {

std::string fault_of(const std::string& schema, const std::string& fields) {
  const auto compiled = FieldsSchema::compile(schema);
  EXPECT_TRUE(compiled) << compiled.error().what;
  return compiled ? compiled->fault_in(fields) : "";
}

constexpr const char* kContact = R"({"type":"object","required":["name","email"],"additionalProperties":false,"properties":{
  "name":{"type":"string","minLength":1,"maxLength":100},
  "email":{"type":"string","pattern":"^[^@]+@[^@]+$"},
  "age":{"type":"integer","minimum":18},
  "address":{"type":"object","required":["city"],"properties":{"city":{"type":"string"}}},
  "message":{"type":"string"}}})";

TEST(FieldsSchema, NamesTheFieldThatIsWrong) {  // D4
  EXPECT_EQ(fault_of(kContact, R"({"name":"Ann","email":"ann@example.org"})"), "");
  EXPECT_EQ(fault_of(kContact, R"({"name":"Ann"})"), "fields.email: is missing");
  EXPECT_EQ(fault_of(kContact, R"({"name":"Ann","email":"ann@example.org","address":{}})"), "fields.address.city: is missing");
  EXPECT_TRUE(fault_of(kContact, R"({"name":7,"email":"a@b"})").starts_with("fields.name: ")) << "not a text";
  EXPECT_TRUE(fault_of(kContact, R"({"name":"Ann","email":"nobody"})").starts_with("fields.email: "))
      << "not as the pattern says";
  EXPECT_TRUE(fault_of(kContact, R"({"name":"Ann","email":"a@b","age":17})").starts_with("fields.age: "));
  EXPECT_NE(fault_of(kContact, R"({"name":"Ann","email":"a@b","colour":1})").find("colour"), std::string::npos);
  const auto two = fault_of(kContact, R"({"name":"","email":"nobody"})");
  EXPECT_TRUE(two.starts_with("fields.email: ")) << two;
  EXPECT_NE(two.find("; fields.name: "), std::string::npos) << two;
}

TEST(FieldsSchema, WithoutOneTakesEverything) {  // D4
  EXPECT_EQ(FieldsSchema().fault_in(R"({"anything":[1,2,3]})"), "");
  EXPECT_EQ(FieldsSchema().text(), "");
}

TEST(FieldsSchema, IsRefusedWhenItIsNone) {  // D4
  for (const char* bad :
       {"", "[]", "{", R"({"type":"strin"})", R"({"properties":7})", R"({"pattern":"("})", R"({"pattern":"(a)\\1"})",
        R"({"patternProperties":{"a":{}}})", R"({"$ref":"https://example.org/schema.json"})"})
    EXPECT_FALSE(FieldsSchema::compile(bad)) << bad;
}

TEST(FieldsSchema, MatchesNoTextThatARegularExpressionWouldNotSurvive) {  // D4
  const auto with_message = [](std::size_t size, const std::string& email) {
    return R"({"name":"Ann","email":")" + email + R"(","message":")" + std::string(size, 'm') + "\"}";
  };
  EXPECT_EQ(fault_of(kContact, with_message(500'000, "a@b")), "") << "no pattern is held against the message";
  const auto long_email = fault_of(kContact, with_message(10, std::string(500'000, 'a') + "@b"));
  EXPECT_TRUE(long_email.starts_with("fields.email: ")) << long_email.substr(0, 200);
  EXPECT_EQ(fault_of(kContact, with_message(10, std::string(kMaxMatchedLength - 2, 'a') + "@b")), "");
  EXPECT_NE(fault_of(kContact, with_message(10, std::string(kMaxMatchedLength, 'a') + "@b")), "")
      << "the same without the message";

  const std::string date = R"({"properties":{"day":{"type":"string","format":"date"}}})";
  EXPECT_NE(fault_of(date, R"({"day":")" + std::string(900'000, '1') + R"("})"), "");
  const std::string either = R"({"properties":{"a":{"anyOf":[{"type":"string","pattern":"^(a|b)*$"},{"type":"string"}]}}})";
  EXPECT_EQ(fault_of(either, R"({"a":")" + std::string(900'000, 'a') + R"("})"), "fields: a text is longer than 4096 bytes");
  const std::string named = R"({"propertyNames":{"pattern":"^(a|b)*$"}})";
  EXPECT_EQ(fault_of(named, "{\"" + std::string(900'000, 'a') + R"(":"x"})"), "fields: a name is longer than 4096 bytes");
}

// Each of these takes a matcher that tries one way after the other longer than the age of the world.
TEST(FieldsSchema, MatchesPatternsThatAskForBacktracking) {  // D4
  const auto fault = [](const std::string& pattern, const std::string& text) {
    return fault_of(R"({"properties":{"p":{"type":"string","pattern":")" + pattern + R"("}}})", R"({"p":")" + text + R"("})");
  };
  EXPECT_NE(fault("^([a-z]+)+$", std::string(900, 'a') + "!"), "");
  EXPECT_NE(fault("^(\\\\w+\\\\s?)*$", std::string(1000, 'a') + "!"), "");
  EXPECT_NE(fault("^(a|aa)+$", std::string(1000, 'a') + "b"), "");
  EXPECT_EQ(fault("^(a|aa)+$", std::string(1000, 'a')), "");
}

TEST(FieldsSchema, TakesWholeNumbersHoweverTheyAreWritten) {  // D4
  constexpr const char* kWhole = R"({"properties":{"n":{"type":"integer"}}})";
  for (const char* number : {"10", "10.0", "1e2", "-3.00"})
    EXPECT_EQ(fault_of(kWhole, R"({"n":)" + std::string(number) + "}"), "");
  for (const char* number : {"10.5", "1e-2", "\"10\""}) EXPECT_NE(fault_of(kWhole, R"({"n":)" + std::string(number) + "}"), "");
}

TEST(FieldsSchema, ComparesNoMoreThanItCan) {  // D4
  const auto list = [](std::size_t size) {
    std::string all = "{\"list\":[0";
    for (std::size_t i = 1; i < size; ++i) all += "," + std::to_string(i);
    return all + "]}";
  };
  const std::string unique = R"({"properties":{"list":{"uniqueItems":true}}})";
  EXPECT_EQ(fault_of(unique, list(kMaxUniqueItems)), "");
  EXPECT_EQ(fault_of(unique, list(kMaxUniqueItems + 1)), "fields: a list has more than 500 items");
  EXPECT_EQ(fault_of(R"({"type":"object"})", list(kMaxCheckedValues)), "fields: more than 10000 values");
  std::string deep(200, '['), end(200, ']');
  EXPECT_TRUE(fault_of(R"({"type":"object"})", "{\"a\":" + deep + end + "}").starts_with("fields: "));
}

TEST(FieldsSchema, AreEqualIfTheirTextsAre) {  // D4
  const auto one = FieldsSchema::compile(R"({"type": "object", "required": ["a"]})");
  const auto same = FieldsSchema::compile(R"({"required":["a"],"type":"object"})");
  EXPECT_EQ(*one, *same);
  EXPECT_FALSE(*one == FieldsSchema());
}

}  // namespace
}  // namespace waybill
