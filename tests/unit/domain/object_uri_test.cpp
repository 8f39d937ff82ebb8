// Which objects a link can be signed for: the rules of buckets and keys.
#include "domain/object_uri.h"

#include <gtest/gtest.h>

namespace waybill {
namespace {

TEST(ObjectUri, ABucketHasItsRules) {  // D2
  for (const std::string bucket : {"abc", "a-b_c", "1.example.org", "a.b", "192.168.5.x"})
    EXPECT_EQ(parse_gcs_uri("gs://" + bucket + "/k/e/y"), (GcsObject{bucket, "k/e/y"})) << bucket;
  const auto parts = std::string(63, 'a') + "." + std::string(63, 'b') + "." + std::string(63, 'c');
  EXPECT_TRUE(parse_gcs_uri("gs://" + std::string(63, 'a') + "/k"));
  EXPECT_TRUE(parse_gcs_uri("gs://" + parts + "." + std::string(30, 'd') + "/k"));
  for (const std::string& bucket :
       {std::string(""),          std::string("ab"),      std::string(64, 'a'),       parts + "." + std::string(31, 'd'),
        std::string("Bucket"),    std::string("-abc"),    std::string("abc_"),        std::string(".abc"),
        std::string("abc."),      std::string("a..b"),    std::string("192.168.5.4"), std::string("a b"),
        std::string("a\nb"),      std::string("bücket"),  std::string("a%2fb"),       std::string(64, 'a') + ".b",
        std::string("user@host"), std::string("host:80"), std::string("goog-files"),  std::string("my-google-files"),
        std::string("g00gle")})
    EXPECT_FALSE(parse_gcs_uri("gs://" + bucket + "/k")) << bucket;
}

TEST(ObjectUri, AKeyHasItsRules) {  // D2
  EXPECT_TRUE(parse_gcs_uri("gs://bucket/" + std::string(1024, 'k')));
  for (const std::string& key : {std::string(), std::string(1025, 'k'), std::string("a\rb"), std::string("a\nb"),
                                 std::string("a\0b", 3), std::string("\xC3"), std::string("\xED\xA0\x80"), std::string(".."),
                                 std::string("a/./b"), std::string("a/../b"), std::string(".well-known/acme-challenge/x")})
    EXPECT_FALSE(parse_gcs_uri("gs://bucket/" + key)) << key;
}

TEST(ObjectUri, IsNothingElse) {  // D2
  for (const std::string uri : {"", "gs://", "gs:/bucket/key", "GS://bucket/key", "s3://bucket/key", "https://bucket/key",
                                "gs://bucket", "gs:///key", " gs://bucket/key"}) {
    const auto object = parse_gcs_uri(uri);
    ASSERT_FALSE(object) << uri;
    EXPECT_EQ(object.error().kind, Error::Kind::invalid);
    EXPECT_TRUE(object.error().what.starts_with("object URI: ")) << object.error().what;
  }
}

}  // namespace
}  // namespace waybill
