"""Memories that end by a condition: set in a repository, checked there when they are read, and ended with an event."""

from __future__ import annotations

import hashlib
import os
import random
import struct
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memotherm, Scope
from memotherm.errors import Forbidden, InvalidInput
from memotherm.hooks.capture import process_spool
from memotherm.hooks.events import Options, parse_event
from memotherm.hooks.recall import told_at
from memotherm.hooks.spool import Spool
from tests.repositories import SmallRepository

_PYPROJECT = (
    '[project]\nname = "shop"\nversion = "{own}"\nrequires-python = ">={python}"\ndependencies = ["django>={django}"]\n'
)


def _pyproject(own: str = "1.4.0", python: str = "3.12", django: str = "4.2") -> str:
    return _PYPROJECT.format(own=own, python=python, django=django)


@pytest.fixture
def repository(tmp_path: Path) -> SmallRepository:
    """A repository with two files, a release branch, and a branch that is not merged."""
    made = SmallRepository(tmp_path / "shop")
    files = {"pyproject.toml": _pyproject(), "src/legacy.py": "old = True\n"}
    made.write(files)
    start = made.commit("main", files)
    made.point("heads/release/2.1", start)
    made.point("heads/feature/x", start)
    made.commit("feature/x", {**files, "src/x.py": "x = 1\n"})
    made.point("tags/v1.4.0", start)
    return made


@pytest.fixture
def here(mem: Memotherm, repository: SmallRepository) -> Memotherm:
    """The memory of a person who works in the repository."""
    return mem.by("person").in_folder(repository.root)


def _tip(repository: SmallRepository, branch: str) -> str:
    return (repository.git / "refs/heads" / branch).read_text().strip()


def test_a_memory_ends_when_its_condition_comes_true_and_undo_brings_it_back(
    here: Memotherm, repository: SmallRepository
) -> None:
    """The event names the condition; after an undo, the memory holds, and the same condition ends it no more."""
    memory = here.remember("The schema of the shop is frozen", valid_until="branch release/2.1 is gone", tier="hot")
    assert "until branch release/2.1 is gone: The schema" in here.context().text

    repository.delete("heads/release/2.1")
    context = here.context()
    assert context.text == ""
    assert "it has ended: branch release/2.1 is gone" in context.receipt.left_out[0].reason
    ended = here.get(memory.id)
    assert ended.valid_until is not None
    *_, last = here.history(memory.id)
    assert (last.rule, last.why) == ("condition", "branch release/2.1 is gone came true")

    here.undo(last.seq)
    assert here.get(memory.id).valid_until is None
    assert "schema" in here.context().text


def test_a_recall_returns_an_ended_memory_with_its_end(here: Memotherm, repository: SmallRepository) -> None:
    """As it does for one whose last day has passed."""
    here.remember("The schema of the shop is frozen", valid_until="branch release/3.0 exists")
    assert here.recall("schema of the shop").hits[0].memory.valid_until is None
    repository.point("heads/release/3.0", _tip(repository, "main"))
    assert here.recall("schema of the shop").hits[0].memory.valid_until is not None


