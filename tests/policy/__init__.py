"""Tier policies: files, lint, tests and comparisons."""
