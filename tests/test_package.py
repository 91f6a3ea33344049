"""The package as a user installs it: the wheel, the install commands of the docs, and the installed command."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import tomllib
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

import memotherm
from tests.helpers import ROOT

_PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("README.md")])
#: A command of a block, or one in a sentence that begins with it; not one that a transcript quotes.
_INSTALL = re.compile(r"(?<!after `)pip install ([^`\n]+)")
#: What the project was called before; in two parts, so that this file does not contain it.
_OLD_NAME = "thermo" + "cline"
#: Extras with the packages of other frameworks, which take a minute to install; `make adapters` installs them.
_FRAMEWORKS = re.compile(
    r"\[(agent-framework|anthropic|claude-agent|google-adk|langgraph|llama-index|openai-agents|pydantic-ai|strands)\]"
)
_TEXT_FOLDERS = ("src", "tests", "docs", "bench", "deploy", ".ci")


def install_arguments() -> list[list[str]]:
    """Return the arguments of every `pip install` in the docs, without repetitions, the shortest first."""
    texts = [page.read_text("utf-8") for page in _PAGES]
    arguments = {tuple(shlex.split(match)) for text in texts for match in _INSTALL.findall(text)}
    return [list(words) for words in sorted(arguments, key=lambda words: (len(" ".join(words)), words))]


def run(command: Sequence[str | Path], folder: Path, **variables: str) -> str:
    """Run a command outside the repository, without its environment; return its standard output."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("MEMOTHERM_", "PYTHON"))},
        # Compiling every module of every dependency takes half of the time of an installation.
        "PIP_NO_COMPILE": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        **variables,
    }
    process = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert process.returncode == 0, f"{command}\n{process.stdout}{process.stderr}"
    return process.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_install_commands_of_the_docs_install_this_package(tmp_path: Path) -> None:
    """The first alone, the others together, with the built wheel in place of the name; the command works."""
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", "dist", ROOT], tmp_path)
    (wheel,) = (tmp_path / "dist").glob("memotherm-*.whl")
    venv.create(tmp_path / "venv")
    python, command = tmp_path / "venv" / "bin" / "python", tmp_path / "venv" / "bin" / "memotherm"
    home = {"MEMOTHERM_HOME": str(tmp_path / "home")}
    lines = [words for words in install_arguments() if not _FRAMEWORKS.search(" ".join(words))]
    assert [".[all]"] in lines

    named = [
        [re.sub(r"^(\.\./memotherm|\.|dist/.*\.whl)(?=\[|$)", str(wheel), word) for word in words] for words in lines
    ]
    for words, wanted in zip(lines, named, strict=True):
        assert wanted != words, f"pip install {shlex.join(words)} does not install this package"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    run([*pip, *named[0]], tmp_path)
    assert run([command, "--version"], tmp_path, **home) == f"memotherm {memotherm.__version__}\n"
    run([command, "remember", "The staging database is called heron"], tmp_path, **home)
    assert "heron" in run([command, "recall", "which database do we use?"], tmp_path, **home)
    run([*pip, *(word for words in named[1:] for word in words)], tmp_path)
    modules = "memotherm.mcp.server, memotherm.rest.app, memotherm.storage.postgres.store"
    location = run([python, "-c", f"import {modules}; print(memotherm.__file__)"], tmp_path, **home)
    assert Path(location.strip()).is_relative_to(tmp_path)


def test_the_extras_of_the_docs_exist() -> None:
    """Those of frameworks too, which are not installed here."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    named = [re.findall(r"\[(.+)\]", word) for words in install_arguments() for word in words]

    assert {extra for found in named for text in found for extra in text.split(",")} <= {*extras}


def test_the_old_name_of_the_project_is_gone() -> None:
    """No file and no path of the repository contains it."""
    folders = [ROOT / name for name in _TEXT_FOLDERS]
    files = [path for path in ROOT.iterdir() if path.is_file()]
    files += [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    old = _OLD_NAME.encode()

    assert len(files) > 300
    assert [str(path) for path in files if _OLD_NAME in str(path.relative_to(ROOT)).lower()] == []
    assert [str(path) for path in files if old in path.read_bytes().lower()] == []


def test_the_notice_has_the_digest_of_the_bundled_model() -> None:
    """Whoever receives the changed model can tell that it is the one that the notice describes."""
    weights = ROOT / "src/memotherm/embed/weights"
    model = hashlib.sha256((weights / "model.onnx").read_bytes()).hexdigest()
    assert f"sha256 of model.onnx:\n{model}\n" in (weights / "NOTICE").read_text("utf-8")