def _committed(repository: SmallRepository, files: dict[str, str]) -> None:
    whole = {"pyproject.toml": _pyproject(), "src/legacy.py": "old = True\n", **files}
    repository.write(whole)
    repository.commit("main", whole)


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("condition", "files"),
    [
        ("version of python at least 3.13", {"pyproject.toml": _pyproject(python="3.13")}),
        ("version of django at least 5.1", {"pyproject.toml": _pyproject(django="5.1.2")}),
        ("version of django at least 5.1", {"uv.lock": '[[package]]\nname = "django"\nversion = "5.2"\n'}),
        ("version at least 2.0", {"pyproject.toml": _pyproject(own="2.0.1")}),
        ("version of react at least 19", {"package.json": '{"dependencies": {"react": "^19.0.0"}}'}),
        ("version of node at least 22", {".nvmrc": "v22.3.0\n"}),
        ("version of go at least 1.25", {"go.mod": "module shop\n\ngo 1.25.1\n"}),
        ("version of tokio at least 1.40", {"Cargo.lock": '[[package]]\nname = "tokio"\nversion = "1.41.0"\n'}),
        ("file docker-compose.yml exists", {"docker-compose.yml": "services:\n"}),
        ('file pyproject.toml contains "3.13"', {"pyproject.toml": _pyproject(python="3.13")}),
        ('file src/legacy.py lacks "old"', {"src/legacy.py": "new = True\n"}),
    ],
)
def test_files_end_a_memory_when_they_are_committed_to_the_main_branch(
    here: Memotherm, repository: SmallRepository, condition: str, files: dict[str, str]
) -> None:
    """Not before: what is only written, or on another branch, is what somebody tries."""
    here.remember("Use the workaround", valid_until=condition, tier="hot")
    repository.write(files)
    assert "workaround" in here.context().text
    repository.checkout("feature/x")
    repository.commit("feature/x", files)
    assert "workaround" in here.context().text
    repository.checkout("main")
    _committed(repository, files)
    (repository.git / "MERGE_HEAD").write_text("")
    assert "workaround" in here.context().text
    (repository.git / "MERGE_HEAD").unlink()
    assert here.context().text == ""


@pytest.mark.sqlite
@pytest.mark.parametrize(
    "files",
    [
        {"pyproject.toml": _pyproject(django="5.1rc1")},
        {"pyproject.toml": _pyproject().replace("django>=4.2", "django>=4.2,<5.2")},
        {"uv.lock": '[[package]]\nname = "django-stubs"\nversion = "5.2"\n'},
        {"pyproject.toml": "[project]\n"},
        {"pyproject.toml": "<<<<<<< HEAD\n"},
        {"package.json": "{"},
        {"pyproject.toml": "", "requirements.txt": "django==4.2.1 --hash=sha256:9a8b7c6d\n"},
        {"pyproject.toml": "", "package.json": '{"dependencies": {"django": "npm:other@19.0.0"}}'},
        {"pyproject.toml": "", "package.json": '{"dependencies": {"django": "github:a/django#v19.0.0"}}'},
        {"pyproject.toml": "", "package.json": '{"dependencies": {"django": "patch:django@npm%3A4.2.0#~/9.patch"}}'},
        {"pyproject.toml": "", "package.json": '{"dependencies": {"django": "4.2.0-canary-308.20260101"}}'},
    ],
)
def test_other_versions_end_nothing(here: Memotherm, repository: SmallRepository, files: dict[str, str]) -> None:
    """Candidates for a release, upper bounds, other packages, numbers of other things, and files that say nothing."""
    here.remember("Use the workaround", valid_until="version of django at least 5.1", tier="hot")
    _committed(repository, files)
    assert "workaround" in here.context().text


def test_a_merged_branch_ends_a_memory_also_when_it_was_deleted(here: Memotherm, repository: SmallRepository) -> None:
    """A branch that was deleted or reset without a merge does not."""
    for place in range(2):
        here.remember(f"Do not touch the parser, part {place}", valid_until="branch feature/x is merged", tier="hot")
    tip = _tip(repository, "feature/x")
    repository.point("heads/feature/x", _tip(repository, "main"))
    assert "part 1" in here.context().text
    repository.delete("heads/feature/x")
    assert "part 1" in here.context().text
    repository.commit("main", {"pyproject.toml": _pyproject()}, tip)
    assert here.context().text == ""


def test_a_commit_in_a_branch_and_a_tag_end_a_memory(here: Memotherm, repository: SmallRepository) -> None:
    """A tag for a candidate of the release does not, nor one that is a date."""
    tip = _tip(repository, "feature/x")
    here.remember("Run the script twice", valid_until=f"commit {tip[:9]} is in main", tier="hot")
    here.remember("Keep the alias", valid_until="tag at least 2.0", tier="hot")
    repository.point("tags/v2.0.0-rc1", tip)
    repository.point("tags/docs-9.0", tip)
    repository.point("tags/20261120", tip)
    repository.point("tags/v2026.11.20", tip)
    assert "script" in here.context().text
    assert "alias" in here.context().text
    repository.point("tags/v2.0.1", tip)
    repository.point("heads/main", tip)
    assert here.context().text == ""


