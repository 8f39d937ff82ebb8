// Links to attachments: which URIs and lifetimes are taken, how hostile keys are encoded, what a bad account is told.  F8
#include "services/gcs_links.h"

#include <gtest/gtest.h>

#include <ostream>

#include "support/service_account.h"

namespace waybill {
namespace {

using nlohmann::json;

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
static_assert(!Printable<GcsKey>, "a key has no way out");

constexpr std::int64_t kNow = 1549011600;  // 2019-02-01T09:00:00Z

class FixedClock final : public Clock {
 public:
  Monotonic now() const override { return {}; }
  std::int64_t unix_seconds() const override { return kNow; }
};

GcsKey good_key() { return *GcsKey::from_service_account(testing::service_account().json()); }

std::string refusal(const std::string& account) {
  const auto key = GcsKey::from_service_account(account);
  return key ? "taken" : key.error().what;
}

std::string refusal_with(const std::string& field, const json& value) {
  auto account = json::parse(testing::service_account().json());
  account[field] = value;
  return refusal(account.dump());
}

std::string link_path(const std::string& uri) {
  static const FixedClock clock;
  static const GcsLinks links(good_key(), clock);
  const auto url = links.link(uri, Seconds{60});
  if (!url) return url.error().what;
  const std::string start = "https://storage.googleapis.com";
  return url->starts_with(start) ? url->substr(start.size(), url->find('?') - start.size()) : *url;
}

TEST(GcsLinks, GiveAnObjectForAWhileFromNow) {
  const FixedClock clock;
  const auto url = GcsLinks(good_key(), clock).link("gs://bucket/a/cv.pdf", Seconds{3600});
  ASSERT_TRUE(url) << url.error().what;
  const std::string expected =
      "https://storage.googleapis.com/bucket/a/cv.pdf?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential="
      "robot%40project.iam.gserviceaccount.com%2F20190201%2Fauto%2Fstorage%2Fgoog4_request&X-Goog-Date=20190201T090000Z&"
      "X-Goog-Expires=3600&X-Goog-SignedHeaders=host&X-Goog-Signature=";
  ASSERT_EQ(url->substr(0, expected.size()), expected);
  const auto text = string_to_sign(
      {.unix_seconds = kNow},
      canonical_request({.bucket = "bucket", .object = "a/cv.pdf", .unix_seconds = kNow, .lifetime = Seconds{3600}},
                        good_key().email()));
  EXPECT_TRUE(testing::service_account().verifies(text, url->substr(expected.size())));
}

TEST(GcsLinks, LeadToTheUniverseOfTheKeyOrToTheGivenEndpoint) {
  const FixedClock clock;
  auto account = json::parse(testing::service_account().json());
  account["universe_domain"] = "example.org";
  const auto key = GcsKey::from_service_account(account.dump());
  ASSERT_TRUE(key) << key.error().what;
  EXPECT_TRUE(GcsLinks(*key, clock).link("gs://bucket/k", Seconds{1})->starts_with("https://storage.example.org/bucket/k?"));
  const GcsLinks local(*key, {"http", "localhost", "8080"}, clock);
  EXPECT_TRUE(local.link("gs://bucket/k", Seconds{1})->starts_with("http://localhost:8080/bucket/k?"));
}

TEST(GcsLinks, LiveBetweenOneSecondAndSevenDays) {
  const FixedClock clock;
  const GcsLinks links(good_key(), clock);
  for (const auto lifetime : {1, 604800}) EXPECT_TRUE(links.link("gs://bucket/key", Seconds{lifetime}));
  for (const auto lifetime : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{604801}, INT64_MAX, INT64_MIN}) {
    const auto url = links.link("gs://bucket/key", Seconds{lifetime});
    ASSERT_FALSE(url) << lifetime;
    EXPECT_EQ(url.error().kind, Error::Kind::invalid);
    EXPECT_NE(url.error().what.find("7 days"), std::string::npos);
  }
}

TEST(GcsLinks, EncodeWhatMeansSomethingInAUrlOrInAMail) {
  const std::pair<std::string, std::string> keys[] = {
      {"my cv.pdf", "my%20cv.pdf"},
      {"100%.pdf", "100%25.pdf"},
      {"%2e%2e/%41", "%252e%252e/%2541"},
      {"a?b#c&d=e+f", "a%3Fb%23c%26d%3De%2Bf"},
      {"//a///b/", "//a///b/"},
      {"a..b/...", "a..b/..."},
      {"back\\slash", "back%5Cslash"},
      {"\"<a href='x'>`{}|^[]", "%22%3Ca%20href%3D%27x%27%3E%60%7B%7D%7C%5E%5B%5D"},
      {"tab\tbell\a\x7f", "tab%09bell%07%7F"},
      {"Lebenslauf \xC3\xA9\xF0\x9F\x98\x80", "Lebenslauf%20%C3%A9%F0%9F%98%80"},
      {"\xE2\x80\xAE"
       "fdp.exe",
       "%E2%80%AEfdp.exe"},
      {"!$'()*,:;@~-_", "%21%24%27%28%29%2A%2C%3A%3B%40~-_"},
  };
  for (const auto& [key, encoded] : keys) EXPECT_EQ(link_path("gs://bucket/" + key), "/bucket/" + encoded) << key;
}

TEST(GcsLinks, RefuseKeysThatNoLinkCouldReach) {
  for (const std::string key : {"..", ".", "../other/secret", "a/../b", "a/..", "./a", "a/./b"})
    EXPECT_NE(link_path("gs://bucket/" + key).find("segment"), std::string::npos) << key;
}

TEST(GcsKey, IsReadFromAServiceAccountFile) {
  const auto key = good_key();
  EXPECT_EQ(key.email(), "robot@project.iam.gserviceaccount.com");
  EXPECT_EQ(key.universe_domain(), "googleapis.com");
}

TEST(GcsKey, ABadFileIsRefusedByField) {
  EXPECT_EQ(refusal("not json"), "service account: not a JSON object");
  EXPECT_EQ(refusal("[]"), "service account: not a JSON object");
  EXPECT_EQ(refusal(std::string("{}\0", 3)), "service account: not a JSON object");
  EXPECT_EQ(refusal(R"({"a":1,"a":2})"), "service account: the name \"a\" stands twice in one object");
  EXPECT_EQ(refusal("{}"), "service account: client_email is missing");
  EXPECT_EQ(refusal(R"({"client_email":"a@b.c"})"), "service account: private_key is missing");
  EXPECT_EQ(refusal_with("client_email", 7), "service account: client_email is no text");
  EXPECT_EQ(refusal_with("client_email", ""), "service account: client_email is empty");
  for (const auto* email : {"nobody", "a@b@c", "a b@c.d", "a@b.c\r\nx", "a/b@c.d"})
    EXPECT_EQ(refusal_with("client_email", email), "service account: client_email is no email address") << email;
  EXPECT_EQ(refusal_with("universe_domain", "a/b"), "service account: universe_domain is no domain name");
  EXPECT_EQ(refusal_with("private_key", json::array()), "service account: private_key is no text");
}

TEST(GcsKey, OnlyAStrongRsaKeyWithoutPassphraseIsOne) {
  const std::string garbage = "service account: private_key is no private key in PEM without a passphrase";
  auto* const good = testing::service_account().key();
  EXPECT_EQ(refusal_with("private_key", "hunter2"), garbage);
  EXPECT_EQ(refusal_with("private_key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"), garbage);
  EXPECT_EQ(refusal_with("private_key", testing::private_pem(good, EVP_aes_128_cbc())), garbage);
  const testing::Pkey curve(EVP_EC_gen("P-256"), EVP_PKEY_free);
  EXPECT_EQ(refusal_with("private_key", testing::private_pem(curve.get())), "service account: private_key is no RSA key");
  const testing::Pkey weak(EVP_RSA_gen(1024), EVP_PKEY_free);
  EXPECT_EQ(refusal_with("private_key", testing::private_pem(weak.get())),
            "service account: private_key has less than 2048 bits");
}

}  // namespace
}  // namespace waybill
