// Signing with private keys, by OpenSSL.
#include "services/private_key.h"

#include <openssl/bn.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

namespace waybill {
namespace {

constexpr int kFewestRsaBits = 2048;
constexpr int kCoordinateBytes = 32;  // of P-256

tl::unexpected<Error> refuse(const char* why) {
  ERR_clear_error();
  return fail(Error::Kind::invalid, why);
}

int no_passphrase(char*, int, int, void*) { return -1; }  // the default asks on the terminal

bool is_p256(const EVP_PKEY* key) {
  char group[64];
  std::size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
         std::string_view(group, size) == "prime256v1";
}

// From ASN.1, as OpenSSL writes it, to the two numbers side by side, as JWTs have them (RFC 7518, 3.4).
Result<std::string> side_by_side(const std::string& encoded) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(encoded.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(encoded.size())), ECDSA_SIG_free);
  std::string out(2 * kCoordinateBytes, '\0');
  auto* const begin = reinterpret_cast<unsigned char*>(out.data());
  if (!pair || BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), begin, kCoordinateBytes) != kCoordinateBytes ||
      BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), begin + kCoordinateBytes, kCoordinateBytes) != kCoordinateBytes)
    return refuse("the key does not sign");
  return out;
}

}  // namespace

Result<PrivateKey> PrivateKey::from_pem(std::string_view pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  EVP_PKEY* const read = input ? PEM_read_bio_PrivateKey(input.get(), nullptr, no_passphrase, nullptr) : nullptr;
  if (read == nullptr) return refuse("is no private key in PEM without a passphrase");
  std::shared_ptr<void> key(read, [](void* p) { EVP_PKEY_free(static_cast<EVP_PKEY*>(p)); });
  if (EVP_PKEY_is_a(read, "RSA") == 1 && EVP_PKEY_get_bits(read) < kFewestRsaBits) return refuse("has less than 2048 bits");
  ERR_clear_error();
  return PrivateKey(std::move(key));
}

bool PrivateKey::is_rsa() const { return EVP_PKEY_is_a(static_cast<EVP_PKEY*>(key_.get()), "RSA") == 1; }

Result<std::string> PrivateKey::sign(SignatureKind kind, std::span<const std::string_view> parts) const {
  auto* const key = static_cast<EVP_PKEY*>(key_.get());
  if (kind == SignatureKind::rsa_sha256 ? !is_rsa() : !is_p256(key)) return refuse("the key is of another kind");
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key)), '\0');
  auto size = signature.size();
  bool good = context && EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) == 1;
  for (const auto part : parts) good = good && EVP_DigestSignUpdate(context.get(), part.data(), part.size()) == 1;
  good = good && EVP_DigestSignFinal(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size) == 1;
  if (!good) return refuse("the key does not sign");
  signature.resize(size);
  return kind == SignatureKind::rsa_sha256 ? signature : side_by_side(signature);
}

}  // namespace waybill
