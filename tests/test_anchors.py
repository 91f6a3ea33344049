"""Memories about files: whether the lines are still what they were, and what becomes of the memory if not."""

from __future__ import annotations

from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from tests.repositories import SmallRepository

_LINES = [f"line {number}" for number in range(1, 21)]
_TEXT = "\n".join((*_LINES, ""))


@pytest.fixture
def repository(tmp_path: Path) -> SmallRepository:
    """A repository with one file of 20 lines."""
    made = SmallRepository(tmp_path / "shop")
    made.write({"src/client.py": _TEXT})
    made.commit("main", {"src/client.py": _TEXT})
    return made


@pytest.fixture
def here(mem: Memotherm, repository: SmallRepository) -> Memotherm:
    """The memory of a person who works in the repository."""
    return mem.by("person").in_folder(repository.root)


def _state(here: Memotherm) -> str:
    return here.recall("retries of the client").hits[0].files


def _about(here: Memotherm, *places: str, **more: str) -> str:
    return here.remember("The retries of the client are on purpose", metadata={"anchors": [*places]}, **more).id


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("text", "state"),
    [
        (_TEXT, "fresh"),
        (_TEXT.replace("\n", "  \r\n"), "fresh"),
        (_TEXT.replace("line 15", "another line"), "fresh"),
        (f"new\n{_TEXT}", "moved"),
        (_TEXT.replace("line 7", "another line"), "changed"),
        ("", "changed"),
        (None, "gone"),
    ],
)
def test_lines_are_fresh_moved_changed_or_gone(
    here: Memotherm, repository: SmallRepository, text: str | None, state: str
) -> None:
    """Spaces at line ends, line breaks and other lines do not count; a file that is restored is fresh again."""
    _about(here, "src/client.py:5-10")
    repository.write({"src/client.py": text})
    assert _state(here) == state
    repository.write({"src/client.py": _TEXT})
    assert _state(here) == "fresh"


def test_a_rename_is_followed_also_after_a_rebase(here: Memotherm, repository: SmallRepository) -> None:
    """With the lines as they were it has moved, with others it has changed."""
    _about(here, "src/client.py:5-10")
    repository.write({"src/client.py": None, "lib/http.py": _TEXT})
    repository.delete("heads/main")
    repository.commit("main", {"README": "rebased\n", "lib/http.py": _TEXT})
    assert _state(here) == "moved"
    repository.write({"lib/http.py": _TEXT.replace("line 7", "another line")})
    assert _state(here) == "changed"


def test_a_rename_is_followed_of_a_file_that_was_committed_later(here: Memotherm, repository: SmallRepository) -> None:
    """An agent writes it, a memory is about it, and then it is committed."""
    first = {"src/client.py": _TEXT}
    repository.write({"src/new.py": _TEXT.replace("line", "row")})
    _about(here, "src/new.py:5-10")
    repository.commit("main", {**first, "src/new.py": _TEXT.replace("line", "row")})
    repository.write({"src/new.py": None, "lib/new.py": _TEXT.replace("line", "row")})
    assert _state(here) == "gone"
    repository.commit("main", {**first, "lib/new.py": _TEXT.replace("line", "row")})
    assert _state(here) == "moved"


def test_a_rename_is_followed_when_the_commit_of_that_time_is_lost(
    here: Memotherm, repository: SmallRepository
) -> None:
    """A rebase has replaced it, and its objects were removed; the file was renamed twice and then rewritten."""
    lost = repository.commit("main", {"src/client.py": _TEXT, "README": "lost\n"})
    _about(here, "src/client.py:5-10")
    repository.delete("heads/main")
    (repository.git / "objects" / lost[:2] / lost[2:]).unlink()
    for path in ("src/client.py", "lib/client.py", "lib/http.py"):
        repository.commit("main", {"README": "rebased\n", path: _TEXT})
    repository.write({"src/client.py": None, "lib/http.py": _TEXT})
    assert _state(here) == "moved"
    repository.commit("main", {"README": "rebased\n", "lib/http.py": "all is new\n"})
    repository.write({"lib/http.py": "all is new\n"})
    assert _state(here) == "changed"
    repository.commit("main", {"README": "rebased\n"})
    repository.write({"lib/http.py": None})
    assert _state(here) == "gone"


