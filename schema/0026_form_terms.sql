-- Runs beside: 24
--
-- What a form's file says beside its name and its actions' first fields: the schema of its fields, whether it takes attachments, and of its
-- mails the sender, Reply-To, Cc, Bcc and recipients by fields.
--
-- A host of version 24 knows forms without these terms. It leaves the column as it is; a newer host that loads the same forms sets it.
--
-- Locks: `forms`, for a moment; it is small.

ALTER TABLE forms
  ADD COLUMN further text NOT NULL DEFAULT '';  -- JSON (host/domain/form.h, further_terms); '': none
