// Checking bearer tokens against the database, with a short memory.
#include "api/token_check.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>

#include "api/intent_json.h"
#include "domain/idempotency.h"

namespace waybill {
namespace {
constexpr auto kRemember = std::chrono::seconds(2);
constexpr std::size_t kMaxRemembered = 10'000;
}  // namespace

std::string make_token() {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 33> bytes{};
  if (RAND_bytes(bytes.data(), 32) != 1) throw std::runtime_error("no random bytes to make a token from");
  std::string token = "wbt_";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned group = static_cast<unsigned>(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]);
    for (const int shift : {18, 12, 6, 0}) token += kAlphabet[group >> shift & 63];
  }
  token.pop_back();  // 32 bytes fill 43 characters
  return token;
}

std::optional<Role> role_from(std::string_view word) {
  if (word == "member") return Role::member;
  if (word == "admin") return Role::admin;
  if (word == "owner") return Role::owner;
  return std::nullopt;
}

void TokenCheck::operator()(const Request& request, std::function<void(Admission)> answer) {
  static constexpr std::string_view kScheme = "Bearer ";
  if (!request.authorization.starts_with(kScheme)) return answer(std::nullopt);
  const Sha256 hash = sha256(std::string_view(request.authorization).substr(kScheme.size()));
  const std::string key(as_view(hash));
  {
    std::unique_lock lock(mutex_);
    const auto known = known_.find(key);
    if (known != known_.end() && clock_.now() < known->second.until) {
      Principal principal = known->second.principal;
      lock.unlock();
      return answer(std::move(principal));
    }
  }
  pool_.ask([this, hash, key, answer = std::move(answer)](ReadPool::Session& session) {
    const auto found = session.tokens->find(hash);
    if (!found) return answer(failure_response(found.error()));
    if (!*found) {
      {
        std::lock_guard lock(mutex_);
        known_.erase(key);
      }
      return answer(std::nullopt);
    }
    const Principal principal{(*found)->org, role_from((*found)->role).value_or(Role::none), (*found)->name};
    {
      std::lock_guard lock(mutex_);
      if (known_.size() >= kMaxRemembered) known_.clear();
      known_[key] = {principal, clock_.now() + kRemember};
    }
    answer(principal);
  });
}

}  // namespace waybill
