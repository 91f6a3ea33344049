-- Version 1 of the schema on PostgreSQL: the same tables as on SQLite. The tenant leads every key, so that tables can
-- be distributed by it, and row-level security separates tenants in addition to the scope filter.
-- The default of the tenant column is the tenant of the transaction.

CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT INTO meta (key, value) VALUES
    ('store', replace(gen_random_uuid()::text, '-', '')),
    ('secret', replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''));

CREATE SEQUENCE space_numbers;
CREATE SEQUENCE memory_numbers;
CREATE SEQUENCE event_numbers;
CREATE SEQUENCE recall_numbers;
CREATE SEQUENCE receipt_numbers;
CREATE SEQUENCE note_numbers;

-- One row per distinct scope and collection; an empty text is a field that is not set.
CREATE TABLE spaces (
    tenant      TEXT COLLATE "C" NOT NULL,
    space       BIGINT NOT NULL DEFAULT nextval('space_numbers'),
    project     TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    user_       TEXT COLLATE "C" NOT NULL,
    agent       TEXT COLLATE "C" NOT NULL,
    session     TEXT COLLATE "C" NOT NULL,
    collection       TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, space)
);
-- The name of a collection may be a long path, so the key has its digest.
CREATE UNIQUE INDEX spaces_by_scope ON spaces
    (tenant, project, environment, user_, agent, session, md5(collection));

-- tier 0 hot, 1 warm, 2 cold; priority 0 pinned .. 4 low; retention 0 active .. 3 purged, 4 proposed;
-- trust 0 web .. 4 person; times in microseconds since 1970, UTC; parts = vectors under the embedder in use, 0 = none yet,
-- -1 = none are wanted; key = the caller's own name for a memory.
CREATE TABLE memories (
    tenant          TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    no              BIGINT   NOT NULL,
    id              TEXT COLLATE "C" NOT NULL,
    space           BIGINT   NOT NULL,
    content         TEXT     NOT NULL,
    kind            TEXT COLLATE "C" NOT NULL,
    tags            TEXT     NOT NULL,
    tier            SMALLINT NOT NULL CHECK (tier BETWEEN 0 AND 2),
    priority        SMALLINT NOT NULL CHECK (priority BETWEEN 0 AND 4),
    retention       SMALLINT NOT NULL CHECK (retention BETWEEN 0 AND 4),
    metadata        TEXT     NOT NULL,
    source          TEXT     NOT NULL,
    tokens          BIGINT   NOT NULL,
    digest          BYTEA    NOT NULL,
    created_at      BIGINT   NOT NULL,
    updated_at      BIGINT   NOT NULL,
    accessed_at     BIGINT,
    expires_at      BIGINT,
    access_count    BIGINT   NOT NULL,
    use_weight      DOUBLE PRECISION NOT NULL,
    recent_uses     DOUBLE PRECISION NOT NULL,
    relevance       DOUBLE PRECISION NOT NULL,
    supersedes      TEXT,
    tier_since      BIGINT   NOT NULL,
    tier_rule       TEXT     NOT NULL,
    retention_since BIGINT   NOT NULL,
    version         BIGINT   NOT NULL,
    parts           INTEGER  NOT NULL,
    key             TEXT COLLATE "C",
    verified_at     BIGINT,
    trust           SMALLINT NOT NULL CHECK (trust BETWEEN 0 AND 4),
    valid_from      BIGINT,
    valid_until     BIGINT,
    PRIMARY KEY (tenant, no),
    UNIQUE (tenant, id),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space)
) WITH (fillfactor = 85);  -- a use is counted in place, without touching an index
CREATE INDEX memories_by_place ON memories (tenant, space, retention, tier, no);
CREATE INDEX memories_by_digest ON memories (tenant, digest);
CREATE INDEX memories_by_expiry ON memories (tenant, expires_at) WHERE expires_at IS NOT NULL AND retention = 0;
CREATE INDEX memories_by_urgency ON memories (tenant, space, priority) WHERE priority < 2 AND retention = 0;
CREATE UNIQUE INDEX memories_by_key ON memories (tenant, space, key) WHERE key IS NOT NULL;
CREATE INDEX memories_without_vector ON memories (tenant, no) WHERE parts = 0 AND retention <> 3;

