// From facts of a server to findings.
#include "cli/server_rules.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/database_clock.h"
#include "base/duration.h"
#include "cli/doctor_limits.h"

namespace waybill {
namespace {

using Level = Finding::Level;
using namespace doctor_limits;

constexpr auto kRight = "grant this role pg_monitor (docs/operations/doctor.md#rights)";
constexpr auto kVacuumWaits = "end it: pg_terminate_backend(PID), or ROLLBACK PREPARED (docs/operations/database.md)";

std::string millions(std::int64_t transactions) { return std::to_string(transactions / 1'000'000) + " million"; }

}  // namespace

Finding judge_version(const ServerState& server) {
  auto is = "PostgreSQL " + server.version + ", as role \"" + server.role + "\"";
  if (server.version_number >= kOldestServer) return {Level::ok, "database version", std::move(is), ""};
  return {Level::problem, "database version", is + ": Waybill needs 15 or later",
          "upgrade the server (docs/operations/running.md)"};
}

Finding judge_standby(const ServerState& server) {
  if (!server.is_standby) return {Level::ok, "database standby", "the server takes writes", ""};
  return {Level::problem, "database standby", "the server is a standby and only reads",
          "name all servers in database.url and add target_session_attrs=read-write "
          "(docs/operations/database-errors.md#a-read-only-server)"};
}

Findings judge_settings(const ServerState& server) {
  const auto durable = "docs/operations/database-errors.md#durability";
  Findings all;
  const auto tell = [&](Level level, std::string message, std::string remedy) {
    all.push_back({level, "database settings", std::move(message), std::move(remedy)});
  };
  if (!server.fsync)
    tell(Level::problem, "fsync is off: if the server's machine fails, what was acknowledged may be lost",
         std::string("set it to on: ") + durable);
  if (!server.full_page_writes)
    tell(Level::problem, "full_page_writes is off: if the server's machine fails, pages may be torn",
         std::string("set it to on: ") + durable);
  if (server.synchronous_commit == "off")
    tell(Level::warning, "synchronous_commit is off for this role, database or server; hosts commit with on all the same",
         std::string("set it to on for this role: ") + durable);
  if (server.checkpoint_timeout < kShortCheckpoint || server.max_wal_size < kSmallWal)
    tell(Level::warning,
         "checkpoint_timeout is " + format_duration(server.checkpoint_timeout) + " and max_wal_size " +
             size_text(server.max_wal_size) + ": checkpoints come so often that most writes are of whole pages",
         "set checkpoint_timeout to 5min or more and max_wal_size to 1GB or more");
  if (all.empty()) tell(Level::ok, "fsync, full_page_writes and synchronous_commit are on", "");
  if (!server.checksums) tell(Level::note, "data_checksums is off: the server does not notice what a disk has damaged", "");
  return all;
}

Finding judge_buffers(const ServerState& server, std::int64_t machine_memory) {
  const auto are = "shared_buffers is " + size_text(server.shared_buffers);
  if (!server.is_local || server.shared_buffers > kDefaultBuffers || machine_memory < kLargeMachine)
    return {Level::ok, "database memory", are, ""};
  return {
      Level::note, "database memory",
      are + ", the default, on a machine with " + size_text(machine_memory) + ": a quarter of it is usual on a server of its own",
      ""};
}

Finding judge_connections(const ServerState& server) {
  const int percent = server.connections > 0 ? server.used * 100 / server.connections : 100;
  const auto use = std::to_string(server.used) + " of " + std::to_string(server.connections) + " connections are in use";
  if (percent < kConnectionsWarning) return {Level::ok, "database connections", use, ""};
  return {percent < kConnectionsProblem ? Level::warning : Level::problem, "database connections", use,
          "raise max_connections, or end what holds them (pg_stat_activity): docs/operations/sizing.md"};
}

Finding judge_session_limits(const ServerState& server, Millis longest_task) {
  std::string cut;
  if (server.idle_session.count() > 0 && server.idle_session < kShortIdleSession)
    cut = "idle_session_timeout is " + format_duration(server.idle_session) + ": hosts lose the sessions that they keep";
  if (server.transaction.count() > 0 && server.transaction < longest_task)
    cut.append(cut.empty() ? "" : "; ")
        .append("transaction_timeout is " + format_duration(server.transaction) + ", and a periodic task may take " +
                format_duration(longest_task));
  if (cut.empty()) return {Level::ok, "database time limits", "none cuts what hosts do", ""};
  return {Level::warning, "database time limits", std::move(cut), "ALTER ROLE ... SET ... = 0 for the role of database.url"};
}

Finding judge_wraparound(const ServerState& server) {
  const auto oldest = std::max(server.transaction_age, server.multixact_age);
  const auto age = "the oldest transaction that some table still names is " + millions(oldest) + " transactions old";
  const auto warning = std::max(kAgeWarning, std::min(2 * server.freeze_max_age, kAgeProblem));
  if (oldest < warning) return {Level::ok, "database wraparound", age, ""};
  return {oldest < kAgeProblem ? Level::warning : Level::problem, "database wraparound",
          age + "; at 2,000 million the server takes no more writes",
          "find what holds vacuum up (`database transactions`), then VACUUM FREEZE (docs/operations/database.md#vacuum)"};
}

Finding judge_clock(Seconds ahead) {
  const auto differ = "this machine's clock is " + std::to_string(std::abs(ahead.count())) + " s " +
                      (ahead.count() < 0 ? "behind" : "ahead of") + " the database's";
  if (!is_too_far(ahead)) return {Level::ok, "database clock", differ, ""};
  return {std::chrono::abs(ahead) < kSkewProblem ? Level::warning : Level::problem, "database clock", differ,
          "let both machines keep time, such as by NTP"};
}

int standbys_needed(const std::string& synchronous_names) {
  const auto begin = synchronous_names.find_first_not_of(' ');
  if (begin == std::string::npos) return 0;
  const auto bracket = synchronous_names.find('(');
  if (bracket == std::string::npos) return 1;
  const auto digit = std::find_if(synchronous_names.begin(), synchronous_names.begin() + static_cast<std::ptrdiff_t>(bracket),
                                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return std::max(1, std::atoi(&*digit));
}

Finding judge_synchronous(const ServerState& server, const Replication& replication) {
  const int needed = standbys_needed(replication.synchronous_names);
  if (needed == 0 || server.synchronous_commit == "local")
    return {Level::ok, "database synchronous", "commits wait for no standby", ""};
  int connected = 0, hidden = 0;
  for (const auto& standby : replication.standbys) {
    hidden += !standby.sync_state ? 1 : 0;
    connected += standby.sync_state == "sync" || standby.sync_state == "quorum" ? 1 : 0;
  }
  auto state = "commits wait for " + std::to_string(needed) + " of \"" + replication.synchronous_names + "\"; " +
               std::to_string(connected) + " are connected";
  if (connected >= needed) return {Level::ok, "database synchronous", std::move(state), ""};
  if (hidden > 0)
    return {Level::unknown, "database synchronous", "this role does not see which standbys are synchronous", kRight};
  state += ": nothing is acknowledged until that changes";
  if (replication.waiting > 0) state += "; " + std::to_string(replication.waiting) + " session(s) wait now";
  return {Level::problem, "database synchronous", std::move(state),
          "start the standby, or take it out of synchronous_standby_names and reload (docs/operations/doctor.md#replication)"};
}

Findings judge_standbys(const Replication& replication) {
  Findings all;
  for (const auto& standby : replication.standbys) {
    const auto tell = [&](Level level, std::string message, std::string remedy) {
      all.push_back({level, "database replication", std::move(message), std::move(remedy), standby.name});
    };
    if (!standby.state) {
      tell(Level::unknown, "this role does not see how standbys are", kRight);
      continue;
    }
    if (*standby.state == "backup") continue;
    const auto behind = standby.bytes_behind.value_or(0);
    auto is = "standby \"" + standby.name + "\" is " + *standby.state + ", " + size_text(behind) + " behind" +
              (standby.behind ? " (" + age_text(*standby.behind) + ")" : "");
    const bool is_late = behind > kBytesBehind || standby.behind.value_or(Seconds{0}) > kTimeBehind;
    if (*standby.state == "streaming" && !is_late)
      tell(Level::ok, std::move(is), "");
    else
      tell(Level::warning, std::move(is), "see the standby's log and its disk (docs/operations/doctor.md#replication)");
  }
  if (all.empty()) all.push_back({Level::ok, "database replication", "no standby is connected", ""});
  return all;
}

Findings judge_slots(const Replication& replication) {
  Findings all;
  for (const auto& slot : replication.slots) {
    const bool is_lost = slot.state == "lost", is_near = slot.state == "unreserved";
    if (slot.is_active && !is_lost && !is_near && slot.bytes_kept <= kSlotProblem) continue;
    const auto level = is_lost || is_near || slot.bytes_kept > kSlotProblem ? Level::problem : Level::warning;
    all.push_back({level, "database slots",
                   "slot \"" + slot.name + "\" " + (slot.is_active ? "is in use and" : "has no reader, and") + " keeps " +
                       size_text(slot.bytes_kept) + " of the log" + (slot.state.empty() ? "" : " (" + slot.state + ")") +
                       (is_lost ? ": its reader cannot go on" : ": the disk may become full"),
                   "start its reader, or SELECT pg_drop_replication_slot('" + slot.name +
                       "'); max_slot_wal_keep_size bounds what a slot may keep",
                   slot.name});
  }
  if (all.empty())
    all.push_back({Level::ok, "database slots", std::to_string(replication.slots.size()) + " slot(s), each with its reader", ""});
  return all;
}

Finding judge_archiving(const Archiving& archiving) {
  if (!archiving.is_on) return {Level::ok, "database archive", "the log is not archived (archive_mode is off)", ""};
  const auto last =
      archiving.archived_ago ? "it last succeeded " + age_text(*archiving.archived_ago) + " ago" : "it never succeeded";
  const bool fails = archiving.failed_ago && (!archiving.archived_ago || *archiving.failed_ago < *archiving.archived_ago);
  if (!fails)
    return {Level::ok, "database archive", archiving.archived_ago ? "the log is archived: " + last : "nothing was archived yet",
            ""};
  const bool is_long = !archiving.archived_ago || *archiving.archived_ago >= kArchiveProblem;
  return {is_long ? Level::problem : Level::warning, "database archive",
          "archiving the log failed " + age_text(*archiving.failed_ago) + " ago, at " + archiving.failed_file + "; " + last +
              ": the log stays until the disk is full, and a restore would end there",
          "see the server's log, and mend archive_command (docs/operations/disaster-recovery.md#archiving-the-log)"};
}

Findings judge_transactions(const std::vector<OldTransaction>& transactions) {
  Findings all;
  for (const auto& old : transactions)
    all.push_back({Level::warning,
                   "database transactions",
                   old.who + " has been open for " + std::to_string(old.seconds) + " s: vacuum waits for it",
                   kVacuumWaits,
                   {}});
  if (transactions.empty()) all.push_back({Level::ok, "database transactions", "none has been open for ten minutes", ""});
  return all;
}

Findings judge_snapshots(const Replication& replication) {
  Findings all;
  const auto judge = [&](const std::string& who, const std::string& name, std::int64_t age, const char* remedy) {
    if (age > kSnapshotAge)
      all.push_back(
          {Level::warning, "database snapshots",
           who + " \"" + name + "\" holds a snapshot that is " + millions(age) + " transactions old: vacuum waits for it", remedy,
           name});
  };
  for (const auto& standby : replication.standbys)
    judge("standby", standby.name, standby.snapshot_age,
          "end its long queries there (docs/operations/database.md#old-snapshots)");
  for (const auto& slot : replication.slots)
    judge("slot", slot.name, slot.snapshot_age, "start its reader, or drop it (docs/operations/database.md#old-snapshots)");
  if (all.empty()) all.push_back({Level::ok, "database snapshots", "no standby and no slot holds an old one", ""});
  return all;
}

Finding judge_rights(const Result<void>& allowed) {
  if (allowed) return {Level::ok, "database rights", "none is missing", ""};
  return {Level::problem, "database rights", allowed.error().what, "docs/operations/roles.md"};
}

}  // namespace waybill
