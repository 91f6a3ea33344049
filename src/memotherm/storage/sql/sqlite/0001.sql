-- Version 1 of the schema: primary data (spaces, memories, vectors), data derived from it (tags, claims,
-- text_live, text_cold, counters), and logs (events, recalls).

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- One row per distinct scope and collection; an empty text is a field that is not set. The notes of a
-- scope have a collection of their own, which is visible in the scope and can be searched separately.
CREATE TABLE spaces (
    space       INTEGER PRIMARY KEY,
    tenant      TEXT NOT NULL,
    project     TEXT NOT NULL,
    environment TEXT NOT NULL,
    user_       TEXT NOT NULL,
    agent       TEXT NOT NULL,
    session     TEXT NOT NULL,
    collection       TEXT NOT NULL DEFAULT '',
    UNIQUE (tenant, project, environment, user_, agent, session, collection)
);

-- tier 0 hot, 1 warm, 2 cold; priority 0 pinned .. 4 low; retention 0 active .. 3 purged, 4 proposed;
-- trust 0 web .. 4 person; times in microseconds since 1970, UTC; parts = vectors under the embedder in use, 0 = none yet,
-- -1 = none are wanted; key = the caller's own name for a memory.
CREATE TABLE memories (
    no              INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE,
    space           INTEGER NOT NULL REFERENCES spaces (space),
    content         TEXT    NOT NULL,
    kind            TEXT    NOT NULL,
    tags            TEXT    NOT NULL,
    tier            INTEGER NOT NULL CHECK (tier BETWEEN 0 AND 2),
    priority        INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 4),
    retention       INTEGER NOT NULL CHECK (retention BETWEEN 0 AND 4),
    metadata        TEXT    NOT NULL,
    source          TEXT    NOT NULL,
    tokens          INTEGER NOT NULL,
    digest          BLOB    NOT NULL,
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    accessed_at     INTEGER,
    expires_at      INTEGER,
    access_count    INTEGER NOT NULL,
    use_weight      REAL    NOT NULL,
    recent_uses     REAL    NOT NULL,
    relevance       REAL    NOT NULL,
    supersedes      TEXT,
    tier_since      INTEGER NOT NULL,
    tier_rule       TEXT    NOT NULL,
    retention_since INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    parts           INTEGER NOT NULL,
    key             TEXT,
    verified_at     INTEGER,
    trust           INTEGER NOT NULL CHECK (trust BETWEEN 0 AND 4),
    valid_from      INTEGER,
    valid_until     INTEGER
);
CREATE INDEX memories_by_place ON memories (space, retention, tier, no);
CREATE INDEX memories_by_digest ON memories (digest, space);
CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL AND retention = 0;
CREATE INDEX memories_by_urgency ON memories (space, priority) WHERE priority < 2 AND retention = 0;
CREATE UNIQUE INDEX memories_by_key ON memories (space, key) WHERE key IS NOT NULL;
CREATE INDEX memories_without_vector ON memories (no) WHERE parts = 0 AND retention <> 3;

CREATE TABLE tags (
    tag TEXT    NOT NULL,
    no  INTEGER NOT NULL REFERENCES memories (no),
    PRIMARY KEY (tag, no)
) WITHOUT ROWID;
CREATE INDEX tags_by_memory ON tags (no);

-- What the sentences of an active memory state: hashes of a slot and its value, so that other values of the same thing are
-- found by the index. The sentence is counted from 0.
CREATE TABLE claims (
    space    INTEGER NOT NULL,
    slot     INTEGER NOT NULL,
    no       INTEGER NOT NULL REFERENCES memories (no),
    sentence INTEGER NOT NULL,
    value    INTEGER NOT NULL,
    PRIMARY KEY (space, slot, no, sentence)
) WITHOUT ROWID;

-- The author, thread and predecessor of a message.
CREATE TABLE turns (
    no       INTEGER PRIMARY KEY REFERENCES memories (no),
    space    INTEGER NOT NULL,
    thread   TEXT    NOT NULL,
    author   TEXT    NOT NULL,
    previous INTEGER
);
CREATE INDEX turns_by_thread ON turns (space, thread, no) WHERE thread <> '';

