// What a body may call itself: JSON where JSON is read, and never an encoding that is not taken off.  S4
#include "http/content_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace waybill::http {
namespace {

int status_of(Content content, const std::string& type, const std::string& encoding = {}, const std::string& body = "{}") {
  Route route{.method = "POST", .path = "/"};
  route.content = content;
  Request request;
  request.content_type = type;
  request.content_encoding = encoding;
  request.body = body;
  const auto refusal = content_refusal(route, request);
  return refusal ? refusal->status : 200;
}

TEST(ContentCheck, JsonIsReadAsJsonOnly) {
  for (const auto* good : {"", "application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;",
                           " application/json \t; a=\"b;c\""})
    EXPECT_EQ(status_of(Content::json, good), 200) << good;
  for (const auto* bad : {"application/x-www-form-urlencoded", "text/plain", "text/json", "application/jsonx", "application/jso",
                          "application/json, text/plain", "application/json-patch+json", "application/x-ndjson", "json", ";", " ",
                          "; charset=utf-8", "*/*", "multipart/form-data; boundary=x", "application/ json"})
    EXPECT_EQ(status_of(Content::json, bad), 415) << bad;
}

TEST(ContentCheck, ABatchMayBeLinesAndTheConsoleReadsAForm) {
  EXPECT_EQ(status_of(Content::json_or_lines, "application/x-ndjson"), 200);
  EXPECT_EQ(status_of(Content::json_or_lines, "APPLICATION/X-NDJSON;charset=utf-8"), 200);
  EXPECT_EQ(status_of(Content::json_or_lines, "application/json"), 200);
  EXPECT_EQ(status_of(Content::json_or_lines, "text/plain"), 415);
  EXPECT_EQ(status_of(Content::form, "application/x-www-form-urlencoded; charset=UTF-8"), 200);
  EXPECT_EQ(status_of(Content::form, "application/json"), 415);
}

TEST(ContentCheck, NothingIsSaidOfABodyThatIsNotThere) {
  EXPECT_EQ(status_of(Content::json, "text/plain", "", ""), 200) << "curl -d '' calls it a form";
  EXPECT_EQ(status_of(Content::json, "text/plain", "gzip", ""), 415);
}

TEST(ContentCheck, TheOnlyEncodingIsNone) {
  for (const auto* good : {"", "identity", "Identity", " identity ,", ",identity,identity", ","})
    EXPECT_EQ(status_of(Content::json, "", good), 200) << good;
  for (const auto* bad :
       {"gzip", "br", "identity, gzip", "gzip,identity", "deflate,", "x", "identity;q=1", "identity gzip", ", ,zstd"})
    EXPECT_EQ(status_of(Content::json, "", bad), 415) << bad;
}

RC_GTEST_PROP(ContentCheck, AHeaderIsTakenOrRefusedWhateverItHolds, (const std::string& type, const std::string& encoding)) {
  for (const auto content : {Content::json, Content::json_or_lines, Content::form}) {
    const int status = status_of(content, type, encoding);
    RC_ASSERT(status == 200 || status == 415);
  }
}

}  // namespace
}  // namespace waybill::http
