#!/bin/sh
# Run once by the database's container: a role that owns its database and is no superuser, so that
# row-level security holds for it, and two things that need an administrator: the extension, and the word
# that matching texts tells nobody anything, without which the wall between tenants keeps the text index out.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set password="$(cat "$APP_PASSWORD_FILE")" <<'SQL'
CREATE EXTENSION IF NOT EXISTS vector;
ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF;
CREATE ROLE memotherm LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
ALTER DATABASE memotherm OWNER TO memotherm;
GRANT ALL ON SCHEMA public TO memotherm;
SQL
