-- Runs beside: 27
--
-- What a host has said stays when it comes back after a lost session. Its row in `hosts` is written anew then, and the foreign key deleted its
-- facts with the old row: nobody heard it until it next spoke, up to a second later, and a host that reached nothing passed for alone meanwhile, so
-- that its word on destinations held for all. What hosts that are gone have said is deleted with their findings (forget_outages).
--
-- Locks: `hosts` and `host_facts`, for a moment; both are small.

ALTER TABLE host_facts DROP CONSTRAINT host_facts_host_id_fkey;
UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE, DELETE' WHERE table_name = 'host_facts';
