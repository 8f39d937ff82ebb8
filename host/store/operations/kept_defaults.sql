-- Defaults of an earlier version that an installation goes on with. Used by kept_defaults.cpp.

-- name: kept_plugin_isolation
-- Reads where plugins run that are not Waybill's own, if that is not the default of today.
-- returns: value text
SELECT value FROM kept_defaults WHERE name = 'plugin_isolation';
