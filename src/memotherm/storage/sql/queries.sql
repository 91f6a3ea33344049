-- Statements that every database understands. `-- name: what it is for`, then one statement.
--
-- Marks are filled in for each database:
--   {columns} {values} {assignments} {chunk_columns}   the columns of a memory
--   {table memories m}   a table that is read or changed, and its name in the statement (may be left out)
--   {in list}        is one of a list, which is a parameter
--   {own}, {own m}   belongs to the tenant or to everyone, where tables have a tenant; `m` is the table
--   {same a b}       both have the same tenant, where tables have one
--   {key}            the tenant as the first column of a key, where tables have one
--   {index name}     names the index to use, on databases that need it
--   {cross}          a join in the written order, on databases that need it
--   {made v m}       the vector v was made of the memory m, by the embedder :number
--   {elements list}  the elements of a column with a JSON list; {number} is one of them as a number, {item 0} an element
--                    of one of them as text
--   {contains a b}   the column contains the parameter b

-- meta_get: A metadata value.
SELECT value FROM meta WHERE key = :key

-- meta_set: Set a metadata value.
INSERT INTO meta (key, value) VALUES (:key, :value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value

-- meta_drop: Delete a metadata value.
DELETE FROM meta WHERE key = :key

-- spaces_any: Whether anything was ever stored.
SELECT CASE WHEN EXISTS (SELECT 1 FROM {table spaces}) THEN 1 ELSE 0 END

-- space_find: The number of exactly this scope and collection.
SELECT space FROM {table spaces}
WHERE tenant = :tenant AND project = :project AND environment = :environment
  AND user_ = :user AND agent = :agent AND session = :session AND collection = :collection

-- spaces_visible: The spaces whose every set field has the caller's value, the narrowest last, and the last adoption.
SELECT space, (SELECT coalesce(max(seq), 0) FROM adoptions) FROM {table spaces}
WHERE tenant IN ('', :tenant) AND project IN ('', :project) AND environment IN ('', :environment)
  AND user_ IN ('', :user) AND agent IN ('', :agent) AND session IN ('', :session)
ORDER BY CASE tenant WHEN '' THEN 0 ELSE 1 END + CASE project WHEN '' THEN 0 ELSE 1 END
  + CASE environment WHEN '' THEN 0 ELSE 1 END + CASE user_ WHEN '' THEN 0 ELSE 1 END
  + CASE agent WHEN '' THEN 0 ELSE 1 END + CASE session WHEN '' THEN 0 ELSE 1 END,
  CASE collection WHEN '' THEN 1 ELSE 0 END, space

-- spaces_within: The spaces that lie inside a scope: equal to it or narrower.
SELECT space FROM {table spaces}
WHERE {own}(:tenant = '' OR tenant = :tenant) AND (:project = '' OR project = :project)
  AND (:environment = '' OR environment = :environment) AND (:user = '' OR user_ = :user)
  AND (:agent = '' OR agent = :agent) AND (:session = '' OR session = :session)
ORDER BY space

-- scopes_within: What the scopes inside a scope hold, the notes of a scope with its other memories.
SELECT s.tenant, s.project, s.environment, s.user_, s.agent, s.session, c.tier, c.retention,
    CAST(sum(c.memories) AS BIGINT), CAST(sum(c.tokens) AS BIGINT)
FROM {table spaces s} JOIN {table counters c} ON {same c s}c.space = s.space
WHERE {own s}s.space {in spaces} AND c.memories > 0 AND c.retention <> 3
GROUP BY s.tenant, s.project, s.environment, s.user_, s.agent, s.session, c.tier, c.retention
ORDER BY 1, 2, 3, 4, 5, 6

-- space_scope: The scope behind a number.
SELECT tenant, project, environment, user_, agent, session FROM {table spaces} WHERE {own}space = :space

-- scopes_of: The scopes behind some numbers.
SELECT space, tenant, project, environment, user_, agent, session FROM {table spaces} WHERE {own}space {in spaces}

-- embedder_by_name: The number of an embedder that has made vectors here.
SELECT number, dimensions FROM embedders WHERE name = :name

-- embedder_serving: The embedder whose vectors serve searches.
SELECT number, name, dimensions FROM embedders
WHERE number = (SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'embedder')

-- embedder_put: Remember an embedder; its dimensions may be learnt later.
INSERT INTO embedders (name, dimensions) VALUES (:name, :dimensions)
ON CONFLICT (name) DO UPDATE SET dimensions = excluded.dimensions
RETURNING number

-- embedders_all: The numbers of all embedders.
SELECT number FROM embedders ORDER BY number

-- memory_by_id: One memory, in any scope.
SELECT {columns} FROM {table memories} WHERE {own}id = :id

-- ids_from: The ids of memories of some spaces, from one id to another.
SELECT id FROM {table memories} WHERE {own}id >= :low AND id < :high AND space {in spaces} ORDER BY id LIMIT :limit

-- ids_ending: The ids of memories of some spaces that end with some characters.
SELECT id FROM {table memories}
WHERE {own}no IN (SELECT no FROM {table memories} WHERE {own}id LIKE :pattern) AND space {in spaces} ORDER BY id LIMIT :limit

-- memory_by_no: One memory by its number.
SELECT {columns} FROM {table memories} WHERE {own}no = :no

-- memories_of: Whole memories by number.
SELECT {columns} FROM {table memories} WHERE {own}no {in nos}

-- memory_by_key: The memory of this scope with a key, of any retention.
SELECT {columns} FROM {table memories}
WHERE {own}key = :key AND space IN (
    SELECT near.space FROM {table spaces here} JOIN {table spaces near} USING (tenant, project, environment, user_, agent, session)
    WHERE {own here}here.space = :space)

-- memories_with_key: The visible memories of some spaces with a key.
SELECT {columns} FROM {table memories}
WHERE {own}space {in spaces} AND key = :key
  AND retention = 0 AND (expires_at IS NULL OR expires_at > :now OR priority = 0)

-- keys: The keys of visible memories between two texts, in order.
SELECT DISTINCT key FROM {table memories}
WHERE {own}space {in spaces} AND key >= :first AND key < :last
  AND retention = 0 AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
ORDER BY key LIMIT :limit

-- memory_duplicate: The visible or proposed memory of this scope with the same content, except of files and with keys.
SELECT {columns} FROM {table memories}
WHERE {own}digest = :digest AND kind = :kind AND retention IN (0, 4) AND source NOT LIKE 'file:%' AND key IS NULL AND space IN (
    SELECT near.space FROM {table spaces here} JOIN {table spaces near} USING (tenant, project, environment, user_, agent, session)
    WHERE {own here}here.space = :space)
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0) AND created_at >= :since
ORDER BY no LIMIT 1

