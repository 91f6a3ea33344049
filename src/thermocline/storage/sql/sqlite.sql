-- Statements that only SQLite understands: full text, keys made of bits, JSON lists as parameters.

-- visible: Where some memories are, as far as they are visible.
SELECT no, space, tier, priority, kind FROM memories
WHERE no IN (SELECT value FROM json_each(:nos))
  AND retention = 0 AND (expires_at IS NULL OR expires_at > :now OR priority = 0)

-- candidates: What ranking needs to know of some memories, as far as they are visible, with their words.
SELECT m.no, m.space, m.tier, m.priority, m.kind, m.created_at, m.accessed_at, m.access_count,
    ' ' || coalesce(l.c0, c.c0, '') || ' ', coalesce(u.author, ''), u.previous
FROM json_each(:nos) j
CROSS JOIN memories m ON m.no = j.value
LEFT JOIN text_live_content l ON m.tier < 2 AND l.id = (((m.space << 2) | m.tier) << 36) | m.no
LEFT JOIN text_cold_content c ON m.tier = 2 AND c.id = (((m.space << 2) | m.tier) << 36) | m.no
LEFT JOIN turns u ON u.no = m.no
WHERE m.retention = 0 AND (m.expires_at IS NULL OR m.expires_at > :now OR m.priority = 0)

-- sayings: What some active memories say, who said it and after what.
SELECT m.no, ' ' || coalesce(l.c0, c.c0, '') || ' ', coalesce(u.author, ''), u.previous
FROM json_each(:nos) j
CROSS JOIN memories m ON m.no = j.value
LEFT JOIN text_live_content l ON m.tier < 2 AND l.id = (((m.space << 2) | m.tier) << 36) | m.no
LEFT JOIN text_cold_content c ON m.tier = 2 AND c.id = (((m.space << 2) | m.tier) << 36) | m.no
LEFT JOIN turns u ON u.no = m.no
WHERE m.retention = 0

-- memories_of: Whole memories by number.
SELECT {columns} FROM memories WHERE no IN (SELECT value FROM json_each(:nos))

-- pinned: The pinned memories of some spaces, oldest first (`priority < 2` lets SQLite see that the index fits).
SELECT {columns} FROM memories INDEXED BY memories_by_urgency
WHERE space IN (SELECT value FROM json_each(:spaces)) AND priority = 0 AND priority < 2 AND retention = 0
ORDER BY no

-- expired: Memories that are past their time and that no maintenance has taken out yet.
SELECT no FROM memories INDEXED BY memories_by_expiry
WHERE retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0
  AND space IN (SELECT value FROM json_each(:spaces))

-- tagged: Which of some memories carry one of the tags.
SELECT DISTINCT no FROM tags
WHERE tag IN (SELECT value FROM json_each(:tags)) AND no IN (SELECT value FROM json_each(:nos))

-- matching: The memories of a space and tier that a filter lets through.
SELECT no FROM memories
WHERE space = :space AND tier = :tier AND retention = 0
  AND (:kinds IS NULL OR kind IN (SELECT value FROM json_each(:kinds)))
  AND (:tags IS NULL OR no IN (SELECT no FROM tags WHERE tag IN (SELECT value FROM json_each(:tags))))

-- find: A page of memories, newest first.
SELECT {columns} FROM memories
WHERE space IN (SELECT value FROM json_each(:spaces)) AND no < :before AND retention = :retention
  AND tier IN (SELECT value FROM json_each(:tiers))
  AND (:priority IS NULL OR priority = :priority)
  AND (:kind IS NULL OR kind = :kind)
  AND (:tags IS NULL OR no IN (SELECT no FROM tags WHERE tag IN (SELECT value FROM json_each(:tags))))
  AND (:expired OR expires_at IS NULL OR expires_at > :now OR priority = 0)
ORDER BY no DESC LIMIT :limit

-- text_live_postings: The hot and warm memories in a range of the index that have a word, as one text.
SELECT group_concat(rowid & 68719476735) FROM text_live
WHERE text_live MATCH :match AND rowid BETWEEN :low AND :high

-- text_cold_postings: The cold memories in a range of the index that have a word, as one text.
SELECT group_concat(rowid & 68719476735) FROM text_cold
WHERE text_cold MATCH :match AND rowid BETWEEN :low AND :high

-- text_live_add: Make a hot or warm memory findable by its words.
INSERT INTO text_live (rowid, words) VALUES (:rowid, :words)

-- text_cold_add: Make a cold memory findable by its words.
INSERT INTO text_cold (rowid, words) VALUES (:rowid, :words)

