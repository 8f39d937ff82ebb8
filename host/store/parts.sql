-- Text that all rooms share.

-- part: submission
-- What is read of a submission s (read_submission() in submissions/read_rows.h).
-- returns: id number, org_id number, client_ref text, target text, state text, reason text, created time, completed time?
s.id,
       s.org_id,
       s.client_ref,
       s.target,
       s.state,
       coalesce(s.reason, '') AS reason,
       micros(s.created_at) AS created,
       micros(s.completed_at) AS completed
