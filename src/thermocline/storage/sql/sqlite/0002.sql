-- What doors keep for themselves: API keys, answers to requests that may come twice.

CREATE TABLE kept (
    drawer TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  TEXT NOT NULL,
    until  INTEGER,
    PRIMARY KEY (drawer, key)
) WITHOUT ROWID;
