// What the host does with secrets: real HMACs and signatures, their values, tokens. And Base64.
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include "base64.h"
#include "world.h"

namespace waybill::testkit {
namespace {

constexpr std::string_view kWebhookSecret = "whsec_";

std::string key_of(const std::string& secret) {
  if (secret.compare(0, kWebhookSecret.size(), kWebhookSecret) != 0) return secret;
  return decode_base64(std::string_view(secret).substr(kWebhookSecret.size())).value_or(secret);
}

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// Null: the secret is no key in PEM of the algorithm's kind.
Key private_key_of(const std::string& pem, wb_sign_algorithm algorithm) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  Key key(PEM_read_bio_PrivateKey(input.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  if (key && EVP_PKEY_is_a(key.get(), algorithm == WB_SIGN_RSA_SHA256 ? "RSA" : "EC") != 1) key.reset();
  return key;
}

std::string signature_of(EVP_PKEY* key, const std::string& message) {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::string out(static_cast<std::size_t>(EVP_PKEY_get_size(key)), '\0');
  auto size = out.size();
  EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key);
  EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(out.data()), &size,
                 reinterpret_cast<const unsigned char*>(message.data()), message.size());
  out.resize(size);
  return out;
}

// r and s side by side, of an ECDSA signature as OpenSSL writes it.
std::string side_by_side(const std::string& encoded) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(encoded.data());
  const std::unique_ptr<ECDSA_SIG, decltype(&ECDSA_SIG_free)> pair(
      d2i_ECDSA_SIG(nullptr, &bytes, static_cast<long>(encoded.size())), ECDSA_SIG_free);
  std::string out(64, '\0');
  BN_bn2binpad(ECDSA_SIG_get0_r(pair.get()), reinterpret_cast<unsigned char*>(out.data()), 32);
  BN_bn2binpad(ECDSA_SIG_get0_s(pair.get()), reinterpret_cast<unsigned char*>(out.data()) + 32, 32);
  return out;
}

}  // namespace

std::optional<std::string> decode_base64(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string out(text.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (size < 0) return std::nullopt;
  const auto padding = text.size() - text.find_last_not_of('=') - 1;
  if (padding > 2) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - padding);
  return out;
}

std::string encode_base64(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');  // and a terminator
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  out.resize(static_cast<std::size_t>(size));
  return out;
}

std::int32_t World::sign(wb_str secret_name, const wb_str* parts, std::size_t count, fake_host::MacSink sink, void* user) {
  const auto found = secrets.find(view(secret_name));
  if (found == secrets.end()) return WB_SIGN_UNKNOWN_SECRET;
  std::string message;
  for (std::size_t i = 0; i < count; ++i) message += view(parts[i]);
  for (const auto& secret : found->second) {
    const auto key = key_of(secret);
    std::uint8_t mac[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(message.data()),
         message.size(), mac, &size);
    sink(user, mac, size);
  }
  return WB_SIGN_OK;
}

std::int32_t World::signature(wb_sign_algorithm algorithm, wb_str secret_name, const wb_str* parts, std::size_t count,
                              fake_host::MacSink sink, void* user) {
  const auto secret = newest_secret(view(secret_name));
  if (!secret) return WB_SIGN_UNKNOWN_SECRET;
  const auto key = private_key_of(*secret, algorithm);
  if (!key) return WB_SIGN_WRONG_KEY;
  std::string message;
  for (std::size_t i = 0; i < count; ++i) message += view(parts[i]);
  auto made = signature_of(key.get(), message);
  if (algorithm == WB_SIGN_ECDSA_P256_SHA256) made = side_by_side(made);
  sink(user, reinterpret_cast<const std::uint8_t*>(made.data()), made.size());
  return WB_SIGN_OK;
}

std::int32_t World::read_secret(wb_str name, fake_host::ValueSink sink, void* user) {
  if (readable_secrets.count(view(name)) == 0) return WB_SECRET_NOT_ALLOWED;
  const auto found = secrets.find(view(name));
  if (found == secrets.end()) return WB_SECRET_UNKNOWN;
  for (const auto& value : found->second) {
    const Block bytes(Memory::exact, value);
    sink(user, bytes.str());
  }
  return WB_SECRET_OK;
}

std::int32_t World::find_client(wb_str client) {
  return tokens.count(view(client)) == 0 ? WB_OAUTH2_UNKNOWN_CLIENT : WB_OAUTH2_OK;
}

std::int32_t World::forget_token(wb_str client) {
  if (find_client(client) != WB_OAUTH2_OK) return WB_OAUTH2_UNKNOWN_CLIENT;
  const std::lock_guard lock(mutex_);
  forgotten_tokens.push_back(text(client));
  return WB_OAUTH2_OK;
}

void FakeHost::allow_secret(std::string name) { world_->readable_secrets.insert(std::move(name)); }
void FakeHost::oauth2_client(std::string name, std::string token) { world_->tokens[std::move(name)] = std::move(token); }
std::vector<std::string> FakeHost::forgotten_tokens() const { return world_->forgotten_tokens; }

}  // namespace waybill::testkit
