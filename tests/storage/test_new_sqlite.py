"""check() on the SQLite of this Python, and on a newer one if sqlcipher3 (which works without a key) is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helpers import python

_NEW = """
import sqlite3, sys
from sqlcipher3 import dbapi2
for name in vars(sqlite3):
    if name.startswith("SQLITE_") and not hasattr(dbapi2, name):
        setattr(dbapi2, name, getattr(sqlite3, name))
sys.modules["sqlite3"] = dbapi2
"""
_CHECKED = """
import sys
import memotherm
from memotherm.testing import HashEmbedder

here, there = (memotherm.open(sys.argv[1], embedder=HashEmbedder()) for _ in range(2))
for number in range(5):
    here.recall(f"otter {number}")
    there.remember_many([{"content": f"otter {number} {each}"} for each in range(5)])
    here.recall("otter")
    there.move(there.find(limit=1).memories[0].id, "cold")
    assert here.check() == [], here.check()
"""


@pytest.mark.parametrize("library", ["sqlite3", "sqlcipher3"])
def test_check_does_not_compare_with_what_a_reader_has_cached(tmp_path: Path, library: str) -> None:
    """A reader that has used the text index before another process wrote to it does not make it look damaged."""
    if find_spec(library) is None:
        pytest.skip("sqlcipher3 is not installed")
    done = python((_NEW if library == "sqlcipher3" else "") + _CHECKED, tmp_path / "memory.db")
    assert done.returncode == 0, done.stderr
