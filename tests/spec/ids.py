"""Which line of the specification a test proves: `@spec("H18")` above a test function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def _numbered(letter: str, last: int) -> list[str]:
    return [f"{letter}{number:02}" for number in range(1, last + 1)]


#: Every line of the parts about tiers, priorities, sessions, and retention.
IDS = (*_numbered("H", 30), *_numbered("E", 47), *_numbered("C", 44), *_numbered("M", 29))
#: What the systems behind the source documents got wrong, as far as these parts are concerned.
REGRESSIONS = tuple(_numbered("W", 32))


def spec(*ids: str) -> Callable[[Test], Test]:
    """Mark a test as the proof of some lines."""
    unknown = [each for each in ids if each not in (*IDS, *REGRESSIONS)]
    assert ids, "name at least one line of the specification"
    assert not unknown, f"the specification has no {unknown}"

    def marked(test: Test) -> Test:
        test.__dict__["spec_ids"] = ids
        return test

    return marked


def proofs() -> dict[str, list[str]]:
    """Return id -> names of the tests that prove it, from every module of this folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for name, value in vars(module).items():
            for each in getattr(value, "spec_ids", ()):
                found.setdefault(each, []).append(f"{path.stem}.{name}")
    return found
