"""A store that cannot be distributed says what it needs; `tests.citus` has the tests on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

import memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput
from tests.postgres import database


def test_a_server_without_the_extension_is_refused(postgres: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The command names the extension and what to run, and leaves the store as it was."""
    with database(postgres) as url:
        assert run(["store", "distribute", url, "--json"]) != 0
        assert "CREATE EXTENSION citus" in capsys.readouterr().err
        with memotherm.open(url, embedder="none") as mem:
            mem.scoped(tenant="a").remember("an otter")
            assert mem.check() == []


def test_a_file_is_not_distributed(tmp_path: Path) -> None:
    """A store in a file has to be moved to PostgreSQL first."""
    memotherm.open(tmp_path / "a.db", embedder="none").close()
    with pytest.raises(InvalidInput, match="migrate it to PostgreSQL"):
        memotherm.distribute(str(tmp_path / "a.db"))
