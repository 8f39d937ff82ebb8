-- Jobs of pg-boss, in its own schema: {schema} stands for it, quoted, and names in braces for columns that its versions call differently.
-- Used by pgboss_store.cpp.

-- template: pgboss_columns
-- Names the columns of the table of jobs. No row: there is no such table.
-- $1 schema
SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'job';

-- template: pgboss_queues
-- Counts, by queue, the jobs that have not been started: those that are due, or are to be tried again, and those that are for later.
SELECT name, count(*) FILTER (WHERE state::text = 'retry' OR {start_after} <= now()),
       count(*) FILTER (WHERE state::text = 'created' AND {start_after} > now())
FROM {schema}.job WHERE state::text IN ('created', 'retry') GROUP BY name ORDER BY name;

-- template: pgboss_jobs
-- Locks jobs that have not been started, the oldest first. A job that a worker of pg-boss is taking is left to it.
-- $1 queue, $2 rows
SELECT id::text, coalesce(data::text, '') FROM {schema}.job
WHERE name = $1 AND (state::text = 'retry' OR state::text = 'created' AND {start_after} <= now())
ORDER BY {created_on}, id LIMIT $2 FOR UPDATE SKIP LOCKED;

-- template: pgboss_waiting
-- Lists the same jobs, by their ids, without a lock.
-- $1 queue, $2 rows, $3 the id behind which to begin, or ''
SELECT id::text, coalesce(data::text, '') FROM {schema}.job
WHERE name = $1 AND (state::text = 'retry' OR state::text = 'created' AND {start_after} <= now())
  AND ($3::text = '' OR id > nullif($3::text, '')::uuid)
ORDER BY id LIMIT $2;

-- template: pgboss_done
-- Marks jobs as completed, with what they became.
-- $1 queue; per job: $2 its id, $3 its output as JSON
UPDATE {schema}.job j SET state = 'completed', {completed_on} = now(), output = t.output::jsonb
FROM unnest($2::uuid[], $3::text[]) AS t(id, output) WHERE j.name = $1 AND j.id = t.id;