-- memory_add: A new memory.
INSERT INTO {table memories} ({columns}) VALUES ({values})

-- memory_set: A changed memory, all of it.
UPDATE {table memories} SET {assignments} WHERE {own}no = :no

-- memory_move: A memory that only moves to another tier.
UPDATE {table memories} SET tier = :tier, tier_rule = :tier_rule, tier_since = :tier_since, relevance = :relevance,
    version = :version
WHERE {own}no = :no

-- memory_use: Count a use with its weight.
UPDATE {table memories} SET access_count = access_count + 1, accessed_at = :now, use_weight = use_weight + :weight,
    recent_uses = CASE WHEN coalesce(accessed_at <= :window, TRUE) THEN :weight ELSE recent_uses + :weight END
WHERE {own}no = :no AND retention <> 3

-- purged_of: Those of some memories that are purged.
SELECT no, id FROM {table memories} WHERE {own}(no {in nos} OR id {in ids}) AND retention = 3

-- purged_since: The memories that were purged after a sequence number.
SELECT no, id FROM {table memories}
WHERE {own}no IN (SELECT no FROM {table events} WHERE {own}seq > :seq) AND retention = 3

-- memory_parts: Record how many vectors a memory has.
UPDATE {table memories} SET parts = :parts WHERE {own}no = :no

-- memory_oldest_of_priority: The oldest memory of a scope that is pinned or critical.
SELECT {columns} FROM {table memories}
WHERE {own}priority = :priority AND priority < 2 AND retention = 0
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
  AND space IN (
    SELECT near.space FROM {table spaces here} JOIN {table spaces near} USING (tenant, project, environment, user_, agent, session)
    WHERE {own here}here.space = :space)
ORDER BY no LIMIT 1

-- memory_count_of_priority: How many memories that a scope sees are pinned, or critical.
SELECT count(*) FROM {table memories} {index memories_by_urgency}
WHERE {own}priority = :priority AND priority < 2 AND retention = 0
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
  AND space IN (
    SELECT space FROM {table spaces}
    WHERE {own}tenant IN ('', :tenant) AND project IN ('', :project) AND environment IN ('', :environment)
      AND user_ IN ('', :user) AND agent IN ('', :agent) AND session IN ('', :session))

-- relevance_set: The running relevance of a memory.
UPDATE {table memories} SET relevance = :relevance WHERE {own}no = :no

-- pinned: The pinned memories of some spaces, oldest first (`priority < 2` lets the database see that the index fits).
SELECT {columns} FROM {table memories} {index memories_by_urgency}
WHERE {own}space {in spaces} AND priority = 0 AND priority < 2 AND retention = 0
ORDER BY no

-- filtered: Which of some memories a filter lets through. Its conditions are those of `select`.
SELECT no FROM {table memories} WHERE {own}no {in nos} AND $conditions

-- find: A page of memories, newest first. Its conditions are those of `select`. Where $space is `+space`, SQLite
-- reads the table in its own order until the page is full, instead of sorting an index.
SELECT {columns} FROM {table memories}
WHERE {own}no < :before AND $space {in spaces} AND $conditions
ORDER BY no DESC LIMIT :limit

-- find_sorted: A page of memories in another order, or from a place in the middle. Its conditions are those of `select`.
SELECT {columns} FROM {table memories} WHERE {own}no IN (
    SELECT no FROM {table memories} WHERE {own}$space {in spaces} AND $conditions ORDER BY $order LIMIT :limit OFFSET :skip)
ORDER BY $order

-- found_count: How many memories a listing has. Its conditions are those of `select`.
SELECT count(*) FROM {table memories} WHERE {own}$space {in spaces} AND $conditions

-- found_kinds: How many memories of each kind a listing has. Its conditions are those of `select`.
SELECT kind, count(*) FROM {table memories} WHERE {own}$space {in spaces} AND $conditions
GROUP BY kind ORDER BY count(*) DESC, kind

-- order_newest: An order of `find_sorted`.
no DESC

-- order_oldest: An order of `find_sorted`.
no

-- order_updated: An order of `find_sorted`.
updated_at DESC, no DESC

-- order_used: An order of `find_sorted`.
coalesce(accessed_at, 0) DESC, no DESC

-- order_most_used: An order of `find_sorted`.
access_count DESC, no DESC

-- order_largest: An order of `find_sorted`.
tokens DESC, no DESC

-- order_smallest: An order of `find_sorted`.
tokens, no DESC

