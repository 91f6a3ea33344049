"""The project of a folder: its repository, read from git's files without git, for hooks and commands alike."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import memotherm
from memotherm import Scope
from memotherm.cli import app, exit_codes
from memotherm.hooks.capture import process_spool
from memotherm.hooks.project import HOOKS, project_at, scope_of, user_name
from memotherm.hooks.spool import Spool
from memotherm.settings.paths import is_excluded
from tests.interfaces.test_hooks import hook

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture(name="home", autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "data"
    monkeypatch.setenv("MEMOTHERM_HOME", str(home))
    monkeypatch.setenv("MEMOTHERM_DAEMON", "false")
    return home


def git(folder: Path, *arguments: str) -> None:
    settings = ["user.name=a", "user.email=a@example.com", "protocol.file.allow=always", "init.defaultBranch=main"]
    options = [word for setting in settings for word in ("-c", setting)]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *options, *arguments], cwd=folder, check=True, capture_output=True, env=environment)


def repository(folder: Path, remote: str = "") -> Path:
    """Create a repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init")
    git(folder, "commit", "--allow-empty", "-m", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def configured(folder: Path, config: str) -> Path:
    """Create a repository of which only the configuration matters."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "config").write_text(config, "utf-8", newline="")
    return folder


def project(folder: Path) -> str:
    found = project_at(folder)
    return found.remote or found.local


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("git@github.com:acme/shop.git", "github.com/acme/shop"),
        ("https://github.com/acme/shop", "github.com/acme/shop"),
        ("https://ana:s3cret@GitHub.com:443/acme/shop.git/", "github.com/acme/shop"),
        ("https://ana:p@ss@github.com/acme/shop", "github.com/acme/shop"),
        ("ssh://git@github.com:22/acme/shop.git", "github.com/acme/shop"),
        ("[git@github.com:22]:acme/shop.git", "github.com/acme/shop"),
        ("github.com:/acme/shop", "github.com/acme/shop"),
        ("git://github.com/acme/shop.git", "github.com/acme/shop"),
        ("https://github.com/acme/shop?token=s3cret#x", "github.com/acme/shop"),
        ("https://git.example.com/a/b/c/Shop.git", "git.example.com/a/b/c/Shop"),
        ("ssh://[::1]:2222/shop", "::1/shop"),
    ],
)
def test_every_form_of_an_address_is_one_project_without_credentials(url: str, name: str, tmp_path: Path):
    """Host and path count; user, password, port, query and `.git` do not."""
    assert project(configured(tmp_path / "x", f'[core]\n\tbare = false\n[remote "origin"]\n\turl = "{url}"\n')) == name


@pytest.mark.parametrize(
    "url",
    ["/srv/git/shop.git", "../shop", "file:///srv/shop", "C:/shop", "C:\\\\shop", "", "https://github.com", "a\tb:c",
     "https://h/" + "a" * 5000, "helper::https://h/shop", "https://h/\x1b[31mred"],
)  # fmt: skip
def test_what_is_no_address_of_a_server_is_no_project(url: str, tmp_path: Path):
    """A path means something else on another machine, so the folder counts."""
    assert project(configured(tmp_path / "shop", f'[remote "origin"]\n url = {url}\n')).startswith("shop-")


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (
            '[remote "b"]\nurl = git@hub:b/b\n[remote "origin"]\nurl = git@hub:o/o\n[remote "a"]\nurl = git@hub:a/a',
            "hub/o/o",
        ),
        ('[remote "b"]\nurl = git@hub:b/b\n[remote "a"]\nurl = git@hub:a/a\n', "hub/a/a"),
        ('[remote "upstream"]\nurl = git@hub:u/u\n', "hub/u/u"),
        ('[remote "origin"]\nurl = /srv/local\n[remote "upstream"]\nurl = git@hub:u/u\n', "hub/u/u"),
        ('[REMOTE "origin"]\r\n\tfetch = x\r\n\tURL=git@hub:o/o ; comment\r\n', "hub/o/o"),
        ('[remote "origin"] url = git@hub:o/o\n\turl = git@hub:second/one\n', "hub/o/o"),
        ('[remote "origin"]\n# url = git@hub:commented/out\nurl = git@hub:\\\no/o\n', "hub/o/o"),
        ('[remote "origin"]\npushurl = git@hub:p/p\n[branch "x"]\nurl = git@hub:n/n\n', "shop"),
        ('[remote "origin"\nurl = git@hub:o/o', "shop"),
        ("\x00\xff[[[" * 1000, "shop"),
        ("[" + " " * 100_000 + '\n[remote "' + "\\" * 99_999, "shop"),
    ],
)
def test_the_remote_is_origin_or_the_first_by_name(config: str, name: str, tmp_path: Path):
    """The configuration is read as git reads it; what is broken gives the folder."""
    found = project(configured(tmp_path / "shop", config))
    assert found == name if "/" in name else found.startswith("shop-")


def test_a_long_address_is_cut_and_still_unique(tmp_path: Path):
    """A value of a scope has at most 200 characters."""
    first, second = (
        project(configured(tmp_path / end, f'[remote "origin"]\nurl = git@hub:{"x" * 300}/{end}\n')) for end in "ab"
    )
    assert first != second
    assert Scope(project=first).project == first


@needs_git
def test_worktrees_share_the_project_of_their_repository(tmp_path: Path):
    """With a remote and without one, from any folder below."""
    for name, remote in (("shop", "git@github.com:acme/shop.git"), ("local", "")):
        root = repository(tmp_path / name, remote)
        git(root, "worktree", "add", str(tmp_path / f"{name}-feature"))
        (tmp_path / f"{name}-feature" / "src").mkdir()
        assert project(tmp_path / f"{name}-feature" / "src") == project(root)
    assert project(tmp_path / "shop") == "github.com/acme/shop"
    assert project(tmp_path / "local").startswith("local-")


@needs_git
def test_a_bare_repository_with_worktrees_beside_it_is_one_project(tmp_path: Path):
    """The usual layout: `.bare`, a `.git` file that names it, and a folder for each branch."""
    repository(tmp_path / "origin")
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "clone", "--bare", str(tmp_path / "origin"), ".bare")
    (folder / ".git").write_text("gitdir: ./.bare\n", "utf-8")
    git(folder, "worktree", "add", "feature")
    assert project(folder / "feature") == project(folder)
    assert project(folder).startswith("shop-")


@needs_git
def test_clones_of_one_remote_share_it_and_equal_folder_names_do_not(tmp_path: Path):
    """The remote decides; without one, the path."""
    one, two = (repository(tmp_path / place / "shop", "https://github.com/acme/shop.git") for place in ("a", "b"))
    assert project(one) == project(two)
    three, four = (repository(tmp_path / place / "shop") for place in ("c", "d"))
    assert len({project(one), project(three), project(four)}) == 3


@needs_git
def test_a_submodule_is_its_own_project(tmp_path: Path):
    """It has its own history and remote."""
    library = repository(tmp_path / "library")
    outer = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    git(outer, "submodule", "add", str(library), "libs/library")
    inner = outer / "libs" / "library"
    assert project(inner).startswith("library-")
    git(inner, "remote", "set-url", "origin", "git@github.com:acme/library.git")
    assert (project(inner), project(outer / "libs")) == ("github.com/acme/library", "github.com/acme/shop")


@needs_git
def test_git_init_keeps_the_project_and_a_new_remote_changes_it(tmp_path: Path):
    """The name before is known, for `doctor`."""
    folder = tmp_path / "shop"
    folder.mkdir()
    before = project(folder)
    git(folder, "init")
    assert project(folder) == before
    git(folder, "remote", "add", "origin", "git@github.com:acme/shop.git")
    assert project_at(folder)[:2] == ("github.com/acme/shop", before)
    git(folder, "remote", "set-url", "origin", "git@github.com:newco/shop.git")
    assert project_at(folder)[:2] == ("github.com/newco/shop", before)


def test_a_symbolic_link_to_a_folder_is_the_folder(tmp_path: Path):
    """With and without a repository."""
    for name in ("plain", "repository/.git"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("plain", "repository"):
        (tmp_path / f"link-{name}").symlink_to(tmp_path / name)
        assert project(tmp_path / f"link-{name}") == project(tmp_path / name)


def test_broken_and_hostile_files_give_the_folder(tmp_path: Path):
    """Nothing raises and nothing blocks."""
    folder = tmp_path / "shop"
    folder.mkdir()
    without = project(folder)
    pointers = [
        b"",
        b"gitdir:",
        b"gitdir: /nowhere",
        b"gitdir: \x00",
        b"\xff\xfe",
        b"gitdir: " + b"x" * 9000,
        b"x" * 99,
    ]
    for pointer in pointers:
        (folder / ".git").write_bytes(pointer)
        assert project(folder / "deep") == without
    (folder / ".git").unlink()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / ".git")
        assert project(folder) == without
        (folder / ".git").unlink()
    (folder / ".git").symlink_to(folder / ".git")
    assert project(folder) == without
    (folder / ".git").unlink()
    (folder / ".git" / "config").mkdir(parents=True)
    (folder / ".git" / "commondir").write_text("/nowhere")
    assert project(folder) == without
    for name in ("a\0b", "\ud800", "\x1b[31m", "x" * 5000, "/", ""):
        assert Scope(project=project_at(name).local).project


def test_exclusions_match_the_last_part_of_a_name(tmp_path: Path):
    """A pattern that named a folder matches the project of that folder still."""
    for name in ("github.com/acme/client-x", "client-x-1a2b3c4d", "client-x"):
        assert is_excluded(["client-?"], name)
    assert is_excluded(["client-x"], "github.com/acme/app", str(tmp_path / "client-x" / "src"))
    assert is_excluded(["github.com/acme/*"], "github.com/acme/app")
    assert not is_excluded(["client"], "github.com/client/app", str(tmp_path))


@pytest.mark.slow
@needs_git
def test_hooks_share_memories_between_worktrees_and_not_between_equal_names(home: Path, tmp_path: Path):
    """Through the real hooks: what is said in one worktree is recalled in another."""
    one, other = repository(tmp_path / "a" / "shop"), repository(tmp_path / "b" / "shop")
    git(one, "worktree", "add", str(tmp_path / "feature"))
    said = {"hook_event_name": "UserPromptSubmit", "prompt": "Our mascot is a purple walrus", "cwd": str(one)}
    hook(said, "--project", "auto")
    process_spool(Spool(home / "spool"), include_running=True)
    ask = {"hook_event_name": "UserPromptSubmit", "prompt": "mascot walrus", "session_id": "s2"}
    options = ("--project", "auto", "--no-capture")
    assert "purple" in hook({**ask, "cwd": str(tmp_path / "feature")}, *options)[0]
    assert "purple" not in hook({**ask, "cwd": str(other)}, *options)[0]


_SHOP = '[remote "origin"]\nurl = git@github.com:acme/shop.git\n'


def says(folder: Path, event: str, **fields: str) -> str:
    """Return what a hook in a folder answers."""
    payload = {"hook_event_name": event, "session_id": str(folder), "cwd": str(folder), **fields}
    return hook(payload, "--project", "auto")[0]


@pytest.mark.slow
def test_an_unpacked_folder_does_not_get_the_memories_of_the_remote_that_it_names(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """The hook says how to trust it; one command does, and `doctor` lists it."""
    own, copy = (configured(tmp_path / name, _SHOP) for name in ("shop", "unpacked"))
    says(own, "UserPromptSubmit", prompt="Our mascot is a purple walrus")
    process_spool(Spool(home / "spool"), include_running=True)
    assert "agent trust" not in says(own, "SessionStart")

    assert "purple" not in says(copy, "UserPromptSubmit", prompt="mascot walrus")
    said = json.loads(says(copy, "SessionStart"))["hookSpecificOutput"]["additionalContext"]
    assert f"memotherm agent trust {copy}" in said
    assert str(own) in said
    says(copy, "UserPromptSubmit", prompt="Our mascot is a green otter")
    process_spool(Spool(home / "spool"), include_running=True)
    with memotherm.open(scope=Scope(project="github.com/acme/shop")) as mem:
        assert [memory.content for memory in mem.find(kind="message")] == ["Our mascot is a purple walrus"]

    trusted = told(capsys, "agent", "trust", str(copy))
    assert trusted == {"project": "github.com/acme/shop", "folder": str(copy)}
    assert "purple" in says(copy, "UserPromptSubmit", prompt="mascot walrus", session_id="s2")
    app.run(["doctor", "--json"])
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["findings"]}["folders"]
    assert f"github.com/acme/shop: {own}; github.com/acme/shop: {copy}" in found["detail"]


def test_commands_and_doctor_in_a_folder_that_is_not_trusted_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """They use its own project, and print the command that trusts it."""
    own, copy = (configured(tmp_path / name, _SHOP) for name in ("shop", "my clone"))
    for folder, text in ((own, "We sell tea"), (copy, "We sell coffee")):
        monkeypatch.chdir(folder)
        app.run(["remember", text])
    errors = capsys.readouterr().err
    assert errors.count("memotherm agent trust") == 1
    assert [memory["content"] for memory in told(capsys, "list")["memories"]] == ["We sell coffee"]  # type: ignore[attr-defined]
    app.run(["doctor", "--json"])
    findings = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["findings"]}
    assert "first folder of this machine" in findings["folders"]["remedy"]
    found = findings["project"]
    assert found["state"] == "warning"
    assert found["remedy"] == f"memotherm agent trust '{copy}'"
    command = shlex.split(found["remedy"])[1:]
    told(capsys, *command)
    told(capsys, *command)  # twice is once
    assert [memory["content"] for memory in told(capsys, "list")["memories"]] == ["We sell tea"]  # type: ignore[attr-defined]
    assert len((tmp_path / "data" / "trusted-folders.jsonl").read_text("utf-8").splitlines()) == 2


@needs_git
def test_worktrees_are_trusted_with_their_repository(tmp_path: Path):
    """Also those of a bare one; a second clone is not."""
    root = repository(tmp_path / "shop", "git@github.com:acme/shop.git")
    git(root, "worktree", "add", str(tmp_path / "feature"))
    git(root, "worktree", "add", str(root / "inside"))
    git(tmp_path, "clone", "--bare", str(root), "bare.git")
    git(tmp_path / "bare.git", "remote", "set-url", "origin", "git@github.com:acme/bare.git")
    for name in ("one", "two"):
        git(tmp_path / "bare.git", "worktree", "add", str(tmp_path / name), "-b", name)
    git(tmp_path, "clone", str(root), "second")
    git(tmp_path / "second", "remote", "set-url", "origin", "https://github.com/acme/shop")

    def project_in(name: str) -> str:
        return scope_of(HOOKS, str(tmp_path / name))["project"]

    assert {project_in(name) for name in ("shop", "feature", "shop/inside")} == {"github.com/acme/shop"}
    assert {project_in(name) for name in ("one", "two")} == {"github.com/acme/bare"}
    assert project_in("second").startswith("second-")


@pytest.mark.parametrize("remote", [_SHOP, ""])
def test_a_pointer_to_the_repository_of_another_project_is_not_believed(remote: str, tmp_path: Path):
    """Neither a file, nor a link, nor a directory that names a common one: the other one does not list the folder."""
    own = configured(tmp_path / "shop", remote)
    (own / ".git" / "worktrees" / "feature").mkdir(parents=True)
    (own / ".git" / "worktrees" / "feature" / "commondir").write_text("../..\n")
    (own / ".git" / "worktrees" / "feature" / "gitdir").write_text(f"{tmp_path}/feature/.git\n")
    theirs = scope_of(HOOKS, str(own))["project"]
    for number, pointer in enumerate(("../shop/.git", "../shop/.git/worktrees/feature", str(own / ".git"))):
        folder = tmp_path / f"file{number}"
        folder.mkdir()
        (folder / ".git").write_text(f"gitdir: {pointer}\n")
        assert scope_of(HOOKS, str(folder))["project"].startswith(f"file{number}-")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / ".git").symlink_to(own / ".git")
    assert scope_of(HOOKS, str(tmp_path / "link"))["project"].startswith("link-")
    common = configured(tmp_path / "common", remote)
    (common / ".git" / "commondir").write_text("../../shop/.git\n")
    (common / ".git" / "gitdir").write_text(f"{common}/.git\n")
    assert scope_of(HOOKS, str(common))["project"].startswith("common-")
    assert scope_of(HOOKS, str(own))["project"] == theirs


def test_a_folder_without_a_remote_cannot_be_trusted_with_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """It has memories of its own already."""
    (tmp_path / "plain").mkdir()
    assert app.run(["agent", "trust", str(tmp_path / "plain")]) == exit_codes.USAGE
    assert "names no remote" in capsys.readouterr().err


def test_a_broken_file_of_trusted_folders_blocks_nobody(home: Path, tmp_path: Path):
    """Lines that cannot be read trust nobody."""
    home.mkdir()
    (home / "trusted-folders.jsonl").write_bytes(b"\xff\n{}\n[1\n[1, 2, 3]\nnull\n" + b"[" * 100_000 + b"\n")
    own, copy = (configured(tmp_path / name, _SHOP) for name in ("shop", "copy"))
    assert scope_of(HOOKS, str(own))["project"] == "github.com/acme/shop"
    assert scope_of(HOOKS, str(copy))["project"].startswith("copy-")


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert app.run([*arguments, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_doctor_offers_to_move_what_has_the_former_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The command previews, moves with --apply, and moves back exactly what it moved."""
    folder = configured(tmp_path / "shop", '[remote "origin"]\nurl = git@github.com:acme/shop.git\n')
    monkeypatch.chdir(folder)
    former = project_at(folder).local
    with memotherm.open() as mem:
        ids = [mem.scoped(project=former, user="ana").remember(f"The port is {number}").id for number in (1, 2)]
        hidden = mem.scoped(project=former).remember("An archived plan")
        mem.scoped(project=former).archive(hidden.id)
        twin = mem.scoped(project=former).remember("We sell tea")
        new = mem.scoped(project="github.com/acme/shop")
        own = [new.remember(text).id for text in ("We sell tea", "We ship on Monday")]
    app.run(["doctor", "--json"])
    found = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)["findings"]}["project"]
    assert found["state"] == "note"
    assert f"3 under {former}" in found["detail"]
    command = found["remedy"].split()[1:]
    assert command == ["store", "move-project", former, "github.com/acme/shop"]

    preview = told(capsys, *command)
    assert (preview["moved"], preview["applied"]) == (3, False)
    assert list(dict(preview["not_moved"])) == [twin.id]  # type: ignore[call-overload]
    with memotherm.open() as mem:
        assert {count.scope.project: count.memories for count in mem.inspect.scopes()}["github.com/acme/shop"] == 2

    applied = told(capsys, *command, "--apply")
    assert applied["moved"] == 3
    with memotherm.open(scope=Scope(project="github.com/acme/shop", user="ana")) as mem:
        assert {memory.id for memory in mem.find()} == {*ids, *own}
        assert {hit.memory.id for hit in mem.recall("which port?", 2)} == {*ids}
        assert mem.find(retention="archived")[0].id == hidden.id
        assert mem.check() == []
        assert mem.history(ids[0])[-1].action == "move_project"

    undone = told(capsys, "undo", str(applied["event"]), "--run", "--include-narrower")
    assert (len(list(undone["memories"])), undone["skipped"]) == (3, [])  # type: ignore[call-overload]
    with memotherm.open(scope=Scope(project=former, user="ana")) as mem:
        assert {memory.id for memory in mem.find(retention="any")} == {*ids, hidden.id, twin.id}
    with memotherm.open(scope=Scope(project="github.com/acme/shop")) as mem:
        assert {memory.id for memory in mem.find()} == {*own}


