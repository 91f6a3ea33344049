"""The file of a store is moved, deleted or replaced while a process has it open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm.errors import StoreUnavailable
from tests.helpers import opened


def moved(path: Path) -> None:
    for file in list(path.parent.glob(f"{path.name}*")):
        file.rename(file.with_name(f"moved-{file.name}"))


def deleted(path: Path) -> None:
    for file in list(path.parent.glob(f"{path.name}*")):
        file.unlink()


def replaced(path: Path) -> None:
    with opened(path.with_name("other.db")) as other:
        other.remember("from another store")
    path.with_name("other.db").replace(path)


def folder_renamed(path: Path) -> None:
    path.parent.rename(path.parent.with_name("renamed"))


@pytest.mark.parametrize("change", [moved, deleted, replaced, folder_renamed])
def test_a_write_to_a_file_that_is_gone_is_refused(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """What would be lost is not acknowledged, the error tells what happened, and check() reports it."""
    (tmp_path / "stores").mkdir()
    path = tmp_path / "stores" / "memory.db"
    with opened(path) as mem:
        kept = mem.remember("written before")
        change(path)
        for call in (lambda: mem.remember("written after"), lambda: mem.pin(kept.id), lambda: mem.purge(kept.id)):
            with pytest.raises(StoreUnavailable, match=r"memory\.db was moved, deleted or replaced"):
                call()
        assert {problem.code for problem in mem.check()} == {"file_gone"}


def test_a_log_that_is_deleted_is_reported(tmp_path: Path) -> None:
    """check() notices that the write-ahead log of an open store is gone."""
    path = tmp_path / "memory.db"
    with opened(path) as mem:
        mem.remember("written before")
        Path(f"{path}-wal").unlink()
        assert "file_gone" in [problem.code for problem in mem.check()]


def test_a_file_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    """Once the file is where it was, writes continue."""
    path = tmp_path / "memory.db"
    with opened(path) as mem:
        mem.remember("written before")
        path.rename(tmp_path / "elsewhere.db")
        with pytest.raises(StoreUnavailable):
            mem.remember("written meanwhile")
        (tmp_path / "elsewhere.db").rename(path)
        mem.remember("written after")
        assert mem.check() == []


def test_the_working_directory_may_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that was opened by a relative path stays the same store."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with opened("memory.db") as mem:
        mem.remember("written before")
        monkeypatch.chdir(tmp_path / "elsewhere")
        mem.remember("written after")
        assert len(mem.find().memories) == 2
        assert mem.check() == []
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_copy_beside_the_store_changes_nothing(tmp_path: Path) -> None:
    """Other files in the folder do not matter."""
    path = tmp_path / "memory.db"
    with opened(path) as mem:
        mem.remember("written before")
        shutil.copy(path, tmp_path / "copy.db")
        mem.remember("written after")
        assert mem.check() == []