-- written_before: Memories of some spaces that existed at a moment and still have their content.
SELECT {columns} FROM {table memories}
WHERE {own}space {in spaces} AND created_at <= :moment AND retention <> 3 AND no > :after
ORDER BY no LIMIT :limit

-- indexed: The memories that belong into the text indexes, in order.
SELECT no, space, tier, content, tags, kind, source FROM {table memories} WHERE retention = 0 ORDER BY no

-- counts: What the spaces hold.
SELECT tier, retention, CAST(sum(memories) AS BIGINT), CAST(sum(tokens) AS BIGINT) FROM {table counters}
WHERE {own}space {in spaces} GROUP BY tier, retention

-- counts_expired: What of it is past its time, and no maintenance has taken out yet.
SELECT tier, count(*), CAST(sum(tokens) AS BIGINT) FROM {table memories} {index memories_by_expiry}
WHERE {own}retention = 0 AND expires_at IS NOT NULL AND expires_at <= :now AND priority > 0
  AND space {in spaces}
GROUP BY tier

-- count_in: How many active memories some spaces have in some tiers.
SELECT CAST(coalesce(sum(memories), 0) AS BIGINT) FROM {table counters}
WHERE {own}retention = 0 AND space {in spaces} AND tier {in tiers}

-- pending_in: How many memories of some spaces wait for their vectors.
SELECT count(*) FROM {table memories} {index memories_without_vector}
WHERE {own}parts = 0 AND retention <> 3 AND retention = 0 AND space {in spaces}

-- pending_of: How many memories of some spaces wait for the vectors of an embedder.
SELECT count(*) FROM {table memories m}
WHERE {own m}parts >= 0 AND retention = 0 AND space {in spaces}
  AND NOT EXISTS (SELECT 1 FROM {table vectors v} WHERE {made v m})

-- select: The memories that a rule looks at, in order of number. Its conditions are the statements below, joined
-- by AND and OR. Where $space is `+space`, SQLite reads the table in its own order instead of sorting an index.
SELECT {columns} FROM {table memories}
WHERE {own}no > :after AND $space {in spaces} AND $conditions
ORDER BY no LIMIT :limit

-- field_in: A condition of a rule: a field has one of some values.
$field {in values}

-- field_compares: A condition of a rule: a field compares with a number.
$field $compare :bound

-- field_scope: A field of the scope of a memory.
(SELECT nullif(p.$column, '') FROM {table spaces p} WHERE {same p memories}p.space = memories.space)

-- field_session: Whether the session of a memory is open.
(SELECT CASE WHEN p.session = '' THEN 'none' WHEN p.session {in open} THEN 'open' ELSE 'ended' END
    FROM {table spaces p} WHERE {same p memories}p.space = memories.space)

-- field_status: What the metadata says, as one of three words.
(CASE WHEN $state {in closed} THEN 'done' WHEN $state {in open} THEN 'open' ELSE 'none' END)

-- field_recalled_uses: The recent uses of a memory, with the recall that has found it.
(CASE WHEN accessed_at > :window THEN recent_uses ELSE 0 END + :weight)

-- where_tiers: A condition of `select`.
tier {in tiers}

-- where_retentions: A condition of `select`.
retention {in retentions}

-- where_retention: A condition of `select`.
retention = :retention

-- where_priorities: A condition of `select`.
priority {in priorities}

-- where_trust: A condition of `select`.
trust = :trust

-- where_kinds: A condition of `select`.
kind {in kinds}

-- where_sources: A condition of `select`.
source {in sources}

-- where_ids: A condition of `select`.
id {in ids}

-- where_nos: A condition of `select`.
no {in nos}

-- where_tags: A condition of `select`.
no IN (SELECT no FROM {table tags} WHERE {own}tag {in tags})

-- where_since: A condition of `select`.
created_at >= :since

-- where_until: A condition of `select`.
created_at < :until

-- where_true_at: A condition of `select`.
((valid_from IS NULL OR valid_from <= :true_at) AND (valid_until IS NULL OR valid_until > :true_at))

-- where_prefix: A condition of `select`.
key >= :first AND key < :last

-- where_expired: A condition of `select`.
(expires_at <= :now AND priority > 0)

-- where_hidden: A condition of `find`: what no search finds.
(retention > 0 OR (expires_at <= :now AND priority > 0))

-- where_unexpired: A condition of `select`.
(expires_at IS NULL OR expires_at > :now OR priority = 0)

-- metadata_exists: A condition of `select`: a value of the metadata that passes a test. $sources has a table for each
-- key that leads to the value, $keys selects the keys, $test is one of the statements `test_...`.
EXISTS (SELECT 1 FROM $sources WHERE $keys AND $test)

-- tag_add: One tag of a memory.
INSERT INTO {table tags} (tag, no) VALUES (:tag, :no)

-- tags_drop: All tags of a memory.
DELETE FROM {table tags} WHERE {own}no = :no

-- event_last: The newest sequence number.
SELECT max((SELECT coalesce(max(seq), 0) FROM {table events}), (SELECT coalesce(max(seq), 0) FROM adoptions))

-- event_add: One event.
INSERT INTO {table events} (seq, at, no, action, actor, rule, why, changes, policy)
VALUES (:seq, :at, :no, :action, :actor, :rule, :why, :changes, :policy)

-- event_get: One event, with its memory.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes, e.policy, m.no, m.space
FROM {table events e} JOIN {table memories m} ON {same e m}m.no = e.no WHERE {own e}e.seq = :seq

-- events_of: The histories of some memories.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes, e.policy
FROM {table events e} JOIN {table memories m} ON {same e m}m.no = e.no WHERE {own e}e.no {in nos} ORDER BY e.seq

