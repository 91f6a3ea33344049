"""Which line of the specification a test proves, for the parts of it that have ids."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

Test = TypeVar("Test", bound=Callable[..., object])


def marker(known: Sequence[str]) -> Callable[..., Callable[[Test], Test]]:
    """Return a decorator that marks a test as the proof of some of the known lines."""

    def spec(*ids: str) -> Callable[[Test], Test]:
        unknown = [each for each in ids if each not in known]
        assert ids, "name at least one line of the specification"
        assert not unknown, f"the specification has no {unknown}"

        def marked(test: Test) -> Test:
            test.__dict__["spec_ids"] = ids
            return test

        return marked

    return spec


def proofs(folder: Path, package: str) -> dict[str, list[str]]:
    """Return id -> names of the tests that prove it, from every module of a folder."""
    found: dict[str, list[str]] = {}
    for path in sorted(folder.glob("test_*.py")):
        module = importlib.import_module(f"{package}.{path.stem}")
        for name, value in vars(module).items():
            for each in getattr(value, "spec_ids", ()):
                found.setdefault(each, []).append(f"{path.stem}.{name}")
    return found
