-- Runs beside: 24
--
-- A small index of the attachments that no scanner has reported on, so that a form's submission that waits for one is found in time.
--
-- Locks: writes to `attachments` wait while the index is built, some seconds for a million rows.

CREATE INDEX attachments_pending ON attachments (shard, submission_id) WHERE scan = 'pending';