-- events_after: Events of memories in some spaces, in the order of the ledger, which is read until there are enough.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes, e.policy
FROM {table events e} {cross} {table memories m} ON {same e m}m.no = e.no
WHERE {own e}e.seq > :past AND m.space {in spaces}
  AND :action IN ('', e.action) AND :actor IN ('', e.actor) AND :rule IN ('', e.rule) AND e.at >= :since AND e.at < :until
ORDER BY e.seq LIMIT :limit

-- events_before: The same, in descending order.
SELECT e.seq, e.at, m.id, e.action, e.actor, e.rule, e.why, e.changes, e.policy
FROM {table events e} {cross} {table memories m} ON {same e m}m.no = e.no
WHERE {own e}e.seq < :past AND m.space {in spaces}
  AND :action IN ('', e.action) AND :actor IN ('', e.actor) AND :rule IN ('', e.rule) AND e.at >= :since AND e.at < :until
ORDER BY e.seq DESC LIMIT :limit

-- changed_between: Whether any memory of some spaces has an event after a moment and up to another, or was created then.
SELECT EXISTS (
    SELECT 1 FROM {table events e} {cross} {table memories m} ON {same e m}m.no = e.no
    WHERE {own e}e.at > :after AND e.at <= :until AND m.space {in spaces}
) OR EXISTS (
    SELECT 1 FROM {table memories} WHERE {own}created_at > :after AND created_at <= :until AND space {in spaces}
)

-- tier_changes: The events of memories in some spaces since a moment, newest first, with where the memories are now.
-- Memories that were stored in the same period, and never changed, are one row.
SELECT min(e.no), max(e.at), min(e.changes), m.tier, m.retention, count(*)
FROM {table events e} {cross} {table memories m} ON {same e m}m.no = e.no
WHERE {own e}e.at >= :since AND m.space {in spaces}
GROUP BY m.tier, m.retention, CASE WHEN EXISTS (SELECT 1 FROM {table events o} WHERE {same e o}o.no = e.no AND o.seq <> e.seq)
    THEN -e.seq ELSE (:until - e.at) / :step END
ORDER BY max(e.seq) DESC

-- batches: The batches that have stored memories of some spaces, with the memories that are there and not deleted.
SELECT e.actor, min(e.at), count(*), sum(CASE WHEN m.retention < :deleted THEN 1 ELSE 0 END)
FROM {table events e} {cross} {table memories m} ON {same e m}m.no = e.no
WHERE {own e}e.actor LIKE :name AND e.action = 'remember' AND m.space {in spaces}
GROUP BY e.actor ORDER BY min(e.seq) DESC

-- events_moved_by: The memories with moves by a policy.
SELECT DISTINCT m.id FROM {table events e} JOIN {table memories m} ON {same e m}m.no = e.no 
WHERE {own e}e.policy = :policy AND e.policy <> '' ORDER BY m.id

-- adoptions: The policies that were adopted and rolled back, in order.
SELECT seq, at, actor, action, name, hash, document FROM adoptions ORDER BY seq

-- adoption_add: One policy that is in force from now on.
INSERT INTO adoptions (seq, at, actor, action, name, hash, document)
VALUES (:seq, :at, :actor, :action, :name, :hash, :document)

-- events_rewrite: Replace the changes of an event of a purged memory.
UPDATE {table events} SET changes = :changes WHERE {own}seq = :seq

-- given_reasons: The reasons in the ledger that have words of callers.
SELECT seq, why FROM {table events} WHERE {own}why <> '' AND rule IN ('condition', 'explicit', 'superseded')

-- reasons_erase: Replace some reasons in the ledger.
UPDATE {table events} SET why = :mark WHERE {own}seq {in seqs}

-- tombstone_add: Store that a text was forgotten in a space.
INSERT INTO {table tombstones} (space, mark, at, head, length, bits, trust)
VALUES (:space, :mark, :at, :head, :length, :bits, :trust)
ON CONFLICT ({key}mark, space) DO UPDATE SET at = excluded.at,
    trust = CASE WHEN tombstones.trust > excluded.trust THEN tombstones.trust ELSE excluded.trust END

-- tombstone_drop: Delete the tombstones of a text that was stored again, as far as the trust suffices.
DELETE FROM {table tombstones} WHERE {own}mark {in marks} AND trust <= :trust AND space IN (
    SELECT near.space FROM {table spaces here} JOIN {table spaces near} USING (tenant, project, environment, user_, agent, session)
    WHERE {own here}here.space = :space)
RETURNING mark

-- tombstones_exist: Whether anything was ever forgotten.
SELECT EXISTS (SELECT 1 FROM {table tombstones} WHERE {own}head >= 0)

-- tombstones_like: The tombstones with these first letters and more than a trust, in the scopes that a scope can see, and
-- in those of its tenant whose memories can be seen together with its own.
SELECT t.head, t.length, t.bits, t.mark, t.at FROM {table tombstones t} JOIN {table spaces s} ON {same t s}s.space = t.space
WHERE {own t}t.head {in heads} AND t.trust > :above AND s.tenant IN ('', :tenant)
  AND (s.project IN ('', :project) OR (:project = '' AND s.tenant = :tenant))
  AND (s.environment IN ('', :environment) OR (:environment = '' AND s.tenant = :tenant))
  AND (s.user_ IN ('', :user) OR (:user = '' AND s.tenant = :tenant))
  AND (s.agent IN ('', :agent) OR (:agent = '' AND s.tenant = :tenant))
  AND (s.session IN ('', :session) OR (:session = '' AND s.tenant = :tenant))

