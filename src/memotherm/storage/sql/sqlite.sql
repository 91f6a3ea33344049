-- Statements that only SQLite understands: full text, keys made of bits, JSON lists as parameters.
--
-- A statement with the mark {text} exists once for each text index: `text_add` as `text_live_add` and `text_cold_add`.

-- spaces_visible_in: `spaces_visible`, with conditions for the fields that the scope sets.
SELECT space, (SELECT coalesce(max(seq), 0) FROM adoptions) FROM spaces WHERE $conditions
ORDER BY CASE tenant WHEN '' THEN 0 ELSE 1 END + CASE project WHEN '' THEN 0 ELSE 1 END
  + CASE environment WHEN '' THEN 0 ELSE 1 END + CASE user_ WHEN '' THEN 0 ELSE 1 END
  + CASE agent WHEN '' THEN 0 ELSE 1 END + CASE session WHEN '' THEN 0 ELSE 1 END,
  CASE collection WHEN '' THEN 1 ELSE 0 END, space

-- space_add: A number for a new scope or collection, above all that are stored or were assigned.
INSERT INTO spaces (space, tenant, project, environment, user_, agent, session, collection)
VALUES (1 + max(:above, coalesce((SELECT max(space) FROM spaces), 0)),
    :tenant, :project, :environment, :user, :agent, :session, :collection)
RETURNING space

-- memory_last_no: The highest number in use.
SELECT coalesce(max(no), 0) FROM memories

-- transaction_begin: Whether anything was ever purged, the last adoption, the embedder that serves searches, the newest
-- event or adoption, the highest number of a memory in use, and the pending erasure.
SELECT EXISTS (SELECT 1 FROM tombstones), a.seq, (SELECT value FROM meta WHERE key = 'embedder'),
    max((SELECT coalesce(max(seq), 0) FROM events), a.seq), (SELECT coalesce(max(no), 0) FROM memories),
    (SELECT value FROM meta WHERE key = 'erasure')
FROM (SELECT coalesce(max(seq), 0) AS seq FROM adoptions) a

-- digest_known: Whether any memory has a content.
SELECT 1 FROM memories WHERE digest = :digest LIMIT 1

-- meta_replace: Replace a metadata value, unless it has changed since it was read.
UPDATE meta SET value = :value WHERE key = :key AND value = :before

-- meta_drop_value: Delete a metadata value, unless it has changed since it was read.
DELETE FROM meta WHERE key = :key AND value = :value

-- check_seqs: Whether the ledger has gaps.
SELECT count(*), coalesce(min(seq), 1), coalesce(max(seq), 0)
FROM (SELECT seq FROM events UNION ALL SELECT seq FROM adoptions)

-- events_identity: The last events up to a sequence number, as far as no later change or purge rewrites them.
SELECT e.seq, e.at, e.action, m.id FROM events e CROSS JOIN memories m ON m.no = e.no
WHERE e.seq <= :seq ORDER BY e.seq DESC LIMIT :limit

-- places_in: The memories, of those given, that are active in a space and tier.
SELECT no FROM memories WHERE no {in nos} AND space = :space AND tier = :tier AND retention = 0

-- matching: The memories of a space and tier that a filter lets through. Its conditions are those of `select`.
SELECT no FROM memories WHERE space = :space AND tier = :tier AND retention = 0 AND $conditions

-- where_contains: A condition of `select`; upper and lower case are the same.
content GLOB :glob

-- metadata_root: The metadata, as JSON.
CASE metadata WHEN '' THEN '{}' ELSE metadata END

-- metadata_inner: The value of a node, as JSON with members or elements.
CASE WHEN $node.type IN ('object', 'array') THEN $node.value ELSE '[]' END

-- metadata_member: A member of an object.
json_each($parent) AS $node

-- metadata_element: An element of a list.
json_each($parent) AS $node

-- metadata_key: The key of a node.
$node.key = :key

-- test_exists: A test of a value of the metadata.
1 = 1

-- test_not_null: A test of a value of the metadata.
$node.type <> 'null'

-- test_object: A test of a value of the metadata.
$node.type = 'object'

-- test_members: A test of a value of the metadata.
$node.type = 'object'
    AND (SELECT count(*) FROM json_each(CASE $node.type WHEN 'object' THEN $node.value ELSE '[]' END)) = :length

-- test_elements: A test of a value of the metadata.
$node.type = 'array' AND json_array_length(CASE $node.type WHEN 'array' THEN $node.value ELSE '[]' END) = :length

