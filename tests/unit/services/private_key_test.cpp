// Keys that sign, of both kinds, checked with their other half.  D8
#include "services/private_key.h"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/ecdsa.h>

#include <array>

#include "base/hex.h"
#include "services/secrets.h"
#include "support/service_account.h"

namespace waybill {
namespace {

using testing::Pkey;
using testing::private_pem;
using testing::service_account;

constexpr std::array<std::string_view, 2> kParts{"he", "llo"};

Pkey curve(const char* name) { return {EVP_EC_gen(name), EVP_PKEY_free}; }

TEST(PrivateKey, OfRsaSignsWhatItsPublicKeyVerifies) {  // D8
  const auto key = PrivateKey::from_pem(private_pem(service_account().key()));
  ASSERT_TRUE(key);
  EXPECT_TRUE(key->is_rsa());
  const auto made = key->sign(SignatureKind::rsa_sha256, kParts);
  EXPECT_TRUE(service_account().verifies("hello", to_hex(*made)));
  EXPECT_FALSE(service_account().verifies("hell", to_hex(*made)));
  EXPECT_FALSE(key->sign(SignatureKind::ecdsa_p256_sha256, kParts));
}

TEST(PrivateKey, OfP256GivesTwoNumbersOf32Bytes) {  // D8
  const auto pair = curve("P-256");
  const auto key = PrivateKey::from_pem(private_pem(pair.get()));
  ASSERT_TRUE(key);
  for (int i = 0; i < 20; ++i) {  // some have a first byte of 0
    const auto made = key->sign(SignatureKind::ecdsa_p256_sha256, kParts);
    ASSERT_EQ(made->size(), 64u);
    const auto* bytes = reinterpret_cast<const unsigned char*>(made->data());
    const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> numbers(ECDSA_SIG_new(), ECDSA_SIG_free);
    ECDSA_SIG_set0(numbers.get(), BN_bin2bn(bytes, 32, nullptr), BN_bin2bn(bytes + 32, 32, nullptr));
    unsigned char* encoded = nullptr;
    const int size = i2d_ECDSA_SIG(numbers.get(), &encoded);
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
    ASSERT_EQ(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, pair.get()), 1);
    EXPECT_EQ(EVP_DigestVerify(context.get(), encoded, static_cast<std::size_t>(size),
                               reinterpret_cast<const unsigned char*>("hello"), 5),
              1);
    OPENSSL_free(encoded);
  }
  EXPECT_FALSE(key->sign(SignatureKind::rsa_sha256, kParts));
}

TEST(PrivateKey, IsRefusedWithoutAWordOfIt) {  // D8
  const auto other = PrivateKey::from_pem(private_pem(curve("P-384").get()));
  ASSERT_TRUE(other);
  EXPECT_FALSE(other->sign(SignatureKind::ecdsa_p256_sha256, kParts));
  EXPECT_EQ(PrivateKey::from_pem(private_pem(Pkey(EVP_RSA_gen(1024), EVP_PKEY_free).get())).error().what,
            "has less than 2048 bits");
  for (const auto& text : {std::string(), std::string("canary"), private_pem(service_account().key(), EVP_aes_128_cbc())}) {
    const auto key = PrivateKey::from_pem(text);
    ASSERT_FALSE(key);
    EXPECT_EQ(key.error().what, "is no private key in PEM without a passphrase");
  }
}

TEST(SecretsAsKeys, ArePemOrAServiceAccount) {  // D8
  const auto pem = private_pem(service_account().key());
  const Secrets secrets(Secrets::Values{{"pem", {Secret(pem)}},
                                        {"account", {Secret(service_account().json())}},
                                        {"rotated", {Secret("word"), Secret(pem)}},
                                        {"json", {Secret(R"({"private_key":7})")}},
                                        {"broken", {Secret("-----BEGIN PRIVATE KEY-----\nx")}}});
  EXPECT_NE(secrets.private_key("pem"), nullptr);
  EXPECT_NE(secrets.private_key("account"), nullptr);
  for (const auto* name : {"rotated", "json", "broken", "nobody"}) EXPECT_EQ(secrets.private_key(name), nullptr) << name;
}

}  // namespace
}  // namespace waybill