def test_what_is_missing_is_unknown(
    here: Memotherm, mem: Memotherm, repository: SmallRepository, tmp_path: Path
) -> None:
    """Without the repository, in another clone, or without a folder, nothing ends."""
    here.remember("The schema is frozen", valid_until="branch release/2.1 is gone", tier="hot")
    other = SmallRepository(tmp_path / "clone" / "shop")
    other.commit("main", {"a": "b"})
    repository.delete("heads/release/2.1")
    assert "frozen" in mem.in_folder(other.root).context().text
    assert "frozen" in mem.context().text
    (repository.root / ".git").rename(repository.root / "git")
    assert "frozen" in here.context().text
    (repository.root / "git").rename(repository.root / ".git")
    assert here.context().text == ""


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("branch release/2.1 exists", "true already"),
        ("branch release/9 is gone", "true already"),
        ("branch nowhere is merged", "no branch nowhere"),
        ("branch main is merged", "no branch main"),
        ("version of ? at least 3.13", "name what is meant"),
        ("file ../secret exists", "valid_until"),
        ("when pigs fly", "valid_until"),
    ],
)
def test_a_condition_that_could_not_be_checked_is_refused(here: Memotherm, condition: str, message: str) -> None:
    """It would end the memory at once, or never."""
    with pytest.raises(InvalidInput, match=message.replace("?", r"\?")):
        here.remember("Use the workaround", valid_until=condition)


@pytest.mark.sqlite
def test_nothing_outside_of_the_project_is_read(here: Memotherm, repository: SmallRepository, tmp_path: Path) -> None:
    """A link that leads out of it names no file, and a pointer to another repository no repository."""
    (tmp_path / "secret.txt").write_text("token")
    (repository.root / "link.txt").symlink_to(tmp_path / "secret.txt")
    here.remember("Use the workaround", valid_until='file link.txt contains "token"', tier="hot")
    assert "workaround" in here.context().text
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / ".git").write_text(f"gitdir: {repository.git}\n")
    with pytest.raises(InvalidInput, match="not in a repository"):
        here.in_folder(foreign).remember("Use the workaround", valid_until="branch nowhere exists")


@pytest.mark.sqlite
def test_configuration_of_the_repository_is_not_executed(here: Memotherm, repository: SmallRepository) -> None:
    """Neither a monitor nor a hook nor a transport nor an alias."""
    trap = repository.root / "ran"
    command = f"touch {trap}"
    (repository.git / "config").write_text(
        f'[core]\n\trepositoryformatversion = 1\n\tfsmonitor = "{command}"\n\thooksPath = {repository.root}\n'
        f'\tsshCommand = "{command}"\n\tpager = "{command}"\n[extensions]\n\tpartialClone = origin\n'
        f'[remote "origin"]\n\turl = "ext::sh -c {command}"\n\tpromisor = true\n[protocol "ext"]\n\tallow = always\n'
        f'[alias]\n\tcat-file = "!{command}"\n[filter "x"]\n\tsmudge = "{command}"\n[diff]\n\texternal = "{command}"\n'
    )
    (repository.root / ".gitattributes").write_text("* filter=x diff=x\n")
    here.remember("Run it twice", valid_until=f"commit {'a' * 39}1 is in main", tier="hot")
    here.remember("Use the workaround", valid_until="file docker-compose.yml exists", tier="hot")
    here.remember("Read the file first", metadata={"anchors": ["src/legacy.py:1"]}, tier="hot")
    _committed(repository, {"docker-compose.yml": "services:\n"})
    repository.write({"src/legacy.py": None})
    # To look for a rename, git reads the index, and asks a monitor then.
    index = b"DIRC" + struct.pack(">II", 2, 0)
    (repository.git / "index").write_bytes(index + hashlib.sha1(index, usedforsecurity=False).digest())
    text = here.context().text
    assert "workaround" not in text
    assert "twice" in text
    assert not trap.exists()


