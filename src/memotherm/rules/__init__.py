"""Tier and retention rules: pure functions from a memory and a situation to a move."""
