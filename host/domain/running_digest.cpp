// OpenSSL's context, copied where the digest is asked for.
#include "domain/running_digest.h"

#include <openssl/evp.h>

#include <new>

namespace waybill {

struct RunningDigest::State {
  State() : context(EVP_MD_CTX_new()) {
    if (context == nullptr) throw std::bad_alloc();
  }
  ~State() { EVP_MD_CTX_free(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  EVP_MD_CTX* context;
};

RunningDigest::RunningDigest() : state_(std::make_unique<State>()) { EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr); }
RunningDigest::~RunningDigest() = default;

void RunningDigest::add(std::string_view bytes) { EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()); }

Sha256 RunningDigest::so_far() const {
  const State copy;
  EVP_MD_CTX_copy_ex(copy.context, state_->context);
  Sha256 hash;
  EVP_DigestFinal_ex(copy.context, hash.data(), nullptr);
  return hash;
}

}  // namespace waybill
