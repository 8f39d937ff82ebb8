-- Text that several files of this folder share.

-- part: history
-- What a delivery has gone through (domain/history.h), which history_rows.h reads.
-- returns: attempt_count number, uncounted number, lease_lost number, maybe_sent flag
attempt_count, uncounted, lease_lost, maybe_sent
