// Webhooks as receivers get them, by the vectors that all clients share; hashes against OpenSSL's.  Q8
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "waybill/client.hpp"

namespace waybill::client::testing {
namespace {

// Its word in the vectors.
std::string verdict(const nlohmann::json& vector) {
  Headers headers;
  for (const auto& [name, value] : vector.at("headers").items()) headers.emplace_back(name, value);
  VerifyOptions options;
  options.now = vector.at("now").get<std::int64_t>();
  try {
    const auto verified =
        verify(headers, vector.at("body").get<std::string>(), vector.at("secrets").get<std::vector<std::string>>(), options);
    return !verified.id.empty() && verified.timestamp > 0 ? "verified" : "nothing";
  } catch (const MissingHeader&) {
    return "missing_header";
  } catch (const MalformedHeader&) {
    return "malformed_header";
  } catch (const OutsideWindow&) {
    return "outside_window";
  } catch (const WrongSignature&) {
    return "wrong_signature";
  } catch (const std::invalid_argument&) {
    return "bad_secret";
  }
}

nlohmann::json vectors() {
  std::ifstream file(WAYBILL_WEBHOOK_VECTORS);
  return nlohmann::json::parse(file).at("vectors");
}

TEST(Webhooks, AreWhatTheVectorsSay) {
  EXPECT_GT(vectors().size(), 30u);
  for (const auto& vector : vectors()) EXPECT_EQ(verdict(vector), vector.at("is")) << vector.at("name");
}

TEST(Webhooks, HaveAWindowOfFiveMinutesByThisClockUnlessToldOtherwise) {
  const auto vector = vectors().at(0);
  Headers headers;
  for (const auto& [name, value] : vector.at("headers").items()) headers.emplace_back(name, value);
  const auto check = [&](const VerifyOptions& options) {
    return verify(headers, vector.at("body").get<std::string>(), vector.at("secrets"), options);
  };
  EXPECT_THROW(check({}), OutsideWindow);
  VerifyOptions any;
  any.window.reset();
  EXPECT_EQ(check(any).id, "msg_p5jXN8AQM9LWM0D4loKWxJek");
  VerifyOptions narrow;
  narrow.window = std::chrono::seconds(10);
  narrow.now = 1614265330 + 11;
  EXPECT_THROW(check(narrow), OutsideWindow);
  headers.emplace_back("Webhook-Id", "other");
  EXPECT_THROW(check(any), MissingHeader);
}

TEST(Hashes, AreThoseOfOpenSsl) {
  std::string text, key;
  for (int length = 0; length < 300; ++length) {
    unsigned char expected[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    ASSERT_TRUE(EVP_Digest(text.data(), text.size(), expected, &size, EVP_sha256(), nullptr));
    const auto digest = detail::Sha256::of(text);
    ASSERT_TRUE(std::equal(digest.begin(), digest.end(), expected, expected + size)) << length;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         expected, &size);
    const auto signature = detail::hmac_sha256(key, text);
    ASSERT_TRUE(std::equal(signature.begin(), signature.end(), expected, expected + size)) << length;
    text += static_cast<char>(length * 37 + 11);
    if (length % 2 == 0) key += static_cast<char>(length * 53 + 5);
  }
}

TEST(Base64, IsReadAsItIsWritten) {
  std::string bytes;
  for (int length = 0; length < 100; ++length) {
    unsigned char expected[200];
    const int size =
        EVP_EncodeBlock(expected, reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    EXPECT_EQ(detail::encode_base64(bytes), std::string(reinterpret_cast<char*>(expected), static_cast<std::size_t>(size)));
    EXPECT_EQ(detail::decode_base64(detail::encode_base64(bytes)), bytes);
    bytes += static_cast<char>(length * 91 + 3);
  }
  for (const auto* text : {"A", "AA", "AAA", "AA==A", "AB==", "A===", "AA=A", "A A=", "-_8="})
    EXPECT_FALSE(detail::decode_base64(text)) << text;
}

TEST(Equality, IsThatOfTexts) {
  EXPECT_TRUE(detail::is_equal_in_constant_time("abc", "abc"));
  for (const auto* other : {"abd", "xbc", "ab", "abcd", ""})
    EXPECT_FALSE(detail::is_equal_in_constant_time("abc", other)) << other;
}

}  // namespace
}  // namespace waybill::client::testing
