// Reading what a server says of itself.
#include "store/operations/server_health.h"

#include "store/operations/server_health.sql.h"

namespace waybill {

Result<ServerState> server_state(Connection& connection) {
  const auto rows = connection.run(sql::server_state);
  TRY(rows);
  const auto row = rows->front();
  return ServerState{.role = std::string(row.role()),
                     .version = std::string(row.version()),
                     .version_number = static_cast<int>(row.version_number()),
                     .is_standby = row.is_standby(),
                     .sees_all = row.sees_all(),
                     .now = row.now(),
                     .is_local = row.is_local(),
                     .data_directory = text_or_empty(row.data_directory()),
                     .fsync = row.fsync() == "on",
                     .full_page_writes = row.full_page_writes() == "on",
                     .checksums = row.checksums() == "on",
                     .autovacuum = row.autovacuum() == "on",
                     .synchronous_commit = text_or_empty(row.synchronous_commit()),
                     .shared_buffers = row.shared_buffers(),
                     .checkpoint_timeout = Seconds{row.checkpoint_seconds()},
                     .max_wal_size = row.max_wal_bytes(),
                     .connections = static_cast<int>(row.connections()),
                     .used = static_cast<int>(value_or_zero(row.used())),
                     .idle_session = Millis{value_or_zero(row.idle_session_ms())},
                     .transaction = Millis{value_or_zero(row.transaction_ms())},
                     .transaction_age = value_or_zero(row.transaction_age()),
                     .multixact_age = value_or_zero(row.multixact_age()),
                     .freeze_max_age = row.freeze_max_age()};
}

Result<std::int64_t> database_size(Connection& connection) {
  const auto rows = connection.run(sql::database_size);
  TRY(rows);
  return rows->front().bytes();
}

Result<Replication> replication(Connection& connection) {
  const auto names = connection.run(sql::synchronous_names);
  TRY(names);
  Replication all{
      .synchronous_names = std::string(names->front().names()), .waiting = names->front().waiting(), .standbys = {}, .slots = {}};
  const auto standbys = connection.run(sql::standbys);
  TRY(standbys);
  for (const auto row : *standbys) {
    Standby standby{
        .name = std::string(row.name()), .state = {}, .sync_state = {}, .bytes_behind = row.bytes_behind(), .behind = {}};
    if (const auto state = row.state()) standby.state = std::string(*state);
    if (const auto state = row.sync_state()) standby.sync_state = std::string(*state);
    if (const auto seconds = row.seconds_behind()) standby.behind = Seconds{*seconds};
    standby.snapshot_age = value_or_zero(row.snapshot_age());
    all.standbys.push_back(std::move(standby));
  }
  const auto slots = connection.run(sql::replication_slots);
  TRY(slots);
  for (const auto row : *slots)
    all.slots.push_back({.name = text_or_empty(row.name()),
                         .is_active = value_or_zero(row.is_active()),
                         .state = text_or_empty(row.state()),
                         .bytes_kept = value_or_zero(row.bytes_kept()),
                         .snapshot_age = value_or_zero(row.snapshot_age())});
  return all;
}

Result<Archiving> archiving(Connection& connection) {
  const auto rows = connection.run(sql::archiving);
  TRY(rows);
  const auto row = rows->front();
  Archiving state{
      .is_on = row.mode() != "off", .archived_ago = {}, .failed_ago = {}, .failed_file = text_or_empty(row.failed_file())};
  if (const auto ago = row.archived_ago()) state.archived_ago = Micros{*ago};
  if (const auto ago = row.failed_ago()) state.failed_ago = Micros{*ago};
  return state;
}

}  // namespace waybill
