"""A store on another machine: the verbs of the facade, sent to its REST server."""

from __future__ import annotations

__all__ = ["is_remote"]


def is_remote(url: str) -> bool:
    """Return whether a store is on a server."""
    return url.lower().startswith(("http://", "https://"))
