// Signed URLs against Google's published cases: what is signed comes out to the byte, and signatures verify.  F8
#include "services/gcs_url.h"

#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "support/service_account.h"

namespace waybill {
namespace {

using nlohmann::json;

constexpr std::string_view kEmail = "test-iam-credentials@dummy-project-id.iam.gserviceaccount.com";
constexpr std::string_view kContradictory = "Universe domain with virtual hosted style";  // see tests/vectors/README.md

json published_cases() {
  std::ifstream file(WAYBILL_SOURCE_DIR "/tests/vectors/gcs_v4_signatures.json");
  return json::parse(file).at("signingV4Tests");
}

std::int64_t unix_seconds(const std::string& text) {
  std::tm utc{};
  EXPECT_NE(strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &utc), nullptr) << text;
  return timegm(&utc);
}

// Whichever setting of a client library comes first there.
std::string endpoint_text(const json& test) {
  const auto text = [&](const char* name) { return test.value(name, ""); };
  if (text("urlStyle") == "BUCKET_BOUND_HOSTNAME") return text("scheme") + "://" + text("bucketBoundHostname");
  if (test.contains("hostname")) return test.value("scheme", "https") + "://" + text("hostname");
  if (test.contains("clientEndpoint")) return text("clientEndpoint");
  if (test.contains("emulatorHostname")) return text("emulatorHostname");
  return "storage." + test.value("universeDomain", "googleapis.com");
}

std::vector<std::pair<std::string, std::string>> pairs(const json& test, const char* member) {
  std::vector<std::pair<std::string, std::string>> pairs;
  if (test.contains(member))
    for (const auto& [name, value] : test.at(member).items()) pairs.emplace_back(name, value);
  return pairs;
}

GcsRequest request_of(const json& test) {
  GcsRequest request;
  request.method = test.at("method");
  request.bucket = test.at("bucket");
  request.object = test.value("object", "");
  request.headers = pairs(test, "headers");
  request.query = pairs(test, "queryParameters");
  const auto endpoint = GcsEndpoint::parse(endpoint_text(test));
  EXPECT_TRUE(endpoint) << endpoint_text(test);
  if (endpoint) request.endpoint = *endpoint;
  const auto style = test.value("urlStyle", "");
  if (style == "VIRTUAL_HOSTED_STYLE") request.style = GcsStyle::virtual_hosted;
  if (style == "BUCKET_BOUND_HOSTNAME") request.style = GcsStyle::bucket_bound;
  request.unix_seconds = unix_seconds(test.at("timestamp"));
  request.lifetime = Seconds(test.at("expiration").get<int>());
  return request;
}

std::string expected_canonical_request(const json& test) {
  auto text = test.at("expectedCanonicalRequest").get<std::string>();
  const std::string wrong = "/test-bucket/test-object";
  if (test.at("description") == kContradictory) text.replace(text.find(wrong), wrong.size(), "/test-object");
  return text;
}

std::string up_to_signature(const std::string& url) {
  const std::string name = "&X-Goog-Signature=";
  return url.substr(0, url.find(name) + name.size());
}

TEST(GcsVectors, AreAllThere) { EXPECT_EQ(published_cases().size(), 29u); }

TEST(GcsVectors, TheCanonicalRequestAndTheStringToSignAreTheExpectedOnes) {
  for (const auto& test : published_cases()) {
    SCOPED_TRACE(test.at("description").get<std::string>());
    const auto request = request_of(test);
    const auto canonical = canonical_request(request, kEmail);
    EXPECT_EQ(canonical, expected_canonical_request(test));
    EXPECT_EQ(string_to_sign(request, canonical), test.at("expectedStringToSign").get<std::string>());
  }
}

TEST(GcsVectors, TheUrlIsTheExpectedOneAndItsSignatureVerifies) {
  const auto& account = testing::service_account();
  const auto key = GcsKey::from_service_account(account.json(std::string(kEmail)));
  ASSERT_TRUE(key) << key.error().what;
  for (const auto& test : published_cases()) {
    SCOPED_TRACE(test.at("description").get<std::string>());
    const auto url = signed_url(request_of(test), *key);
    ASSERT_TRUE(url);
    EXPECT_EQ(up_to_signature(*url), up_to_signature(test.at("expectedUrl")));
    const auto signature = url->substr(up_to_signature(*url).size());
    EXPECT_TRUE(account.verifies(test.at("expectedStringToSign"), signature));
    EXPECT_FALSE(account.verifies("another text", signature));
  }
}

TEST(GcsUrl, AHeaderGivenTwiceIsSignedOnceWithBothValues) {
  GcsRequest request{.bucket = "b", .object = "o", .headers = {{"X-Goog-Meta-A", "1 "}, {"x-goog-meta-a", "2"}}};
  const auto canonical = canonical_request(request, kEmail);
  EXPECT_NE(canonical.find("\nhost:storage.googleapis.com\nx-goog-meta-a:1,2\n\nhost;x-goog-meta-a\n"), std::string::npos)
      << canonical;
}

TEST(GcsUrl, NothingInAHeaderEndsItsLine) {
  const GcsRequest request{.bucket = "b", .object = "o", .headers = {{"a", "1\r\nevil:2"}, {"Host", "elsewhere"}}};
  const auto canonical = canonical_request(request, kEmail);
  EXPECT_NE(canonical.find("\na:1 evil:2\nhost:storage.googleapis.com\n\na;host\n"), std::string::npos) << canonical;
}

TEST(GcsEndpoint, IsReadFromUrlsAndFromHostsWithPorts) {
  EXPECT_EQ(GcsEndpoint::parse("http://localhost:8080"), (GcsEndpoint{"http", "localhost", "8080"}));
  EXPECT_EQ(GcsEndpoint::parse("storage.example.org:443/"), (GcsEndpoint{"https", "storage.example.org", "443"}));
  EXPECT_EQ(GcsEndpoint::parse("https://[::1]:8080"), (GcsEndpoint{"https", "[::1]", "8080"}));
}

TEST(GcsEndpoint, IsNothingElse) {
  for (const std::string text :
       {"", "https://", "ftp://host", "https://u@host", "https://host/path", "https://host?q", "a b", "host\n"})
    EXPECT_FALSE(GcsEndpoint::parse(text)) << text;
}

}  // namespace
}  // namespace waybill
