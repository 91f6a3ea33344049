-- Statements that only PostgreSQL understands: numbers from sequences, lexemes, vectors, locks.

-- pgvector: Whether pgvector is installed in the database, offered by the server, and ours to install.
SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector'),
    EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector'),
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)

-- numbers: The next numbers of a sequence.
SELECT nextval(CAST(:sequence AS REGCLASS)) FROM generate_series(1, :count)

-- event_last: The newest sequence number, tenant by tenant, each from the end of its index.
SELECT greatest(coalesce(max(newest.seq), 0), (SELECT coalesce(max(seq), 0) FROM adoptions))
FROM {each_tenant}, LATERAL (SELECT max(seq) AS seq FROM {table events} WHERE events.tenant = each.tenant) AS newest

-- lock_tenant: Keep other writers of the tenant out, and those of all tenants, until the transaction ends.
SELECT pg_advisory_xact_lock_shared(:store), pg_advisory_xact_lock(hashtextextended(:tenant, :store))

-- lock_store: Keep all other writers out until the transaction ends.
SELECT pg_advisory_xact_lock(:store)

-- lock_ledger: Wait for the writers whose events a tenant can see, and keep others out until the transaction ends.
SELECT pg_advisory_xact_lock_shared(:store), pg_advisory_xact_lock_shared(hashtextextended('', :store)),
       pg_advisory_xact_lock_shared(hashtextextended(:tenant, :store))

-- try_lock_tenant: The same as lock_tenant, without waiting.
SELECT pg_try_advisory_xact_lock_shared(:store) AND pg_try_advisory_xact_lock(hashtextextended(:tenant, :store))

-- space_add: A number for a new scope or collection.
INSERT INTO {table spaces} (tenant, project, environment, user_, agent, session, collection)
VALUES (:tenant, :project, :environment, :user, :agent, :session, :collection)
RETURNING space

-- space_tenant: The tenant of a space.
SELECT tenant FROM {table spaces} WHERE space = :space

-- tenants: All tenants.
SELECT '' UNION SELECT DISTINCT tenant FROM {table spaces} ORDER BY 1

-- where_contains: A condition of `select`; upper and lower case are the same.
translate(content, :cased, :folded) LIKE :pattern ESCAPE '!'

-- metadata_root: The metadata, as JSON; JSONB has no NUL.
CAST(replace(nullif(metadata, ''), '\u0000', '\u0001') AS JSONB)

-- metadata_inner: The value of a node.
$node.value

-- metadata_member: A member of an object.
LATERAL (SELECT $parent -> CAST(:key AS TEXT) AS value) AS $node

-- metadata_element: An element of a list.
LATERAL (SELECT $parent -> CAST(:key AS INTEGER) AS value) AS $node

-- metadata_key: The key of a node.
$node.value IS NOT NULL

-- test_exists: A test of a value of the metadata.
1 = 1

-- test_not_null: A test of a value of the metadata.
jsonb_typeof($node.value) <> 'null'

-- test_object: A test of a value of the metadata.
jsonb_typeof($node.value) = 'object'

-- test_members: A test of a value of the metadata.
CASE jsonb_typeof($node.value) WHEN 'object'
    THEN (SELECT count(*) FROM jsonb_object_keys($node.value)) = :length ELSE false END

-- test_elements: A test of a value of the metadata.
CASE jsonb_typeof($node.value) WHEN 'array' THEN jsonb_array_length($node.value) = :length ELSE false END

-- test_one_of: A test of a value of the metadata.
CASE jsonb_typeof($node.value)
    WHEN 'string' THEN $node.value #>> '{}' = ANY(CAST(:texts AS TEXT[]))
    WHEN 'number' THEN $node.value IN (SELECT jsonb_array_elements(CAST(:numbers AS JSONB)))
    WHEN 'boolean' THEN $node.value #>> '{}' = ANY(CAST(:words AS TEXT[]))
    ELSE false END

