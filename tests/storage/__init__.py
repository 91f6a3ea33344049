"""Stores, tested without the facade."""
