// The commands on targets work on the database, whether a host runs or not.
#include "cli/targets.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "api/target_json.h"
#include "base/printing.h"
#include "cli/database_command.h"
#include "cli/finding.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "store/operations/queue_health.h"

namespace waybill {
namespace {

int with_targets(const GlobalOptions& options, const std::function<int(const Config&, TargetStore&)>& act) {
  return on_database(
      options, [&](const Config& config, const DatabaseAddress& address) { return act(config, *make_target_store(address)); });
}

Operator operator_of(const TargetOptions& wanted, const char* command) { return {actor_of(wanted.actor), command}; }

std::string words_of(const TargetPause& pause) {
  return "since " + format_rfc3339(pause.since) + " by " + pause.actor + ": " + pause.reason;
}

std::string words_of(const TargetOutage& outage) {
  return "since " + format_rfc3339(outage.since) + ": " + outage.reason +
         (outage.cooldown_until ? "; cools down until " + format_rfc3339(*outage.cooldown_until) : "");
}

void print(const StoppedTarget& stopped) {
  const std::string waiting =
      stopped.waiting >= kMaxWaitingCounted ? std::to_string(kMaxWaitingCounted) + " or more" : std::to_string(stopped.waiting);
  print_text(Ink::bold, "%s of organisation %s: ", stopped.name.target.c_str(), stopped.name.org.c_str());
  print_line(waiting + " wait");
  if (stopped.pause) print_line("  paused     " + words_of(*stopped.pause));
  if (stopped.outage) print_line("  in outage  " + words_of(*stopped.outage));
}

}  // namespace

int pause_target(const GlobalOptions& options, const TargetOptions& wanted) {
  return with_targets(options, [&](const Config& config, TargetStore& store) {
    const auto installation = load_installation(config, MissingPluginPolicy::tolerate);
    const bool is_known = installation.registry && has_target(*installation.registry, wanted.target);
    const TargetName name{wanted.org, wanted.target};
    const auto pause = store.pause(name, wanted.reason, is_known, operator_of(wanted, "target pause"));
    if (!pause) return failed(pause.error().what);
    if (options.json)
      print_json(paused_json(name, *pause));
    else
      print_line("paused: within a second no host sends anything to " + wanted.target +
                 " any more, but what is under way ends; deadlines run on, until `waybill target resume`");
    return 0;
  });
}

int resume_target(const GlobalOptions& options, const TargetOptions& wanted) {
  return with_targets(options, [&](const Config&, TargetStore& store) {
    const TargetName name{wanted.org, wanted.target};
    const auto resumed = store.resume(name, operator_of(wanted, "target resume"));
    if (!resumed) return failed(resumed.error().what);
    if (options.json) {
      print_json(resumed_json(name, *resumed));
      return 0;
    }
    if (resumed->pause) print_line("the pause is over, " + words_of(*resumed->pause));
    if (resumed->outage) print_line("the outage is over, " + words_of(*resumed->outage));
    if (resumed->findings > 0)
      print_line("forgotten: " + std::to_string(resumed->findings) + " host(s) alone found no way to it");
    if (!resumed->pause || resumed->made_due > 0)
      print_line("what waited for that goes out now: " + std::to_string(resumed->made_due) + " that were due later");
    return 0;
  });
}

int list_stopped_targets(const GlobalOptions& options, const TargetOptions& wanted) {
  return with_targets(options, [&](const Config&, TargetStore& store) {
    StoppedTargets all;
    do {
      const auto most = std::min(kMaxStoppedListed, wanted.limit - all.items.size());
      auto page = store.stopped(all.next, most);
      if (!page) return failed(page.error().what);
      all.next = std::move(page->next);
      for (auto& one : page->items) all.items.push_back(std::move(one));
    } while (!all.next.empty() && all.items.size() < wanted.limit);
    if (options.json) {
      print_json(stopped_json(all));
      return 0;
    }
    for (const auto& one : all.items) print(one);
    if (all.items.empty()) print_line("no target is paused or in an outage");
    if (!all.next.empty()) print_line("there are more: see --limit");
    return 0;
  });
}

}  // namespace waybill