-- test_number: A test of a value of the metadata.
CASE jsonb_typeof($node.value) WHEN 'number'
    THEN $node.value $compare CAST(:value AS JSONB) ELSE false END

-- test_text: A test of a value of the metadata.
CASE jsonb_typeof($node.value) WHEN 'string'
    THEN $node.value #>> '{}' COLLATE "C" $compare :value ELSE false END

-- select_read: The same as `select`, of memories that were read with uses that are not written yet.
SELECT {columns} FROM (
    SELECT {key m}{read_columns} FROM (
        SELECT key AS id, CAST(value ->> 0 AS BIGINT) AS accessed_at, CAST(value ->> 1 AS BIGINT) AS access_count,
            CAST(value ->> 2 AS DOUBLE PRECISION) AS recent_uses, CAST(value ->> 3 AS DOUBLE PRECISION) AS use_weight
        FROM jsonb_each(CAST(:read AS JSONB))) AS r JOIN {table memories m} ON {own m}m.id = r.id) AS memories
WHERE {own}no > :after AND $space {in spaces} AND $conditions
ORDER BY no LIMIT :limit

-- field_state: What the metadata says about the state of a memory; null without it.
lower(btrim(coalesce(CAST(replace(nullif(metadata, ''), '\u0000', '\u0001') AS JSONB) ->> 'status',
    CAST(replace(nullif(metadata, ''), '\u0000', '\u0001') AS JSONB) ->> 'state'), :blanks) COLLATE "C")

-- field_heat: The heat of a memory.
(ln(1 + use_weight) / ln(CAST(2 AS DOUBLE PRECISION))
    * power(0.5, greatest(0, :now - coalesce(accessed_at, created_at)) / CAST(:half_life AS DOUBLE PRECISION)))

-- field_query_relevance: How well a memory answers a query, 0 unless a recall has found it.
coalesce(CAST(CAST(:recalled AS JSONB) ->> memories.id AS DOUBLE PRECISION), 0.0)

-- text_add: Add a memory to the text index, or a part of its words.
INSERT INTO {table texts} (no, part, space, tier, words, lexemes)
VALUES (:no, :part, :space, :tier, :words, CAST(:lexemes AS TSVECTOR))

-- text_drop: Remove a memory from the text index.
DELETE FROM {table texts} WHERE {own}no = :no

-- text_move: Change the tier of a memory's words.
UPDATE {table texts} SET tier = :tier WHERE {own}no = :no

-- text_search: The memories of a band that have some of the words; each word counts by how rare it is, there and
-- in the other band (`others`), so that neither length nor repetition matters. The sum has an order, so that the
-- same words give the same strength to the last bit. Rows with a negative number tell how many memories of the band
-- have the word at that place.
WITH postings AS MATERIALIZED (
    SELECT a.place, t.no
    FROM unnest(CAST(:scoped AS TSQUERY[])) WITH ORDINALITY AS a (scoped, place) JOIN {table texts t} ON t.lexemes @@ a.scoped
    WHERE {own t}{band t}t.space {in spaces} AND t.tier {in tiers}
), counted AS (
    SELECT place, count(*) AS found, count(*) + (CAST(:others AS BIGINT[]))[place] AS times FROM postings GROUP BY place
), weighed AS (
    SELECT place, ln(1 + greatest(total - times + 0.5, 0) / (times + 0.5)) AS weight
    FROM counted, (
        SELECT CAST(coalesce(sum(memories), 0) AS DOUBLE PRECISION) AS total FROM {table counters}
        WHERE {own}retention = 0 AND space {in spaces} AND tier {in all_tiers}) AS searched
), scored AS (
    SELECT no, sum(weight ORDER BY place) AS strength FROM postings JOIN weighed USING (place) GROUP BY no
)
(SELECT no, strength FROM scored s
WHERE no NOT IN (
    SELECT no FROM {table memories}
    WHERE {own}retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces})
  AND ($any OR EXISTS (SELECT 1 FROM {table memories} WHERE {own}memories.no = s.no AND $conditions))