CREATE TABLE tags (
    tenant TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    tag    TEXT COLLATE "C" NOT NULL,
    no     BIGINT NOT NULL,
    PRIMARY KEY (tenant, tag, no),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);
CREATE INDEX tags_by_memory ON tags (tenant, no);

-- What the sentences of an active memory state: hashes of a slot and its value.
CREATE TABLE claims (
    tenant   TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space    BIGINT   NOT NULL,
    slot     BIGINT   NOT NULL,
    no       BIGINT   NOT NULL,
    sentence SMALLINT NOT NULL,
    value    INTEGER  NOT NULL,
    PRIMARY KEY (tenant, space, slot, no, sentence),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);

-- The author, thread and predecessor of a message.
CREATE TABLE turns (
    tenant   TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    no       BIGINT NOT NULL,
    space    BIGINT NOT NULL,
    thread   TEXT COLLATE "C" NOT NULL,
    author   TEXT   NOT NULL,
    previous BIGINT,
    PRIMARY KEY (tenant, no),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);
CREATE INDEX turns_by_thread ON turns (tenant, space, thread, no) WHERE thread <> '';

-- The embedders of the stored vectors.
CREATE TABLE embedders (
    number     INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name       TEXT COLLATE "C" NOT NULL UNIQUE,
    dimensions INTEGER NOT NULL
);

-- Space and tier are those of the memory, so that an index can contain live vectors only; tier 3 = not active.
CREATE TABLE vectors (
    tenant   TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    embedder INTEGER  NOT NULL,
    no       BIGINT   NOT NULL,
    part     INTEGER  NOT NULL,
    space    BIGINT   NOT NULL,
    tier     SMALLINT NOT NULL CHECK (tier BETWEEN 0 AND 3),
    vector   vector   NOT NULL,
    PRIMARY KEY (tenant, embedder, no, part),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);
CREATE INDEX vectors_by_place ON vectors (tenant, embedder, space, tier);

-- The words of active memories. The lexemes of a very long text are divided into several rows.
-- One more lexeme names the space, so that the scope is applied inside the index.
CREATE TABLE texts (
    tenant  TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    no      BIGINT   NOT NULL,
    part    INTEGER  NOT NULL,
    space   BIGINT   NOT NULL,
    tier    SMALLINT NOT NULL CHECK (tier BETWEEN 0 AND 2),
    words   TEXT     NOT NULL,
    lexemes TSVECTOR NOT NULL,
    PRIMARY KEY (tenant, no, part),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);
CREATE INDEX texts_by_place ON texts (tenant, space, tier);
CREATE INDEX texts_live ON texts USING gin (lexemes) WITH (fastupdate = off) WHERE tier < 2;
CREATE INDEX texts_cold ON texts USING gin (lexemes) WITH (fastupdate = off) WHERE tier = 2;

CREATE TABLE events (
    tenant  TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    seq     BIGINT NOT NULL,
    at      BIGINT NOT NULL,
    no      BIGINT NOT NULL,
    action  TEXT   NOT NULL,
    actor   TEXT   NOT NULL,
    rule    TEXT   NOT NULL,
    why     TEXT   NOT NULL,
    changes TEXT   NOT NULL,
    policy  TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (tenant, seq),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);
CREATE INDEX events_by_memory ON events (tenant, no, seq);
CREATE INDEX events_by_policy ON events (tenant, policy, no) WHERE policy <> '';
CREATE INDEX events_by_reason ON events (tenant, seq)
    WHERE why <> '' AND rule IN ('condition', 'explicit', 'superseded');

-- The policies that were adopted and rolled back, in order: `hash` is that of the policy in force from then on, empty
-- for the built-in rules, and `document` its text with everything that it extends. They concern all tenants, and
-- are part of the ledger: `seq` is a number of the events, of which none has it.
CREATE TABLE adoptions (
    seq      BIGINT PRIMARY KEY,
    at       BIGINT NOT NULL,
    actor    TEXT   NOT NULL,
    action   TEXT   NOT NULL CHECK (action IN ('adopt', 'rollback')),
    name     TEXT   NOT NULL,
    hash     TEXT   NOT NULL,
    document TEXT   NOT NULL
);

