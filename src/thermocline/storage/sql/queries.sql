-- Statements that every database understands. `-- name: what it is for`, then one statement.

-- meta_get: One value of the store's own notes.
SELECT value FROM meta WHERE key = :key

-- meta_set: Keep one value of the store's own notes.
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- space_find: The number of exactly this scope and shelf.
SELECT space FROM spaces
WHERE tenant = :tenant AND project = :project AND environment = :environment
  AND user_ = :user AND agent = :agent AND session = :session AND shelf = :shelf

-- space_add: A number for a new scope or shelf.
INSERT INTO spaces (tenant, project, environment, user_, agent, session, shelf)
VALUES (:tenant, :project, :environment, :user, :agent, :session, :shelf)
RETURNING space

-- spaces_visible: The spaces whose every set field has the caller's value, the narrowest last.
SELECT space FROM spaces
WHERE tenant IN ('', :tenant) AND project IN ('', :project) AND environment IN ('', :environment)
  AND user_ IN ('', :user) AND agent IN ('', :agent) AND session IN ('', :session)
ORDER BY CASE tenant WHEN '' THEN 0 ELSE 1 END + CASE project WHEN '' THEN 0 ELSE 1 END
  + CASE environment WHEN '' THEN 0 ELSE 1 END + CASE user_ WHEN '' THEN 0 ELSE 1 END
  + CASE agent WHEN '' THEN 0 ELSE 1 END + CASE session WHEN '' THEN 0 ELSE 1 END,
  CASE shelf WHEN '' THEN 1 ELSE 0 END, space

-- space_last: The highest number of a space.
SELECT coalesce(max(space), 0) FROM spaces

-- space_scope: The scope behind a number.
SELECT tenant, project, environment, user_, agent, session FROM spaces WHERE space = :space

-- embedder_by_name: The number of an embedder that has made vectors here.
SELECT number, dimensions FROM embedders WHERE name = :name

-- embedder_by_number: The embedder behind a number.
SELECT name, dimensions FROM embedders WHERE number = :number

-- embedder_put: Remember an embedder; its dimensions may be learnt later.
INSERT INTO embedders (name, dimensions) VALUES (:name, :dimensions)
ON CONFLICT (name) DO UPDATE SET dimensions = excluded.dimensions
RETURNING number

-- memory_by_id: One memory, whoever's it is.
SELECT {columns} FROM memories WHERE id = :id

-- memory_by_no: One memory by its number.
SELECT {columns} FROM memories WHERE no = :no

-- memory_duplicate: The visible memory of this scope that says the same; what a file says is the file's.
SELECT {columns} FROM memories
WHERE digest = :digest AND kind = :kind AND retention = 0 AND source NOT LIKE 'file:%' AND space IN (
    SELECT near.space FROM spaces here JOIN spaces near USING (tenant, project, environment, user_, agent, session)
    WHERE here.space = :space)
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
ORDER BY no LIMIT 1

-- memory_last_no: The highest number in use.
SELECT coalesce(max(no), 0) FROM memories

-- memory_add: A new memory.
INSERT INTO memories ({columns}) VALUES ({values})

-- memory_set: A changed memory, all of it.
UPDATE memories SET {assignments} WHERE no = :no

-- memory_place: A memory that only moves to another tier.
UPDATE memories SET tier = :tier, tier_rule = :tier_rule, tier_since = :tier_since, relevance = :relevance,
    version = :version
WHERE no = :no

-- memory_touch: Count a use.
UPDATE memories SET access_count = access_count + 1, accessed_at = :now,
    recent_uses = CASE WHEN accessed_at > :window THEN recent_uses + 1 ELSE 1 END
WHERE no = :no AND retention < 3

-- memory_parts: Record how many vectors a memory has.
UPDATE memories SET parts = :parts WHERE no = :no

