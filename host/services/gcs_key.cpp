// Reading service account files, signing with OpenSSL.
#include "services/gcs_key.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace waybill {
namespace {

constexpr int kFewestBits = 2048;

tl::unexpected<Error> refuse(const std::string& why) { return fail(Error::Kind::invalid, "service account: " + why); }

Result<std::string> text_field(const nlohmann::json& account, const std::string& name) {
  const auto found = account.find(name);
  if (found == account.end()) return refuse(name + " is missing");
  if (!found->is_string()) return refuse(name + " is no text");
  auto text = found->get<std::string>();
  if (text.empty()) return refuse(name + " is empty");
  return text;
}

// Neither blanks nor controls nor anything that means something else in a URL's host or in a credential.
bool is_plain(std::string_view text, std::string_view also) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || also.find(c) != std::string_view::npos;
  });
}

int no_passphrase(char*, int, int, void*) { return -1; }  // the default asks on the terminal

Result<std::shared_ptr<void>> read_key(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> input(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  EVP_PKEY* const read = input ? PEM_read_bio_PrivateKey(input.get(), nullptr, no_passphrase, nullptr) : nullptr;
  ERR_clear_error();
  if (read == nullptr) return refuse("private_key is no private key in PEM without a passphrase");
  std::shared_ptr<void> key(read, [](void* p) { EVP_PKEY_free(static_cast<EVP_PKEY*>(p)); });
  if (EVP_PKEY_is_a(read, "RSA") != 1) return refuse("private_key is no RSA key");
  if (EVP_PKEY_get_bits(read) < kFewestBits) return refuse("private_key has less than 2048 bits");
  return key;
}

}  // namespace

GcsKey::GcsKey(std::string email, std::string universe_domain, std::shared_ptr<void> key)
    : email_(std::move(email)), universe_domain_(std::move(universe_domain)), key_(std::move(key)) {}

Result<GcsKey> GcsKey::from_service_account(std::string_view json) {
  const auto read = read_sorted_json(json);
  if (!read && is_json(json)) return refuse(read.error().what);
  if (!read || !read->is_object()) return refuse("not a JSON object");
  const auto& account = *read;
  auto email = text_field(account, "client_email");
  TRY(email);
  if (!is_plain(*email, "@.-_+") || std::count(email->begin(), email->end(), '@') != 1)
    return refuse("client_email is no email address");
  auto universe =
      account.contains("universe_domain") ? text_field(account, "universe_domain") : Result<std::string>("googleapis.com");
  TRY(universe);
  if (!is_plain(*universe, ".-")) return refuse("universe_domain is no domain name");
  const auto pem = text_field(account, "private_key");
  TRY(pem);
  auto key = read_key(*pem);
  TRY(key);
  return GcsKey(std::move(*email), std::move(*universe), std::move(*key));
}

Result<std::string> GcsKey::sign(std::string_view text) const {
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  auto* const key = static_cast<EVP_PKEY*>(key_.get());
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::string signature(static_cast<std::size_t>(EVP_PKEY_get_size(key)), '\0');
  auto size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, bytes, text.size()) != 1) {
    ERR_clear_error();
    return fail(Error::Kind::bug, "the service account's key does not sign");
  }
  signature.resize(size);
  return signature;
}

}  // namespace waybill