-- erase_counts: How many recalls, receipts, sessions and tombstones some spaces have.
SELECT (SELECT count(*) FROM {table recalls} WHERE {own}space {in spaces}),
       (SELECT count(*) FROM {table receipts} WHERE {own}space {in spaces}),
       (SELECT count(*) FROM {table sessions} WHERE {own}space {in spaces}),
       (SELECT count(*) FROM {table tombstones} WHERE {own}space {in spaces})

-- erase_recalls: Delete the log entries of recalls in some spaces.
DELETE FROM {table recalls} WHERE {own}space {in spaces}

-- erase_uses: Delete the uses that followed recalls in some spaces.
DELETE FROM {table uses} WHERE {own}space {in spaces}

-- erase_receipts: Delete the receipts of contexts in some spaces.
DELETE FROM {table receipts} WHERE {own}space {in spaces}

-- erase_sessions: Delete the states of sessions in some spaces.
DELETE FROM {table sessions} WHERE {own}space {in spaces}

-- erase_flushes: Delete the flush states of sessions in some spaces.
DELETE FROM {table flushes} WHERE {own}space {in spaces}

-- erase_injected: Delete the records of the prompts of sessions in some spaces.
DELETE FROM {table injected} WHERE {own}space {in spaces}

-- erase_tallies: Delete the counters of some spaces.
DELETE FROM {table tallies} WHERE {own}space {in spaces}

-- erase_reasons: Delete the reasons of the events of some spaces, which may quote contents.
UPDATE {table events} SET why = '' WHERE {own}why <> '' AND no IN (SELECT no FROM {table memories} WHERE {own}space {in spaces})

-- claim_add: Store a claim of a memory.
INSERT INTO {table claims} (space, slot, no, sentence, value) VALUES (:space, :slot, :no, :sentence, :value)

-- claim_drop: Delete a claim of a memory.
DELETE FROM {table claims} WHERE {own}space = :space AND slot = :slot AND no = :no AND sentence = :sentence

-- claims_clear: Delete all claims, before they are made again.
DELETE FROM {table claims}

-- claims_disputed: The claims of some spaces that not all say the same of, or only what some ids claim, newest first.
SELECT c.space, c.slot, c.no, c.sentence, c.value
FROM {table claims c} JOIN {table memories m} ON {same m c}m.no = c.no
WHERE {own c}c.space {in spaces} AND c.slot IN (
    SELECT slot FROM (
        SELECT slot, min(value) AS least, max(value) AS greatest FROM {table claims}
        WHERE {own}space {in spaces} AND (:every = 1 OR slot IN (
            SELECT slot FROM {table claims} WHERE {own}space {in spaces} AND no IN (
                SELECT no FROM {table memories} WHERE {own}id {in ids})))
        GROUP BY space, slot
        HAVING count(DISTINCT value) <= :most_values AND (slot % 2 = 0 OR count(*) <= :most_outlined)) AS held
    GROUP BY slot HAVING min(least) <> max(greatest))
ORDER BY m.updated_at DESC, m.id DESC, c.sentence

-- claims_about: The claims of some spaces about some slots.
SELECT space, slot, no, sentence, value FROM {table claims} WHERE {own}space {in spaces} AND slot {in slots}

-- successors: Which of some memories were superseded by others, with what tells in which part.
SELECT o.no, n.no, n.id, CASE WHEN o.valid_until <= :now THEN 1 ELSE 0 END, o.metadata, o.content
FROM {table memories o} JOIN {table memories n} ON {same n o}(o.metadata LIKE '%"' || n.id || '"%')
WHERE {own o}o.no {in nos} AND (o.metadata LIKE '%outdated"%' OR o.metadata LIKE '%"superseded_by"%') AND n.no {in others}

-- turn_last: The last message of a thread.
SELECT max(no) FROM {table turns} WHERE {own}space = :space AND thread = :thread AND thread <> ''

-- turn_add: Store the author, thread and predecessor of a message.
INSERT INTO {table turns} (no, space, thread, author, previous) VALUES (:no, :space, :thread, :author, :previous)

-- turn_drop: Delete the author and predecessor of a message.
DELETE FROM {table turns} WHERE {own}no = :no

-- tier_list: The memories of one space in one tier, newest first.
SELECT {columns} FROM {table memories}
WHERE {own}space = :space AND tier = :tier AND retention = 0
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)
ORDER BY created_at DESC, no DESC LIMIT :limit

-- tier_tokens: The tokens of the memories of one space and tier.
SELECT CAST(coalesce(sum(tokens), 0) AS BIGINT) FROM {table memories}
WHERE {own}space = :space AND tier = :tier AND retention = 0
  AND (expires_at IS NULL OR expires_at > :now OR priority = 0)

-- tier_prunable: Cold memories that may be pruned: least relevant and least used first.
SELECT {columns} FROM {table memories}
WHERE {own}space = :space AND tier = 2 AND retention = 0 AND priority > 0
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY relevance + 0.1 * access_count, created_at, no LIMIT :limit

-- session_put: Begin, end or summarise a session.
INSERT INTO {table sessions} (space, state, started_at, changed_at) VALUES (:space, :state, :now, :now)
ON CONFLICT ({key}space) DO UPDATE SET state = excluded.state, changed_at = excluded.changed_at

-- session_state: The state of a session.
SELECT state FROM {table sessions} WHERE {own}space = :space

-- sessions_open: The names of the active sessions in some spaces.
SELECT s.session FROM {table sessions o} JOIN {table spaces s} ON {same o s}s.space = o.space
WHERE {own o}o.state = 'active' AND o.space {in spaces}