ORDER BY strength DESC, no DESC LIMIT :limit)
UNION ALL SELECT -place, found FROM counted

-- transaction_begin: Whether anything was ever purged, the last adoption, and the embedder that serves searches.
SELECT EXISTS (SELECT 1 FROM {table tombstones}), (SELECT coalesce(max(seq), 0) FROM adoptions),
    (SELECT value FROM meta WHERE key = 'embedder')

-- candidates: The fields that ranking uses, of those memories that are visible, with their words.
SELECT m.no, m.space, m.tier, m.priority, m.kind, m.created_at, m.accessed_at, m.access_count,
    coalesce(t.words, ''), coalesce(u.author, ''), u.previous
FROM {table memories m} LEFT JOIN {table texts t} ON {same t m}t.no = m.no AND t.part = 0 LEFT JOIN {table turns u} ON {same u m}u.no = m.no
WHERE {own m}m.no {in nos} AND m.retention = 0 AND (m.expires_at IS NULL OR m.expires_at > :now OR m.priority = 0)

-- candidate_memories: The same, each followed by the whole memory.
SELECT m.no, m.space, m.tier, m.priority, m.kind, m.created_at, m.accessed_at, m.access_count,
    coalesce(t.words, ''), coalesce(u.author, ''), u.previous, {chunk_columns}
FROM {table memories m} LEFT JOIN {table texts t} ON {same t m}t.no = m.no AND t.part = 0 LEFT JOIN {table turns u} ON {same u m}u.no = m.no
WHERE {own m}m.no {in nos} AND m.retention = 0 AND (m.expires_at IS NULL OR m.expires_at > :now OR m.priority = 0)

-- words_stored: Those of some words that active memories have, beside some memories.
SELECT DISTINCT word FROM {table texts}, unnest(string_to_array(words, ' ')) AS word
WHERE {own}word = ANY(:words) AND NOT no {in nos}

-- text_frequencies: How many memories of a band contain each of the words, by the word's position.
SELECT a.place, count(DISTINCT t.no)
FROM unnest(CAST(:scoped AS TSQUERY[])) WITH ORDINALITY AS a (scoped, place) JOIN {table texts t} ON t.lexemes @@ a.scoped
WHERE {own t}{band t}t.space {in spaces} AND t.tier {in tiers} GROUP BY a.place

-- texts_secure: The row-level security of another table of tenants, for a new text index.
DO $$
DECLARE
    policy RECORD;
BEGIN
    ALTER TABLE texts ENABLE ROW LEVEL SECURITY;
    ALTER TABLE texts FORCE ROW LEVEL SECURITY;
    FOR policy IN SELECT * FROM pg_policies WHERE schemaname = current_schema() AND tablename = 'vectors' LOOP
        EXECUTE 'CREATE POLICY ' || quote_ident(policy.policyname) || ' ON texts FOR ' || policy.cmd
            || coalesce(' USING (' || policy.qual || ')', '') || coalesce(' WITH CHECK (' || policy.with_check || ')', '');
    END LOOP;
END $$

-- texts_clear: Empty the text index before it is rebuilt.
DELETE FROM {table texts}

-- vector_add: Insert or replace a vector.
INSERT INTO {table vectors} (embedder, no, part, space, tier, vector)
VALUES (:number, :no, :part, :space, :tier, :vector)
ON CONFLICT (tenant, embedder, no, part) DO UPDATE
SET vector = excluded.vector, space = excluded.space, tier = excluded.tier

-- vectors_move: Change the space and tier of a memory's vectors.
UPDATE {table vectors} SET space = :space, tier = :tier WHERE {own}no = :no

-- vectors_drop: The vectors of a memory.
DELETE FROM {table vectors} WHERE {own}embedder = :number AND no = :no

-- vectors_drop_all: All vectors of an embedder.
DELETE FROM {table vectors} WHERE {own}embedder = :number

