// A pool of readers whose answers the test decides.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "api/read_pool.h"
#include "api/token_check.h"
#include "domain/idempotency.h"

namespace waybill::testing {

// Safe from any thread.
class ReadWorld {
 public:
  ReadPool::Session session();
  std::vector<ReadPool::Session> sessions(int count) {
    std::vector<ReadPool::Session> all;
    for (int i = 0; i < count; ++i) all.push_back(session());
    return all;
  }
  std::vector<TokenCheck::Session> token_sessions(int count);

  void move(SubmissionId id) {
    const std::lock_guard lock(mutex_);
    moved_.insert(id);
  }
  void allow(const std::string& token, TokenView view) {
    const std::lock_guard lock(mutex_);
    tokens_[std::string(as_view(sha256(token)))] = std::move(view);
  }
  void revoke(const std::string& token) {
    const std::lock_guard lock(mutex_);
    tokens_.erase(std::string(as_view(sha256(token))));
  }

  // Held questions wait until they are released: those about tokens, and those whether submissions have moved.
  void hold_tokens() { set(tokens_held_, true); }
  void release_tokens() { set(tokens_held_, false); }
  void hold_moved() { set(moved_held_, true); }
  void release_moved() { set(moved_held_, false); }
  std::vector<TokenUse> uses() {
    const std::lock_guard lock(mutex_);
    return uses_;
  }

  std::atomic<bool> away{false};
  std::atomic<int> moved_calls{0}, token_calls{0}, compare_calls{0};

 private:
  friend class WorldReader;
  friend class WorldTokens;
  void set(bool& held, bool value) {
    const std::lock_guard lock(mutex_);
    held = value;
    released_.notify_all();
  }
  std::mutex mutex_;
  std::set<SubmissionId> moved_;
  std::map<std::string, TokenView> tokens_;
  std::vector<TokenUse> uses_;
  bool tokens_held_ = false, moved_held_ = false;
  std::condition_variable released_;
};

class WorldReader final : public ReadStore {
 public:
  explicit WorldReader(ReadWorld& world) : world_(world) {}
  Result<std::optional<SubmissionView>> find(OrgId, std::string_view, std::string_view) override { return std::nullopt; }
  Result<std::vector<std::optional<SubmitResult>>> compare(OrgId, std::string_view,
                                                           std::span<const SubmissionKey> keys) override {
    ++world_.compare_calls;
    return std::vector<std::optional<SubmitResult>>(keys.size());
  }
  Result<std::optional<HistoryView>> history(OrgId, std::string_view, std::string_view) override { return std::nullopt; }
  Result<SubmissionPage> intents(OrgId, const SubmissionFilter&, std::size_t, const std::optional<DeliveryCursor>&) override {
    return SubmissionPage{};
  }
  Result<std::optional<Explanation>> explain(OrgId, std::string_view, std::string_view) override { return std::nullopt; }
  Result<std::vector<DeliveryView>> deliveries(OrgId, std::string_view, std::string_view) override {
    return std::vector<DeliveryView>{};
  }
  Result<std::vector<SubmissionId>> moved(std::span<const SubmissionId> ids) override {
    ++world_.moved_calls;
    if (world_.away) return fail(Error::Kind::unavailable, "away");
    std::unique_lock lock(world_.mutex_);
    world_.released_.wait(lock, [&] { return !world_.moved_held_; });
    std::vector<SubmissionId> found;
    for (const auto id : ids)
      if (world_.moved_.contains(id)) found.push_back(id);
    return found;
  }
  Result<std::vector<HostView>> hosts() override { return std::vector<HostView>{}; }
  Result<std::vector<LivingHost>> living_hosts() override { return std::vector<LivingHost>{}; }
  Result<std::optional<OrgId>> organisation(const std::string&) override { return std::nullopt; }

 private:
  ReadWorld& world_;
};

class WorldTokens final : public TokenStore {
 public:
  explicit WorldTokens(ReadWorld& world) : world_(world) {}
  Result<std::optional<TokenView>> find(const Sha256& hash) override {
    ++world_.token_calls;
    std::unique_lock lock(world_.mutex_);
    world_.released_.wait(lock, [&] { return !world_.tokens_held_; });
    if (world_.away) return fail(Error::Kind::unavailable, "away");
    const auto at = world_.tokens_.find(std::string(as_view(hash)));
    return at == world_.tokens_.end() ? std::nullopt : std::optional(at->second);
  }
  Result<TokenRow> create(const NewToken&) override { return TokenRow{}; }
  Result<std::vector<TokenRow>> list(const std::optional<std::string>&, bool) override { return std::vector<TokenRow>{}; }
  Result<bool> revoke(const std::string&, const std::string&) override { return false; }
  Result<bool> revoke_by_id(const std::string&) override { return false; }
  Result<void> note_uses(std::span<const TokenUse> uses) override {
    if (world_.away) return fail(Error::Kind::unavailable, "away");
    const std::lock_guard lock(world_.mutex_);
    world_.uses_.insert(world_.uses_.end(), uses.begin(), uses.end());
    return {};
  }

 private:
  ReadWorld& world_;
};

inline ReadPool::Session ReadWorld::session() { return std::make_unique<WorldReader>(*this); }
inline std::vector<TokenCheck::Session> ReadWorld::token_sessions(int count) {
  std::vector<TokenCheck::Session> all;
  for (int i = 0; i < count; ++i) all.push_back(std::make_unique<WorldTokens>(*this));
  return all;
}

}  // namespace waybill::testing
