-- Runs beside: 27
--
-- What a host has said stays when it comes back after a lost session: its row in `hosts` is written anew then, and took its facts along, so that
-- nobody heard it for a second, and a host that reached nothing was alone, whose word on destinations held for all. What hosts have said that are
-- gone is deleted with their findings (forget_outages).
--
-- Locks: `hosts` and `host_facts`, for a moment; both are small.

ALTER TABLE host_facts DROP CONSTRAINT host_facts_host_id_fkey;
UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE, DELETE' WHERE table_name = 'host_facts';