@pytest.mark.slow
def test_commands_in_a_repository_use_the_scope_of_the_hooks(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """What hooks have stored is listed, searched and exported there without options, and one line says why."""
    folder = configured(tmp_path / "shop", '[remote "origin"]\nurl = git@github.com:acme/shop.git\n')
    scope = ("--project", "auto", "--user", "auto")
    for prompt in ("Our mascot is a purple walrus", "I prefer answers in French"):
        hook({"hook_event_name": "UserPromptSubmit", "prompt": prompt, "cwd": str(folder)}, *scope)
    process_spool(Spool(home / "spool"), include_running=True)
    with memotherm.open(scope=Scope(project="other")) as mem:
        other = mem.remember("Another project")
    (folder / "src").mkdir()
    monkeypatch.chdir(folder / "src")

    def ran(*arguments: str) -> tuple[str, str]:
        assert app.run(arguments) == 0
        return capsys.readouterr()

    out, said = ran("status", "--json")
    assert json.loads(out)["warm"]["items"] == 2
    assert said.startswith(f"scope: project github.com/acme/shop, user {user_name()}; --everywhere for all\n")
    assert "walrus" in ran("recall", "mascot")[0]
    out, said = ran("export")
    assert len(out.splitlines()) == 3  # with the summary of the session
    assert "left out: 1 memory of other scopes; --everywhere exports all" in said
    for command in (["list"], ["status"], ["export"], ["recall", "project walrus French"]):
        out, said = ran(*command, "--everywhere")
        assert "scope:" not in said
        assert "Another project" in out or "3 memories" in out
    assert "scope:" not in ran("list", "--project", "other")[1]
    assert "scope:" not in ran("scopes")[1] + ran("store", "check")[1]

    assert app.run(["get", other.id]) == exit_codes.NOT_FOUND
    assert told(capsys, "get", other.id, "--everywhere")["content"] == "Another project"
    assert told(capsys, "move", other.id, "cold", "--everywhere")["scope"] == {"project": "other"}
    assert told(capsys, "forget", other.id, "--everywhere")["retention"] == "deleted"

    memory = told(capsys, "remember", "We sell tea")
    assert memory["scope"] == {"project": "github.com/acme/shop", "user": user_name()}
    assert told(capsys, "remember", "The office closes at six", "--everywhere")["scope"] == {}
    assert told(capsys, "remember", "In a store of its own", "--store", str(tmp_path / "own.db"))["scope"] == {}
    asked = {"hook_event_name": "UserPromptSubmit", "prompt": "What do we sell, tea?", "cwd": str(folder)}
    assert "We sell tea" in hook(asked, *scope, "--no-capture")[0]
    assert app.run(["list", "--everywhere", "--user", "ana"]) == exit_codes.USAGE


def test_commands_elsewhere_use_no_scope_until_hooks_have_stored_there(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """A newcomer who remembers in one folder recalls in another; a folder with hooks has a memory of its own."""
    for name in ("plain", "other"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    assert told(capsys, "remember", "We sell tea")["scope"] == {}
    monkeypatch.chdir(tmp_path / "other")
    assert app.run(["recall", "tea"]) == 0
    assert "We sell tea" in capsys.readouterr().out

    said = {"hook_event_name": "UserPromptSubmit", "prompt": "Our mascot is a purple walrus"}
    hook({**said, "cwd": str(tmp_path / "other")}, "--project", "auto", "--user", "auto")
    process_spool(Spool(home / "spool"), include_running=True)
    assert app.run(["recall", "walrus tea"]) == 0
    printed = capsys.readouterr()
    assert "purple" in printed.out
    assert "We sell tea" in printed.out
    assert printed.err.startswith("scope: project other-")
    monkeypatch.chdir(tmp_path / "plain")
    assert app.run(["list"]) == 0
    assert "scope:" not in capsys.readouterr().err


def test_one_move_can_be_undone_by_its_event(tmp_path: Path):
    """As every event of the ledger."""
    with memotherm.open(tmp_path / "m.db", embedder="none") as mem:
        memory = mem.scoped(project="shop").remember("We sell tea")
        assert mem.store.move_project("shop", "github.com/acme/shop") == {memory.id: ""}
        new = mem.scoped(project="github.com/acme/shop")
        with pytest.raises(memotherm.errors.NotFound):
            mem.scoped(project="shop").get(memory.id)
        new.undo(new.history(memory.id)[-1].seq)
        assert mem.scoped(project="shop").get(memory.id).content == "We sell tea"