-- text_live_drop: Take a hot or warm memory out of the text index.
DELETE FROM text_live WHERE rowid = :rowid

-- text_cold_drop: Take a cold memory out of the text index.
DELETE FROM text_cold WHERE rowid = :rowid

-- text_live_to_text_live: Copy the words of a memory that moves between hot and warm.
INSERT INTO text_live (rowid, words) SELECT :rowid, words FROM text_live WHERE rowid = :old

-- text_live_to_text_cold: Copy the words of a memory that goes cold.
INSERT INTO text_cold (rowid, words) SELECT :rowid, words FROM text_live WHERE rowid = :old

-- text_cold_to_text_live: Copy the words of a memory that comes back.
INSERT INTO text_live (rowid, words) SELECT :rowid, words FROM text_cold WHERE rowid = :old

-- text_live_optimize: Merge the index, so that nothing of a deleted row is left in it.
INSERT INTO text_live (text_live) VALUES ('optimize')

-- text_cold_optimize: Merge the index, so that nothing of a deleted row is left in it.
INSERT INTO text_cold (text_cold) VALUES ('optimize')

-- text_live_verify: Compare the index with the words it was made of.
INSERT INTO text_live (text_live) VALUES ('integrity-check')

-- text_cold_verify: Compare the index with the words it was made of.
INSERT INTO text_cold (text_cold) VALUES ('integrity-check')

-- text_live_rows: Every row of the index.
SELECT rowid, words FROM text_live ORDER BY rowid

-- text_cold_rows: Every row of the index.
SELECT rowid, words FROM text_cold ORDER BY rowid

-- text_live_clear: Empty the index before it is rebuilt.
DELETE FROM text_live

-- text_cold_clear: Empty the index before it is rebuilt.
DELETE FROM text_cold

-- indexed: The memories that belong into the text indexes, in order.
SELECT no, space, tier, content, tags FROM memories WHERE retention = 0 ORDER BY no

-- vector_add: One vector.
INSERT OR REPLACE INTO vectors (key, vector) VALUES (:key, :vector)

-- vectors_drop: The vectors between two keys.
DELETE FROM vectors WHERE key BETWEEN :low AND :high

-- vectors_of: The vectors with these keys.
SELECT key, vector FROM vectors WHERE key IN (SELECT value FROM json_each(:keys))

-- vectors_between: The vectors between two keys.
SELECT key, vector FROM vectors WHERE key BETWEEN :low AND :high ORDER BY key

-- vectors_of_place: The vectors of every active memory of a space and tier.
SELECT v.key, v.vector FROM memories m
JOIN vectors v ON v.key BETWEEN :base + (m.no << 20) AND :base + (m.no << 20) + 1048575
WHERE m.space = :space AND m.retention = 0 AND m.tier = :tier

-- vectors_by_digest: Vectors already made for the same content, in any space.
SELECT m.no FROM memories m WHERE m.digest = :digest AND m.parts > 0 AND m.retention < 3 ORDER BY m.no LIMIT 1

-- vectors_missing: Memories that have no vector of an embedder yet.
SELECT no, content FROM memories m
WHERE retention < 3 AND no > :after
  AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key BETWEEN :base + (m.no << 20) AND :base + (m.no << 20) + 1048575)
ORDER BY no LIMIT :limit

-- vectors_missing_count: How many memories have no vector of an embedder yet.
SELECT count(*) FROM memories m
WHERE retention < 3
  AND NOT EXISTS (SELECT 1 FROM vectors v WHERE v.key BETWEEN :base + (m.no << 20) AND :base + (m.no << 20) + 1048575)

-- parts_recount: Set every memory's number of vectors to what an embedder has made.
UPDATE memories SET parts = (
    SELECT count(*) FROM vectors v
    WHERE v.key BETWEEN :base + (memories.no << 20) AND :base + (memories.no << 20) + 1048575)

-- places: Where some memories are now.
SELECT no, space, tier, retention FROM memories WHERE no IN (SELECT value FROM json_each(:nos))

-- counts: What the spaces hold.
SELECT tier, retention, sum(memories), sum(tokens) FROM counters
WHERE space IN (SELECT value FROM json_each(:spaces)) GROUP BY tier, retention

-- events_after: Events of memories in some spaces, in the order of the ledger, which is read until there are enough.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes
FROM events e CROSS JOIN memories m ON m.no = e.no
WHERE e.seq > :past AND m.space IN (SELECT value FROM json_each(:spaces)) ORDER BY e.seq LIMIT :limit

