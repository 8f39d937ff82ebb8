-- Runs beside: 27
--
-- Whether an outage began or goes on by answers, such as 502: then its target can be reached, and a host that cannot reach it finds that
-- for itself. Outages that hosts of an older version write count as before, as if nobody had reached the target.
--
-- Locks: `target_rests`, for a moment; it is small.

ALTER TABLE target_rests ADD COLUMN answered boolean NOT NULL DEFAULT false;
