// Checking bearer tokens against the database, with a short memory.
#include "api/token_check.h"

#include "api/error_reply.h"
#include "base/random.h"
#include "domain/idempotency.h"

namespace waybill {
namespace {
constexpr auto kRemember = std::chrono::seconds(2);
constexpr std::size_t kMaxRemembered = 10'000;

http::Principal principal_of(const TokenView& token) {
  const auto role = role_from(token.role).value_or(http::Role::none);
  const bool operates = token.org == kDefaultOrg && role == http::Role::owner;
  return {.org = token.org, .role = operates ? http::Role::operator_ : role, .name = token.name, .org_name = token.org_name};
}

}  // namespace

std::string make_token() {
  static constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const std::string bytes = random_bytes(32) + '\0';
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  std::string token = "wbt_";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned group = static_cast<unsigned>(byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2));
    for (const int shift : {18, 12, 6, 0}) token += kAlphabet[group >> shift & 63];
  }
  token.pop_back();  // 32 bytes fill 43 characters
  return token;
}

std::optional<http::Role> role_from(std::string_view word) {
  if (word == "member") return http::Role::member;
  if (word == "admin") return http::Role::admin;
  if (word == "owner") return http::Role::owner;
  return std::nullopt;
}

void TokenCheck::operator()(const http::Request& request, std::function<void(http::Admission)> answer) {
  static constexpr std::string_view kScheme = "Bearer ";
  if (!request.authorization.starts_with(kScheme)) return answer(std::nullopt);
  const Sha256 hash = sha256(std::string_view(request.authorization).substr(kScheme.size()));
  const std::string key(as_view(hash));
  {
    std::unique_lock lock(mutex_);
    const auto known = known_.find(key);
    if (known != known_.end() && clock_.now() < known->second.until) {
      http::Principal principal = known->second.principal;
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
    if ((*found)->org_disabled) {
      {
        std::lock_guard lock(mutex_);
        known_.erase(key);
      }
      return answer(http::error_response(403, "organisation_disabled", "the token's organisation is disabled"));
    }
    const http::Principal principal = principal_of(**found);
    {
      std::lock_guard lock(mutex_);
      if (known_.size() >= kMaxRemembered) known_.clear();
      known_[key] = {principal, clock_.now() + kRemember};
    }
    answer(principal);
  });
}

}  // namespace waybill