-- vector_index: Index an embedder's live vectors, so that the nearest are found without looking at all.
CREATE INDEX CONCURRENTLY IF NOT EXISTS vectors_live_$number ON vectors
USING hnsw ((CAST(vector AS $type($dimensions))) $type_ip_ops) WHERE embedder = $number AND tier < 2

-- vector_index_drop: Drop an index that was not finished; one that is finished is never in the way.
DROP INDEX IF EXISTS vectors_live_$number

-- vector_index_claim: Let one server at a time make an index; the claim ends with its connection.
SELECT pg_try_advisory_lock(:number)

-- embedders_unindexed: The embedders whose live vectors have no index that is ready, though they could.
SELECT e.number, e.name, e.dimensions FROM embedders e
WHERE e.dimensions BETWEEN 1 AND :most AND NOT EXISTS (
    SELECT 1 FROM pg_index i WHERE i.indexrelid = to_regclass('vectors_live_' || e.number) AND i.indisvalid)
ORDER BY e.number

-- live_most: How many live memories the tenant has that has most.
SELECT CAST(coalesce(max(total), 0) AS BIGINT) FROM (
    SELECT sum(memories) AS total FROM {table counters} WHERE {own}retention = 0 AND tier < 2 GROUP BY tenant) AS counted

-- vector_care: How many vectors the index looks at before it continues.
SET LOCAL hnsw.ef_search TO $width