-- sessions_idle: The active sessions in some spaces without a change or use since a moment, longest idle first.
SELECT o.space, s.tenant, s.project, s.environment, s.user_, s.agent, s.session
FROM {table sessions o} JOIN {table spaces s} ON {same o s}s.space = o.space
WHERE {own o}o.state = 'active' AND o.changed_at < :before AND o.space {in spaces} AND NOT EXISTS (
    SELECT 1 FROM {table memories m}
    WHERE {same m o}m.space = o.space AND (m.updated_at >= :before OR m.accessed_at >= :before))
ORDER BY o.changed_at, o.space LIMIT :limit

-- counter_add: Add the changes of a transaction to a counter.
INSERT INTO {table counters} (space, tier, retention, memories, tokens)
VALUES (:space, :tier, :retention, :memories, :tokens)
ON CONFLICT ({key}space, tier, retention) DO UPDATE
SET memories = counters.memories + excluded.memories, tokens = counters.tokens + excluded.tokens

-- counters_make: Compute the counters.
INSERT INTO {table counters} ({key}space, tier, retention, memories, tokens)
SELECT {key}space, tier, retention, count(*), CAST(sum(tokens) AS BIGINT) FROM {table memories}
GROUP BY {key}space, tier, retention

-- counters_clear: Delete all counters.
DELETE FROM {table counters}

-- tally_add: Increment a counter of a space.
INSERT INTO {table tallies} (space, name, times, amount) VALUES (:space, :name, :times, :amount)
ON CONFLICT ({key}space, name) DO UPDATE
SET times = tallies.times + excluded.times, amount = tallies.amount + excluded.amount

-- tallies_of: The counters of some spaces.
SELECT name, CAST(sum(times) AS BIGINT), CAST(sum(amount) AS BIGINT) FROM {table tallies}
WHERE {own}space {in spaces} GROUP BY name ORDER BY name

-- recall_add: An entry of the recall log.
INSERT INTO {table recalls} (id, at, space, query, tiers, micros, best, candidates, returned, promoted, degraded, options)
VALUES (:id, :at, :space, :query, :tiers, :micros, :best, :candidates, :returned, :promoted, :degraded, :options)

-- recalls_micros: The durations of the last recalls.
SELECT micros FROM {table recalls} WHERE {own}query <> '' AND space {in spaces} ORDER BY recall DESC LIMIT :limit

-- recalls_after: Entries of the recall log, oldest first.
SELECT recall, at, space, query, tiers, returned, options, id FROM {table recalls}
WHERE {own}recall > :after AND space {in spaces} ORDER BY recall LIMIT :limit

-- recalls_newest: Queries of the recall log, newest first.
SELECT recall, at, space, query, tiers, micros, best, returned, degraded FROM {table recalls}
WHERE {own}query <> '' AND space {in spaces} ORDER BY recall DESC LIMIT :limit

-- recalls_slowest: Queries of the recall log, slowest first.
SELECT recall, at, space, query, tiers, micros, best, returned, degraded FROM {table recalls}
WHERE {own}query <> '' AND space {in spaces} ORDER BY micros DESC, recall DESC LIMIT :limit

-- recall_by_id: The entry of the recall log with an id, which begins with its time.
SELECT recall, at, space, query, tiers, returned, options, id FROM {table recalls}
WHERE {own}at BETWEEN :first AND :last AND id = :id AND space {in spaces}

-- recalls_recent: The last recalls, without runs of the rules.
SELECT recall, at, space, query, tiers, returned, options, id FROM {table recalls}
WHERE {own}at BETWEEN :since AND :until AND id <> '' AND space {in spaces}
ORDER BY at DESC, recall DESC LIMIT :limit

-- use_add: A use that followed a recall; returns its memory unless it was recorded before.
INSERT INTO {table uses} (recall, no, strength, space, at) VALUES (:recall, :no, :strength, :space, :at)
ON CONFLICT ({key}recall, no, strength) DO NOTHING RETURNING no

-- uses_of: The uses that followed recalls, in order of time.
SELECT recall, no, strength, at FROM {table uses} WHERE {own}space {in spaces} ORDER BY at, recall, no, strength

-- uses_trim: Delete old uses.
DELETE FROM {table uses} WHERE {own}at < :before

-- uses_erase: Delete the uses of some memories.
DELETE FROM {table uses} WHERE {own}no {in nos}

-- recalls_erase: Delete the recalls that returned one of some memories.
DELETE FROM {table recalls} WHERE {own}EXISTS (SELECT 1 FROM {elements returned} WHERE {number} {in nos})

-- recalls_of: The last recalls in some spaces that returned a memory.
SELECT at, query, tiers, returned FROM {table recalls}
WHERE {own}space {in spaces} AND EXISTS (SELECT 1 FROM {elements returned} WHERE {number} = :no)
ORDER BY recall DESC LIMIT :limit

-- logged_queries: The queries of the recall log.
SELECT recall, query FROM {table recalls} WHERE {own}query <> ''

-- recalls_drop: Delete some entries of the recall log.
DELETE FROM {table recalls} WHERE {own}recall {in recalls}

-- receipt_queries: The queries of receipts.
SELECT receipt, query FROM {table receipts} WHERE {own}query IS NOT NULL

-- receipt_queries_erase: Remove the queries of some receipts.
UPDATE {table receipts} SET query = NULL WHERE {own}receipt {in receipts}

-- recalls_trim: Delete old entries of the recall log.
DELETE FROM {table recalls} WHERE {own}at < :before

-- receipt_add: The receipt of a context.
INSERT INTO {table receipts} (at, space, query, budget, tokens, given, format, entries)
VALUES (:at, :space, :query, :budget, :tokens, :given, :format, :entries)