-- events_before: The same, against the order of the ledger.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes
FROM events e CROSS JOIN memories m ON m.no = e.no
WHERE e.seq < :past AND m.space IN (SELECT value FROM json_each(:spaces)) ORDER BY e.seq DESC LIMIT :limit

-- pending_in: How many memories of some spaces wait for their vectors.
SELECT count(*) FROM memories INDEXED BY memories_without_vector
WHERE parts = 0 AND retention < 3 AND retention = 0 AND space IN (SELECT value FROM json_each(:spaces))

-- vectors_sample: Some vectors between two keys, spread over the store.
SELECT key, vector FROM vectors WHERE key BETWEEN :low AND :high
  AND (key >> 20) % (1 + (SELECT count(*) FROM memories) / :limit) = 0
LIMIT :limit

-- embedders_all: The numbers of all embedders.
SELECT number FROM embedders

-- check_rows: What every memory must agree with.
SELECT no, id, space, tier, priority, retention, content, tags, digest, version FROM memories ORDER BY no

-- check_events: The ledger, memory by memory.
SELECT no, seq, changes FROM events ORDER BY no, seq

-- check_seqs: Whether the ledger has gaps.
SELECT count(*), coalesce(min(seq), 1), coalesce(max(seq), 0) FROM events

-- check_parts: Memories that do not have as many vectors as they say.
SELECT id, parts, found FROM (
    SELECT m.id, m.parts, (
        SELECT count(*) FROM vectors v
        WHERE v.key BETWEEN :base + (m.no << 20) AND :base + (m.no << 20) + 1048575) AS found
    FROM memories m)
WHERE parts <> found

-- check_orphans: Vectors of memories that do not exist or are purged.
SELECT key FROM vectors v
WHERE NOT EXISTS (SELECT 1 FROM memories m WHERE m.no = ((v.key >> 20) & 68719476735) AND m.retention < 3)

-- check_lengths: Vectors of another length than their embedder's.
SELECT v.key, length(v.vector), e.dimensions FROM vectors v LEFT JOIN embedders e ON e.number = (v.key >> 56)
WHERE e.number IS NULL OR length(v.vector) <> 4 * e.dimensions

-- check_counters: Counters that differ from what they count.
SELECT space, tier, retention, sum(said), sum(said_tokens), sum(found), sum(found_tokens) FROM (
    SELECT space, tier, retention, memories AS said, tokens AS said_tokens, 0 AS found, 0 AS found_tokens
    FROM counters
    UNION ALL
    SELECT space, tier, retention, 0, 0, count(*), sum(tokens) FROM memories GROUP BY space, tier, retention)
GROUP BY space, tier, retention
HAVING sum(said) <> sum(found) OR sum(said_tokens) <> sum(found_tokens)

-- check_tags: The tags of every memory that has some.
SELECT no, tag FROM tags ORDER BY no

-- spaces_within: The spaces that lie inside a scope: equal to it or narrower.
SELECT space FROM spaces
WHERE (:tenant = '' OR tenant = :tenant) AND (:project = '' OR project = :project)
  AND (:environment = '' OR environment = :environment) AND (:user = '' OR user_ = :user)
  AND (:agent = '' OR agent = :agent) AND (:session = '' OR session = :session)

-- watch_compaction: What the rules of compaction may move: all that is hot, blockers, decisions and tasks.
SELECT {columns} FROM memories
WHERE retention = 0 AND no > :after AND space IN (SELECT value FROM json_each(:spaces))
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
  AND (tier = 0 OR (tier = 1 AND kind = 'decision')
       OR (tier = 1 AND no IN (SELECT no FROM tags WHERE tag = 'task'))
       OR no IN (SELECT no FROM tags WHERE tag = 'blocker'))
ORDER BY no LIMIT :limit

-- watch_cooling: What has been idle for long, and what is cold and was used again. Maintenance looks at most
-- spaces at once, so it reads the table in its own order: `+space` keeps the index of places out of it.
SELECT {columns} FROM memories
WHERE retention = 0 AND no > :after AND +space IN (SELECT value FROM json_each(:spaces))
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
  AND ((tier = 0 AND coalesce(accessed_at, created_at) <= :idle_hot)
       OR (tier = 1 AND tier_since <= :idle_warm AND coalesce(accessed_at, created_at) <= :idle_warm)
       OR (tier = 2 AND accessed_at > tier_since))
ORDER BY no LIMIT :limit

