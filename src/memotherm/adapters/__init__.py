"""Adapters: Memotherm as the memory of other frameworks. Each module imports its framework when it is imported."""
