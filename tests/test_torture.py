"""The table of faults that `make torture` causes."""

from __future__ import annotations

import pytest

from tests.helpers import ROOT
from tests.torture import FAULTS


@pytest.mark.parametrize("test", sorted({test for fault in FAULTS for test in fault.tests}))
def test_every_fault_names_tests_that_exist(test: str) -> None:
    """A test that was renamed would silently cause its fault no more."""
    file, _, name = test.partition("::")
    assert f"def {name}" in (ROOT / "tests" / file).read_text("utf-8")
