"""Every line of the specification has a test that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.proofs import proofs
from tests.spec.ids import IDS, REGRESSIONS

_PROOFS = proofs(Path(__file__).parent, f"tests.{Path(__file__).parent.name}")


@pytest.mark.parametrize("line", [*IDS, *REGRESSIONS])
def test_every_line_of_the_specification_has_a_test(line: str) -> None:
    """A line that nobody proves fails here, by its id."""
    assert _PROOFS.get(line), f"no test is marked with @spec({line!r})"


def test_every_mark_stands_on_a_function_that_pytest_collects() -> None:
    """A mark on a helper would prove nothing."""
    strays = [name for names in _PROOFS.values() for name in names if not name.split(".")[1].startswith("test_")]

    assert strays == []
