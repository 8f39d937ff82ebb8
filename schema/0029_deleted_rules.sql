-- Runs beside: 27
--
-- Alert rules can be deleted, and are listed in pages. A deleted rule stays for as long as there are events of it; a host of version 27 shows
-- it as disabled.
--
-- Locks: `alert_rules`, for a moment.

ALTER TABLE alert_rules ADD COLUMN deleted_at timestamptz;
CREATE INDEX alert_rules_newest ON alert_rules (org_id, created_at DESC, rule_id DESC) WHERE deleted_at IS NULL;
UPDATE access_rules SET application = 'SELECT, INSERT, UPDATE, DELETE', tenant = 'SELECT, INSERT, UPDATE, DELETE'
WHERE table_name = 'alert_rules';
