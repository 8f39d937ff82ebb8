-- Text that all rooms share.

-- part: terms
-- What a submission s asks for itself (terms_from() in domain/submission_terms.h).
-- returns: terms text?
CASE WHEN s.not_before IS NOT NULL OR s.expires_at IS NOT NULL OR s.producer IS NOT NULL
            THEN concat_ws(' ', coalesce(micros(s.not_before), 0), coalesce(micros(s.expires_at), 0), s.producer) END AS terms

-- part: job_terms
-- The same of a claimed delivery c of a submission s: one that is sent again by an operator's word does not expire.
-- returns: terms text?
CASE WHEN s.not_before IS NOT NULL OR c.expires_at IS NOT NULL OR s.producer IS NOT NULL
            THEN concat_ws(' ', coalesce(micros(s.not_before), 0), coalesce(micros(c.expires_at), 0), s.producer) END AS terms

-- part: submission
-- What is read of a submission s (read_submission() in submissions/read_rows.h).
-- returns: id number, org_id number, client_ref text, target text, state text, reason text, created time, completed time?
-- returns: {{terms}}
s.id,
       s.org_id,
       s.client_ref,
       s.target,
       s.state,
       coalesce(s.reason, '') AS reason,
       micros(s.created_at) AS created,
       micros(s.completed_at) AS completed,
       {{terms}}

-- part: action_delivery
-- What is read of a delivery d, unfinished or ended, beside its action_type (read_action_delivery() in submissions/read_rows.h).
-- returns: delivery_id number, action_order number, replay number, status text, reason text, attempts number
-- returns: provider_ref text, result text, due time?, ended time?
d.id AS delivery_id,
       d.action_order,
       d.replay,
       d.status,
       coalesce(d.reason, '') AS reason,
       d.attempt_count AS attempts,
       coalesce(d.provider_ref, '') AS provider_ref,
       coalesce(d.result, '') AS result,
       micros(d.due_at) AS due,
       micros(d.ended_at) AS ended

-- part: attempt
-- What is read of an attempt a (read_attempt() in submissions/read_rows.h).
-- returns: number number, started time, finished time?, outcome text, reason text, error text, counts flag, code number
-- returns: provider_ref text, maybe_sent flag?
a.number,
       micros(a.started_at) AS started,
       micros(a.finished_at) AS finished,
       a.outcome,
       coalesce(a.reason, '') AS reason,
       coalesce(a.error, '') AS error,
       a.counts,
       coalesce(a.code, 0) AS code,
       coalesce(a.provider_ref, '') AS provider_ref,
       a.maybe_sent

-- part: history
-- What a delivery has gone through (domain/history.h), which history_rows.h reads.
-- returns: attempt_count number, uncounted number, lease_lost number, maybe_sent flag
attempt_count, uncounted, lease_lost, maybe_sent
