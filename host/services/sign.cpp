// HMAC-SHA256 with secrets that plugins know by name only.
#include "services/sign.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>

#include <memory>
#include <new>

#include "base/hex.h"

namespace waybill {
namespace {

struct FreeContext {
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MAC_CTX, FreeContext>;

// One for each thread: making it and looking up the algorithms costs more than a signature.
EVP_MAC_CTX* hmac_sha256() {
  static EVP_MAC* const algorithm = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  thread_local const Context context(EVP_MAC_CTX_new(algorithm));
  thread_local const bool is_set = [] {
    char digest[] = "SHA256";
    const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0), OSSL_PARAM_construct_end()};
    return context && EVP_MAC_CTX_set_params(context.get(), params) == 1;
  }();
  return is_set ? context.get() : nullptr;
}

Mac compute(const Secret& key, std::span<const std::string_view> parts) {
  EVP_MAC_CTX* const context = hmac_sha256();
  const auto* bytes = reinterpret_cast<const unsigned char*>(key.expose().data());
  Mac mac{};
  std::size_t size = 0;
  bool good = context != nullptr && EVP_MAC_init(context, bytes, key.expose().size(), nullptr) == 1;
  for (const auto part : parts)
    good = good && EVP_MAC_update(context, reinterpret_cast<const unsigned char*>(part.data()), part.size()) == 1;
  good = good && EVP_MAC_final(context, mac.data(), &size, mac.size()) == 1 && size == mac.size();
  if (!good) throw std::bad_alloc();  // nothing else can fail here; a signature must never be guessed
  return mac;
}

}  // namespace

std::string key_id(const Secret& key) {
  constexpr std::size_t kBytes = 8;
  constexpr std::string_view kText = "waybill-key-id";
  const Mac mac = compute(key, {&kText, 1});
  return to_hex({reinterpret_cast<const char*>(mac.data()), kBytes});
}

std::string ids_of(std::span<const Secret> keys) {
  std::string ids;
  for (const auto& key : keys) ids += (ids.empty() ? "" : " ") + key_id(key);
  return ids;
}

bool sign_hmac_sha256(const Secrets& secrets, std::string_view name, std::span<const std::string_view> parts,
                      const std::function<void(const Mac&)>& sink) {
  const auto* keys = secrets.signing_keys(name);
  if (keys == nullptr) return false;
  sign_hmac_sha256(keys->keys, parts, sink);
  return true;
}

void sign_hmac_sha256(std::span<const Secret> keys, std::span<const std::string_view> parts,
                      const std::function<void(const Mac&)>& sink) {
  for (const auto& key : keys) sink(compute(key, parts));
}

}  // namespace waybill
