// Bearer tokens: made once, known by their hash, remembered for a moment.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>

#include "api/read_pool.h"
#include "base/clock.h"
#include "http/http.h"

namespace waybill {

// A new token: "wbt_" and 43 characters of base64url from 32 random bytes.
std::string make_token();
std::optional<http::Role> role_from(std::string_view word);

// Safe from any thread. A revoked token is refused within two seconds, and so is one of a disabled organisation (403).
class TokenCheck {
 public:
  TokenCheck(ReadPool& pool, const Clock& clock) : pool_(pool), clock_(clock) {}
  void operator()(const http::Request& request, std::function<void(http::Admission)> answer);

 private:
  struct CacheEntry {
    http::Principal principal;
    Clock::Monotonic until;
  };
  ReadPool& pool_;
  const Clock& clock_;
  std::mutex mutex_;
  std::unordered_map<std::string, CacheEntry> known_;  // by hash
};

}  // namespace waybill
