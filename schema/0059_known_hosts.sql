-- Runs beside: 27
--
-- Functions: 6c6812e34a27d9a0b6c37051e61a024260790e7835e42cb6e384e353f78fb453
--
-- Hosts by the name that a restart leaves them, those that operators keep from claiming, and which registries were in force. A host of an earlier
-- version claims although its name is drained, and its registry is not noted: replace those first.
--
-- Locks: none.

CREATE TABLE known_hosts (
  name         text        PRIMARY KEY,     -- host_name of the configuration, by default the machine's name
  process      text        NOT NULL,        -- "<machine>:<pid>" that spoke last
  version      text        NOT NULL,        -- of its program
  heard_at     timestamptz NOT NULL,
  succeeded_at timestamptz                  -- when it last saw a delivery accepted
) WITH (fillfactor = 50);

CREATE TABLE host_drains (
  name   text        PRIMARY KEY,
  since  timestamptz NOT NULL DEFAULT now(),
  reason text        NOT NULL,
  actor  text        NOT NULL
);

-- A content of the registry folder, once however often and wherever it is in force.
CREATE TABLE registry_versions (
  version   integer     GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  digest    text        NOT NULL UNIQUE,    -- as in host_registries
  stored_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE registry_files (
  version integer NOT NULL REFERENCES registry_versions ON DELETE CASCADE,
  path    text    NOT NULL,                 -- below the registry folder
  content bytea   NOT NULL,
  PRIMARY KEY (version, path)
);

-- Which version came into force after which, by the first host that ran by it.
CREATE TABLE registry_changes (
  change_id bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version   integer     NOT NULL REFERENCES registry_versions ON DELETE CASCADE,
  changed_at timestamptz NOT NULL DEFAULT now(),
  host      text        NOT NULL,           -- "<machine>:<pid>"
  actor     text        NOT NULL,           -- who asked for the reload; of a start the host
  trigger   text        NOT NULL CHECK (trigger IN ('start', 'reload')),
  added     integer     NOT NULL,           -- targets, since the version before
  changed   integer     NOT NULL,
  removed   integer     NOT NULL
);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('known_hosts',       'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL),
  ('host_drains',       'SELECT, INSERT, DELETE',         'SELECT', NULL, NULL),
  ('registry_versions', 'SELECT, INSERT, DELETE',         'SELECT', NULL, NULL),
  ('registry_files',    'SELECT, INSERT',                 'SELECT', NULL, NULL),
  ('registry_changes',  'SELECT, INSERT',                 'SELECT', NULL, NULL);

-- Nobody waits for the word of a host that claims nothing: it has none on what can be reached.
CREATE OR REPLACE VIEW heard_hosts WITH (security_invoker = true) AS
WITH said AS (
  SELECT h.host_id, coalesce(f.told_at, CASE WHEN h.knows >= 37 THEN h.started_at END, now()) AS at
  FROM hosts h LEFT JOIN host_facts f ON f.host_id = h.host_id
  WHERE NOT EXISTS (SELECT FROM host_drains d WHERE d.name = f.facts ->> 'name'))
SELECT host_id FROM said
WHERE at BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds'
   OR NOT EXISTS (SELECT FROM said WHERE at BETWEEN now() - interval '15 seconds' AND now() + interval '15 seconds')
      AND at >= (SELECT max(at) FROM said) - interval '15 seconds';
