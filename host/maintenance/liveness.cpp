// The thread that keeps this host alive: it holds on to its session and renews the leases of claims that take long, and of the
// organisations whose channels this host serves.
#include "maintenance/liveness.h"

namespace waybill {
namespace {
constexpr int kRenewalsInALease = 4;
constexpr auto kAfterFailure = std::chrono::seconds(1);
constexpr auto kSlowAnswer = std::chrono::milliseconds(500);  // who asked for the time does not know it so well any more
}  // namespace

Liveness::Liveness(HostLiveness& liveness, const Clock& clock, LivenessSettings settings, LivenessHooks hooks, Log& log,
                   Metrics& metrics)
    : liveness_(liveness),
      clock_(clock),
      settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      log_(log),
      metrics_(metrics),
      renew_at_(clock.now() + settings_.lease / kRenewalsInALease) {}

void Liveness::start() {
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

std::optional<HostId> Liveness::host() const {
  const std::int64_t id = host_.load();
  return id == 0 ? std::nullopt : std::optional(HostId{id});
}

void Liveness::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Liveness::run(std::stop_token stop) {
  while (!stop.stop_requested()) {
    keep();
    if (host() && clock_.now() >= renew_at_) renew_leases();
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, settings_.every, [] { return false; });
  }
  liveness_.leave();
  host_ = 0;
}

void Liveness::keep() {
  const auto asked = clock_.now();
  const auto id = liveness_.keep();
  const auto answered = clock_.now();
  if (const auto time = liveness_.time(); time && answered - asked < kSlowAnswer && hooks_.database_time)
    hooks_.database_time(*time, answered);
  look_at_schema();
  metrics_.database_up(id.has_value());
  if (!id) {
    if (host_.exchange(0) != 0) log_.error("database.lost", {{"error", id.error().what}});
    return;
  }
  if (last_.value != 0 && last_ != *id) {
    host_ = 0;  // nothing is claimed meanwhile
    log_.error("host.was_rescued", {{"host", last_.value}, {"now", id->value}, {"effect", "what has not begun is withdrawn"}});
    hooks_.rescued();
    held_.clear();
  }
  last_ = *id;
  if (host_.exchange(id->value) == id->value) return;
  log_.info("host.present", {{"host", id->value}, {"name", settings_.name}});
  hooks_.present();
}

void Liveness::look_at_schema() {
  const auto fits = refuse_too_new(liveness_.schema());
  if (fits || outdated_.exchange(true)) return;
  log_.error("host.outdated", {{"problem", fits.error().what}});
  if (hooks_.outdated) hooks_.outdated(fits.error().what);
}

// Of each claim that was held at the last look too: most are settled long before that.
void Liveness::renew_leases() {
  const auto open = hooks_.open_claims();
  std::set<std::pair<Shard, ClaimToken>> held;
  for (const auto& [shard, tokens] : open) {
    std::vector<ClaimToken> old;
    for (const auto token : tokens) {
      held.emplace(shard, token);
      if (held_.contains({shard, token})) old.push_back(token);
    }
    if (old.empty()) continue;
    if (const auto done = liveness_.renew(shard, old, settings_.lease); !done) {
      log_.warn("lease.not_renewed", {{"claims", old.size()}, {"error", done.error().what}});
      renew_at_ = clock_.now() + kAfterFailure;
      return;
    }
  }
  held_ = std::move(held);
  if (const auto done = liveness_.renew_channels(settings_.lease); !done) {
    log_.warn("lease.not_renewed", {{"of", "channel_hosts"}, {"error", done.error().what}});
    renew_at_ = clock_.now() + kAfterFailure;
    return;
  }
  renew_at_ = clock_.now() + settings_.lease / kRenewalsInALease;
}

}  // namespace waybill