def test_without_its_repository_a_file_is_unknown(
    here: Memotherm, mem: Memotherm, repository: SmallRepository, tmp_path: Path
) -> None:
    """So it is in another clone, and on servers nobody looks; a worktree and a linked folder are the same project."""
    _about(here, "src/client.py")
    other = SmallRepository(tmp_path / "other")
    other.commit("main", {"a": "b"})
    assert _state(mem.in_folder(other.root)) == "unknown"
    assert _state(mem) == ""
    link, tree = tmp_path / "link", tmp_path / "tree"
    link.symlink_to(repository.root, target_is_directory=True)
    assert _state(mem.in_folder(link / "src")) == "fresh"
    git = repository.git / "worktrees" / "tree"
    git.mkdir(parents=True)
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {git}\n")
    (git / "gitdir").write_text(f"{tree / '.git'}\n")
    (git / "commondir").write_text("../..\n")
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (tree / "src" / "client.py").write_text("other\n")
    assert _state(mem.in_folder(tree)) == "changed"
    repository.git.rename(repository.root / "git")
    assert _state(here) == "unknown"


def test_a_submodule_is_a_project_of_its_own(here: Memotherm, repository: SmallRepository, tmp_path: Path) -> None:
    """What is about a file of it is unknown outside."""
    inner, module = SmallRepository(tmp_path / "inner"), repository.root / "vendor/lib"
    inner.commit("main", {"a.py": "a\n"})
    module.mkdir(parents=True)
    place = repository.git / "modules" / "lib"
    place.parent.mkdir()
    inner.git.rename(place)
    (place / "config").write_text("[core]\n\tworktree = ../../../vendor/lib\n")
    (module / ".git").write_text("gitdir: ../../.git/modules/lib\n")
    (module / "a.py").write_text("a\n")
    inside = here.in_folder(module)
    _about(inside, "a.py")
    assert _state(inside) == "fresh"
    assert _state(here) == "unknown"


def test_contexts_mark_what_has_changed_and_put_it_behind(here: Memotherm, repository: SmallRepository) -> None:
    """It leaves hot with an event, nothing is deleted, and `verify` renews it."""
    hot = _about(here, "src/client.py:5-10", tier="hot")
    warm = here.remember("The retries of the client are on purpose, see the client", metadata={
        "anchors": ["src/client.py:5-10"]
    }).id  # fmt: skip
    fresh = here.remember("The retries of the client take a second").id
    assert "changed since" not in here.context("retries of the client on purpose").text
    assert here.stale() == []

    changed = _TEXT.replace("line 7", "another line")
    repository.write({"src/client.py": changed})
    assert "changed since" in here.context("retries of the client on purpose").text
    assert str(here.get(hot).tier) == "hot", "what is not committed may be taken back"
    repository.commit("main", {"src/client.py": changed})
    assert here.recall("retries of the client on purpose").hits[0].memory.id == fresh
    text = here.context("retries of the client on purpose, see the client").text
    assert text.count("file changed since") == 2
    assert text.index("take a second") < text.index("see the client")
    assert str(here.get(hot).tier) == "warm"
    *_, last = here.history(hot)
    assert (last.rule, last.why) == ("anchors", "file changed since")
    assert {memory.id for memory in here.stale()} == {hot, warm}

    here.verify(hot)
    here.verify(warm)
    assert here.stale() == []
    assert "changed since" not in here.context("retries of the client on purpose").text
    repository.write({"src/client.py": f"new\n{changed}"})
    assert here.verify(warm).metadata["anchors"][0]["lines"] == [6, 11]


@pytest.mark.sqlite
@pytest.mark.parametrize("place", ["src/client.py:5-50", "src/client.py:9-5", "nowhere.py", "../x", "/etc/passwd", ""])
def test_only_lines_of_the_project_can_be_named(here: Memotherm, place: str) -> None:
    """A file that is not there, lines that it does not have, and paths that lead out are refused."""
    with pytest.raises(InvalidInput):
        _about(here, place)


def test_a_call_with_its_file_is_shown_a_memory_that_does_not_name_it(
    here: Memotherm, mem: Memotherm, repository: SmallRepository, tmp_path: Path
) -> None:
    """Marked if the lines have changed; not in another project, and not for another file of the same name."""
    _about(here, "src/client.py:5-10")
    assert not here.session("s").before_tool("Edit", ["lib/client.py"]).text
    shown = here.session("s").before_tool("Edit", ["src/client.py"])
    assert "retries" in shown.text
    assert "file changed" not in shown.text
    assert "it is about src/client.py:5-10" in shown.receipt.included[0].reason
    assert not here.session("s").before_tool("Read", ["src/client.py"]).text
    repository.write({"src/client.py": _TEXT.replace("line 7", "another line")})
    assert "file changed since" in here.session("t").before_tool("Read", ["src/client.py"]).text
    other = SmallRepository(tmp_path / "other")
    other.write({"src/client.py": _TEXT})
    assert not mem.in_folder(other.root).session("u").before_tool("Read", ["src/client.py"]).text
