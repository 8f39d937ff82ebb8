-- Jobs of pg-boss, in its own schema: {schema} stands for it, quoted, and names in braces for columns that its versions call
-- differently. Used by pgboss_store.cpp.

-- template: pgboss_columns
-- Names the columns of the table of jobs. No row: there is no such table.
-- takes: schema
-- returns: column_name text
SELECT column_name FROM information_schema.columns WHERE table_schema = :schema AND table_name = 'job';

-- template: pgboss_queues
-- Counts, by queue, the jobs that have not been started: those that are due, or are to be tried again, and those that are for
-- later.
-- returns: name text, waiting number, later number
SELECT name,
       count(*) FILTER (WHERE state::text = 'retry' OR {start_after} <= now()) AS waiting,
       count(*) FILTER (WHERE state::text = 'created' AND {start_after} > now()) AS later
FROM {schema}.job WHERE state::text IN ('created', 'retry') GROUP BY name ORDER BY name;

-- template: pgboss_jobs
-- Locks jobs that have not been started, the oldest first. A job that a worker of pg-boss is taking is left to it.
-- takes: queue, most
-- returns: id text, data text
SELECT id::text AS id, coalesce(data::text, '') AS data FROM {schema}.job
WHERE name = :queue AND (state::text = 'retry' OR state::text = 'created' AND {start_after} <= now())
ORDER BY {created_on}, id LIMIT :most FOR UPDATE SKIP LOCKED;

-- template: pgboss_waiting
-- Lists the same jobs, by their ids, without a lock. It begins behind the id `:after`, or with the first if that is ''.
-- takes: queue, most, after
-- returns: id text, data text
SELECT id::text AS id, coalesce(data::text, '') AS data FROM {schema}.job
WHERE name = :queue AND (state::text = 'retry' OR state::text = 'created' AND {start_after} <= now())
  AND (:after::text = '' OR id > nullif(:after::text, '')::uuid)
ORDER BY id LIMIT :most;

-- template: pgboss_done
-- Marks jobs as completed, with what they became. `:outputs` has JSON for each of `:ids`.
-- takes: queue, ids, outputs
UPDATE {schema}.job j SET state = 'completed', {completed_on} = now(), output = t.output::jsonb
FROM unnest(:ids::uuid[], :outputs::text[]) AS t(id, output) WHERE j.name = :queue AND j.id = t.id;
