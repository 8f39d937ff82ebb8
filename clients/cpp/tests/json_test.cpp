// The header's reader of JSON against nlohmann_json.  Q8
#include <gtest/gtest.h>

#include "json_promises.h"

namespace waybill::client::testing {
namespace {

const char* const kTexts[] = {
    // JSON
    "{}", "[]", "null", "true", "false", "0", "-0", "10", "-1.5e+10", "1E-2", "0.0", R"("")", R"("a\"\\\/\b\f\n\r\tz")",
    R"("\u00fc\u20AC\ud83d\ude00")", " [ 1 , [ ] , { \"a\" : { } } ]\r\n\t", R"({"a":1,"a":2})", "\"\xC3\xBC\"",
    "9223372036854775807", "-9223372036854775808",
    // none
    "", " ", "{", "}", "[1,]", "[,1]", "[1 2]", R"({"a"})", R"({"a":})", R"({"a":1,})", R"({a:1})", R"({"a":1}{)", "[1}", "nul",
    "nullx", "True", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0x1", "--1", "NaN", R"(")", R"("\")", R"("\x")", R"("\u12")",
    R"("\u12g4")", R"("\ud800")", R"("\ud800\u0041")", R"("\udc00")", "\"a\nb\"", "\"a\x01\"", "'a'", "// a\n1", "1 1",
    "\xEF\xBB\xBF"
    "1"};

TEST(JsonReader, TakesWhatIsJsonAndNothingElse) {
  for (const std::string text : kTexts) EXPECT_EQ(broken_promise(text), "") << text;
  EXPECT_EQ(broken_promise(std::string("\"a\0\"", 4)), "");
  EXPECT_FALSE(detail::Value::of(std::string_view("1\0", 2)));
}

TEST(JsonReader, NeverLooksBehindTheText) {
  const std::string text = R"({"a":["\ud83d\ude00",-1.5e+10,true,null],"b":{"c":"\n"}})";
  for (std::size_t length = 0; length < text.size(); ++length) {
    const auto cut = std::make_unique<char[]>(length);  // of just this length, for AddressSanitizer
    std::copy_n(text.data(), length, cut.get());
    EXPECT_FALSE(detail::Value::of({cut.get(), length})) << length;
  }
  EXPECT_TRUE(detail::Value::of(text));
}

TEST(JsonReader, HasADepth) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(detail::Value::of(nested(100)));
  EXPECT_FALSE(detail::Value::of(nested(1000)));
  EXPECT_FALSE(detail::Value::of(std::string(10'000'000, '[')));
}

template <class T>
std::optional<T> read_as(const std::string& text) {
  T value{};
  const auto found = detail::Value::of(text);
  return found && detail::read(*found, value) ? std::optional(value) : std::nullopt;
}

TEST(JsonReader, ReadsTypesAndNoOthers) {
  EXPECT_EQ(read_as<std::int64_t>("-9223372036854775808"), INT64_MIN);
  for (const auto* text : {"9223372036854775808", "1.0", "1e2", "\"1\"", "null"})
    EXPECT_FALSE(read_as<std::int64_t>(text)) << text;
  EXPECT_EQ(read_as<double>("-1.5e2"), -150.0);
  EXPECT_FALSE(read_as<double>("\"1\""));
  EXPECT_EQ(read_as<bool>("true"), true);
  EXPECT_EQ(read_as<bool>("false"), false);
  EXPECT_FALSE(read_as<bool>("1"));
  EXPECT_EQ(read_as<std::string>(R"("\u00fc")"), "\xC3\xBC");
  EXPECT_FALSE(read_as<std::string>("1"));
  EXPECT_EQ(read_as<std::optional<std::string>>("null").value(), std::nullopt);
  EXPECT_EQ(read_as<std::vector<std::int64_t>>(" [1, 2] "), (std::vector<std::int64_t>{1, 2}));
  EXPECT_FALSE(read_as<std::vector<std::int64_t>>("[1, true]"));
  EXPECT_FALSE(read_as<std::vector<std::int64_t>>("{}"));
  EXPECT_EQ((read_as<std::map<std::string, bool>>(R"({"a":true})")), (std::map<std::string, bool>{{"a", true}}));
}

TEST(JsonReader, WantsWhatAStructMustHaveAndPassesOverWhatIsNew) {
  const std::string whole = R"({"code":"c","new":[{"a":1}],"message":"m"})";
  ASSERT_TRUE(read_as<ErrorError>(whole));
  EXPECT_EQ(read_as<ErrorError>(whole)->message, "m");
  EXPECT_FALSE(read_as<ErrorError>(R"({"code":"c"})"));
  EXPECT_FALSE(read_as<ErrorError>(R"({"code":"c","code":"c"})"));
  EXPECT_FALSE(read_as<ErrorError>(R"({"code":"c","message":7})"));
  EXPECT_FALSE(read_as<ErrorError>("[]"));
}

TEST(JsonWriter, WritesWhatIsReadAsTheSame) {
  std::string every;
  for (int byte = 1; byte < 128; ++byte) every += static_cast<char>(byte);
  every += "\xC3\xBC\xF0\x9F\x98\x80";
  EXPECT_EQ(nlohmann::json::parse(detail::json_text(every)), every);
  EXPECT_EQ(nlohmann::json::parse(detail::json_text(std::string("\0", 1))), std::string("\0", 1));
  EXPECT_EQ(read_as<std::string>(detail::json_text(every)), every);
}

}  // namespace
}  // namespace waybill::client::testing
