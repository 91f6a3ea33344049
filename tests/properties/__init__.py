"""Random verbs, scopes, queries and texts against plain-Python models."""
