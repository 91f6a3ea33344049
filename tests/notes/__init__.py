"""Markdown memory, from single lines to several processes."""
