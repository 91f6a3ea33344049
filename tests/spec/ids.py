"""Which line of the specification a test proves: `@spec("H18")` above a test function."""

from __future__ import annotations

from tests.proofs import marker


def _numbered(letter: str, last: int) -> list[str]:
    return [f"{letter}{number:02}" for number in range(1, last + 1)]


#: Every line of the parts about tiers, priorities, sessions, and retention.
IDS = (*_numbered("H", 30), *_numbered("E", 47), *_numbered("C", 44), *_numbered("M", 29))
#: What the systems behind the source documents got wrong, as far as these parts are concerned.
REGRESSIONS = tuple(_numbered("W", 32))

spec = marker((*IDS, *REGRESSIONS))