-- watch_retention: What is past its time, in each state of retention.
SELECT {columns} FROM memories
WHERE no > :after AND +space IN (SELECT value FROM json_each(:spaces))
  AND ((retention = 0 AND expires_at <= :now AND priority > 0)
       OR (retention = 0 AND coalesce(accessed_at, created_at) <= :archive_before)
       OR (retention = 1 AND retention_since <= :delete_before)
       OR (retention = 2 AND retention_since <= :purge_before))
ORDER BY no LIMIT :limit

-- session_place: The memories of one space in one tier, newest first.
SELECT {columns} FROM memories
WHERE space = :space AND tier = :tier AND retention = 0
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
ORDER BY created_at DESC, no DESC LIMIT :limit

-- session_tokens: What the memories of one space and tier cost in a prompt.
SELECT count(*), coalesce(sum(tokens), 0) FROM memories
WHERE space = :space AND tier = :tier AND retention = 0
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)

-- session_spillable: What may leave hot: least relevant first, then oldest.
SELECT {columns} FROM memories
WHERE space = :space AND tier = 0 AND retention = 0 AND priority > 0
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY relevance, created_at, no LIMIT :limit

-- session_prunable: The cold memories of a space that are worth the least.
SELECT {columns} FROM memories
WHERE space = :space AND tier = 2 AND retention = 0 AND priority > 0
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY relevance + 0.1 * access_count, created_at, no LIMIT :limit

-- session_put: Begin, end or summarise a session.
INSERT INTO sessions (space, state, started_at, changed_at) VALUES (:space, :state, :now, :now)
ON CONFLICT (space) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at

-- session_state: Whether a session goes on.
SELECT state FROM sessions WHERE space = :space

-- sessions_open: The names of the sessions that go on in some spaces.
SELECT s.session FROM sessions o JOIN spaces s ON s.space = o.space
WHERE o.state = 'active' AND o.space IN (SELECT value FROM json_each(:spaces))

-- relevance_set: The running relevance of a memory.
UPDATE memories SET relevance = :relevance WHERE no = :no

-- tally_add: Count something that happened in a space.
INSERT INTO tallies (space, name, times, amount) VALUES (:space, :name, :times, :amount)
ON CONFLICT (space, name) DO UPDATE SET times = times + excluded.times, amount = amount + excluded.amount

-- tallies_of: What happened in some spaces, how often, and how much of it.
SELECT name, sum(times), sum(amount) FROM tallies
WHERE space IN (SELECT value FROM json_each(:spaces)) GROUP BY name ORDER BY name

-- recalls_micros: How long the last recalls took.
SELECT micros FROM recalls WHERE space IN (SELECT value FROM json_each(:spaces)) ORDER BY recall DESC LIMIT :limit

-- recalls_trim: Drop what was asked long ago.
DELETE FROM recalls WHERE at < :before

-- lease_take: Take or renew a lease, unless somebody else holds it.
INSERT INTO leases (name, holder, until) VALUES (:name, :holder, :until)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
WHERE leases.holder = excluded.holder OR leases.until <= :now
RETURNING holder

-- lease_drop: Give a lease back.
DELETE FROM leases WHERE name = :name AND holder = :holder

-- roots_of: The folders whose notes are in some spaces.
SELECT r.space, r.path, r.extra, s.shelf, s.tenant, s.project, s.environment, s.user_, s.agent, s.session
FROM roots r JOIN spaces s ON s.space = r.space
WHERE r.space IN (SELECT value FROM json_each(:spaces)) ORDER BY r.space

-- root_put: Remember a folder of notes.
INSERT INTO roots (space, path, extra) VALUES (:space, :path, :extra)
ON CONFLICT (space) DO UPDATE SET path = excluded.path, extra = excluded.extra

-- root_drop: Forget a folder that has no notes any more.
DELETE FROM roots WHERE space = :space AND NOT EXISTS (SELECT 1 FROM notes WHERE notes.space = roots.space)

-- notes_of: The files of a space.
SELECT note, space, path, hash, stamp, size, messages, settled, cut, tier FROM notes WHERE space = :space ORDER BY path

-- note_get: One file of a space.
SELECT note, space, path, hash, stamp, size, messages, settled, cut, tier FROM notes
WHERE space = :space AND path = :path

-- note_put: What is known of a file.
INSERT INTO notes (note, space, path, hash, stamp, size, messages, settled, cut, tier)
VALUES (:note, :space, :path, :hash, :stamp, :size, :messages, :settled, :cut, :tier)
ON CONFLICT (note) DO UPDATE SET path = excluded.path, hash = excluded.hash, stamp = excluded.stamp,
  size = excluded.size, messages = excluded.messages, settled = excluded.settled, cut = excluded.cut,
  tier = excluded.tier
