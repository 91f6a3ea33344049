#!/bin/sh
# Run once by the container of the database. It creates a role that owns its database and is not a superuser, so
# that row-level security applies to it. Two steps need an administrator: the extension, and marking the text
# match function as leakproof, without which row-level security prevents the use of the text index.
set -eu
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    --set password="$(cat "$APP_PASSWORD_FILE")" <<'SQL'
CREATE EXTENSION IF NOT EXISTS vector;
ALTER FUNCTION ts_match_vq(tsvector, tsquery) LEAKPROOF;
CREATE ROLE memotherm LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
ALTER DATABASE memotherm OWNER TO memotherm;
GRANT ALL ON SCHEMA public TO memotherm;
SQL
