-- What a transient attempt leaves for the next one, such as which recipients have a mail already.

ALTER TABLE ready ADD COLUMN progress text;  -- JSON
