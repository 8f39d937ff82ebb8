// From the header to a principal.
#include "api/token_check.h"

#include <algorithm>

#include "api/error_reply.h"
#include "api/token_text.h"
#include "domain/idempotency.h"
#include "http/field_value.h"

namespace waybill {
namespace {

constexpr auto kRemember = std::chrono::seconds(1);
constexpr auto kUsePause = std::chrono::seconds(60);
constexpr auto kUnavailablePause = std::chrono::seconds(10);
constexpr std::size_t kMaxUses = 100'000;
constexpr const char* kLimited = "limited";

http::Principal principal_of(const TokenView& token) {
  auto role = role_from(token.role).value_or(http::Role::none);
  if (role == http::Role::operator_ && token.org != kDefaultOrg) role = http::Role::none;
  std::shared_ptr<const http::Scope> scope;
  if (!token.targets.empty() || !token.paths.empty())
    scope = std::make_shared<const http::Scope>(http::Scope{token.targets, token.paths});
  return {.org = token.org, .role = role, .name = token.name, .org_name = token.org_name, .scope = std::move(scope)};
}

const char* wrong_because(const std::optional<TokenView>& found) {
  if (!found) return "unknown";
  switch (found->state) {
    case TokenView::State::live:
      break;
    case TokenView::State::expired:
      return "expired";
    case TokenView::State::revoked:
      return "revoked";
  }
  return nullptr;
}

}  // namespace

std::optional<http::Role> role_from(std::string_view word) {
  if (word == "member") return http::Role::member;
  if (word == "admin") return http::Role::admin;
  if (word == "owner") return http::Role::owner;
  if (word == "operator") return http::Role::operator_;
  return std::nullopt;
}

TokenCheck::TokenCheck(std::vector<Session> sessions, const Clock& clock, TokenCheckSettings settings, Log& log, Metrics& metrics)
    : clock_(clock),
      log_(log),
      metrics_(metrics),
      limit_(clock, settings.failed_sign_ins),
      pool_(std::move(sessions), settings.patience) {}

void TokenCheck::operator()(const http::Request& request, Answer answer) {
  const auto token = http::bearer_token(request.authorization);
  Sha256 hash{};
  if (!token.empty())
    hash = sha256(token);
  else if (request.certificate.size() == hash.size())
    std::copy(request.certificate.begin(), request.certificate.end(), hash.begin());
  else
    return answer(std::nullopt);
  const std::string key(as_view(hash));

  std::unique_lock lock(mutex_);
  const auto now = clock_.now();
  const Known* known = known_.find(key);
  if (known && now < known->until) {
    http::Admission admission = known->admission;
    lock.unlock();
    return answer(std::move(admission));
  }
  if (!known && limit_.is_over(request.peer)) {
    const auto wrong = failure(request.peer, std::string(public_id_of(token)), kLimited);
    auto refusal = too_many(request.peer);
    lock.unlock();
    tell(wrong);
    return answer(std::move(refusal));
  }
  if (const Unknown* wrong = unknown_.find(key); wrong && now < wrong->until) {
    const auto again = failure(request.peer, wrong->id, wrong->reason);
    lock.unlock();
    tell(again);
    return answer(std::nullopt);
  }
  auto& lookup = lookups_[key];
  if (lookup && (!lookup->asked || now - *lookup->asked < kRemember)) {
    lookup->waiters.push_back({request.peer, std::move(answer)});
    return;
  }
  lookup = std::make_shared<Lookup>();
  lookup->id = public_id_of(token);
  lookup->waiters.push_back({request.peer, std::move(answer)});
  const auto mine = lookup;
  lock.unlock();
  look_up(key, hash, mine);
}

void TokenCheck::look_up(const std::string& key, const Sha256& hash, const std::shared_ptr<Lookup>& lookup) {
  // Ends the lookup however the question ends, also unasked.
  struct End {
    TokenCheck& check;
    const std::string key;
    const std::shared_ptr<Lookup> lookup;
    Result<std::optional<TokenView>> found = fail(Error::Kind::unavailable, "not asked in time");
    ~End() { check.finish(key, lookup, found); }
  };
  const std::shared_ptr<End> end(new End{*this, key, lookup});
  pool_.offer([this, hash, end](Session& session) {
    {
      const std::lock_guard lock(mutex_);
      end->lookup->asked = clock_.now();
    }
    end->found = session->find(hash);
  });
}

void TokenCheck::finish(const std::string& key, const std::shared_ptr<Lookup>& lookup,
                        const Result<std::optional<TokenView>>& found) {
  std::vector<Lookup::Waiter> waiters;
  std::vector<Failure> failures;
  http::Admission admission = std::nullopt;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = lookups_.find(key); at != lookups_.end() && at->second == lookup) lookups_.erase(at);
    waiters.swap(lookup->waiters);
    if (!found) {
      admission = failure_response(found.error());
    } else {
      admission = judge(key, *lookup, *found);
      if (const char* reason = wrong_because(*found))
        for (const auto& waiter : waiters) failures.push_back(failure(waiter.peer, *found ? (*found)->id : lookup->id, reason));
    }
  }
  for (const auto& one : failures) tell(one);
  if (!found) tell_unavailable(found.error());
  for (const auto& waiter : waiters) waiter.answer(admission);
}

