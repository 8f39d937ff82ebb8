-- Runs beside: 24
--
-- Two small indexes for metrics: dead letters that nobody has replayed, and pipelines' submissions that have not ended. Each holds what
-- waits, not what is over, so a count costs what waits.
--
-- Locks: writes to `dead_letters` and to `pipeline_submissions` wait while their index is built, some seconds for a million rows.

CREATE INDEX dead_letters_waiting ON dead_letters (org_id) WHERE replayed_at IS NULL;
CREATE INDEX pipeline_submissions_unfinished ON pipeline_submissions (pipeline, state) WHERE ended_at IS NULL;