-- Texts that were forgotten, corrected, rejected or purged and must not be stored again unasked; a mark is a keyed
-- digest, `head` 16 bits of a hash of the first letters, `bits` of all of them, `length` the number of letters, `trust`
-- that of who forgot it.
CREATE TABLE tombstones (
    tenant TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space  BIGINT NOT NULL,
    mark   TEXT COLLATE "C" NOT NULL,
    at     BIGINT NOT NULL,
    head   INTEGER NOT NULL,
    length INTEGER NOT NULL,
    bits   INTEGER NOT NULL,
    trust  SMALLINT NOT NULL,
    PRIMARY KEY (tenant, mark, space),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space)
);
CREATE INDEX tombstones_by_head ON tombstones (tenant, head, length);

CREATE TABLE recalls (
    tenant     TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    recall     BIGINT NOT NULL DEFAULT nextval('recall_numbers'),
    id         TEXT   NOT NULL,
    at         BIGINT NOT NULL,
    space      BIGINT,
    query      TEXT   NOT NULL,
    tiers      TEXT   NOT NULL,
    micros     BIGINT NOT NULL,
    best       DOUBLE PRECISION NOT NULL,
    candidates TEXT   NOT NULL,
    returned   TEXT   NOT NULL,
    promoted   TEXT   NOT NULL,
    degraded   TEXT   NOT NULL,
    options    TEXT   NOT NULL,
    PRIMARY KEY (tenant, recall)
);
CREATE INDEX recalls_by_space ON recalls (tenant, space, recall);
CREATE INDEX recalls_by_time ON recalls (tenant, at);

-- The uses that followed a recall: opened, confirmed, reflected.
CREATE TABLE uses (
    tenant   TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    recall   BIGINT NOT NULL,
    no       BIGINT NOT NULL,
    strength TEXT   NOT NULL CHECK (strength IN ('opened', 'confirmed', 'reflected')),
    space    BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    PRIMARY KEY (tenant, recall, no, strength)
);
CREATE INDEX uses_by_memory ON uses (tenant, no);
CREATE INDEX uses_by_space ON uses (tenant, space);

-- The receipts of contexts; `entries` are (id, section, form, tokens, reasons, score) of what was included, or left
-- out: without a form; `given` are the tokens of what was left out because the session has it.
CREATE TABLE receipts (
    tenant  TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    receipt BIGINT NOT NULL DEFAULT nextval('receipt_numbers'),
    at      BIGINT NOT NULL,
    space   BIGINT,
    query   TEXT,
    budget  BIGINT NOT NULL,
    tokens  BIGINT NOT NULL,
    given   BIGINT NOT NULL,
    format  TEXT   NOT NULL,
    entries TEXT   NOT NULL,
    PRIMARY KEY (tenant, receipt)
);
CREATE INDEX receipts_by_space ON receipts (tenant, space, receipt);
CREATE INDEX receipts_by_time ON receipts (tenant, at);

-- The state of sessions: active, archived (ended) or summarized.
CREATE TABLE sessions (
    tenant     TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space      BIGINT NOT NULL,
    state      TEXT   NOT NULL CHECK (state IN ('active', 'archived', 'summarized')),
    started_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, space),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space)
);

-- Counters of a space (recalls, spills, moves by rule): how often, and the sum of the amounts.
CREATE TABLE tallies (
    tenant TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space  BIGINT NOT NULL,
    name   TEXT COLLATE "C" NOT NULL,
    times  BIGINT NOT NULL,
    amount BIGINT NOT NULL,
    PRIMARY KEY (tenant, space, name)
);

-- Folders whose Markdown files are indexed; each has its own space.
CREATE TABLE roots (
    tenant TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space  BIGINT NOT NULL,
    path   TEXT   NOT NULL,
    extra  TEXT   NOT NULL,
    PRIMARY KEY (tenant, space),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space)
);

-- The files at the time they were last read.
CREATE TABLE notes (
    tenant   TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    note     BIGINT   NOT NULL DEFAULT nextval('note_numbers'),
    space    BIGINT   NOT NULL,
    path     TEXT COLLATE "C" NOT NULL,
    hash     TEXT     NOT NULL,
    stamp    TEXT     NOT NULL,
    size     BIGINT   NOT NULL,
    messages BIGINT   NOT NULL,
    settled  SMALLINT NOT NULL,
    cut      TEXT     NOT NULL,
    tier     SMALLINT NOT NULL CHECK (tier BETWEEN 0 AND 2),
    PRIMARY KEY (tenant, note),
    UNIQUE (tenant, space, path),
    FOREIGN KEY (tenant, space) REFERENCES roots (tenant, space)
);

