"""Rules as pure functions: memories and a moment in, decisions with reasons out."""
