// The advisory lock that a living host holds: its two keys in SQL. A session that ends lets go of it, whatever ended it.
#pragma once

// `id` is SQL for a host's id.
#define WAYBILL_HOST_LOCK(id) "hashtext('waybill:' || current_schema()), " id
// The rows of pg_locks that say who holds locks of hosts; objid is the host's id. Nothing is taken by looking.
#define WAYBILL_HOST_LOCK_ROWS                                                                                        \
  "pg_locks l WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.granted AND l.classid = hashtext('waybill:' || " \
  "current_schema())::oid"                                                                                            \
  " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