-- The chunks of a file in order; each is a memory.
CREATE TABLE chunks (
    tenant   TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    note     BIGINT   NOT NULL,
    position INTEGER  NOT NULL,
    no       BIGINT   NOT NULL,
    first    BIGINT   NOT NULL,
    last     BIGINT   NOT NULL,
    heading  TEXT     NOT NULL,
    digest   TEXT     NOT NULL,
    PRIMARY KEY (tenant, note, position),
    FOREIGN KEY (tenant, note) REFERENCES notes (tenant, note),
    FOREIGN KEY (tenant, no) REFERENCES memories (tenant, no)
);
CREATE INDEX chunks_by_memory ON chunks (tenant, no);

-- The last cycle, between two context compactions, in which a session was prompted to flush.
CREATE TABLE flushes (
    tenant TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space  BIGINT   NOT NULL,
    cycle  BIGINT   NOT NULL,
    armed  SMALLINT NOT NULL,
    PRIMARY KEY (tenant, space),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space)
);

-- The memories in a session's prompt, with the time of their last update.
CREATE TABLE injected (
    tenant     TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space      BIGINT NOT NULL,
    no         BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, space, no),
    FOREIGN KEY (tenant, space) REFERENCES spaces (tenant, space)
);

-- The number of memories of a space, updated at the end of each transaction.
CREATE TABLE counters (
    tenant    TEXT COLLATE "C" NOT NULL DEFAULT current_setting('memotherm.tenant'),
    space     BIGINT   NOT NULL,
    tier      SMALLINT NOT NULL,
    retention SMALLINT NOT NULL,
    memories  BIGINT   NOT NULL,
    tokens    BIGINT   NOT NULL,
    PRIMARY KEY (tenant, space, tier, retention)
) WITH (fillfactor = 50);

-- Jobs that are done for each tenant: the current holder, the end of its claim, and the time of the last run.
CREATE TABLE jobs (
    tenant  TEXT COLLATE "C" NOT NULL,
    name    TEXT COLLATE "C" NOT NULL,
    holder  TEXT   NOT NULL DEFAULT '',
    until   BIGINT NOT NULL DEFAULT 0,
    done_at BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, name)
);

-- API keys of the server, and replies to requests that may be repeated.
CREATE TABLE key_values (
    namespace  TEXT COLLATE "C" NOT NULL,
    key        TEXT COLLATE "C" NOT NULL,
    value      TEXT NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (namespace, key)
);
CREATE INDEX key_values_by_expiry ON key_values (expires_at) WHERE expires_at IS NOT NULL;

-- Row-level security: a transaction reads the rows of its tenant and those without a tenant, and writes those of its
-- tenant only. A transaction for all tenants sets `memotherm.operator`. A policy with a subquery could not be distributed.
DO $$
DECLARE
    operator CONSTANT TEXT := 'current_setting(''memotherm.operator'', true) = ''on''';
    own CONSTANT TEXT := 'current_setting(''memotherm.tenant'', true)';
    named TEXT;
BEGIN
    FOR named IN
        SELECT table_name FROM information_schema.columns
        WHERE table_schema = current_schema() AND column_name = 'tenant'
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', named);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', named);
        EXECUTE format('CREATE POLICY sees ON %I FOR SELECT USING (tenant = '''' OR tenant = %s OR %s)',
                       named, own, operator);
        EXECUTE format('CREATE POLICY adds ON %I FOR INSERT WITH CHECK (tenant = %s OR %s)', named, own, operator);
        EXECUTE format('CREATE POLICY changes ON %I FOR UPDATE USING (tenant = %s OR %s)', named, own, operator);
        EXECUTE format('CREATE POLICY drops ON %I FOR DELETE USING (tenant = %s OR %s)', named, own, operator);
    END LOOP;
    FOREACH named IN ARRAY ARRAY['key_values'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', named);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', named);
        EXECUTE format('CREATE POLICY operates ON %I USING (%s)', named, operator);
    END LOOP;
    ALTER TABLE adoptions ENABLE ROW LEVEL SECURITY;
    ALTER TABLE adoptions FORCE ROW LEVEL SECURITY;
    CREATE POLICY sees ON adoptions FOR SELECT USING (true);
    EXECUTE format('CREATE POLICY operates ON adoptions USING (%s)', operator);
END $$;
