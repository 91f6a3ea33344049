"""The tables of faults that `make torture` and `make siege` cause."""

from __future__ import annotations

import pytest

from tests.helpers import ROOT
from tests.siege.__main__ import FAMILIES
from tests.torture import FAULTS, PAGE


@pytest.mark.parametrize("test", sorted({test for fault in (*FAULTS, *FAMILIES) for test in fault.tests}))
def test_every_fault_names_tests_that_exist(test: str) -> None:
    """A test that was renamed would silently cause its fault no more."""
    file, _, name = test.partition("::")
    assert f"def {name}" in (ROOT / "tests" / file).read_text("utf-8")


def test_the_page_has_every_fault_and_family() -> None:
    """Each target writes its own part of the page, and leaves the other one."""
    text = PAGE.read_text("utf-8")
    assert [fault.name for fault in (*FAULTS, *FAMILIES) if f"| {fault.name} |" not in text] == []
