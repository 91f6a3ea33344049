"""Makes an embedding model: a published one, trained further on licensed questions about what was said and written."""
