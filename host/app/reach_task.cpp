// Connections for their own sake, until one is made.
#include "app/reach_task.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/json_reader.h"
#include "services/connect_check.h"
#include "services/endpoint.h"

namespace waybill {
namespace {

constexpr Millis kMaxConnect{2'000};  // of one connection
constexpr Clock::Monotonic::duration kBlindTry = std::chrono::seconds(30), kMaxBlindTry = std::chrono::minutes(10);
constexpr std::string_view kSender = "sender:";

struct Told {
  std::optional<HostId> as;  // the host that others know to be cut off
  Clock::Monotonic at{};
  std::size_t next = 0;  // destination
  bool knows_one = false;
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

// The next one to try: one that others reach, or any.
std::string next_key(const HostReach::CutOff& cut_off, const std::vector<std::string>& all, Told& told) {
  const auto turn = told.next / 2;
  const bool is_any = told.next++ % 2 == 1 && !all.empty();
  return is_any ? all[turn % all.size()] : cut_off.unreachable[turn % cut_off.unreachable.size()].target;
}

// Where the mail of a sender goes (plugins/email_raw/README.md); empty if it is none.
std::string relay_of(const std::string& action_type, const std::string& settings) {
  const auto read = read_json(settings.empty() ? "{}" : settings);
  if (read && read->is_object())
    if (const auto relay = read->find("relay"); relay != read->end() && relay->is_string()) return relay->get<std::string>();
  return action_type.starts_with("email_") ? "smtp://localhost:25" : "";
}

}  // namespace

PeriodicTask reach_task(HostReach& reach, MaintenanceStore& store, ReachWays ways, const Clock& clock, Log& log) {
  return {"reach", Seconds(1),
          [&reach, &store, ways = std::move(ways), &clock, &log, told = Told{}, blind = kBlindTry]() mutable -> Result<void> {
            const auto cut_off = reach.cut_off();
            const auto host = ways.host();
            if (!cut_off || !host) return {};
            if (told.as != host) TRY(tell(*cut_off, *host, store, clock, told, log));
            const auto is_reached = ways.reaches(next_key(*cut_off, ways.all_keys(), told));
            told.knows_one |= is_reached.has_value();
            const bool is_blind = !told.knows_one && clock.now() - told.at >= blind;
            if (!is_reached.value_or(is_blind)) {
              const auto is_alone = store.is_alone(*host);
              TRY(is_alone);
              if (!*is_alone) return {};
            }
            TRY(store.reaches_again(*host));
            if (is_reached.value_or(false))
              reach.recovered(clock.now());
            else
              reach.tries_anyway(clock.now());
            blind = is_blind ? std::min(2 * blind, kMaxBlindTry) : kBlindTry;
            told = {};
            log.info("host.reaches_again", {{"was_cut_off_since", format_rfc3339(cut_off->since)}});
            ways.recovered();
            return {};
          }};
}

std::vector<std::string> cooldown_keys(const Registry& registry) {
  std::set<std::string> keys;
  for (const auto& target : registry.targets()) keys.insert(target.cooldown_key());
  for (const auto& form : registry.forms())
    for (const auto& action : form.actions) keys.insert(std::string(kSender) + action.action_type);
  return {keys.begin(), keys.end()};
}

Reaches reaches_by_connecting(std::map<std::string, std::string> senders, std::shared_ptr<const EgressPolicy> policy,
                              std::function<std::shared_ptr<const Registry>()> registry,
                              std::function<std::shared_ptr<const Transport>(const Contract&)> transport) {
  return [senders = std::move(senders), policy = std::move(policy), registry = std::move(registry),
          transport = std::move(transport)](const std::string& key) -> std::optional<bool> {
    if (key.starts_with(kSender)) {
      const auto type = key.substr(kSender.size());
      const auto settings = senders.find(type);
      const auto relay = parse_endpoint(relay_of(type, settings == senders.end() ? "" : settings->second), {"smtp", "smtps"});
      if (!relay) return std::nullopt;
      return try_connect("http://" + relay->authority, nullptr, *policy, kMaxConnect).has_value();  // as far as TCP
    }
    const auto known = registry();
    const auto* contract = known->find(key);
    if (contract == nullptr) return std::nullopt;
    const auto tried = try_connect(contract->url, transport(*contract), *policy, kMaxConnect);
    if (!tried && tried.error().kind == Error::Kind::invalid) return std::nullopt;
    return tried.has_value();
  };
}

}  // namespace waybill
