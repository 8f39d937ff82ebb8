// From statistics to findings.
#include "cli/table_rules.h"

#include <algorithm>

#include "cli/doctor_limits.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using namespace doctor_limits;

}  // namespace

Findings judge_vacuum(bool autovacuum_is_on, const std::vector<TableBehind>& tables) {
  Findings all;
  const auto tell = [&](Level level, std::string message, std::string remedy, std::string table) {
    all.push_back({level, "table vacuum", std::move(message), std::move(remedy), std::move(table)});
  };
  if (!autovacuum_is_on)
    tell(Level::problem, "autovacuum is off: dead rows pile up, and in the end the server takes no more writes",
         "set autovacuum to on and reload the server (docs/operations/database.md#vacuum)", "");
  for (const auto& table : tables) {
    if (table.is_left_alone) {
      tell(Level::problem, "autovacuum leaves it alone (autovacuum_enabled)",
           "ALTER TABLE " + table.name + " RESET (autovacuum_enabled)", table.name);
      continue;
    }
    if (table.dead <= std::max(kDeadRows, kDeadTimes * table.awaited) || table.since_vacuum <= kVacuumAgo) continue;
    tell(Level::warning,
         std::to_string(table.dead) + " dead rows, where autovacuum comes from " + std::to_string(table.awaited) +
             " on, and no vacuum for " + age_text(table.since_vacuum),
         "see whether something holds it up (`database transactions`), then VACUUM (docs/operations/database.md#vacuum)",
         table.name);
  }
  if (all.empty()) tell(Level::ok, "autovacuum keeps up", "", "");
  return all;
}

Finding judge_queue_size(const QueueSize& size) {
  const auto is =
      "the table ready has " + size_text(size.bytes) + " for about " + std::to_string(size.about_rows) + " unfinished deliveries";
  if (size.bytes < kBloatBytes || size.bytes < kBloatTimes * kReadyRow * std::max<std::int64_t>(size.about_rows, 1))
    return {Level::ok, "table bloat", is, ""};
  return {Level::warning, "table bloat", is + ": a long backlog or an old snapshot has left it so",
          "VACUUM (ANALYZE) ready, and REINDEX TABLE CONCURRENTLY ready (docs/operations/database.md#indexes)"};
}

Findings judge_indexes(const std::vector<OddIndex>& indexes) {
  Findings all;
  for (const auto& index : indexes)
    if (!index.is_valid)
      all.push_back(
          {Level::warning, "index validity",
           "index \"" + index.name + "\" of " + index.table + " is not valid: it is written and of no use, or still being made",
           "unless something makes it now: REINDEX INDEX CONCURRENTLY, or drop one that ends in _ccnew or _ccold", index.name});
  if (all.empty()) all.push_back({Level::ok, "index validity", "all indexes are valid", ""});
  for (const auto& index : indexes)
    if (index.is_valid)
      all.push_back({Level::note, "index use",
                     "index \"" + index.name + "\" of " + index.table + " has " + size_text(index.bytes) +
                         " and was not used in the last week or longer",
                     "", index.name});
  if (std::all_of(indexes.begin(), indexes.end(), [](const OddIndex& index) { return !index.is_valid; }))
    all.push_back({Level::ok, "index use", "no large index is unused", ""});
  return all;
}

Findings judge_months(const std::vector<LogMonth>& months) {
  Findings all;
  std::string told;
  for (const auto& month : months) {
    const auto name = month.log + " " + month.month;
    if (!month.is_there)
      all.push_back({month.months_ahead == 0 ? Level::problem : Level::warning, "partitions",
                     "there is no partition of " + month.log + " for " + month.month +
                         (month.months_ahead == 0 ? ": its rows go to the default one" : ", which hosts make two months ahead"),
                     "see maintenance.failed in the hosts' log (docs/operations/upgrading.md#partitions-wait-too)", name});
    if (month.default_has_rows && told != month.log)
      all.push_back({Level::warning, "partitions", month.log + "_default has rows: their month cannot get a partition of its own",
                     "docs/operations/database.md#old-months", told = month.log});
  }
  if (all.empty()) all.push_back({Level::ok, "partitions", "this month's and the next one's are there", ""});
  return all;
}

}  // namespace waybill
