// The advisory lock of a living host: its two keys in SQL. The server releases it when the session ends, however it ends.
#pragma once

// `id` is SQL for a host's id.
#define WAYBILL_HOST_LOCK(id) "hashtext('waybill:' || current_schema()), " id
// The rows of pg_locks with the locks of hosts; objid is the host's id. Reading them takes no lock.
#define WAYBILL_HOST_LOCK_ROWS                                                                                        \
  "pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = hashtext('waybill:' || " \
  "current_schema())::oid"                                                                                            \
  " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
