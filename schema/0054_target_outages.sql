-- Runs beside: 27
--
-- The table of outages and cooldowns is called what it holds. Hosts of earlier versions go on with the view of the former name, which has the
-- table's ctid, since they change rows by it; it goes once none of them can run beside the schema.
--
-- Locks: the table, for a moment; it is small.

ALTER TABLE target_rests RENAME TO target_outages;
ALTER TABLE target_outages RENAME CONSTRAINT target_rests_pkey TO target_outages_pkey;
UPDATE access_rules SET table_name = 'target_outages' WHERE table_name = 'target_rests';
CREATE VIEW target_rests WITH (security_invoker = true) AS SELECT ctid, * FROM target_outages;
INSERT INTO access_rules (table_name, application, reader, seen_with, tenant)
SELECT 'target_rests', application, reader, seen_with, tenant FROM access_rules WHERE table_name = 'target_outages';
