"""Every line of the specification's part O has a test that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notes.ids import IDS
from tests.proofs import proofs

_PROOFS = proofs(Path(__file__).parent, f"tests.{Path(__file__).parent.name}")


@pytest.mark.parametrize("line", IDS)
def test_every_line_has_a_test(line: str) -> None:
    """A line that nobody proves fails here, by its id."""
    assert _PROOFS.get(line), f"no test is marked with @spec({line!r})"


def test_every_mark_stands_on_a_function_that_pytest_collects() -> None:
    """A mark on a helper would prove nothing."""
    assert [name for names in _PROOFS.values() for name in names if not name.split(".")[1].startswith("test_")] == []
