// How a server is while it works: what `waybill doctor` asks of it. Nothing here needs the schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "store/pg/pg.h"

namespace waybill {

struct ServerState {
  std::string role;
  std::string version;
  int version_number = 0;  // as server_version_num
  bool is_standby = false;
  bool sees_all = true;        // the role has pg_read_all_stats
  Timestamp now;               // by the server's clock
  bool is_local = false;       // it is reached by a socket of this machine
  std::string data_directory;  // "": this role may not know
  bool fsync = true, full_page_writes = true, checksums = true, autovacuum = true;
  std::string synchronous_commit = "on";  // of a session that sets nothing itself
  std::int64_t shared_buffers = 0;        // bytes
  Seconds checkpoint_timeout{300};
  std::int64_t max_wal_size = 0;                        // bytes
  int connections = 0, used = 0;                        // that are not kept for superusers; of all roles
  Millis idle_session{0}, transaction{0};               // time limits of the server, the database or the role; 0: none
  std::int64_t transaction_age = 0, multixact_age = 0;  // of the oldest database
  std::int64_t freeze_max_age = 0;
};
Result<ServerState> server_state(Connection& connection);

Result<std::int64_t> database_size(Connection& connection);  // bytes

struct Standby {
  std::string name;
  std::optional<std::string> state, sync_state;  // none: this role may not see them
  std::optional<std::int64_t> bytes_behind;
  std::optional<Seconds> behind;
  std::int64_t snapshot_age = 0;  // in transactions
};
struct ReplicationSlot {
  std::string name;
  bool is_active = false;
  std::string state;  // reserved, extended, unreserved, lost; "": unknown
  std::int64_t bytes_kept = 0;
  std::int64_t snapshot_age = 0;
};
struct Replication {
  std::string synchronous_names;  // synchronous_standby_names
  std::int64_t waiting = 0;       // sessions that wait for a standby now, of those that this role sees
  std::vector<Standby> standbys;
  std::vector<ReplicationSlot> slots;
};
Result<Replication> replication(Connection& connection);

struct Archiving {
  bool is_on = false;
  std::optional<Micros> archived_ago, failed_ago;  // since it last succeeded, and last failed; none: never
  std::string failed_file;
};
Result<Archiving> archiving(Connection& connection);

}  // namespace waybill
