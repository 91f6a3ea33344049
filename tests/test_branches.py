"""Work in progress on a branch stays out of the contexts of other branches, if a setting says so; facts are shared."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Scope, Settings

_TASK = "The parser still has to read nested tables"
_FACT = "The parser uses a grammar of its own"
_QUERY = "what about the parser?"


def _git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "init.defaultBranch=main"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *who, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def _commit(folder: Path, text: str) -> None:
    (folder / "app.py").write_text(f"{text}\n")
    _git(folder, "add", ".")
    _git(folder, "commit", "-qm", text)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository on the branch feature/tables, after one commit on main."""
    folder = tmp_path / "shop"
    folder.mkdir()
    _git(folder, "init", "-q")
    _commit(folder, "first")
    _git(folder, "switch", "-qc", "feature/tables")
    return folder


def _open(tmp_path: Path, *, apart: bool = True) -> Memotherm:
    settings = Settings(embedder="none", branches_apart=apart)
    return memotherm.open(tmp_path / "m.db", scope=Scope(project="shop"), settings=settings)


def _seen(mem: Memotherm, folder: Path) -> set[str]:
    """Return which of the two memories a session that starts in a folder and asks is given."""
    session = mem.in_folder(folder).session(f"s{os.urandom(4).hex()}")
    text = session.session_start().text + session.before_turn(_QUERY).text
    return {each for each in (_TASK, _FACT) if each in text}


def _remember(mem: Memotherm, folder: Path) -> None:
    here = mem.in_folder(folder)
    here.remember(_TASK, "task", tier="hot")
    here.remember(_FACT, "fact", tier="hot")


def test_a_fact_is_shared_and_a_task_stays_on_its_branch(shop: Path, tmp_path: Path) -> None:
    """The receipt says why; a question finds both, what is about another branch last; off by default."""
    with _open(tmp_path) as mem:
        _remember(mem, shop)
        assert _seen(mem, shop) == {_TASK, _FACT}
        _git(shop, "switch", "-q", "main")
        assert _seen(mem, shop) == {_FACT}
        reasons = {entry.memory.content: entry.reason for entry in mem.in_folder(shop).context(_QUERY).left_out}
        assert reasons[_TASK].endswith("it is about the branch feature/tables")
        assert [hit.memory.content for hit in mem.in_folder(shop).recall(_QUERY)] == [_FACT, _TASK]
        _git(shop, "switch", "-qc", "feature/errors")
        assert _seen(mem, shop) == {_FACT}
        mem.in_folder(shop).capture("The errors are still in English, I translate them tomorrow", kind="message")
        (said,) = mem.find(kind="message")
        assert said.metadata["on_branch"]["name"] == "feature/errors"
    with _open(tmp_path, apart=False) as mem:
        assert _seen(mem, shop) == {_TASK, _FACT}
        assert "on_branch" not in mem.in_folder(shop).remember("Another task", "task").metadata


def test_what_was_merged_is_shared_when_the_branch_is_gone(shop: Path, tmp_path: Path) -> None:
    """What was deleted without a merge stays apart: nobody works on it any more."""
    _commit(shop, "second")
    with _open(tmp_path) as mem:
        _remember(mem, shop)
        _git(shop, "switch", "-q", "main")
        _git(shop, "merge", "-q", "--no-ff", "-m", "merged", "feature/tables")
        assert _seen(mem, shop) == {_FACT}
        _git(shop, "branch", "-qd", "feature/tables")
        assert _seen(mem, shop) == {_TASK, _FACT}


def test_an_abandoned_branch_stays_apart(shop: Path, tmp_path: Path) -> None:
    """Its memories are still found by a question."""
    _commit(shop, "second")
    with _open(tmp_path) as mem:
        _remember(mem, shop)
        _git(shop, "switch", "-q", "main")
        _git(shop, "branch", "-qD", "feature/tables")
        assert _seen(mem, shop) == {_FACT}
        assert _TASK in [hit.memory.content for hit in mem.in_folder(shop).recall(_QUERY)]


def test_a_renamed_branch_is_the_same_one(shop: Path, tmp_path: Path) -> None:
    """Until another branch takes its old name."""
    with _open(tmp_path) as mem:
        _remember(mem, shop)
        _git(shop, "branch", "-m", "feature/nested")
        assert _seen(mem, shop) == {_TASK, _FACT}
        _git(shop, "branch", "feature/tables")
        assert _seen(mem, shop) == {_FACT}


def test_each_worktree_has_its_branch(shop: Path, tmp_path: Path) -> None:
    """The project is the same."""
    _git(shop, "worktree", "add", "-q", "-b", "fix/login", str(tmp_path / "login"))
    with _open(tmp_path) as mem:
        _remember(mem, shop)
        assert _seen(mem, shop) == {_TASK, _FACT}
        assert _seen(mem, tmp_path / "login") == {_FACT}


def test_without_a_branch_everything_is_of_the_project(shop: Path, tmp_path: Path) -> None:
    """A detached HEAD has none, and neither has a folder without git, where the branches of others are unknown."""
    plain = tmp_path / "plain"
    plain.mkdir()
    with _open(tmp_path) as mem:
        _remember(mem, shop)
        _git(shop, "switch", "-q", "--detach")
        assert "on_branch" not in mem.in_folder(shop).remember("Seen while detached", "message").metadata
        assert _seen(mem, shop) == {_FACT}
        assert "on_branch" not in mem.in_folder(plain).remember("Seen without git", "message").metadata
        assert _seen(mem, plain) == {_TASK, _FACT}
        assert "on_branch" not in mem.remember("Seen from nowhere", "message").metadata


@pytest.mark.parametrize("branch", ["x", None, {"name": 1}, {"name": "x", "place": "elsewhere", "tip": "--all"}])
def test_a_foreign_entry_keeps_nothing_apart(branch: object, shop: Path, tmp_path: Path) -> None:
    """Metadata may hold anything."""
    with _open(tmp_path) as mem:
        mem.in_folder(shop).remember(_TASK, "task", tier="hot", metadata={"on_branch": branch})
        assert _seen(mem, shop) == {_TASK}