@pytest.mark.sqlite
def test_a_hostile_repository_fails_no_recall(here: Memotherm, repository: SmallRepository) -> None:
    """References in a thousand folders, one in the other, are not read; nor is a committed file of any size."""
    here.remember("Keep the alias", valid_until="tag at least 2.0", tier="hot")
    here.remember("Use the workaround", valid_until='file notes.txt contains "2.0"', tier="hot")
    _committed(repository, {"notes.txt": "2.0" + " " * 4_000_000})
    repository.write({"notes.txt": "2.0"})
    deep = [Path(f"{repository.git}/refs/tags{'/a' * depth}") for depth in range(1, 1000)]
    for folder in deep:
        folder.mkdir()
    try:
        text = here.context().text
    finally:
        for folder in reversed(deep):
            folder.rmdir()  # pytest itself could not
    assert "alias" in text
    assert "workaround" in text


def test_a_captured_statement_gets_its_condition_if_it_is_sure(here: Memotherm, repository: SmallRepository) -> None:
    """A name that only the repository tells is a guess; so is what an assistant says."""
    sure = here.capture("We keep the old endpoint until feature/x is merged.").memory
    guess = here.capture("The schema is frozen while the release branch is open.").memory
    said = here.capture("We keep the shim until Python 3.13.", metadata={"role": "assistant"}).memory
    over = here.capture("We keep the alias until 1.4 is released.").memory
    assert sure is not None
    assert guess is not None
    assert said is not None
    assert over is not None
    assert sure.metadata["ends"]["when"] == "branch feature/x is merged"
    assert guess.metadata["ends"] == {"perhaps": "branch release/2.1 is gone"}
    assert said.metadata["ends"] == {"perhaps": "version of python at least 3.13"}
    assert "ends" not in over.metadata
    repository.delete("heads/release/2.1")
    assert "frozen" in here.context("is the schema frozen?").text
    update = here.update(said.id, valid_until="version of python at least 3.13")
    assert update.metadata["ends"]["when"] == "version of python at least 3.13"


@pytest.mark.parametrize("ends", [{"when": "branch main exists", "place": "x"}, "branch main exists", ["x"], {}])
def test_an_agent_cannot_end_the_memory_of_a_person_by_a_condition(ends: Any, here: Memotherm, mem: Memotherm) -> None:
    """The condition is part of what a memory says, also one that is none: lists show the memory as bound to it."""
    memory = here.remember("The schema is frozen")
    agent = mem.by("agent")
    with pytest.raises(Forbidden, match="condition that ends it"):
        agent.update(memory.id, metadata={"ends": ends})
    assert agent.update(memory.id, metadata={"topic": "schema"}).metadata == {"topic": "schema"}
    assert here.update(memory.id, metadata={"ends": ends}).metadata == {"ends": ends}


def test_a_statement_of_less_trust_neither_sets_nor_replaces_the_condition_of_a_person(
    here: Memotherm, mem: Memotherm
) -> None:
    """Not by saying the same again, with or without a key; nor does a guess. A person does."""
    said, forged = "We keep the shim until Python 3.13.", {"ends": {"when": "tag at least 1.0", "place": "x"}}
    keyed = here.remember("The schema is frozen", key="schema")
    plain = here.remember(said, kind="decision")
    for agent in (mem.by("agent"), mem.by("agent").in_folder("/")):
        agent.remember("The schema is frozen", key="schema", metadata=forged)
        agent.remember(said, kind="decision", metadata=forged)
    assert "ends" not in here.get(keyed.id).metadata
    assert "ends" not in here.get(plain.id).metadata
    here.capture(said, kind="decision")
    set_by_person = here.get(plain.id).metadata["ends"]
    assert set_by_person["when"] == "version of python at least 3.13"
    here.capture(said, kind="decision", metadata={"role": "assistant"})
    assert here.get(plain.id).metadata["ends"] == set_by_person


