// Checks bearer tokens, and certificates of clients that have none, against the database: in sessions of their own, with a short
// memory of both answers, and not too often for anybody who only tries.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/recent.h"
#include "api/session_pool.h"
#include "api/sign_in_limit.h"
#include "base/clock.h"
#include "http/http.h"
#include "store/organisations/token_store.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace waybill {

// member, admin or owner, as pipelines name them, or operator.
std::optional<http::Role> role_from(std::string_view word);

struct TokenCheckSettings {
  std::size_t failed_sign_ins = 60;  // of one address in a minute
  Millis patience{5'000};            // how long a check may wait for a session
};

// Safe from any thread. An answer is remembered for a second, counted from when the database was asked: a request that comes more
// than a second after its token was revoked, or its organisation disabled, is refused.
class TokenCheck {
 public:
  using Session = std::unique_ptr<TokenStore>;

  TokenCheck(std::vector<Session> sessions, const Clock& clock, TokenCheckSettings settings, Log& log, Metrics& metrics);

  void start() { pool_.start(); }
  void stop() { pool_.stop(); }
  // The principal of a good token; nobody for a wrong one; or a Response: 403 if the organisation is disabled, 429 after too many
  // wrong ones from this address, 503 without a database. 429 is not for tokens that were good when last looked at.
  void operator()(const http::Request& request, std::function<void(http::Admission)> answer);

  // Stores when tokens were last used: each at most once a minute. What could not be stored is kept for the next time.
  Result<void> note_uses(TokenStore& store);

 private:
  using Answer = std::function<void(http::Admission)>;
  using Time = Clock::Monotonic;

  struct Known {
    http::Admission admission;  // the principal, or that its organisation is disabled
    Time until;
  };
  struct Unknown {
    const char* reason;
    std::string id;
    Time until;
  };
  // Requests that wait for one answer of the database.
  struct Lookup {
    struct Waiter {
      std::string peer;
      Answer answer;
    };
    std::string id;             // public, as the token says
    std::optional<Time> asked;  // none: it waits for a session
    std::vector<Waiter> waiters;
  };
  struct Use {
    Time last;
    std::optional<Time> stored;  // the last use that is stored
  };
  // A wrong token, as log and metrics tell of it.
  struct Failure {
    std::string peer, id;
    const char* reason;
    std::optional<std::uint64_t> told;
  };

  void look_up(const std::string& key, const Sha256& hash, const std::shared_ptr<Lookup>& lookup);
  void finish(const std::string& key, const std::shared_ptr<Lookup>& lookup, const Result<std::optional<TokenView>>& found);
  http::Admission judge(const std::string& key, const Lookup& lookup, const std::optional<TokenView>& found);
  http::Response too_many(const std::string& peer);
  Failure failure(const std::string& peer, const std::string& id, const char* reason);
  void tell(const Failure& failure);
  void tell_unavailable(const Error& error);

  const Clock& clock_;
  Log& log_;
  Metrics& metrics_;
  std::mutex mutex_;             // for all below
  Recent<Known> known_{10'000};  // by hash; also what was good before, which says that somebody has a token
  Recent<Unknown> unknown_{10'000};
  std::unordered_map<std::string, std::shared_ptr<Lookup>> lookups_;  // no more than there are connections
  SignInLimit limit_;
  std::unordered_map<std::int64_t, Use> uses_;
  std::optional<Time> unavailable_told_;
  SessionPool<Session> pool_;  // last: it uses all above
};

}  // namespace waybill
