"""Pages of a listing: a server returns fewer memories at a time than the facade."""

from __future__ import annotations

from collections.abc import Iterator

from memotherm.services import require_limit

__all__ = ["page_sizes"]

_MOST_SERVED = 100
_MOST_ASKED = 1000


def page_sizes(limit: int) -> Iterator[int]:
    """Yield the sizes of the pages that make up a page of `limit` entries."""
    require_limit(limit, _MOST_ASKED)
    while limit > 0:
        yield min(limit, _MOST_SERVED)
        limit -= _MOST_SERVED
