"""Databases of memories. The only package that contains SQL."""