RETURNING note

-- note_drop: Forget a file.
DELETE FROM notes WHERE note = :note

-- chunks_of: The chunks of a file with their memories, in order.
SELECT {chunk_columns}, c.first, c.last, c.heading, c.digest, c.linked FROM chunks c JOIN memories m ON m.no = c.no
WHERE c.note = :note ORDER BY c.place

-- chunk_add: One chunk of a file.
INSERT INTO chunks (note, place, no, first, last, heading, digest, linked)
VALUES (:note, :place, :no, :first, :last, :heading, :digest, :linked)

-- chunks_drop: Forget which chunks a file has.
DELETE FROM chunks WHERE note = :note

-- chunk_places: Where some memories stand in files.
SELECT c.no, n.path, c.first, c.last, c.heading, c.linked FROM chunks c JOIN notes n ON n.note = c.note
WHERE c.no IN (SELECT value FROM json_each(:nos))

-- flush_get: Which session was told to flush.
SELECT cycle, armed FROM flushes WHERE space = :space

-- flush_put: Remember that a session was told to flush, or may be told again.
INSERT INTO flushes (space, cycle, armed) VALUES (:space, :cycle, :armed)
ON CONFLICT (space) DO UPDATE SET cycle = excluded.cycle, armed = excluded.armed

-- check_chunks: Chunks of files that are not in the place that their memory is.
SELECT m.id, n.path FROM chunks c JOIN notes n ON n.note = c.note JOIN memories m ON m.no = c.no
WHERE m.space <> n.space

-- check_unlisted: Memories of files that no file lists.
SELECT m.id, m.source FROM roots r JOIN memories m ON m.space = r.space
WHERE m.retention = 0 AND m.source LIKE 'file:%' AND NOT EXISTS (SELECT 1 FROM chunks c WHERE c.no = m.no)

-- links_of: The list items of a space's files that are memories of their own.
SELECT {chunk_columns}, c.first, c.last, c.heading, c.digest, c.linked, n.path
FROM chunks c INDEXED BY chunks_linked CROSS JOIN notes n ON n.note = c.note CROSS JOIN memories m ON m.no = c.no
WHERE n.space = :space AND c.linked = 1 ORDER BY n.path, c.place

-- link_elsewhere: Whether a memory is a list item of another file.
SELECT count(*) FROM chunks WHERE no = :no AND note <> :note

-- given_of: What a session has in its prompt already.
SELECT no, updated_at FROM given WHERE space = :space

-- given_put: A session was given a memory as it is now.
INSERT INTO given (space, no, updated_at) VALUES (:space, :no, :updated_at)
ON CONFLICT (space, no) DO UPDATE SET updated_at = excluded.updated_at

-- given_clear: A session's prompt holds nothing of it any more.
DELETE FROM given WHERE space = :space

-- turn_last: The last message of a thread.
SELECT max(no) FROM turns WHERE space = :space AND thread = :thread AND thread <> ''

-- turn_add: Who said a message, in which thread, and after which one.
INSERT INTO turns (no, space, thread, author, previous) VALUES (:no, :space, :thread, :author, :previous)

-- turn_drop: Forget who said a message.
DELETE FROM turns WHERE no = :no

-- vectors_of_memories: The vectors of some memories.
SELECT v.key, v.vector FROM json_each(:nos) j
JOIN vectors v ON v.key BETWEEN :base + (j.value << 20) AND :base + (j.value << 20) + 1048575

-- count_in: How many active memories some spaces have in some tiers.
SELECT coalesce(sum(memories), 0) FROM counters
WHERE retention = 0 AND space IN (SELECT value FROM json_each(:spaces)) AND tier IN (SELECT value FROM json_each(:tiers))

-- written_before: Memories of some spaces that existed at a moment and still have their content.
SELECT {columns} FROM memories
WHERE space IN (SELECT value FROM json_each(:spaces)) AND created_at <= :moment AND retention < 3 AND no > :after
ORDER BY no LIMIT :limit

-- tombstones_seen: Which of some marks were purged from what a scope can see.
SELECT DISTINCT t.mark FROM tombstones t JOIN spaces s ON s.space = t.space
WHERE t.mark IN (SELECT value FROM json_each(:marks))
  AND s.tenant IN ('', :tenant) AND s.project IN ('', :project) AND s.environment IN ('', :environment)
  AND s.user_ IN ('', :user) AND s.agent IN ('', :agent) AND s.session IN ('', :session)