-- vector_near: The nearest live vectors by the index, then exactly.
WITH near AS MATERIALIZED (
    SELECT no, vector FROM {table vectors v}
    WHERE {own}embedder = $number AND tier < 2 AND space {in spaces} AND tier {in tiers} AND no NOT IN (
        SELECT no FROM {table memories}
        WHERE {own}retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces})
    ORDER BY CAST(vector AS $type($dimensions)) <#> CAST(:vector AS $type($dimensions)) LIMIT :wanted
)
SELECT no, max(-(vector <#> :vector)) AS strength FROM near GROUP BY no ORDER BY strength DESC, no DESC LIMIT :limit

-- vector_exact: The nearest of all vectors in some places.
SELECT no, max(-(vector <#> :vector)) AS strength FROM {table vectors v}
WHERE {own}embedder = :number AND space {in spaces} AND tier {in tiers} AND no NOT IN (
    SELECT no FROM {table memories}
    WHERE {own}retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces})
  AND ($any OR EXISTS (SELECT 1 FROM {table memories} WHERE {own}memories.no = v.no AND $conditions))
GROUP BY no ORDER BY strength DESC, no DESC LIMIT :limit

-- vector_strengths: How near some memories are.
SELECT no, max(-(vector <#> :vector)) FROM {table vectors} WHERE {own}embedder = :number AND no {in nos} GROUP BY no

-- vectors_of_memories: The vectors of some memories.
SELECT no, vector FROM {table vectors} WHERE {own}embedder = :number AND no {in nos} ORDER BY no, part

-- vectors_sample: Some vectors of an embedder, spread over the store.
SELECT vector FROM {table vectors} TABLESAMPLE SYSTEM (CAST(:percent AS REAL)) REPEATABLE (0)
WHERE {own}embedder = :number ORDER BY no, part LIMIT :limit

-- count_all: How many memories there are.
SELECT CAST(coalesce(sum(memories), 0) AS BIGINT) FROM {table counters}

-- size: The bytes that the tables and their indexes take.
SELECT CAST(sum(pg_total_relation_size(c.oid)) AS BIGINT) FROM pg_class c
WHERE c.relnamespace = CAST(:schema AS REGNAMESPACE) AND c.relkind = 'r'

-- bypasses_security: Whether row-level security does not apply to this role.
SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user

-- check_texts: Every row of the text index that has the words.
SELECT no, space, tier, words FROM {table texts} WHERE part = 0 ORDER BY no

-- check_orphans: Vectors of memories that do not exist or are purged.
SELECT v.no || '/' || v.part FROM {table vectors v}
WHERE NOT EXISTS (SELECT 1 FROM {table memories m} WHERE {same v m}m.no = v.no AND m.retention <> 3)

-- check_lengths: Vectors of another length than their embedder's.
SELECT v.no || '/' || v.part, 4 * vector_dims(v.vector), e.dimensions
FROM {table vectors v} LEFT JOIN embedders e ON e.number = v.embedder
WHERE e.number IS NULL OR vector_dims(v.vector) <> e.dimensions

-- check_vector_tiers: Vectors with another space or tier than their memory.
SELECT m.id FROM {table vectors v} JOIN {table memories m} ON {same v m}m.no = v.no
WHERE v.space <> m.space OR v.tier <> CASE WHEN m.retention = 0 THEN m.tier ELSE 3 END

-- numbers_follow: Set the sequences after a copy.
SELECT setval('space_numbers', (SELECT coalesce(max(space), 0) + 1 FROM {table spaces}), false),
       setval('memory_numbers', (SELECT coalesce(max(no), 0) + 1 FROM {table memories}), false),
       setval('event_numbers', greatest((SELECT coalesce(max(seq), 0) + 1 FROM {table events}),
                                        (SELECT coalesce(max(seq), 0) + 1 FROM adoptions)), false),
       setval('recall_numbers', (SELECT coalesce(max(recall), 0) + 1 FROM {table recalls}), false),
       setval('receipt_numbers', (SELECT coalesce(max(receipt), 0) + 1 FROM {table receipts}), false),
       setval('note_numbers', (SELECT coalesce(max(note), 0) + 1 FROM {table notes}), false),
       setval(pg_get_serial_sequence('embedders', 'number'), (SELECT coalesce(max(number), 0) + 1 FROM embedders), false)

-- statistics: Update the planner's statistics.
ANALYZE memories, vectors, texts, events, tags, spaces

-- catalogue_tables: The tables that have a tenant.
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
WHERE c.relnamespace = to_regnamespace(:schema) AND c.relkind IN ('r', 'p')

-- catalogue_links: The keys of a table that refer to other tables, each with its column beside the tenant and the table.
SELECT k.conname, a.attname, t.relname FROM pg_constraint k JOIN pg_class t ON t.oid = k.confrelid
JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = k.conkey[2]
WHERE k.conrelid = to_regclass(:table) AND k.contype = 'f' ORDER BY k.conname

-- catalogue_policies: The row-level security policies of a table.
SELECT policyname, cmd, qual, with_check FROM pg_policies
WHERE schemaname = :schema AND tablename = :table ORDER BY policyname

-- distribution: Whether the tables are distributed: then there are copies of the rows that all tenants see; and whether
-- that was begun and is not done yet.
SELECT to_regclass('memotherm_shared.memories') IS NOT NULL,
    EXISTS (SELECT 1 FROM memotherm.meta WHERE key = 'distribution')

-- lock_connection: Keep all writers out until the connection ends.
SELECT pg_advisory_lock(:store)

-- others_end: End the other connections of this role to the database.
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user AND pid <> pg_backend_pid()
    AND application_name = current_setting('application_name')

-- citus: Whether Citus is installed in the database.
SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus')

-- citus_coordinator: Whether the server is the coordinator of a cluster.
SELECT citus_is_coordinator()

-- citus_workers: The nodes that have shards.
SELECT nodename || ':' || nodeport FROM pg_dist_node WHERE isactive AND shouldhaveshards ORDER BY nodeid

-- shared_numbers: Those of some memories that have no tenant.
SELECT no FROM {table memories} WHERE tenant = '' AND no {in nos}

-- digests_stored: Those of some digests that a memory has.
SELECT DISTINCT digest FROM {table memories} WHERE {own}digest {in digests}

-- digests_with_vectors: The first memory with vectors of each of some contents, in any space of the tenant.
SELECT min(no), digest FROM {table memories} WHERE {own}digest {in digests} AND parts > 0 AND retention <> 3 GROUP BY digest
