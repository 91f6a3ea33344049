"""The rules that move memories."""
