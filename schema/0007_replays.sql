-- Replays go out at a bounded rate: when the latest one of each organisation was given its turn.
CREATE TABLE replay_turns (
  org_id  integer PRIMARY KEY,
  last_at timestamptz NOT NULL
);
INSERT INTO access_rules VALUES ('replay_turns', 'SELECT, INSERT, UPDATE', 'SELECT', NULL);
