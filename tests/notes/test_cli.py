"""Notes and imports through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm.cli.app import run


@pytest.fixture
def notes_cli(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """Run `memotherm notes ...` on the workspace and return what it printed."""
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))

    def ran(*arguments: object, exit_code: int = 0) -> str:
        code = run(["notes", *map(str, arguments), "--root", str(workspace), "--store", str(tmp_path / "cli.db")])
        printed = capsys.readouterr()
        assert code == exit_code, printed.err
        return printed.err if exit_code else printed.out

    return ran


def test_a_plain_folder_of_markdown_is_indexed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without MEMORY.md and memory/, every Markdown file is a note; a repository is not taken for one."""
    store = ("--store", str(tmp_path / "plain.db"))
    folder = tmp_path / "vault"
    (folder / "sub").mkdir(parents=True)
    assert run(["notes", "sync", "--root", str(folder), *store]) == 0
    assert "--extra ." in capsys.readouterr().err
    (folder / "tea.md").write_text("# Tea\n\nOolong is brewed at 85 degrees.\n")
    (folder / "sub" / "coffee.md").write_text("# Coffee\n\nThe grinder stands on the left.\n")
    assert run(["notes", "sync", "--root", str(folder), *store]) == 0
    assert "+ tea.md" in capsys.readouterr().out
    assert run(["notes", "search", "grinder", "--root", str(folder), *store]) == 0
    assert "sub/coffee.md" in capsys.readouterr().out
    (folder / ".git").mkdir()
    assert run(["notes", "sync", "--root", str(folder), "--store", str(tmp_path / "other.db")]) == 0
    assert "no notes" in capsys.readouterr().err


def test_sync_tells_what_it_did(notes_cli: Callable[..., str], workspace: Path) -> None:
    """In words and as JSON."""
    assert notes_cli("sync").endswith("4 added, 0 unchanged\n")
    (workspace / "MEMORY.md").unlink()
    told = json.loads(notes_cli("sync", "--json"))
    assert told["removed"] == ["MEMORY.md"]
    assert told["unchanged"] == 3


def test_search_prints_citations_and_get_reads_them(notes_cli: Callable[..., str]) -> None:
    """What was found can be pasted into `get`; in groups the citation stays out of sight."""
    printed = notes_cli("search", "glaciers")
    assert "memory/projects/atlas.md#L1-L3" in printed
    assert "Atlas renders maps of glaciers." in printed
    assert "#L1" not in notes_cli("search", "glaciers", "--chat", "group")
    (hit,) = json.loads(notes_cli("search", "glaciers", "--json", "-n", 1))["results"]
    assert hit["citation"] == "memory/projects/atlas.md#L1-L3"
    assert notes_cli("get", hit["citation"]) == "# Atlas\n\nAtlas renders maps of glaciers.\n"
    assert notes_cli("get", "MEMORY.md", "--from", 3, "--lines", 1) == "- The user prefers metric units\n"
    assert json.loads(notes_cli("get", "MEMORY.md", "--lines", 1, "--json"))["nextLine"] == 2
    assert "outside" in notes_cli("get", "../x.md", exit_code=2)


def test_append_and_watch(notes_cli: Callable[..., str], workspace: Path) -> None:
    """A line for the day; a watcher that ends after its first sync."""
    day = ("--date", "2026-01-07")
    assert notes_cli("append", "a fact", *day) == "memory/2026-01-07.md#L1\n"
    assert notes_cli("append", "a fact", *day) == "memory/2026-01-07.md#L1 has this text already\n"
    assert (workspace / "memory" / "2026-01-07.md").read_text() == "a fact\n"
    assert notes_cli("watch", "--syncs", 1).startswith("5 added")


def test_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`memotherm import openclaw PATH`."""
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    (tmp_path / "MEMORY.md").write_text("- One fact\n- Another fact\n")
    arguments = ["import", "openclaw", str(tmp_path), "--store", str(tmp_path / "a.db")]

    assert run(arguments) == 0
    assert capsys.readouterr().out == "2 memories from 1 file (0 known already)\n"
    assert run([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["duplicates"] == 2
    assert run(["import", "openclaw", str(tmp_path / "nowhere"), "--store", str(tmp_path / "a.db")]) == 3
