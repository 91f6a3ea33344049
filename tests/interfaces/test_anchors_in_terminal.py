"""What a terminal says about memories that are about lines of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.test_commands import Cli, cli  # noqa: F401 - a fixture
from tests.repositories import SmallRepository


def test_a_list_names_the_lines_and_a_recall_says_what_became_of_them(
    cli: Cli,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`stale` says which file is to be looked at; further files are counted."""
    text = "".join(f"line {number}\n" for number in range(20))
    repository = SmallRepository(tmp_path / "shop")
    files = dict.fromkeys(("a.py", "b.py", "c.py", "d.py"), text)
    repository.write({"src/client.py": text, **files})
    repository.commit("main", {"src/client.py": text, **files})
    monkeypatch.chdir(repository.root)
    cli("remember", "The retries are on purpose", "--about", "src/client.py:5-10")
    cli("remember", "Four modules", *(word for name in files for word in ("--about", name)))
    assert "  about src/client.py:5-10" in cli("list").out
    assert "  about a.py, b.py, c.py and 1 more" in cli("list").out

    repository.write({"src/client.py": text.replace("line 7", "another")})
    assert "The retries are on purpose  about src/client.py:5-10\n" in cli("stale").out
    assert "about src/client.py:5-10  file changed since" in cli("recall", "retries").out
