-- The key of the ids that the API shows. Used by public_ids.cpp.

-- name: id_key
-- Reads the key, in hexadecimal digits, and up to which number ids were shown as they are.
SELECT encode(key, 'hex'), shown_until FROM id_keys;
