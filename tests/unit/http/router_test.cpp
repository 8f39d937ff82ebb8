// Which route a request target leads to, and what the small parts of a request hold.
#include "http/router.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "http/server_url.h"

namespace waybill::http {
namespace {

Route route(std::string method, std::string path) {
  return {.method = std::move(method), .path = std::move(path), .least_role = Role::none, .handle = [](Request, Reply) {}};
}

Router sample() {
  return Router({route("GET", "/"), route("GET", "/v1/intents/{id}"), route("POST", "/v1/intents"),
                 route("GET", "/v1/intents/{id}/history"), route("GET", "/v1/intents/newest"),
                 route("DELETE", "/v1/intents/{id}")});
}

int refusal(std::string_view method, std::string_view target) {
  const auto match = sample().find(method, target);
  return match.refusal ? match.refusal->status : 0;
}

TEST(Router, AParameterTakesOneDecodedSegment) {  // M3
  const auto router = sample();
  const auto match = router.find("GET", "/v1/intents/a%2Fb%20%C3%A9+c/history?x=1");
  ASSERT_TRUE(match.route);
  EXPECT_EQ(match.pattern, "/v1/intents/{id}/history");
  EXPECT_EQ(match.parameters.at("id"), "a/b \xC3\xA9+c");
  EXPECT_EQ(match.query, "x=1");
}

TEST(Router, AFixedSegmentGoesBeforeAParameterWhateverTheOrderOfTheTable) {
  const auto router = sample();
  EXPECT_EQ(router.find("GET", "/v1/intents/newest").pattern, "/v1/intents/newest");
  EXPECT_EQ(router.find("GET", "/v1/intents/newer").pattern, "/v1/intents/{id}");
  EXPECT_EQ(router.find("DELETE", "/v1/intents/newest").pattern, "/v1/intents/{id}");
}

TEST(Router, UnknownPathsAreNotFound) {  // M3
  for (const char* target : {"/v2", "/v1/intents/", "/v1/intents/a/b", "/v1//intents", "/v1/intents//history", "//"})
    EXPECT_EQ(refusal("GET", target), 404) << target;
  const auto router = sample();
  EXPECT_EQ(router.find("GET", "/v2").pattern, "unmatched");
}

TEST(Router, AWrongMethodNamesTheRightOnes) {
  const auto router = sample();
  const auto match = router.find("PUT", "/v1/intents/7");
  ASSERT_TRUE(match.refusal);
  EXPECT_EQ(match.refusal->status, 405);
  EXPECT_EQ(match.pattern, "/v1/intents/{id}");
  EXPECT_EQ(match.refusal->headers.at(0), (std::pair<std::string, std::string>("Allow", "GET, HEAD, DELETE")));
}

TEST(Router, HeadFindsTheRoutesOfGetOnly) {
  EXPECT_EQ(refusal("HEAD", "/v1/intents/7"), 0);
  EXPECT_EQ(refusal("HEAD", "/v1/intents"), 405);
}

TEST(Router, PathsThatAreNoTextAreRefused) {  // M4
  for (const char* target : {"/v1/intents/%", "/v1/intents/%4", "/v1/intents/%zz", "/v1/intents/a%00b", "/v1/intents/%ff",
                             "/v1/intents/%c0%af", "/v1/intents/%ed%a0%80", "*", "v1", "", "/v1/intents#x", "mailto:x"})
    EXPECT_EQ(refusal("GET", target), 400) << target;
}

TEST(Router, AnAbsoluteTargetCountsByItsPath) {
  EXPECT_EQ(refusal("GET", "http://localhost:8080/v1/intents/7?x"), 0);
  EXPECT_EQ(refusal("GET", "http://localhost"), 0);
}

TEST(Utf8, OnlyWellFormedTextWithoutNulIsClean) {
  for (const char* good : {"", "plain", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"})
    EXPECT_TRUE(is_clean_utf8(good)) << good;
  for (const char* bad :
       {"\x80", "\xC3", "\xC1\x81", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF", "\xE2\x82"})
    EXPECT_FALSE(is_clean_utf8(bad));
  EXPECT_FALSE(is_clean_utf8(std::string_view("a\0b", 3)));
}

TEST(Request, QueryValuesAreDecoded) {  // M5
  const Request request{
      .query = "waitSeconds=30&name=a+b%26c&empty=&flag&%6eame=second&bad=%zz", .parameters = {}, .principal = {}};
  EXPECT_EQ(request.query_value("waitSeconds"), "30");
  EXPECT_EQ(request.query_value("name"), "a b&c");
  EXPECT_EQ(request.query_value("empty"), "");
  EXPECT_EQ(request.query_value("flag"), "");
  EXPECT_EQ(request.query_value("bad"), "%zz");
  EXPECT_EQ(request.query_value("wait"), std::nullopt);
}

TEST(Request, AParameterThatStandsTwiceIsNamed) {  // D5
  const auto doubled = [](const char* query) {
    return Request{.query = query, .parameters = {}, .principal = {}}.doubled_parameter();
  };
  for (const char* once : {"", "&", "a=1&b=1", "a=1&&b", "a=b&b=a", "a=1&A=1"}) EXPECT_EQ(doubled(once), std::nullopt) << once;
  for (const char* twice : {"a=1&a=1", "a&a", "b=1&a=1&%61=2", "a=&b&a=", "a=%zz&a=1"}) EXPECT_EQ(doubled(twice), "a") << twice;
  EXPECT_EQ(doubled("%zz=1&%zz=2"), "%zz");
}

TEST(ErrorResponse, HoldsCodeAndMessageWhateverTheBytes) {  // M4
  const auto response = error_response(400, "invalid_request", "no \"x\"\n\xff");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(response.body, "{\"error\":{\"code\":\"invalid_request\",\"message\":\"no \\\"x\\\"\\n\xEF\xBF\xBD\"}}");
}

}  // namespace
}  // namespace waybill::http