-- The embedders of the stored vectors; `number` is part of every vector's key.
CREATE TABLE embedders (
    number     INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
);

-- key = embedder << 56 | memory << 20 | part; vector = float32, little-endian, unit length.
CREATE TABLE vectors (
    key    INTEGER PRIMARY KEY,
    vector BLOB NOT NULL
);

-- rowid = space << 38 | tier << 36 | memory, so that a scope and a tier are a range of the index.
-- Queries need only the memories that contain a word, so positions (`detail`) and lengths (`columnsize`) are not stored,
-- which saves 50 bytes for a short memory.
CREATE VIRTUAL TABLE text_live USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0);
CREATE VIRTUAL TABLE text_cold USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0);

CREATE TABLE events (
    seq     INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    no      INTEGER NOT NULL REFERENCES memories (no),
    action  TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    rule    TEXT    NOT NULL,
    why     TEXT    NOT NULL,
    changes TEXT    NOT NULL,
    policy  TEXT    NOT NULL DEFAULT ''
);
CREATE INDEX events_by_memory ON events (no, seq);
CREATE INDEX events_by_policy ON events (policy, no) WHERE policy <> '';
CREATE INDEX events_by_reason ON events (seq) WHERE why <> '' AND rule IN ('condition', 'explicit', 'superseded');

-- The policies that were adopted and rolled back, in order: `hash` is that of the policy in force from then on, empty
-- for the built-in rules, and `document` its text with everything that it extends. The events of moves have the hash.
-- They are part of the ledger: `seq` is a number of the events, of which none has it.
CREATE TABLE adoptions (
    seq      INTEGER PRIMARY KEY,
    at       INTEGER NOT NULL,
    actor    TEXT    NOT NULL,
    action   TEXT    NOT NULL CHECK (action IN ('adopt', 'rollback')),
    name     TEXT    NOT NULL,
    hash     TEXT    NOT NULL,
    document TEXT    NOT NULL
);

-- The recall log, with uses without a query and runs of the rules; `id` begins with the time and is what feedback names.
CREATE TABLE recalls (
    recall     INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL,
    at         INTEGER NOT NULL,
    space      INTEGER,
    query      TEXT    NOT NULL,
    tiers      TEXT    NOT NULL,
    micros     INTEGER NOT NULL,
    best       REAL    NOT NULL,
    candidates TEXT    NOT NULL,
    returned   TEXT    NOT NULL,
    promoted   TEXT    NOT NULL,
    degraded   TEXT    NOT NULL,
    options    TEXT    NOT NULL
);
CREATE INDEX recalls_by_time ON recalls (at);

-- The uses that followed a recall: opened, confirmed, reflected.
CREATE TABLE uses (
    recall   INTEGER NOT NULL,
    no       INTEGER NOT NULL REFERENCES memories (no),
    strength TEXT    NOT NULL CHECK (strength IN ('opened', 'confirmed', 'reflected')),
    space    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (recall, no, strength)
) WITHOUT ROWID;
CREATE INDEX uses_by_memory ON uses (no);

-- The receipts of contexts; `entries` are (id, section, form, tokens, reasons, score) of what was included, or left
-- out: without a form; `given` are the tokens of what was left out because the session has it.
CREATE TABLE receipts (
    receipt INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    space   INTEGER,
    query   TEXT,
    budget  INTEGER NOT NULL,
    tokens  INTEGER NOT NULL,
    given   INTEGER NOT NULL,
    format  TEXT    NOT NULL,
    entries TEXT    NOT NULL
);
CREATE INDEX receipts_by_time ON receipts (at);

-- The state of sessions: active, archived (ended) or summarized.
CREATE TABLE sessions (
    space      INTEGER PRIMARY KEY REFERENCES spaces (space),
    state      TEXT    NOT NULL CHECK (state IN ('active', 'archived', 'summarized')),
    started_at INTEGER NOT NULL,
    changed_at INTEGER NOT NULL
);