def test_hooks_set_and_check_conditions_in_the_folder_of_the_host(
    repository: SmallRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker that stores a prompt works in another folder."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)
    store = str(tmp_path / "hooks.db")
    spool = Spool(tmp_path / "spool")
    job = {"version": 1, "client": "claude", "session": "s1", "folder": str(repository.root), "do": "capture"}
    job |= {"store": store, "scope": {"project": "shop"}, "settings": {}}
    spool.add({**job, "role": "user", "text": "From now on the parser is frozen until feature/x is merged."})
    spool.add({**job, "role": "assistant", "text": "Understood."})
    assert process_spool(spool, include_running=True).captured
    with memotherm.open(store, scope=Scope(project="shop")) as mem:
        memory = next(each for each in mem.find(contains="parser is frozen") if each.kind != "summary")
    assert memory.metadata["ends"]["when"] == "branch feature/x is merged"

    def given(session: str) -> str:
        event = {"hook_event_name": "UserPromptSubmit", "prompt": "Is the parser frozen?", "cwd": str(repository.root)}
        parsed = parse_event({**event, "session_id": session})
        assert parsed is not None
        return told_at(parsed, Options([f"--store={store}", "--project=shop"])).text

    assert "frozen" in given("s2")
    repository.commit("main", {"a": "b"}, _tip(repository, "feature/x"))
    assert "frozen" not in given("s3")
    with memotherm.open(store, scope=Scope(project="shop")) as mem:
        assert not mem.find(contains="parser is frozen", kind="summary").memories


def test_worktrees_and_submodules_share_and_separate(
    here: Memotherm, repository: SmallRepository, tmp_path: Path
) -> None:
    """A worktree is the same project; a linked folder leads to it as well."""
    here.remember("The schema is frozen", valid_until="branch release/2.1 is gone", tier="hot")
    tree, git = tmp_path / "tree", repository.git / "worktrees" / "tree"
    tree.mkdir()
    git.mkdir(parents=True)
    (tree / ".git").write_text(f"gitdir: {git}\n")
    (git / "gitdir").write_text(f"{tree / '.git'}\n")
    (git / "commondir").write_text("../..\n")
    (git / "HEAD").write_text("ref: refs/heads/feature/x\n")
    link = tmp_path / "link"
    link.symlink_to(tree, target_is_directory=True)
    assert "frozen" in here.in_folder(link).context().text
    repository.delete("heads/release/2.1")
    assert here.in_folder(link).context().text == ""

    module, inner = repository.root / "vendor/lib", SmallRepository(tmp_path / "inner")
    inner.commit("main", {"a": "b"})
    module.mkdir(parents=True)
    place = repository.git / "modules" / "lib"
    place.parent.mkdir()
    inner.git.rename(place)
    (place / "config").write_text("[core]\n\tworktree = ../../../vendor/lib\n")
    (module / ".git").write_text("gitdir: ../../.git/modules/lib\n")
    inside = here.in_folder(module)
    inside.remember("Pin the library", valid_until="branch next exists", tier="hot")
    repository.point("heads/next", _tip(repository, "main"))
    assert "Pin" in inside.context().text
    (place / "refs/heads/next").write_text((place / "refs/heads/main").read_text())
    assert inside.context().text == ""


@pytest.mark.sqlite
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))])
def test_no_memory_ends_early_in_replayed_histories(mem: Memotherm, tmp_path: Path, seed: int) -> None:
    """Five random histories each: trials on branches, writes without a commit, merges, deleted branches, tags."""
    for number in range(5):
        _replay(mem.scoped(project=f"p{number}"), tmp_path / str(number), random.Random(f"{seed}-{number}"))


