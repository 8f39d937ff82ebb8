// Judges how a server is: pure functions of what it says.
#pragma once

#include <vector>

#include "cli/finding.h"
#include "store/operations/database_check.h"
#include "store/operations/server_health.h"

namespace waybill {

Finding judge_version(const ServerState& server);
Finding judge_standby(const ServerState& server);
Findings judge_settings(const ServerState& server);  // durability, checkpoints, checksums
Finding judge_buffers(const ServerState& server, std::int64_t machine_memory);
Finding judge_connections(const ServerState& server);
Finding judge_session_limits(const ServerState& server, Millis longest_task);
Finding judge_wraparound(const ServerState& server);
// `ahead`: of this machine's clock before the server's.
Finding judge_clock(Seconds ahead);
Finding judge_synchronous(const ServerState& server, const Replication& replication);
Findings judge_standbys(const Replication& replication);
Findings judge_slots(const Replication& replication);
Finding judge_archiving(const Archiving& archiving);
// With the snapshots that standbys and slots hold. Without pg_read_all_stats more may be there.
Findings judge_transactions(const std::vector<OldTransaction>& transactions);
Findings judge_snapshots(const Replication& replication);

// `allowed`: what check_rights() answered.
Finding judge_rights(const Result<void>& allowed);

// How many standbys synchronous_standby_names waits for.
int standbys_needed(const std::string& synchronous_names);

}  // namespace waybill
