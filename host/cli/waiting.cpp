// The commands on what waits: what they print, and what they refuse before they ask the database.
#include "cli/waiting.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/target_json.h"
#include "api/waiting_json.h"
#include "base/duration.h"
#include "base/printing.h"
#include "cli/columns.h"
#include "cli/database_command.h"
#include "cli/finding.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"

namespace waybill {
namespace {

struct WaitingSession {
  const Config& config;
  OrgId org;
  WaitingStore& store;
};

int with_waiting(const GlobalOptions& options, const WaitingOptions& wanted,
                 const std::function<int(const WaitingSession&)>& act) {
  return on_organisation(options, wanted.org, [&](const Config& config, const Reading& reading) {
    return act({config, reading.org, *make_waiting_store(reading.database.address, reading.shards)});
  });
}

Result<std::optional<Seconds>> seconds_in(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<Seconds>();
  const auto length = parse_duration(text);
  if (!length || *length < Millis(1000))
    return fail(Error::Kind::invalid, std::string(option) + ": \"" + text + "\" is no time such as 30s, 10m, 2h or 3d");
  return std::optional(std::chrono::duration_cast<Seconds>(*length));
}

Result<WaitingFilter> filter_of(const WaitingOptions& wanted) {
  WaitingFilter filter{.target = wanted.target, .kind = wanted.kind, .older_than = {}};
  const auto older = seconds_in("--older-than", wanted.older_than);
  TRY(older);
  filter.older_than = *older;
  return filter;
}

void print_waiting(const WaitingPage& page, Timestamp now) {
  std::vector<Line> lines{{"ID", "AGE", "MAY START", "KIND", "TARGET", "REFERENCE", "TRIES", "LAST ERROR"}};
  for (const auto& one : page.items)
    lines.push_back({std::to_string(one.id.value), age_text(now - one.created), format_rfc3339(one.due), one.kind, one.target,
                     one.reference, std::to_string(one.history.attempt_count), one.last_error});
  if (page.items.empty())
    print_line("nothing waits");
  else
    print_columns(lines);
  if (page.next) print_line("there are more: see --limit, and waybill queue for how many");
}

void print_done(const WaitingDone& done, const char* verb, bool dry_run) {
  print_line(std::string(dry_run ? "would be " : "") + verb + ": " + std::to_string(done.count));
  if (done.may_be_sent > 0) print_line("of these may have been sent in an attempt before: " + std::to_string(done.may_be_sent));
  if (done.taken_by_others > 0)
    print_line("left to a host or somebody else who was faster: " + std::to_string(done.taken_by_others));
  if (done.refused > 0) print_line("refused: " + std::to_string(done.refused));
  for (const auto& [one, why] : done.examples)
    print_line("  " + std::to_string(one.id.value) + " (" + one.reference + "): " + why);
}

// Ends or reroutes, in one go however many there are.
int act_on_waiting(
    const GlobalOptions& options, const WaitingOptions& wanted, const char* command, const char* verb,
    const std::function<Result<WaitingDone>(const WaitingSession&, const WaitingOrder&, const WaitingProgress&)>& act) {
  return with_waiting(options, wanted, [&](const WaitingSession& session) {
    auto filter = filter_of(wanted);
    if (!filter) return failed(filter.error().what);
    ProgressLine progress(wanted.dry_run ? "counting what waits" : "going through what waits");
    progress.show();
    const WaitingOrder order{.org = session.org,
                             .filter = std::move(*filter),
                             .reason = wanted.reason,
                             .by = {actor_of(wanted.actor), command},
                             .dry_run = wanted.dry_run,
                             .most = std::numeric_limits<std::size_t>::max()};
    const auto done = act(session, order, [&](const WaitingDone&) { progress.show(); });
    progress.clear();
    if (!done) return failed(done.error().what);
    if (options.json)
      print_json(our_json(waiting_done_json(*done, wanted.dry_run)));
    else
      print_done(*done, verb, wanted.dry_run);
    return done->refused == 0 ? 0 : 1;
  });
}

std::string words_of(const RateOrder& order) {
  return rate_text(order.rate) + ", given by " + order.actor + " at " + format_rfc3339(order.since) + ", " +
         (order.until ? "until " + format_rfc3339(*order.until) : "until it is cleared");
}

int list_rates(const GlobalOptions& options, TargetStore& store) {
  const auto rates = store.rates();
  if (!rates) return failed(rates.error().what);
  if (options.json) {
    print_json(rates_json(*rates));
    return 0;
  }
  for (const auto& one : *rates) print_line(one.name.target + " of organisation " + one.name.org + ": " + words_of(one.order));
  if (rates->empty()) print_line("no target has a rate that an operator gave it");
  return 0;
}

int tell_rate(const GlobalOptions& options, const TargetName& name, const Result<RateOrder>& order, const char* words) {
  if (!order) return failed(order.error().what);
  if (options.json)
    print_json(rate_json(name, *order));
  else
    print_line(name.target + " of organisation " + name.org + ": " + words + " " + words_of(*order));
  return 0;
}

}  // namespace

int list_waiting(const GlobalOptions& options, const WaitingOptions& wanted) {
  return with_waiting(options, wanted, [&](const WaitingSession& session) {
    const auto filter = filter_of(wanted);
    if (!filter) return failed(filter.error().what);
    WaitingPage all;
    do {  // a page looks at so many deliveries, however few fit
      auto page =
          session.store.list(session.org, *filter, std::min(kMaxWaitingListed, wanted.limit - all.items.size()), all.next);
      if (!page) return failed(page.error().what);
      all.now = page->now;
      all.next = page->next;
      for (auto& one : page->items) all.items.push_back(std::move(one));
    } while (all.next && all.items.size() < wanted.limit);
    if (options.json)
      print_json(our_json(waiting_json(all)));
    else
      print_waiting(all, all.now);
    return 0;
  });
}

int end_what_waits(const GlobalOptions& options, const WaitingOptions& wanted) {
  return act_on_waiting(options, wanted, "waiting end", "ended",
                        [](const WaitingSession& session, const WaitingOrder& order, const WaitingProgress& progress) {
                          return end_waiting(session.store, order, progress);
                        });
}

int reroute_what_waits(const GlobalOptions& options, const WaitingOptions& wanted) {
  return act_on_waiting(
      options, wanted, "waiting reroute", "rerouted",
      [&](const WaitingSession& session, const WaitingOrder& order, const WaitingProgress& progress) -> Result<WaitingDone> {
        const auto installation = load_installation(session.config, MissingPluginPolicy::tolerate);
        if (!installation.registry) return fail(Error::Kind::invalid, "the registry has mistakes: see waybill check");
        return reroute_waiting(session.store, *installation.registry, *installation.catalogue, order, wanted.to, progress);
      });
}

int rate_target(const GlobalOptions& options, const WaitingOptions& wanted) {
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = fit_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto store = make_target_store(database->address);
  const bool is_order = wanted.per_second != 0 || wanted.per_minute != 0;
  if (wanted.target.empty() && !is_order && !wanted.clear) return list_rates(options, *store);
  if (wanted.target.empty()) return failed("say which target: --target");
  if (!is_order && !wanted.clear) return failed("say which rate: --per-second or --per-minute; or --clear");
  const TargetName name{wanted.org, wanted.target};
  const Operator by{actor_of(wanted.actor), "waiting rate"};
  if (wanted.clear) return tell_rate(options, name, store->clear_rate(name, by), "cleared is its rate of");
  const auto lasts = seconds_in("--for", wanted.lasts);
  if (!lasts) return failed(lasts.error().what);
  const auto installation = load_installation(*config, MissingPluginPolicy::tolerate);
  const bool is_known = installation.registry && has_target(*installation.registry, name.target);
  const Rate rate =
      wanted.per_second != 0 ? Rate{wanted.per_second, Seconds(1)} : Rate{wanted.per_minute, std::chrono::minutes(1)};
  return tell_rate(options, name, store->order_rate(name, rate, *lasts, is_known, by), "its rate is now");
}

}  // namespace waybill
