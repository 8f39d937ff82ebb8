-- The key of the ids that the API shows. Used by public_ids.cpp.

-- name: id_key
-- Reads the key, in hexadecimal digits, and up to which number ids were shown as they are.
-- returns: key text, shown_until number
SELECT encode(key, 'hex') AS key, shown_until FROM id_keys;
