-- Setting up database roles. Used by roles.cpp.

-- name: roles_remembered
-- Answers the roles of the application and of readers that were set up last, or their default names.
SELECT coalesce(application_role, 'waybill_app'), coalesce(reader_role, 'waybill_reader') FROM installation;

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