-- receipts_before: Receipts of contexts in some spaces, newest first, with or without their memories.
SELECT receipt, at, space, query, budget, tokens, given, format, CASE :entries WHEN 1 THEN entries ELSE '[]' END
FROM {table receipts}
WHERE {own}space {in spaces} AND receipt < :past ORDER BY receipt DESC LIMIT :limit

-- receipts_of: The last receipts in some spaces that name a memory.
SELECT receipt, at, space, query, budget, tokens, given, format, entries FROM {table receipts}
WHERE {own}space {in spaces} AND EXISTS (SELECT 1 FROM {elements entries} WHERE {item 0} = :id)
ORDER BY receipt DESC LIMIT :limit

-- receipts_naming: The receipts that name one of some memories.
SELECT receipt, entries FROM {table receipts}
WHERE {own}EXISTS (SELECT 1 FROM {elements entries} WHERE {item 0} {in ids})

-- injections_of: How many receipts in some spaces include a memory, and the time of the last one.
SELECT count(*), max(at) FROM {table receipts}
WHERE {own}space {in spaces} AND {contains entries id}
  AND EXISTS (SELECT 1 FROM {elements entries} WHERE {item 0} = :id AND {item 2} IS NOT NULL)

-- receipt_erase: Remove the query and purged memories from a receipt.
UPDATE {table receipts} SET query = NULL, entries = :entries WHERE {own}receipt = :receipt

-- receipts_trim: Delete old receipts.
DELETE FROM {table receipts} WHERE {own}at < :before

-- injected_of: The memories in a session's prompt.
SELECT no, updated_at FROM {table injected} WHERE {own}space = :space

-- injected_put: A memory was put into a session's prompt.
INSERT INTO {table injected} (space, no, updated_at) VALUES (:space, :no, :updated_at)
ON CONFLICT ({key}space, no) DO UPDATE SET updated_at = excluded.updated_at

-- injected_clear: Delete the record of a session's prompt.
DELETE FROM {table injected} WHERE {own}space = :space

-- jobs_of: The tenants that have the row of a job.
SELECT tenant FROM {table jobs} WHERE name = :name

-- job_add: Create the row of a tenant's job, unless another process was faster.
INSERT INTO {table jobs} (tenant, name) VALUES (:tenant, :name) ON CONFLICT (tenant, name) DO NOTHING

-- jobs_due: The tenants whose job is due and that no process has claimed, the one whose job was done the longest time ago
-- first. Times more than two terms from now were written by a clock that is ahead.
SELECT tenant FROM {table jobs}
WHERE name = :name AND (until <= :now OR until > :late) AND (done_at < :before OR done_at > :late)
  AND NOT tenant {in seen} AND (CAST(:tenant AS TEXT) IS NULL OR tenant = :tenant)
ORDER BY done_at, tenant LIMIT :limit

-- job_claim: Claim the job of a tenant that is due, unless another process was faster.
UPDATE {table jobs} SET holder = :holder, until = :until
WHERE tenant = :tenant AND name = :name AND (until <= :now OR until > :late) AND (done_at < :before OR done_at > :late)
RETURNING tenant

-- job_renew: Extend the claim on a tenant's job, unless another holder has it.
UPDATE {table jobs} SET until = :until WHERE tenant = :tenant AND name = :name AND holder = :holder RETURNING holder

-- job_done: The job of a tenant is done.
UPDATE {table jobs} SET holder = '', until = 0, done_at = :now
WHERE tenant = :tenant AND name = :name AND holder = :holder

-- job_release: Release the claim on a tenant's job.
UPDATE {table jobs} SET holder = '', until = 0 WHERE tenant = :tenant AND name = :name AND holder = :holder

-- values_of: The values of a namespace.
SELECT key, value FROM key_values WHERE namespace = :namespace AND (expires_at IS NULL OR expires_at > :now) ORDER BY key

-- value_get: One value of a namespace.
SELECT value FROM key_values WHERE namespace = :namespace AND key = :key AND (expires_at IS NULL OR expires_at > :now)

-- value_put: Store a value, replacing the one that is there.
INSERT INTO key_values (namespace, key, value, expires_at) VALUES (:namespace, :key, :value, :expires_at)
ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at

-- value_claim: Store a value under a key that is free; of two writers at once, one succeeds.
INSERT INTO key_values (namespace, key, value, expires_at) VALUES (:namespace, :key, :value, :expires_at)
ON CONFLICT (namespace, key) DO NOTHING
RETURNING key

-- value_delete: Delete a value.
DELETE FROM key_values WHERE namespace = :namespace AND key = :key RETURNING key

-- values_expire: Delete the values that have expired.
DELETE FROM key_values WHERE expires_at <= :now

-- roots_of: The folders whose notes are in some spaces.
SELECT r.space, r.path, r.extra, s.collection, s.tenant, s.project, s.environment, s.user_, s.agent, s.session
FROM {table roots r} JOIN {table spaces s} ON {same r s}s.space = r.space
WHERE {own r}r.space {in spaces} ORDER BY r.space

-- root_put: Store a folder of notes.
INSERT INTO {table roots} (space, path, extra) VALUES (:space, :path, :extra)
ON CONFLICT ({key}space) DO UPDATE SET path = excluded.path, extra = excluded.extra

-- root_drop: Delete a folder that has no notes.
DELETE FROM {table roots} WHERE {own}space = :space
  AND NOT EXISTS (SELECT 1 FROM {table notes} WHERE {same notes roots}notes.space = roots.space)

-- notes_of: The files of a space.
SELECT note, space, path, hash, stamp, size, messages, settled, cut, tier FROM {table notes}
WHERE {own}space = :space ORDER BY path

