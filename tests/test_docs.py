"""Examples of the documentation are run, and everything public is documented."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from bench.page import files as pages_of_numbers

import memotherm
from memotherm import Memotherm, Scope, Settings, errors
from memotherm.cli import app
from memotherm.cli.app import COMMANDS
from memotherm.testing import FakeClock
from tests.helpers import ROOT
from tests.postgres import database

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
MORE_PAGES = sorted({*PAGES, *ROOT.glob("*.md")})

_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w+-]*)[^\n]*\n(?P<body>.*?)^(?P=indent)```\s*$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"(?<!\!)\[[^\]]*\]\((?P<target>[^)\s]+)(?:\s+\"[^\"]*\")?\)")
_IMAGE = re.compile(r"!\[[^\]]*\]\((?P<target>[^)\s]+)\)")


class Block(NamedTuple):
    """A code block of a page."""

    language: str
    line: int
    body: str


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for match in _BLOCK.finditer(text):
        indent = match["indent"]
        body = "\n".join(line.removeprefix(indent) for line in match["body"].splitlines())
        yield Block(match["language"], text.count("\n", 0, match.start("body")) + 1, body)


def python_blocks(page: Path) -> Iterator[Block]:
    return (block for block in blocks(page) if block.language in {"python", "py"})


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose() -> str:
    return "\n".join(page.read_text("utf-8") for page in PAGES)


#: The URL in the examples; the tests replace it with that of a real database.
_DATABASE = "postgresql://memotherm@localhost/memory"


#: The frameworks of pages that are not among the packages for development; `make adapters` runs these pages.
_FRAMEWORKS = {
    "claude-agent.md": "claude_agent_sdk",
    "google-adk.md": "google.adk",
    "llama-index.md": "llama_index.core",
    "strands.md": "strands",
}


@pytest.mark.parametrize("page", [page for page in PAGES if any(python_blocks(page))], ids=title)
@pytest.mark.usefixtures("event_loop")
def test_python_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The blocks of a page run in order, in one namespace, in an empty folder."""
    if page.name in _FRAMEWORKS:
        pytest.importorskip(_FRAMEWORKS[page.name], reason="`make adapters` installs its framework")
    monkeypatch.chdir(tmp_path)
    named = any(_DATABASE in block.body for block in python_blocks(page))
    with database(request.getfixturevalue("postgres")) if named else contextlib.nullcontext(_DATABASE) as real:
        run_blocks(page, tmp_path, monkeypatch, real)


