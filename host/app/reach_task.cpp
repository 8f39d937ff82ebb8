// Connections for their own sake, until one is made.
#include "app/reach_task.h"

#include <utility>

#include "services/connect_check.h"

namespace waybill {
namespace {

constexpr Millis kMaxConnect{2'000};  // of one connection
constexpr auto kBlindTry = std::chrono::seconds(30);

struct Told {
  std::optional<HostId> as;  // the host that others know to be cut off
  Clock::Monotonic at{};
  std::size_t next = 0;  // connection
};

Result<void> tell(const HostReach::CutOff& cut_off, HostId host, MaintenanceStore& store, const Clock& clock, Told& told,
                  Log& log) {
  const auto& target = cut_off.unreachable.front().target;
  TRY(store.cut_off(host, cut_off.since, target));
  if (!told.as) {
    told.at = clock.now();
    log.error("host.cut_off", {{"since", format_rfc3339(cut_off.since)},
                               {"why", "it reaches nothing, while another host reaches " + target},
                               {"effect", "it claims nothing until it reaches something again"}});
  }
  told.as = host;
  return {};
}

// The next target to try: one that others reach, or any. None if it has no URL.
std::optional<Contract> next_target(const HostReach::CutOff& cut_off, const Registry& registry, Told& told) {
  const auto turn = told.next / 2;
  const bool is_any = told.next++ % 2 == 1 && !registry.targets().empty();
  if (is_any) return registry.targets()[turn % registry.targets().size()];
  const auto* contract = registry.find(cut_off.unreachable[turn % cut_off.unreachable.size()].target);
  return contract ? std::optional(*contract) : std::nullopt;
}

Result<bool> is_over(const HostReach::CutOff& cut_off, HostId host, MaintenanceStore& store, const ReachWays& ways,
                     const EgressPolicy& policy, const Clock& clock, Told& told) {
  if (const auto target = next_target(cut_off, *ways.registry(), told)) {
    if (try_connect(target->url, ways.transport(*target), policy, kMaxConnect)) return true;
  } else if (clock.now() - told.at >= kBlindTry) {
    return true;
  }
  return store.is_alone(host);
}

}  // namespace

PeriodicTask reach_task(HostReach& reach, MaintenanceStore& store, std::shared_ptr<const EgressPolicy> policy, ReachWays ways,
                        const Clock& clock, Log& log) {
  return {"reach", Seconds(1),
          [&reach, &store, policy = std::move(policy), ways = std::move(ways), &clock, &log,
           told = Told{}]() mutable -> Result<void> {
            const auto cut_off = reach.cut_off();
            const auto host = ways.host();
            if (!cut_off || !host) return {};
            if (told.as != host) TRY(tell(*cut_off, *host, store, clock, told, log));
            const auto over = is_over(*cut_off, *host, store, ways, *policy, clock, told);
            TRY(over);
            if (!*over) return {};
            const auto at = store.reaches_again(*host);
            TRY(at);
            reach.recovered(*at);
            told = {};
            log.info("host.reaches_again", {{"was_cut_off_since", format_rfc3339(cut_off->since)}});
            ways.recovered();
            return {};
          }};
}

}  // namespace waybill
