-- The key of the ids that the API shows. Used by public_ids.cpp.

-- name: id_key
-- Reads the key, in hexadecimal digits.
SELECT encode(key, 'hex') FROM id_keys;
