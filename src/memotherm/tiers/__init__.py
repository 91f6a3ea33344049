"""The rules at work: compaction, maintenance, the working memory of sessions, metrics."""