-- note_get: One file of a space.
SELECT note, space, path, hash, stamp, size, messages, settled, cut, tier FROM {table notes}
WHERE {own}space = :space AND path = :path

-- note_add: Insert a file.
INSERT INTO {table notes} (space, path, hash, stamp, size, messages, settled, cut, tier)
VALUES (:space, :path, :hash, :stamp, :size, :messages, :settled, :cut, :tier)
RETURNING note

-- note_set: Update a file.
UPDATE {table notes} SET path = :path, hash = :hash, stamp = :stamp, size = :size, messages = :messages, settled = :settled,
    cut = :cut, tier = :tier
WHERE {own}note = :note
RETURNING note

-- note_drop: Delete a file.
DELETE FROM {table notes} WHERE {own}note = :note

-- chunks_of: The chunks of a file with their memories, in order.
SELECT {chunk_columns}, c.first, c.last, c.heading, c.digest
FROM {table chunks c} JOIN {table memories m} ON {same c m}m.no = c.no
WHERE {own c}c.note = :note ORDER BY c.position

-- chunk_add: One chunk of a file.
INSERT INTO {table chunks} (note, position, no, first, last, heading, digest)
VALUES (:note, :position, :no, :first, :last, :heading, :digest)

-- chunks_drop: Delete the chunks of a file.
DELETE FROM {table chunks} WHERE {own}note = :note

-- chunk_locations: The files and lines of some memories.
SELECT c.no, n.path, c.first, c.last, c.heading FROM {table chunks c} JOIN {table notes n} ON {same c n}n.note = c.note
WHERE {own c}c.no {in nos}

-- notes_misplaced: The files of a space with a chunk whose memory is in another space.
SELECT DISTINCT n.path FROM {table notes n} {cross} {table chunks c} ON {same n c}c.note = n.note {cross} {table memories m} ON {same c m}m.no = c.no
WHERE {own n}n.space = :space AND m.space <> n.space ORDER BY n.path

-- flush_get: The flush state of a session.
SELECT cycle, armed FROM {table flushes} WHERE {own}space = :space

-- flush_put: Set the flush state of a session.
INSERT INTO {table flushes} (space, cycle, armed) VALUES (:space, :cycle, :armed)
ON CONFLICT ({key}space) DO UPDATE SET cycle = excluded.cycle, armed = excluded.armed

-- vectors_missing: Memories that have no vector of an embedder yet, newest first.
SELECT no, content FROM {table memories m}
WHERE {own m}retention <> 3 AND parts >= 0 AND no < :before
  AND NOT EXISTS (SELECT 1 FROM {table vectors v} WHERE {made v m})
ORDER BY no DESC LIMIT :limit

-- vectors_missing_count: How many memories have no vector of an embedder yet.
SELECT count(*) FROM {table memories m}
WHERE {own m}retention <> 3 AND parts >= 0 AND NOT EXISTS (SELECT 1 FROM {table vectors v} WHERE {made v m})

-- parts_recount: Set every memory's number of vectors to what an embedder has made.
UPDATE {table memories} SET parts = (SELECT count(*) FROM {table vectors v} WHERE {made v memories}) WHERE parts >= 0

-- check_parts: Memories whose number of vectors differs from `parts`.
SELECT id, parts, found FROM (
    SELECT m.id, m.parts, (SELECT count(*) FROM {table vectors v} WHERE {made v m}) AS found
    FROM {table memories m}) AS counted
WHERE found <> CASE WHEN parts < 0 THEN 0 ELSE parts END

-- check_rows: The columns of every memory that `check` compares.
SELECT no, id, space, tier, priority, retention, content, tags, digest, version, kind, source
FROM {table memories} ORDER BY no

-- check_events: The ledger, memory by memory.
SELECT no, seq, changes FROM {table events} ORDER BY no, seq

-- check_counters: Counters that differ from what they count.
SELECT space, tier, retention, sum(said), sum(said_tokens), sum(found), sum(found_tokens) FROM (
    SELECT space, tier, retention, memories AS said, tokens AS said_tokens, 0 AS found, 0 AS found_tokens
    FROM {table counters}
    UNION ALL
    SELECT space, tier, retention, 0, 0, count(*), sum(tokens) FROM {table memories} GROUP BY space, tier, retention) AS counted
GROUP BY space, tier, retention
HAVING sum(said) <> sum(found) OR sum(said_tokens) <> sum(found_tokens)

-- check_claims: The claims of every memory that has some.
SELECT no, space, slot, sentence, value FROM {table claims} ORDER BY no

-- check_tags: The tags of every memory that has some.
SELECT no, tag FROM {table tags} ORDER BY no

-- check_chunks: Chunks whose memory is in another space than the file.
SELECT m.id, n.path FROM {table chunks c} JOIN {table notes n} ON {same c n}n.note = c.note JOIN {table memories m} ON {same c m}m.no = c.no
WHERE m.space <> n.space

-- check_unlisted: Memories of files that no file lists.
SELECT m.id, m.source FROM {table roots r} JOIN {table memories m} ON {same r m}m.space = r.space
WHERE m.retention = 0 AND m.source LIKE 'file:%'
  AND NOT EXISTS (SELECT 1 FROM {table chunks c} WHERE {same c m}c.no = m.no)

-- table_count: How many rows a table has.
SELECT count(*) FROM $table

-- table_rows: The rows of a table in the order of its key, each with its tenant first.
SELECT $tenant, $columns FROM $table t $owner ORDER BY $keys

-- table_put: One row of a table.
INSERT INTO $table ($columns) VALUES ($values)
