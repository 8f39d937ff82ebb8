// What a host says of itself in the database about once a second, for `waybill explain` and `waybill doctor`:
// host/cli/living_hosts.cpp reads it.
#include <nlohmann/json.hpp>

#include "app/host.h"
#include "app/host_identity.h"
#include "base/version.h"

namespace waybill {
namespace {
std::string words_of(const HostDrain& drain) {
  return "at " + format_rfc3339(drain.since) + " by " + drain.actor + ": " + drain.reason;
}
}  // namespace

// Before the first answer the host claims nothing, and while the database is away what it heard last holds.
Result<void> Host::hear_drain() {
  HeardHost host{lasting_name(config_), name_, built_version()};
  if (const auto at = succeeded_at_.load(); at != 0) host.succeeded_at = Timestamp{at};
  auto heard = stores_.maintenance->hear(host);
  TRY(heard);
  const std::lock_guard lock(drain_mutex_);
  may_claim_ = !*heard;
  if (drain_by_operator_ == *heard) return {};
  if (*heard) {
    log_.warn("host.drained", {{"name", host.name},
                               {"actor", (*heard)->actor},
                               {"reason", (*heard)->reason},
                               {"effect", "it claims nothing, and finishes what it has, until `waybill hosts resume`"}});
  } else {
    log_.info("host.resumed", {{"name", host.name}});
    signal_.walk();
  }
  drain_by_operator_ = std::move(*heard);
  return {};
}

std::optional<HostDrain> Host::drain_by_operator() const {
  const std::lock_guard lock(drain_mutex_);
  return drain_by_operator_;
}

void Host::note_success(std::span<const Finished> batch) {
  auto newest = succeeded_at_.load();
  for (const auto& one : batch)
    if (one.how == Finished::How::attempted && one.outcome->verdict == Verdict::accepted)
      newest = std::max(newest, one.finished_at.micros);
  succeeded_at_ = newest;
}

// A new fact is a line here, and one where it is read; readers of other versions pass over what they do not know.
Result<void> Host::tell_facts() {
  const auto host = maintenance_.host();
  if (!host) return {};
  TRY(hear_drain());
  const auto drain = drain_by_operator();
  const auto looked_ago = std::chrono::duration_cast<Millis>(clock_.now() - claimer_.looked_at());
  nlohmann::json types = nlohmann::json::array(), plugins = nlohmann::json::object(), off = nlohmann::json::object();
  for (const auto& plugin : installation_.catalogue->loaded())
    for (const auto& type : plugin.action_types) {
      types.push_back(type);
      plugins[type] = {{"plugin", plugin.id + " " + plugin.version},
                       {"isolation", word_of(plugin.isolation.mode)},
                       {"draining", sender_renewal_.draining(type)},
                       {"notIsolated", plugin.not_isolated}};
    }
  for (const auto& type : registry_.action_types())
    if (const auto why = blocked_reason(type); !why.empty()) off[type] = why;
  const nlohmann::json facts{{"name", lasting_name(config_)},
                             {"version", built_version()},
                             {"draining", draining_.load()},
                             {"drain", drain ? words_of(*drain) : ""},
                             {"notReady", not_ready()},
                             {"inFlight", planner_.held()},
                             {"claimsNothing", why_outdated()},
                             {"clockAheadSeconds", clock_.skew().count()},
                             {"lookedAgoMs", std::max<Millis::rep>(0, looked_ago.count())},
                             {"freeBytes", planner_.free_bytes()},
                             {"maxBytes", config_.limits.in_flight_bytes},
                             {"actionTypes", std::move(types)},
                             {"plugins", std::move(plugins)},
                             {"off", std::move(off)}};
  return stores_.maintenance->tell(*host, facts.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace waybill
