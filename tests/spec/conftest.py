"""The command line, run in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm.cli.app import run
from tests.stores import located


@pytest.fixture
def run_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command line and return what it printed; its exit code must be the one expected."""
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")

    def ran(*arguments: object, exit_code: int = 0) -> str:
        code = run([str(located(each) if isinstance(each, Path) else each) for each in arguments])
        printed = capsys.readouterr()
        assert code == exit_code, printed.err
        return printed.err if exit_code else printed.out

    return ran
