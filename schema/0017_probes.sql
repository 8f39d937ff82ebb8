-- Runs beside: none
-- Half-open targets: after an outage one delivery goes first, from one host.

ALTER TABLE target_rests ADD COLUMN IF NOT EXISTS probe_until timestamptz;  -- a probe is under way until then
ALTER TABLE target_rests ADD COLUMN IF NOT EXISTS probe_host integer;
