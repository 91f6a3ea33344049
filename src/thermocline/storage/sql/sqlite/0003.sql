-- What was purged must not come back by an import, a sync or a restore. A tombstone is not the content's
-- digest but a keyed one, so that it says nothing to anybody who does not have this store's secret.

INSERT INTO meta (key, value) VALUES ('secret', lower(hex(randomblob(32))));

CREATE TABLE tombstones (
    space INTEGER NOT NULL REFERENCES spaces (space),
    mark  TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (mark, space)
) WITHOUT ROWID;
