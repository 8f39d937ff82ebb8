-- Runs beside: 24
--
-- A kind of alert: a plugin did not come back from a delivery. A host of an earlier version raises none.
--
-- Locks: `alerts`, for a moment; it is small.

DO $$
DECLARE
  listed text := (SELECT pg_get_constraintdef(oid) FROM pg_constraint
                  WHERE conrelid = 'alerts'::regclass AND conname = 'alerts_kind_check');
BEGIN
  ALTER TABLE alerts DROP CONSTRAINT alerts_kind_check;
  EXECUTE 'ALTER TABLE alerts ADD CONSTRAINT alerts_kind_check ' || replace(listed, 'ARRAY[', 'ARRAY[''plugin_hung''::text, ');
END $$;
