"""Readers of the memories of other programs; each returns drafts of memories."""
