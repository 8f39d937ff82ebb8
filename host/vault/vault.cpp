// Sealed text: a version byte, the nonce (12 bytes), the cipher text, the tag (16 bytes).
#include "vault/vault.h"

#include <openssl/evp.h>
#include <openssl/sha.h>

#include <algorithm>
#include <memory>
#include <new>
#include <optional>

#include "base/base64.h"
#include "base/hex.h"
#include "base/random.h"

namespace waybill {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kKeyBytes = 32, kNonceBytes = 12, kTagBytes = 16;

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }
int length_of(std::string_view text) { return static_cast<int>(text.size()); }

std::string digest_of(std::string_view text) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(bytes_of(text), text.size(), bytes_of(digest));
  return digest;
}

// Unambiguous: no part holds a NUL.
std::string associated(const SealedFor& owner) {
  std::string data = "waybill:" + std::to_string(owner.org.value);
  data.append(1, '\0').append(owner.row).append(1, '\0').append(owner.field);
  return data;
}

std::string encrypt(const Secret& key, const SealedFor& owner, std::string_view plain) {
  const std::string nonce = random_bytes(kNonceBytes), about = associated(owner);
  std::string text(plain.size(), '\0'), tag(kTagBytes, '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int length = 0;
  const bool good = cipher &&
                    EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.expose()), bytes_of(nonce)) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), nullptr, &length, bytes_of(about), length_of(about)) == 1 &&
                    EVP_EncryptUpdate(cipher.get(), bytes_of(text), &length, bytes_of(plain), length_of(plain)) == 1 &&
                    EVP_EncryptFinal_ex(cipher.get(), bytes_of(text) + length, &length) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, tag.data()) == 1;
  if (!good) throw std::bad_alloc();  // nothing else can fail here
  return std::string(1, kVersion) + nonce + text + tag;
}

std::optional<Secret> decrypt(const Secret& key, const SealedFor& owner, std::string_view sealed) {
  if (sealed.size() < 1 + kNonceBytes + kTagBytes || sealed.front() != kVersion) return std::nullopt;
  const auto nonce = sealed.substr(1, kNonceBytes);
  const auto text = sealed.substr(1 + kNonceBytes, sealed.size() - 1 - kNonceBytes - kTagBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  const std::string about = associated(owner);
  std::string plain(text.size(), '\0');
  const Cipher cipher(EVP_CIPHER_CTX_new());
  int length = 0;
  if (!cipher) throw std::bad_alloc();
  const bool good = EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, bytes_of(key.expose()), bytes_of(nonce)) == 1 &&
                    EVP_DecryptUpdate(cipher.get(), nullptr, &length, bytes_of(about), length_of(about)) == 1 &&
                    EVP_DecryptUpdate(cipher.get(), bytes_of(plain), &length, bytes_of(text), length_of(text)) == 1 &&
                    EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
                    EVP_DecryptFinal_ex(cipher.get(), bytes_of(plain) + length, &length) == 1;
  if (!good) return std::nullopt;
  return Secret(std::move(plain));
}

SealedFor data_key_of(OrgId org, const std::string& key_id) { return {org, key_id, "data key"}; }

}  // namespace

Vault::Vault(const std::vector<Secret>& masters) {
  for (const auto& text : masters) {
    const std::string key = digest_of("waybill master key:" + text.expose());
    masters_.push_back({to_hex(digest_of(key)).substr(0, 16), Secret(key)});
  }
}

bool Vault::knows(std::string_view master) const {
  return std::any_of(masters_.begin(), masters_.end(), [&](const Master& one) { return one.name == master; });
}

bool Vault::fits(const std::vector<std::string>& used) const {
  return used.empty() || std::any_of(used.begin(), used.end(), [this](const auto& one) { return knows(one); });
}

std::vector<std::string> Vault::names() const {
  std::vector<std::string> names;
  for (const auto& one : masters_) names.push_back(one.name);
  return names;
}

Vault::SealedDataKey Vault::make_data_key(OrgId org, std::int32_t key_id) const {
  const std::string id = std::to_string(key_id);
  return {newest(), encrypt(masters_.front().key, data_key_of(org, id), random_bytes(kKeyBytes))};
}

Result<Vault::SealedDataKey> Vault::rewrap(OrgId org, std::int32_t key_id, std::string_view sealed) const {
  const auto key = open_data_key(org, key_id, sealed);
  TRY(key);
  const std::string id = std::to_string(key_id);
  return SealedDataKey{newest(), encrypt(masters_.front().key, data_key_of(org, id), key->expose())};
}

Result<Secret> Vault::open_data_key(OrgId org, std::int32_t key_id, std::string_view sealed) const {
  const std::string id = std::to_string(key_id);
  for (const auto& master : masters_)
    if (auto key = decrypt(master.key, data_key_of(org, id), sealed)) return std::move(*key);
  return fail(Error::Kind::locked,
              masters_.empty() ? "this host has no master key: notify.key names none"
                               : "no master key of notify.key opens the secrets of organisation " + std::to_string(org.value));
}

Result<std::string> Vault::seal(OrgId org, std::int32_t key_id, std::string_view data_key, const SealedFor& owner,
                                const Secret& secret) const {
  const auto key = open_data_key(org, key_id, data_key);
  TRY(key);
  return encrypt(*key, owner, secret.expose());
}

Result<Secret> Vault::open(OrgId org, std::int32_t key_id, std::string_view data_key, const SealedFor& owner,
                           std::string_view sealed) const {
  const auto key = open_data_key(org, key_id, data_key);
  TRY(key);
  auto secret = decrypt(*key, owner, sealed);
  if (!secret) return fail(Error::Kind::bug, "a sealed secret is not what was stored for its row");
  return std::move(*secret);
}

Secret make_signing_secret() { return Secret("whsec_" + encode_base64(random_bytes(kKeyBytes))); }

}  // namespace waybill
