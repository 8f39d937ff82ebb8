-- Runs beside: 27
--
-- Which hosts a reload was asked of, so that none takes another's request for its own. A command of an older version names none: its request is
-- for whichever host is told. A host of an older version takes any request, as it did.
--
-- Locks: `reload_requests`, for a moment; it is small.

ALTER TABLE reload_requests ADD COLUMN hosts text[];  -- their names; null: whichever is told
