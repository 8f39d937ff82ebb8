-- Runs beside: 27
--
-- Alerts are summed up for each organisation, and for many organisations together: which of the two a notification was. A host of an
-- older version sums up as it did, and writes none that is of many.
--
-- Locks: `alerts`, for a moment; it is small.

ALTER TABLE alerts ADD COLUMN summed_with_others boolean NOT NULL DEFAULT false;