def run_blocks(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, real: str) -> None:
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.syspath_prepend(tmp_path)
    write_files(page, tmp_path)
    namespace: dict[str, object] = {"__name__": "__docs__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in python_blocks(page):
            # The lines are those of the page, so that an error points into it.
            body = block.body.replace(_DATABASE, real)
            exec(compile("\n" * (block.line - 1) + body, str(page), "exec"), namespace)


def write_files(page: Path, folder: Path) -> None:
    """Write every block of TOML or Python whose first line is a comment with a file name."""
    for block in blocks(page):
        name = re.match(r"# ([\w.-]+\.(?:toml|py))$", block.body.splitlines()[0] if block.body else "")
        if block.language in {"toml", "python"} and name is not None:
            (folder / name[1]).write_text(block.body, encoding="utf-8")


def commands(page: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, command) of every block of `bash`, with its continuation lines."""
    for block in blocks(page):
        if block.language == "bash":
            for offset, line in enumerate(block.body.replace("\\\n", " ").splitlines()):
                if line.strip():
                    yield block.line + offset, line.strip()


def makefile_targets() -> set[str]:
    return set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@pytest.fixture(name="shell")
def _shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str]]:
    """Run commands in one empty folder; return the exit code and the output of each."""
    for name in list(os.environ):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)

    def ours(command: str, given: str = "") -> tuple[int, str, str]:
        # A process of its own would only load the same modules again.
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
        code = app.run(shlex.split(command, comments=True)[1:])
        return code, *capsys.readouterr()

    def run(command: str) -> tuple[int, str]:
        command = re.sub(r"\$\((memotherm [^()]*)\)", lambda inner: ours(inner[1])[1].strip(), command)
        words, _, given = command.partition(" <<< ")
        if words.startswith(("python ", "memotherm hook ")) or re.search(r"[|<>&;$`]", words):
            done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, check=False)
            return done.returncode, done.stdout + done.stderr
        code, out, err = ours(words, "".join(shlex.split(given)))
        return code, out + err

    return run


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(page))], ids=title)
def test_shell_commands_work(page: Path, tmp_path: Path, shell: Callable[[str], tuple[int, str]]) -> None:
    """Every `memotherm ...` and `python ...` succeeds in one folder per page; every `make ...` names a target."""
    write_files(page, tmp_path)
    for line, command in commands(page):
        words = shlex.split(command, comments=True)
        assert words[:1] != ["$"], f"{title(page)}:{line}: a reader copies the prompt as well"
        if words[:1] == ["make"]:
            targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
            assert set(targets) <= makefile_targets(), f"{title(page)}:{line}: {command}"
        elif words[:1] in (["memotherm"], ["python"]):
            code, output = shell(command)
            assert code == 0, f"{title(page)}:{line}: {command}\n{output}"


@pytest.mark.parametrize("page", MORE_PAGES, ids=title)
def test_relative_links_lead_somewhere(page: Path) -> None:
    """Links and images within the repository exist, with their headings."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    for match in [*_LINK.finditer(text), *_IMAGE.finditer(text)]:
        target, _, anchor = match["target"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), f"{title(page)} links to {target}, which does not exist"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{title(page)} links to {match['target']}, which has no such heading"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", _BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def mentioned(name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", prose()) is not None


def test_the_pages_follow_the_code_and_what_was_measured() -> None:
    """What `make docs` would write is what is there."""
    pages = runpy.run_path(str(ROOT / "docs" / "build.py"))["PAGES"]

    for name, page in pages.items():
        assert (ROOT / "docs" / name).read_text("utf-8") == page(), f"run `make docs`: {name} is outdated"


def test_the_pages_of_numbers_follow_the_last_run() -> None:
    """What `python -m bench.page` would write is what is there."""
    for path, text in pages_of_numbers().items():
        assert path.read_text("utf-8") == text, f"run `python -m bench.page`: {path.name} is outdated"


def test_the_numbers_of_the_readme_are_those_of_the_run() -> None:
    """Every row of its table is a row of the page of numbers."""
    readme = (ROOT / "README.md").read_text("utf-8").partition("## Numbers")[2].partition("## ")[0]
    rows = [line for line in readme.splitlines() if line.startswith("|")]

    assert len(rows) > 5
    assert set(rows) <= set((ROOT / "docs" / "reference" / "speed.md").read_text("utf-8").splitlines())


def test_the_before_and_after_of_the_readme_is_what_a_session_is_given() -> None:
    """What was said in a week, and what a new session and its first prompt are given."""
    said = (
        (1, "Only ever retry requests that are idempotent"), (0, "The bank client times out after 30 seconds"),
        (1, "The staging database listens on port 5433"),
        (2, "No, the bank client times out after 12 seconds since the incident"),
        (1, "Do not deploy before the ledger migration is verified"),
    )  # fmt: skip
    clock = FakeClock(datetime(2026, 6, 21, 9, tzinfo=UTC))
    with memotherm.open(":memory:", embedder="local", clock=clock, scope=Scope(project="shop", user="ana")) as mem:
        for days, sentence in said:
            clock.advance(days=days)
            mem.by("person").capture(sentence)
        session = mem.session("s1")
        given = [session.session_start().text, session.before_turn("Add a retry to the bank client and deploy it").text]

    assert "\n\n".join(given) in (ROOT / "README.md").read_text("utf-8")


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    """Once; `make site` builds it and fails on a warning."""
    config = (ROOT / "mkdocs.yml").read_text("utf-8")
    listed = re.findall(r"([\w/-]+\.md)$", config.partition("\nnav:")[2], re.MULTILINE)

    assert sorted(listed) == sorted(
        each.relative_to(ROOT / "docs").as_posix() for each in (ROOT / "docs").rglob("*.md")
    )


def test_a_link_that_leaves_the_docs_leads_to_the_repository() -> None:
    """Others stay as they are."""
    rewritten = runpy.run_path(str(ROOT / "docs" / "site.py"))["with_repository_links"]
    text = "[a](../../bench/README.md#load) [b](../index.md#x) [c](scopes.md) ![d](../images/sizes.svg) [e](../../src)"

    assert rewritten(text, ROOT / "docs" / "explain" / "calls.md", "https://x.example") == (
        "[a](https://x.example/blob/main/bench/README.md#load) [b](../index.md#x) [c](scopes.md) "
        "![d](../images/sizes.svg) [e](https://x.example/tree/main/src)"
    )


def test_every_command_is_documented() -> None:
    """Each command of the command line stands in its reference page."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8")

    assert [name for name in COMMANDS if f"### `memotherm {name}" not in page] == []


def test_every_setting_is_documented() -> None:
    """Each setting is mentioned by its name somewhere in the docs."""
    missing = [each.name for each in dataclasses.fields(Settings) if not mentioned(each.name)]

    assert missing == []


def test_every_verb_is_documented() -> None:
    """Each verb of the facade is shown somewhere in the docs, as a call."""
    names = [name for name, _ in inspect.getmembers(Memotherm, inspect.isfunction) if not name.startswith("_")]
    missing = [name for name in names if not re.search(rf"(?<!\w){name}(\(|`)", prose())]

    assert missing == []


def test_every_public_name_is_documented() -> None:
    """Each name of `memotherm.__all__` is mentioned somewhere in the docs."""
    assert [name for name in memotherm.__all__ if not mentioned(name)] == []


def test_every_error_is_documented() -> None:
    """Each class of error and its code are mentioned somewhere in the docs."""
    classes = [getattr(errors, name) for name in errors.__all__]

    assert [each.__name__ for each in classes if not mentioned(each.__name__)] == []
    assert [each.code for each in classes if not mentioned(each.code)] == []


def test_every_make_target_is_explained() -> None:
    """`make help` shows each target that a person may call."""
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)

    assert phony is not None
    for target in phony[1].split():
        assert re.search(rf"^{target}:.*## \w", text, re.MULTILINE), f"{target} has no explanation"


def test_the_changelog_begins_with_this_version() -> None:
    """The newest version of the changelog is the package's."""
    versions = re.findall(r"^## \[?v?(\d+\.\d+\.\d+[\w.]*)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)

    assert versions[:1] == [memotherm.__version__]


def test_the_package_metadata_points_to_what_exists() -> None:
    """Readme, licence files and the command named in pyproject.toml are there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert (ROOT / project["readme"]).is_file()
    assert all((ROOT / name).is_file() for name in project["license-files"])
    for target in project["scripts"].values():
        module, _, function = target.partition(":")
        assert callable(getattr(__import__(module, fromlist=[function]), function))