-- memory_oldest_of_priority: The memory that has held a priority the longest.
SELECT {columns} FROM memories
WHERE priority = :priority AND retention = 0 AND (expires_at IS NULL OR expires_at > :now OR priority = 0) AND space IN (
    SELECT near.space FROM spaces here JOIN spaces near USING (tenant, project, environment, user_, agent, session)
    WHERE here.space = :space)
ORDER BY no LIMIT 1

-- memory_count_of_priority: How many memories of a space hold a priority.
SELECT count(*) FROM memories
WHERE priority = :priority AND retention = 0 AND (expires_at IS NULL OR expires_at > :now OR priority = 0) AND space IN (
    SELECT near.space FROM spaces here JOIN spaces near USING (tenant, project, environment, user_, agent, session)
    WHERE here.space = :space)

-- memory_pending: Active memories that wait for their vectors, oldest first.
SELECT no, content FROM memories WHERE parts = 0 AND retention < 3 AND no > :after ORDER BY no LIMIT :limit

-- memory_pending_count: How many memories wait for their vectors.
SELECT count(*) FROM memories WHERE parts = 0 AND retention < 3

-- memory_after: Memories that are not purged, in order, for work in batches.
SELECT no, content FROM memories WHERE retention < 3 AND no > :after ORDER BY no LIMIT :limit

-- memory_total: How many memories are not purged.
SELECT count(*) FROM memories WHERE retention < 3

-- tag_add: One tag of a memory.
INSERT INTO tags (tag, no) VALUES (:tag, :no)

-- tags_drop: All tags of a memory.
DELETE FROM tags WHERE no = :no

-- event_last: The newest sequence number.
SELECT coalesce(max(seq), 0) FROM events

-- event_add: One line of the ledger.
INSERT INTO events (seq, at, no, action, actor, rule, why, changes)
VALUES (:seq, :at, :no, :action, :actor, :rule, :why, :changes)

-- event_get: One line of the ledger, with its memory.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes, m.no, m.space
FROM events e JOIN memories m ON m.no = e.no WHERE e.seq = :seq

-- events_of: The history of one memory.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes
FROM events e JOIN memories m ON m.no = e.no WHERE e.no = :no ORDER BY e.seq

-- events_changed_since: The memories touched after a sequence number.
SELECT DISTINCT no FROM events WHERE seq > :seq

-- events_rewrite: Replace what an event says of a purged memory.
UPDATE events SET changes = :changes WHERE seq = :seq

-- recall_add: One question and what came of it.
INSERT INTO recalls (at, space, query, tiers, micros, best, candidates, returned, promoted, degraded)
VALUES (:at, :space, :query, :tiers, :micros, :best, :candidates, :returned, :promoted, :degraded)

-- kept_all: What a drawer holds.
SELECT key, value FROM kept WHERE drawer = :drawer AND (until IS NULL OR until > :now) ORDER BY key

-- kept_get: One thing in a drawer.
SELECT value FROM kept WHERE drawer = :drawer AND key = :key AND (until IS NULL OR until > :now)

-- kept_put: Put a thing into a drawer, over what was there.
INSERT INTO kept (drawer, key, value, until) VALUES (:drawer, :key, :value, :until)
ON CONFLICT (drawer, key) DO UPDATE SET value = excluded.value, until = excluded.until

-- kept_drop: Take a thing out of a drawer.
DELETE FROM kept WHERE drawer = :drawer AND key = :key

-- kept_expire: Throw away what is out of date.
DELETE FROM kept WHERE until <= :now

-- tombstone_add: Remember that a content was purged from a space.
INSERT INTO tombstones (space, mark, at) VALUES (:space, :mark, :at)
ON CONFLICT (mark, space) DO UPDATE SET at = excluded.at

-- tombstone_drop: A content that was purged from a scope is remembered there again.
DELETE FROM tombstones WHERE mark = :mark AND space IN (
    SELECT near.space FROM spaces here JOIN spaces near USING (tenant, project, environment, user_, agent, session)
    WHERE here.space = :space)

-- tombstones_any: Whether anything was ever purged.
SELECT EXISTS (SELECT 1 FROM tombstones)
