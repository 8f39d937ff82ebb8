-- Runs beside: 27
--
-- Functions: af8d3491590c99ea9733cfee178b5e72a061f60a9d4ee4279242b7a247ede173
--
-- The W3C trace context that a submission or an event came in with: its traceparent and, behind a blank, its tracestate. Null: none. A
-- submission takes no more room for that, since its row has a bitmap of nulls anyway, of the same size; an event takes 8 bytes.
--
-- Locks: both tables, for a moment; nothing is rewritten.

ALTER TABLE submissions ADD COLUMN trace text;
ALTER TABLE alert_events ADD COLUMN trace text;