// What the database knows of a token, remembered for a second.
http::Admission TokenCheck::judge(const std::string& key, const Lookup& lookup, const std::optional<TokenView>& found) {
  const Time until = *lookup.asked + kRemember;
  if (const char* reason = wrong_because(found)) {
    known_.erase(key);
    unknown_.put(key, {reason, found ? found->id : lookup.id, until});
    return std::nullopt;
  }
  unknown_.erase(key);
  http::Admission admission = std::nullopt;
  if (found->org_disabled)
    admission = http::error_response(403, "organisation_disabled", "the token's organisation is disabled");
  else
    admission = principal_of(*found);
  known_.put(key, {admission, found->lasts ? std::min(until, *lookup.asked + *found->lasts) : until});
  if (uses_.size() < kMaxUses || uses_.contains(found->number)) uses_[found->number].last = *lookup.asked;
  return admission;
}

http::Response TokenCheck::too_many(const std::string& peer) {
  auto response = http::error_response(429, "rate_limited", "too many wrong tokens from this address; try again later");
  response.headers.emplace_back("Retry-After", std::to_string(limit_.retry_after(peer).count()));
  return response;
}

TokenCheck::Failure TokenCheck::failure(const std::string& peer, const std::string& id, const char* reason) {
  if (reason != kLimited) limit_.count(peer);
  return {peer, id, reason, limit_.tell(peer)};
}

void TokenCheck::tell(const Failure& failure) {
  metrics_.sign_in_failed(failure.reason);
  if (failure.told)
    log_.warn("auth.failed",
              {{"peer", failure.peer}, {"token", failure.id}, {"reason", failure.reason}, {"count", *failure.told}});
}

// The tokens cannot be looked at: a lock, or no database. Said now and then while it lasts.
void TokenCheck::tell_unavailable(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    const auto now = clock_.now();
    if (unavailable_told_ && now - *unavailable_told_ < kUnavailablePause) return;
    unavailable_told_ = now;
  }
  log_.warn("auth.unavailable", {{"error", error.what}, {"effect", "requests whose token is not remembered get 503"}});
}

Result<void> TokenCheck::note_uses(TokenStore& store) {
  std::vector<TokenUse> uses;
  std::vector<std::pair<std::int64_t, Time>> taken;
  {
    const std::lock_guard lock(mutex_);
    const auto now = clock_.now();
    for (auto at = uses_.begin(); at != uses_.end();) {
      const auto& [number, use] = *at;
      const bool is_told = use.stored && use.last - *use.stored < kUsePause;
      if (!is_told) {
        uses.push_back({number, std::chrono::duration_cast<Micros>(now - use.last)});
        taken.emplace_back(number, use.last);
      }
      at = is_told && now - *use.stored >= kUsePause ? uses_.erase(at) : std::next(at);
    }
  }
  if (uses.empty()) return {};
  TRY(store.note_uses(uses));
  const std::lock_guard lock(mutex_);
  for (const auto& [number, last] : taken) uses_[number].stored = last;
  return {};
}

}  // namespace waybill
