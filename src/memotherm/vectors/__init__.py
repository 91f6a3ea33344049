"""Vectors of contents and queries: which embedder makes them, and which of them a store serves."""
