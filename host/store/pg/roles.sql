-- Setting up database roles. Used by roles.cpp, tenant_role.cpp and tenant_link.cpp.

-- name: roles_remembered
-- Answers the roles of the application, of readers and of tenants that were set up last, or their default names.
-- returns: application_role text, reader_role text, tenant_role text
SELECT coalesce(application_role, 'waybill_app') AS application_role,
       coalesce(reader_role, 'waybill_reader') AS reader_role,
       tenant_role
FROM installation;

-- name: roles_problem
-- Answers what speaks against these roles, or an empty text.
-- takes: application_role, reader_role
-- returns: problem text
SELECT coalesce(access_problem(:application_role, :reader_role), '') AS problem;

-- name: roles_missing
-- Lists those roles that do not exist.
-- takes: roles
-- returns: wanted text
SELECT wanted FROM unnest(:roles::text[]) wanted WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted);

-- name: may_create_roles
-- Whether the role that connected may create roles.
-- returns: may_create flag
SELECT rolsuper OR rolcreaterole AS may_create FROM pg_roles WHERE rolname = session_user;

-- name: tenant_role
-- Answers the tenant role, and whether the session may act as it and it has its rights.
-- returns: tenant_role text, may_act flag
SELECT i.tenant_role,
       coalesce(pg_has_role(t.oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
                AND has_table_privilege(t.oid, 'submissions', 'SELECT'), false) AS may_act
FROM installation i LEFT JOIN pg_roles t ON t.rolname = i.tenant_role;

-- name: tenant_problem
-- Answers what speaks against this tenant role, or an empty text.
-- takes: role
-- returns: problem text
SELECT coalesce(tenant_problem(:role), '') AS problem;

-- name: tenant_setup
-- Answers what there is of a tenant role: whether it exists; whether it and the owner have their rights and policies; the
-- statements that still
-- have to make the owner and the application able to act as it, but not inherit what it may (before 16 they do), and a former
-- application unable; whether the session may create roles, and grant this one. Superusers may act as any role.
-- `:former_application`: its role, or an empty text.
-- takes: role, former_application
-- returns: is_there flag, has_rights flag?, memberships text, may_create flag, may_grant flag
SELECT t.oid IS NOT NULL AS is_there,
       i.tenant_role = :role AND coalesce(has_table_privilege(t.oid, 'submissions', 'SELECT'), false)
       AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = 'submissions'::regclass AND p.polroles = ARRAY[t.oid])
       AND EXISTS (SELECT FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid AND p.polroles = ARRAY[c.relowner]
                   WHERE c.oid = 'submissions'::regclass) AS has_rights,
       (SELECT coalesce(string_agg(format(CASE WHEN r.rolname = :former_application THEN 'REVOKE %I FROM %I; '
                                               WHEN v.is_16 THEN 'GRANT %I TO %I WITH INHERIT FALSE, SET TRUE; '
                                               ELSE 'GRANT %I TO %I; ' END, :role::name, r.rolname), '' ORDER BY r.rolname), '')
        FROM pg_roles r
        WHERE r.rolname = :former_application
          AND EXISTS (SELECT FROM pg_auth_members m WHERE m.roleid = t.oid AND m.member = r.oid)
          OR (r.rolname = i.application_role OR r.oid = (SELECT relowner FROM pg_class WHERE oid = 'installation'::regclass))
          AND NOT r.rolsuper AND r.rolname <> :former_application
          AND (t.oid IS NULL OR NOT pg_has_role(r.oid, t.oid, CASE WHEN v.is_16 THEN 'SET' ELSE 'MEMBER' END))) AS memberships,
       s.rolsuper OR s.rolcreaterole AS may_create,
       s.rolsuper OR CASE WHEN v.is_16 THEN coalesce(pg_has_role(s.oid, t.oid, 'MEMBER WITH ADMIN OPTION'), s.rolcreaterole)
                          ELSE s.rolcreaterole END AS may_grant
FROM installation i
CROSS JOIN (SELECT current_setting('server_version_num')::int >= 160000) v(is_16)
JOIN pg_roles s ON s.rolname = session_user
LEFT JOIN pg_roles t ON t.rolname = :role::name;
