"""Which line of the specification a test of notes proves: `@spec("O12")` above a test function."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])

#: Every line of the part about Markdown memory, and what the system behind it got wrong.
IDS = (*(f"O{number:02}" for number in range(1, 51)), *(f"W{number}" for number in range(33, 39)))


def spec(*ids: str) -> Callable[[Test], Test]:
    """Mark a test as the proof of some lines."""
    unknown = [each for each in ids if each not in IDS]
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