-- test_one_of: A test of a value of the metadata.
CASE $node.type WHEN 'text' THEN $node.atom {in texts} WHEN 'integer' THEN $node.atom {in numbers}
    WHEN 'real' THEN $node.atom {in numbers} ELSE $node.type {in words} END

-- test_number: A test of a value of the metadata.
$node.type IN ('integer', 'real') AND $node.atom $compare json_extract(:value, '$')

-- test_text: A test of a value of the metadata.
$node.type = 'text' AND $node.atom $compare :value

-- select_read: The same as `select`, of memories that were read with uses that are not written yet.
SELECT {columns} FROM (
    SELECT {read_columns} FROM (
        SELECT key AS id, json_extract(value, '$[0]') AS accessed_at, json_extract(value, '$[1]') AS access_count,
            json_extract(value, '$[2]') AS recent_uses, json_extract(value, '$[3]') AS use_weight
        FROM json_each(:read)) AS r CROSS JOIN {table memories m} ON m.id = r.id) AS memories
WHERE no > :after AND $space {in spaces} AND $conditions
ORDER BY no LIMIT :limit

-- field_state: What the metadata says about the state of a memory; null without it.
lower(trim(coalesce(json_extract(CASE metadata WHEN '' THEN '{}' ELSE metadata END, '$.status'),
    json_extract(CASE metadata WHEN '' THEN '{}' ELSE metadata END, '$.state')), :blanks))

-- field_heat: The heat of a memory, by a function of ours.
heat(use_weight, :now - coalesce(accessed_at, created_at))

-- field_query_relevance: How well a memory answers a query, 0 unless a recall has found it.
coalesce((SELECT r.value FROM json_each(:recalled) AS r WHERE r.key = memories.id), 0.0)

-- text_add: Add a memory.
INSERT INTO {text} (rowid, words) VALUES (:rowid, :words)

-- text_drop: Remove a memory.
DELETE FROM {text} WHERE rowid = :rowid

-- text_from_live: Copy the words of a memory that was hot or warm.
INSERT INTO {text} (rowid, words) SELECT :rowid, words FROM text_live WHERE rowid = :old

-- text_from_cold: Copy the words of a memory that was cold.
INSERT INTO {text} (rowid, words) SELECT :rowid, words FROM text_cold WHERE rowid = :old

-- text_optimize: Merge the index, so that nothing of a deleted row is left in it.
INSERT INTO {text} ({text}) VALUES ('optimize')

-- text_verify: Compare the index with the words it was made of.
INSERT INTO {text} ({text}) VALUES ('integrity-check')

-- text_rows: Every row of the index.
SELECT rowid, words FROM {text} ORDER BY rowid

-- text_create: The index, as in the schema.
CREATE VIRTUAL TABLE {text} USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0)

-- text_clear: Empty the index before it is rebuilt.
DELETE FROM {text}

-- text_postings: The memories in a range of the index that have a word, as one text.
SELECT group_concat(rowid & 68719476735) FROM {text}
WHERE {text} MATCH :match AND rowid BETWEEN :low AND :high

-- index_forget: Remove the entry of a damaged index from the schema.
DELETE FROM sqlite_schema WHERE name = :name

-- vector_add: One vector.
INSERT OR REPLACE INTO vectors (key, vector) VALUES (:key, :vector)

-- vectors_drop: The vectors of a memory.
DELETE FROM vectors WHERE key BETWEEN (:number << 56) + (:no << 20) AND (:number << 56) + (:no << 20) + 1048575

-- vectors_drop_all: All vectors of an embedder.
DELETE FROM vectors WHERE key BETWEEN :number << 56 AND (:number << 56) + 72057594037927935

-- vectors_of: The vectors with these keys. A join does not sort the keys first, as IN does.
SELECT v.key, v.vector FROM json_each(:keys) j CROSS JOIN vectors v ON v.key = j.value

-- vectors_between: The vectors between two keys.
SELECT key, vector FROM vectors WHERE key BETWEEN :low AND :high ORDER BY key

-- vectors_of_place: The vectors of every active memory of a space and tier.
SELECT v.key, v.vector FROM memories m
JOIN vectors v ON v.key BETWEEN :base + (m.no << 20) AND :base + (m.no << 20) + 1048575
WHERE m.space = :space AND m.retention = 0 AND m.tier = :tier

-- vectors_sample: Some vectors between two keys, spread over the store.
SELECT key, vector FROM vectors WHERE key BETWEEN :low AND :high
  AND (key >> 20) % (1 + (SELECT count(*) FROM memories) / :limit) = 0
LIMIT :limit

-- check_orphans: Vectors of memories that do not exist or are purged.
SELECT key FROM vectors v
WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.no = ((v.key >> 20) & 68719476735) AND m.retention <> 3)

