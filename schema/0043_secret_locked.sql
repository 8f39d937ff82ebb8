-- Runs beside: 27
--
-- The alert `secret_locked`: a host has no master key for some of the channels' secrets.
--
-- The kinds are those that the constraint had, whatever other migrations added, and this one. A host of an older version sends such an alert as any
-- other.
--
-- Locks: `alerts`, for a moment; it is small.

DO $$
DECLARE
  kinds text;
BEGIN
  SELECT string_agg(quote_literal(kind), ', ' ORDER BY kind COLLATE "C") INTO kinds
  FROM (SELECT words[1] AS kind FROM pg_constraint c, regexp_matches(pg_get_constraintdef(c.oid), $q$'([a-z_]+)'$q$, 'g') AS words
        WHERE c.conrelid = 'alerts'::regclass AND c.conname = 'alerts_kind_check'
        UNION SELECT 'secret_locked') AS all_kinds;
  EXECUTE 'ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check, ADD CONSTRAINT alerts_kind_check CHECK (kind IN (' || kinds || '))';
END $$;
