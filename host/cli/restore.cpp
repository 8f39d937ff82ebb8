// The fence as a command: what it prints, and as whom it acts.
#include "cli/restore.h"

#include <nlohmann/json.hpp>

#include "cli/columns.h"
#include "cli/given.h"
#include "cli/json_output.h"
#include "cli/progress_line.h"
#include "maintenance/restore_fence.h"
#include "store/operations/database_check.h"
#include "store/pg_stores.h"

namespace waybill {
namespace {

Json fence_json(const FenceReport& report, const FenceOrder& order) {
  Json targets = Json::array();
  for (const auto& [name, ended] : report.by_target)
    targets.push_back({{"organisation", name.first}, {"target", name.second}, {"ended", ended}});
  return {{"dryRun", order.dry_run},
          {"since", format_rfc3339(order.restored_to)},
          {"ended", report.ended},
          {"doubtNoted", report.noted},
          {"targets", std::move(targets)}};
}

void print_fence(const FenceReport& report, const FenceOrder& order) {
  const auto moment = format_rfc3339(order.restored_to);
  if (!report.is_new) print_line("goes on with the fence of " + moment + " that was begun before");
  print_line(std::to_string(report.ended) + (order.dry_run ? " one_shots would end" : " one_shots ended") +
             " as exhausted: restored, since they may have been sent after " + moment);
  std::vector<Line> lines{{"ORGANISATION", "TARGET", "ONE_SHOTS"}};
  for (const auto& [name, ended] : report.by_target) lines.push_back({name.first, name.second, std::to_string(ended)});
  if (lines.size() > 1) print_columns(lines);
  print_line(std::to_string(report.noted) + " others are sent again under their keys" +
             (order.dry_run ? "" : ", noted as maybe sent"));
  if (!order.dry_run && report.ended > 0) print_line("see them with: waybill failed list --reason restored");
}

}  // namespace

int fence_restore(const GlobalOptions& options, const RestoreOptions& wanted) {
  const auto since = parse_rfc3339_micros(wanted.since);
  if (!since) return failed("--since: \"" + wanted.since + "\" is no time as in 2026-11-23T09:30:00Z");
  const auto config = configuration(options);
  if (!config) return 1;
  Log log = quiet_log();
  const auto database = owned_database(*config, log);
  if (!database) return failed(database.error().what);
  const auto shards = read_shards(database->owner);
  if (!shards) return failed(shards.error().what);
  const auto fence = make_fence_store(database->owner);
  const auto queue = make_queue_store(database->owner);
  const auto settle = make_settle_store(database->owner, *shards);
  const FenceOrder order{.restored_to = *since,
                         .actor = actor_of(wanted.actor),
                         .shards = *shards,
                         .dry_run = wanted.dry_run,
                         .force = wanted.force};
  ProgressLine progress(wanted.dry_run ? "in doubt" : "ended");
  const auto done = fence_restored({*fence, *queue, *settle}, order, log, [&](std::int64_t ended) { progress.show(ended, 0); });
  progress.clear();
  if (!done) return failed(done.error().what);
  if (options.json)
    print_json(fence_json(*done, order));
  else
    print_fence(*done, order);
  return 0;
}

}  // namespace waybill
