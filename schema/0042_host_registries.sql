-- Runs beside: 27
--
-- Which registry each host runs by, and what came of the reloads that somebody asked for. A host of an older version writes no row: nobody
-- waits for its verdict.
--
-- Locks: none.

CREATE TABLE reload_requests (
  request_id bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  asked_by   text        NOT NULL,  -- "<user>@<machine>"
  asked_at   timestamptz NOT NULL DEFAULT now()
);

-- Without a foreign key: a host that lost its session writes its row of `hosts` anew.
CREATE TABLE host_registries (
  host_id    integer     PRIMARY KEY,
  digest     text        NOT NULL,  -- of the registry in force
  request_id bigint      NOT NULL,  -- the newest reload that it has answered; 0: none
  verdict    text        NOT NULL CHECK (verdict IN ('loaded', 'refused', 'not_stored')),  -- of its last reload, or of its start
  remarks    text        NOT NULL,  -- problems, or what waits for a plugin, one a line
  judged_at  timestamptz NOT NULL DEFAULT now()
);

INSERT INTO access_rules (table_name, application, reader, seen_with, tenant) VALUES
  ('reload_requests', 'SELECT, INSERT, DELETE',         'SELECT', NULL, NULL),
  ('host_registries', 'SELECT, INSERT, UPDATE, DELETE', 'SELECT', NULL, NULL);
