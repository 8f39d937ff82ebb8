// From what hosts say to findings.
#include "cli/host_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/database_clock.h"
#include "cli/doctor_limits.h"
#include "cli/living_hosts.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using namespace doctor_limits;

// Which of these hosts, by what they have there.
using HostsBy = std::map<std::string, std::vector<std::string>>;

std::string words_of(const HostsBy& hosts) {
  std::string words;
  for (const auto& [what, names] : hosts) {
    words.append(words.empty() ? "" : "; ").append(what).append(": ");
    for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) words.append(i == 0 ? "" : ", ").append(names[i]);
    if (names.size() > kNamed) words.append(" and " + std::to_string(names.size() - kNamed) + " more");
  }
  return words;
}

// What is odd about one; ok: nothing.
Finding judge_host(const RegisteredHost& host) {
  const auto& name = host.said.name;
  const auto tell = [&](Level level, std::string message, std::string remedy) {
    return Finding{level, "hosts", "host " + name + " " + std::move(message), std::move(remedy), name};
  };
  if (!host.lives)
    return tell(Level::warning, "has died, and no other has taken its work over yet",
                "start a host, or see rescue.failed in the others' log (docs/operations/runbook.md)");
  if (is_silent(host.said))
    return tell(Level::problem,
                "has said nothing for " + age_text(*host.said.told_ago) + ": it is stopped, hangs, or waits for the database",
                "see its log and its machine; restart it (docs/operations/running.md#several-hosts)");
  const auto report = report_of(host.said);
  if (!report.claims_nothing.empty())
    return tell(Level::problem, "claims nothing: " + report.claims_nothing,
                "upgrade or restart it (docs/operations/upgrading.md)");
  if (!report.drain.empty())
    return tell(Level::warning, "was drained " + report.drain + ", and claims nothing",
                "when it may work again: `waybill hosts resume " + report.name + "` (docs/operations/hosts.md)");
  if (report.is_draining)
    return tell(Level::warning, "is ending: it drains", "nothing, if somebody stopped it; it ends within timeouts.drain + 25 s");
  return tell(Level::ok, "is well", "");
}

}  // namespace

Findings judge_hosts(const std::vector<RegisteredHost>& hosts) {
  Findings all;
  std::size_t alive = 0;
  for (const auto& host : hosts) {
    alive += host.lives ? 1 : 0;
    if (auto found = judge_host(host); found.level != Level::ok) all.push_back(std::move(found));
  }
  if (alive == 0)
    all.insert(all.begin(), {Level::problem, "hosts", "no host runs: what is handed in to nobody waits, and nothing is sent",
                             "start one: `waybill serve` (docs/operations/running.md)"});
  else
    all.push_back({Level::ok, "hosts", std::to_string(alive) + " host(s) run", ""});
  return all;
}

Findings judge_host_versions(const std::vector<RegisteredHost>& hosts) {
  HostsBy programs;
  std::map<std::string, HostsBy> plugins;  // by action type
  for (const auto& host : hosts) {
    if (!host.lives) continue;
    const auto report = report_of(host.said);
    programs[(report.version.empty() ? "an earlier version" : report.version) + " (schema " + std::to_string(host.knows) + ")"]
        .push_back(host.said.name);
    for (const auto& [type, plugin] : report.plugins) plugins[type][plugin].push_back(host.said.name);
  }
  Findings all;
  const auto tell = [&](std::string message, const char* remedy, const std::string& subject) {
    all.push_back({Level::warning, "host versions", std::move(message), remedy, subject});
  };
  if (programs.size() > 1)
    tell("hosts run different programs: " + words_of(programs), "finish the upgrade (docs/operations/upgrading.md)", "");
  for (const auto& [type, versions] : plugins)
    if (versions.size() > 1)
      tell("hosts have different plugins for " + type + ": " + words_of(versions),
           "give all hosts the same files, then `waybill reload` on each machine (docs/operations/running.md)", type);
  if (all.empty())
    all.push_back(
        {Level::ok, "host versions", programs.empty() ? "no host runs" : "all hosts run " + programs.begin()->first, ""});
  return all;
}

Findings judge_host_types(const std::vector<RegisteredHost>& hosts) {
  std::map<std::string, HostsBy> off;  // by action type, then by why
  std::set<std::string> open;
  for (const auto& host : hosts) {
    if (!host.lives) continue;
    const auto report = report_of(host.said);
    for (const auto& [type, plugin] : report.plugins)
      if (!report.off.contains(type)) open.insert(type);
    for (const auto& [type, why] : report.off) off[type][why].push_back(host.said.name);
  }
  Findings all;
  for (const auto& [type, hosts_by_reason] : off)
    all.push_back(
        {open.contains(type) ? Level::warning : Level::problem, "action types",
         type + " is off" + (open.contains(type) ? " on some hosts: " : ": its work waits; ") + words_of(hosts_by_reason),
         "docs/operations/runbook.md#plugin_switched_off, docs/operations/runbook.md#plugin_hung", type});
  if (all.empty()) all.push_back({Level::ok, "action types", "none is switched off", ""});
  return all;
}

Findings judge_host_isolation(const std::vector<RegisteredHost>& hosts) {
  Findings all;
  for (const auto& host : hosts) {
    if (!host.lives) continue;
    for (const auto& [type, missing] : report_of(host.said).not_isolated) {
      std::string message = "on host ";
      message.append(host.said.name).append(" the plugin of ").append(type).append(" is not kept from: ").append(missing);
      all.push_back({Level::warning, "plugin isolation", std::move(message),
                     "let the machine allow it (docs/operations/running.md#plugins-in-processes-of-their-own)",
                     type + " on " + host.said.name});
    }
  }
  if (all.empty()) all.push_back({Level::ok, "plugin isolation", "as the configuration wishes", ""});
  return all;
}

Findings judge_host_clocks(const std::vector<RegisteredHost>& hosts) {
  Findings all;
  for (const auto& host : hosts) {
    const auto ahead = report_of(host.said).clock_ahead;
    if (!host.lives || !is_too_far(ahead)) continue;
    all.push_back({std::chrono::abs(ahead) < kSkewProblem ? Level::warning : Level::problem, "host clocks",
                   "the clock of host " + host.said.name + " is " + std::to_string(std::chrono::abs(ahead).count()) + " s " +
                       (ahead.count() < 0 ? "behind" : "ahead of") + " the database's",
                   "let both machines keep time, such as by NTP", host.said.name});
  }
  if (all.empty()) all.push_back({Level::ok, "host clocks", "none differs from the database's", ""});
  return all;
}

HostDigests digests_of(const std::vector<RegisteredHost>& hosts) {
  HostDigests all;
  for (const auto& host : hosts)
    if (host.lives) all.emplace_back(host.said.name, host.digest);
  return all;
}

Finding judge_registries(const HostDigests& hosts, const std::string& here) {
  std::string others;
  for (const auto& [name, digest] : hosts)
    if (!digest.empty() && digest != here)
      others.append(others.empty() ? "" : ", ").append(name).append(" runs by ").append(digest);
  if (others.empty())
    return {Level::ok, "hosts' registries",
            hosts.empty() ? "no host runs" : "every host that tells runs by " + here + ", as here", ""};
  return {Level::warning, "hosts' registries", "the one here is " + here + "; " + others,
          "give all hosts the same files, then run `waybill reload` on each machine (docs/operations/running.md)"};
}

}  // namespace waybill
