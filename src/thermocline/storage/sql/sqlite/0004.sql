-- The text indexes are asked which memories have a word, and nothing else: so they hold neither where in a
-- memory it stands (`detail`) nor how long the memory is (`columnsize`), which were 50 bytes of a short one.

ALTER TABLE text_live RENAME TO text_live_before;
CREATE VIRTUAL TABLE text_live USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO text_live (rowid, words) SELECT rowid, words FROM text_live_before ORDER BY rowid;
DROP TABLE text_live_before;

ALTER TABLE text_cold RENAME TO text_cold_before;
CREATE VIRTUAL TABLE text_cold USING fts5 (words, tokenize = 'ascii', detail = none, columnsize = 0);
INSERT INTO text_cold (rowid, words) SELECT rowid, words FROM text_cold_before ORDER BY rowid;
DROP TABLE text_cold_before;
