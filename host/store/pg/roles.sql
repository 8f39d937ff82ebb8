-- Setting up database roles. Used by roles.cpp, tenant_role.cpp and tenant_link.cpp.

-- name: roles_remembered
-- Answers the roles of the application, of readers and of tenants that were set up last, or their default names.
SELECT coalesce(application_role, 'waybill_app'), coalesce(reader_role, 'waybill_reader'), tenant_role FROM installation;

-- name: roles_problem
-- Answers what speaks against these roles, or an empty text.
-- $1 role of the application, $2 role of readers
SELECT coalesce(access_problem($1, $2), '');

-- name: roles_missing
-- Lists those roles that do not exist.
-- $1 roles
SELECT wanted FROM unnest($1::text[]) wanted WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = wanted);

-- name: may_create_roles
-- Whether the role that connected may create roles.
SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = session_user;

-- name: tenant_role
-- Answers the tenant role, and whether the session may act as it and it has its rights.
SELECT i.tenant_role,
       coalesce(pg_has_role(t.oid, CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'SET' ELSE 'MEMBER' END)
                AND has_table_privilege(t.oid, 'submissions', 'SELECT'), false)
FROM installation i LEFT JOIN pg_roles t ON t.rolname = i.tenant_role;

-- name: tenant_problem
-- Answers what speaks against this tenant role, or an empty text.
-- $1 the role
SELECT coalesce(tenant_problem($1), '');

-- name: tenant_setup
-- Answers what there is of a tenant role: whether it exists; whether it and the owner have their rights and policies; the
-- statements that still
-- have to make the owner and the application able to act as it, but not inherit what it may (before 16 they do), and a former
-- application unable; whether the session may create roles, and grant this one. Superusers may act as any role.
-- $1 the role, $2 the role of a former application, or an empty text
SELECT t.oid IS NOT NULL,
       i.tenant_role = $1 AND coalesce(has_table_privilege(t.oid, 'submissions', 'SELECT'), false)
       AND EXISTS (SELECT FROM pg_policy p WHERE p.polrelid = 'submissions'::regclass AND p.polroles = ARRAY[t.oid])
       AND EXISTS (SELECT FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid AND p.polroles = ARRAY[c.relowner]
                   WHERE c.oid = 'submissions'::regclass),
       (SELECT coalesce(string_agg(format(CASE WHEN r.rolname = $2 THEN 'REVOKE %I FROM %I; '
                                               WHEN v.is_16 THEN 'GRANT %I TO %I WITH INHERIT FALSE, SET TRUE; '
                                               ELSE 'GRANT %I TO %I; ' END, $1::name, r.rolname), '' ORDER BY r.rolname), '')
        FROM pg_roles r
        WHERE r.rolname = $2 AND EXISTS (SELECT FROM pg_auth_members m WHERE m.roleid = t.oid AND m.member = r.oid)
          OR (r.rolname = i.application_role OR r.oid = (SELECT relowner FROM pg_class WHERE oid = 'installation'::regclass))
          AND NOT r.rolsuper AND r.rolname <> $2
          AND (t.oid IS NULL OR NOT pg_has_role(r.oid, t.oid, CASE WHEN v.is_16 THEN 'SET' ELSE 'MEMBER' END))),
       s.rolsuper OR s.rolcreaterole,
       s.rolsuper OR CASE WHEN v.is_16 THEN coalesce(pg_has_role(s.oid, t.oid, 'MEMBER WITH ADMIN OPTION'), s.rolcreaterole)
                          ELSE s.rolcreaterole END
FROM installation i
CROSS JOIN (SELECT current_setting('server_version_num')::int >= 160000) v(is_16)
JOIN pg_roles s ON s.rolname = session_user
LEFT JOIN pg_roles t ON t.rolname = $1::name;