def _replay(  # noqa: C901 - a step is a line or two
    mem: Memotherm, root: Path, chance: random.Random
) -> None:
    repository = SmallRepository(root)
    files = {"pyproject.toml": _pyproject(), "old.py": "old\n"}
    repository.write(files)
    start = repository.commit("main", files)
    for branch in ("release/2.1", "feature/x", "trial"):
        repository.point(f"heads/{branch}", start)
    tip = repository.commit("feature/x", {**files, "x.py": "x\n"})
    repository.commit("trial", {"pyproject.toml": _pyproject("2.0", "3.13", "5.1")})
    here = mem.by("person").in_folder(root)
    conditions = {
        "branch release/2.1 is gone": "cut",
        "branch feature/x is merged": "merge",
        f"commit {tip[:10]} is in main": "merge",
        "version of python at least 3.13": "upgrade",
        'file pyproject.toml contains "3.13"': "upgrade",
        "tag at least 2.0": "tag",
        "file old.py is gone": "clean",
    }
    for condition in conditions:
        here.remember(f"It holds: {condition}", valid_until=condition, tier="hot")
    steps = ["cut", "merge", "upgrade", "tag", "clean", "try", "write", "reset", "candidate", "work"]
    chance.shuffle(steps)
    done: set[str] = set()
    for step in steps:
        if step == "cut":
            repository.delete("heads/release/2.1")
        elif step == "merge":
            repository.commit("main", files, tip)
            if chance.random() < 0.5:
                repository.delete("heads/feature/x")
        elif step in ("upgrade", "clean"):
            files = {**files, "pyproject.toml": _pyproject(python="3.13")} if step == "upgrade" else {
                path: text for path, text in files.items() if path != "old.py"
            }  # fmt: skip
            repository.write({**dict.fromkeys(("old.py",)), **files})
            repository.commit("main", files)
        elif step in ("tag", "candidate"):
            repository.point("tags/v2.0.0" if step == "tag" else "tags/v2.0.0rc1", start)
        elif step == "reset" and (repository.git / "refs/heads/feature/x").exists():
            repository.point("heads/feature/x", _tip(repository, "main"))
        elif step == "work":
            repository.commit("main", files)
        if step in ("try", "write"):
            # Another branch, or nothing but the working tree, has it all for a while.
            repository.checkout("trial" if step == "try" else "main")
            repository.write({"pyproject.toml": _pyproject("2.0", "3.13", "5.1"), "old.py": None})
            _compare(here, conditions, done)
            repository.checkout("main")
            repository.write(files)
        else:
            done.add(step)
        _compare(here, conditions, done)


def _compare(here: Memotherm, conditions: dict[str, str], done: set[str]) -> None:
    text = here.context(budget=4000).text
    shown = {condition for condition in conditions if f"It holds: {condition}" in text.replace("\\", "")}
    assert shown == {condition for condition, step in conditions.items() if step not in done}


@pytest.mark.sqlite
def test_a_check_reads_few_files_again(
    here: Memotherm, repository: SmallRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second check of an unchanged project opens no file of versions."""
    here.remember("Use the workaround", valid_until="version of django at least 5.1", tier="hot")
    here.context()
    opened: list[str] = []
    system_open = os.open

    def noted_open(path: Any, *rest: Any, **named: Any) -> int:
        opened.append(str(path))
        return system_open(path, *rest, **named)

    monkeypatch.setattr(os, "open", noted_open)
    assert "workaround" in here.context().text
    assert not [path for path in opened if path.endswith("pyproject.toml")]


def test_a_memory_that_has_ended_is_not_shown_at_a_call(here: Memotherm, repository: SmallRepository) -> None:
    """The condition is checked at the call."""
    here.remember("Never edit src/legacy.py", valid_until="branch release/3.0 exists")
    assert here.session("s").before_tool("Edit", ["src/legacy.py"]).text
    repository.point("heads/release/3.0", _tip(repository, "main"))
    assert not here.session("t").before_tool("Edit", ["src/legacy.py"]).text
