-- Text that several files of this folder share.

-- part: history
-- What a delivery has gone through (domain/history.h), in the order in which history_rows.h reads it.
attempt_count, uncounted, lease_lost, maybe_sent
