-- Runs beside: 27
--
-- Whoever may read which migrations were applied may read how far the one under way has come. The program makes the table before the first
-- migration that it applies statement by statement. A host of an earlier version knows neither.
--
-- Locks: none.

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES ('migration_progress', 'SELECT', 'SELECT', NULL, NULL);