-- Counters of a space (recalls, spills, moves by rule): how often, and the sum of the amounts.
CREATE TABLE tallies (
    space  INTEGER NOT NULL,
    name   TEXT    NOT NULL,
    times  INTEGER NOT NULL,
    amount INTEGER NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;

-- Jobs that only one process at a time may do: the current holder, the end of its claim, and the time of the last run.
-- They are done for all tenants at once, so that the tenant is empty.
CREATE TABLE jobs (
    tenant  TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    holder  TEXT    NOT NULL DEFAULT '',
    until   INTEGER NOT NULL DEFAULT 0,
    done_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

-- Folders whose Markdown files are indexed; each has its own space.
CREATE TABLE roots (
    space INTEGER PRIMARY KEY REFERENCES spaces (space),
    path  TEXT NOT NULL,
    extra TEXT NOT NULL
);

-- The files at the time they were last read; `cut` is the version of the chunking, `settled` is whether an equal
-- time stamp means equal bytes, `tier` is the tier that the rules gave the file.
CREATE TABLE notes (
    note     INTEGER PRIMARY KEY,
    space    INTEGER NOT NULL REFERENCES roots (space),
    path     TEXT    NOT NULL,
    hash     TEXT    NOT NULL,
    stamp    TEXT    NOT NULL,
    size     INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    settled  INTEGER NOT NULL,
    cut      TEXT    NOT NULL,
    tier     INTEGER NOT NULL CHECK (tier BETWEEN 0 AND 2),
    UNIQUE (space, path)
);

-- The chunks of a file in order; each is a memory. `digest` is that of the chunk in the file.
CREATE TABLE chunks (
    note     INTEGER NOT NULL REFERENCES notes (note),
    position INTEGER NOT NULL,
    no       INTEGER NOT NULL REFERENCES memories (no),
    first    INTEGER NOT NULL,
    last     INTEGER NOT NULL,
    heading  TEXT    NOT NULL,
    digest   TEXT    NOT NULL,
    PRIMARY KEY (note, position)
) WITHOUT ROWID;
CREATE INDEX chunks_by_memory ON chunks (no);

-- The last cycle, between two context compactions, in which a session was prompted to flush.
CREATE TABLE flushes (
    space INTEGER PRIMARY KEY REFERENCES spaces (space),
    cycle INTEGER NOT NULL,
    armed INTEGER NOT NULL
);

-- The memories in a session's prompt, with the time of their last update, so that no turn repeats them.
CREATE TABLE injected (
    space      INTEGER NOT NULL REFERENCES spaces (space),
    no         INTEGER NOT NULL REFERENCES memories (no),
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (space, no)
) WITHOUT ROWID;

-- API keys of the server, and replies to requests that may be repeated.
CREATE TABLE key_values (
    namespace  TEXT NOT NULL,
    key        TEXT NOT NULL,
    value      TEXT NOT NULL,
    expires_at INTEGER,
    PRIMARY KEY (namespace, key)
) WITHOUT ROWID;

-- Texts that were forgotten, corrected, rejected or purged and must not be stored again by a capture, an import, a sync
-- or a restore. A mark is a digest with the store's secret as the key, so that it reveals nothing without the secret;
-- `head` has 16 bits of a hash of the first letters, `bits` of all of them, `length` is the number of letters, `trust`
-- that of who forgot it.
INSERT INTO meta (key, value) VALUES ('secret', lower(hex(randomblob(32))));

CREATE TABLE tombstones (
    space  INTEGER NOT NULL REFERENCES spaces (space),
    mark   TEXT    NOT NULL,
    at     INTEGER NOT NULL,
    head   INTEGER NOT NULL,
    length INTEGER NOT NULL,
    bits   INTEGER NOT NULL,
    trust  INTEGER NOT NULL,
    PRIMARY KEY (mark, space)
) WITHOUT ROWID;
CREATE INDEX tombstones_by_head ON tombstones (head, length);

-- Memories and tokens; updated at the end of each transaction.
CREATE TABLE counters (
    space     INTEGER NOT NULL,
    tier      INTEGER NOT NULL,
    retention INTEGER NOT NULL,
    memories  INTEGER NOT NULL,
    tokens    INTEGER NOT NULL,
    PRIMARY KEY (space, tier, retention)
) WITHOUT ROWID;
