-- Who is in the way of a strong lock. Used by lock_wait.cpp.

-- name: backend_pid
-- Answers the session's process id.
-- returns: pid number
SELECT pg_backend_pid() AS pid;

-- name: who_blocks
-- Names the sessions that a session waits for; null if there are none.
-- `:pid`: of the session that waits.
-- takes: pid
-- returns: blockers text?
SELECT string_agg(format('process %s (%s%s)', pid, coalesce(nullif(application_name, ''), 'unnamed'),
                         coalesce(', in a transaction since ' || to_char(xact_start, 'HH24:MI:SS UTC'), '')), ', ') AS blockers
FROM pg_stat_activity WHERE pid = ANY (pg_blocking_pids(:pid));