-- check_lengths: Vectors of another length than their embedder's.
SELECT v.key, length(v.vector), e.dimensions FROM vectors v LEFT JOIN embedders e ON e.number = (v.key >> 56)
WHERE e.number IS NULL OR length(v.vector) <> 4 * e.dimensions

-- vectors_of_memories: The vectors of some memories.
SELECT v.key, v.vector FROM json_each(:nos) j
JOIN vectors v ON v.key BETWEEN :base + (j.value << 20) AND :base + (j.value << 20) + 1048575

-- candidates: The fields that ranking uses, of those memories that are active, with their words.
SELECT m.no, m.space, m.tier, m.priority, m.kind, m.created_at, m.accessed_at, m.access_count,
    coalesce(l.c0, c.c0, ''), coalesce(u.author, ''), u.previous, m.expires_at
FROM json_each(:nos) j
CROSS JOIN memories m ON m.no = j.value
LEFT JOIN text_live_content l ON m.tier < 2 AND l.id = (((m.space << 2) | m.tier) << 36) | m.no
LEFT JOIN text_cold_content c ON m.tier = 2 AND c.id = (((m.space << 2) | m.tier) << 36) | m.no
LEFT JOIN turns u ON u.no = m.no
WHERE m.retention = 0

-- candidates_unindexed: The same with content and tags instead of the words, if the text index is lost.
SELECT m.no, m.space, m.tier, m.priority, m.kind, m.created_at, m.accessed_at, m.access_count,
    m.content, coalesce(u.author, ''), u.previous, m.expires_at, m.tags
FROM json_each(:nos) j
CROSS JOIN memories m ON m.no = j.value
LEFT JOIN turns u ON u.no = m.no
WHERE m.retention = 0

-- memory_uses: What changes when a use of a memory is counted.
SELECT no, accessed_at, access_count, recent_uses, use_weight, relevance FROM memories WHERE no {in nos}

-- moment: The newest event, how many transactions have counted uses, and the last adoption.
SELECT max((SELECT coalesce(max(seq), 0) FROM events), a.seq),
    (SELECT CAST(coalesce(max(value), 0) AS INTEGER) FROM meta WHERE key = 'uses'),
    a.seq
FROM (SELECT coalesce(max(seq), 0) AS seq FROM adoptions) a

-- uses_counted: Note that a transaction counts uses, and return the number of such transactions.
INSERT INTO meta (key, value) VALUES ('uses', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1
RETURNING CAST(value AS INTEGER)

-- words_stored: Those of some words that active memories have; some memories are about to leave the index.
SELECT value FROM json_each(:words)
WHERE EXISTS (SELECT 1 FROM text_live WHERE text_live MATCH '"' || value || '"' AND NOT rowid & 68719476735 {in nos})
    OR EXISTS (SELECT 1 FROM text_cold WHERE text_cold MATCH '"' || value || '"' AND NOT rowid & 68719476735 {in nos})

-- searched: How many active memories some spaces have in some tiers, and whether any of these spaces has memories that
-- are past their time and that no maintenance has taken out yet.
SELECT (SELECT coalesce(sum(memories), 0) FROM {table counters}
        WHERE retention = 0 AND space {in spaces} AND tier {in tiers}),
    EXISTS (
        SELECT 1 FROM {table memories} {index memories_by_expiry}
        WHERE retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0 AND space {in spaces})

-- vectors_all: Every vector, with the space and tier of its memory.
SELECT s.tenant, v.key >> 56, (v.key / :parts) & :numbers, v.key % :parts, m.space,
       CASE m.retention WHEN 0 THEN m.tier ELSE 3 END, v.vector
FROM vectors v JOIN memories m ON m.no = (v.key / :parts) & :numbers JOIN spaces s ON s.space = m.space
ORDER BY v.key

-- vectors_by_digest: The vectors that an embedder has made of a content, in any space of the tenant (NULL = of all).
SELECT v.vector FROM (
    SELECT no FROM memories
    WHERE digest = :digest AND parts > 0 AND retention <> 3
      AND (:tenant IS NULL OR space IN (SELECT space FROM spaces WHERE tenant IN ('', :tenant)))
    ORDER BY no LIMIT 1) m
CROSS JOIN vectors v ON v.key BETWEEN (:number << 56) + (m.no << 20) AND (:number << 56) + (m.no << 20) + 1048575
ORDER BY v.key

-- events_changed_since: The memories touched after a sequence number. SQLite would read the index of all memories
-- because it has them in order.
SELECT DISTINCT no FROM events NOT INDEXED WHERE seq > :seq
