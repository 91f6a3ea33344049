"""The command line, run as a person would run it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import memotherm
from memotherm import errors
from memotherm.cli import app, exit_codes
from tests.golden import terminal
from tests.helpers import ROOT


def memotherm_cli(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memotherm", *arguments],
        capture_output=True, text=True, timeout=120, env={**os.environ, "COLUMNS": "100", **environment},
    )  # fmt: skip


@pytest.fixture(scope="module")
def demo() -> subprocess.CompletedProcess[str]:
    """The output of the demonstration, shared by the tests that read it."""
    return memotherm_cli("demo")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder of a user whose settings the demonstration must not read."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def steps(home: Path) -> list[dict[str, Any]]:
    """The steps of the demonstration as JSON, shared by the tests that read them."""
    done = memotherm_cli("demo", "--json", MEMOTHERM_HOME=str(home), MEMOTHERM_DEFAULT_TIER="cold")
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_demo_is_six_steps_on_one_screen(demo: subprocess.CompletedProcess[str]):
    """A newcomer sees a budget that holds, its receipt, a correction, its undo and what to do next."""
    assert demo.returncode == 0, demo.stderr
    assert re.findall(r"^(\d) ", demo.stdout, re.MULTILINE) == list("123456")
    assert len(demo.stdout.splitlines()) < 60
    for words in ("in 60 tokens", "enters at", "capture(", "undo(", "Next"):
        assert words in demo.stdout


def test_the_demo_pads_no_line_outside_a_terminal(demo: subprocess.CompletedProcess[str]):
    """What is piped is as wide as its text."""
    assert max(map(len, demo.stdout.splitlines())) < 200


def test_the_demo_shows_no_colours_outside_a_terminal(demo: subprocess.CompletedProcess[str]):
    """Output that is not a terminal is plain text."""
    assert "\x1b" not in demo.stdout
    assert demo.stderr == ""


def test_colours_can_be_refused_where_they_would_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """NO_COLOR wins over a terminal."""
    known = {"MEMOTHERM_HOME": str(tmp_path), "MEMOTHERM_EMBEDDER": "none", "TERM": "xterm-256color"}
    for name, value in {**known, "FORCE_COLOR": "1", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)
    app.run(["remember", "Deploys need two reviews"])
    capsys.readouterr()

    app.run(["list"])
    coloured = capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    app.run(["list"])
    plain = capsys.readouterr().out

    assert "\x1b[33m● warm" in coloured
    assert "Deploys need two reviews" in plain
    assert "\x1b[33m" not in plain


@pytest.mark.sqlite
def test_the_golden_terminal_output_is_unchanged():
    """At three widths; run `make golden` and read the difference if it is meant to change."""
    for path, text in terminal.files().items():
        assert path.read_text("utf-8") == text, path.name


@pytest.mark.parametrize("width", terminal.WIDTHS)
def test_the_receipt_of_a_context_fits_the_terminal(width: int, tmp_path: Path):
    """Each memory has its tokens, its first words, the reason, and the budget at which it enters."""
    path = tmp_path / "agent.db"
    with memotherm.open(path) as mem:
        mem.remember("Answer with small diffs and short summaries, whoever asks", priority="pinned")
        mem.remember("The staging database listens on port 5433, and the one of production on another one")
    told = terminal.error_of(("context", "which port?", "--budget", "60", "--receipt", "--store", str(path)), width)
    assert max(map(cell_len, told.splitlines())) <= width
    assert re.search(r"out {2}\w{8}.*it enters at \d+ tokens", told, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("width", terminal.WIDTHS)
@pytest.mark.parametrize("command", ["demo", "doctor"])
def test_no_line_is_wider_than_the_terminal(command: str, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither the texts of the demonstration nor long findings; what continues a line is indented."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    lines = terminal.shown((command,), width).splitlines()

    assert max(map(cell_len, lines)) <= width
    if command == "demo":
        assert len(lines) < 100
    else:
        assert not [line for line in lines if line[0] not in "✓·!✗ "]


def test_the_texts_of_the_demo_are_true(steps: list[dict[str, Any]]):
    """What the titles and calls of the steps say is what their results show."""
    _, read, receipt, enough, correction, undone = steps
    assert all(set(step) == {"title", "code", "results"} for step in steps)
    considered = receipt["results"][0]["receipt"]
    assert considered["included"][0]["reason"].startswith("pinned")
    assert int(re.findall(r"\[(\d+)/60 tokens\]", str(read["results"]))[0]) <= 60
    budget = min(entry["fits_at"] for entry in considered["left_out"] if entry["fits_at"])
    assert f"With {budget} tokens" in enough["title"]
    assert "5433" in enough["results"][-1]
    new, old, event = correction["results"]
    assert "5544" in new["content"]
    assert "5433" in old["content"]
    assert event["changes"]["valid_until"]["from"] is None
    assert undone["results"][1]["changes"]["valid_until"]["to"] is None


def test_the_demo_ignores_the_settings_of_the_user(home: Path, steps: list[dict[str, Any]]):
    """The demonstration is the same for everybody, and nothing is written to the user's folders."""
    assert steps[0]["results"][2]["tier"] == "warm"
    assert not list(home.iterdir())


def test_help_lists_every_command_and_imports_nothing_heavy():
    """The list of commands is quick to get."""
    code = (
        "import sys; from memotherm.cli.app import run; run(['--help'])\n"
        "heavy = {'numpy', 'onnxruntime', 'rich', 'sqlite3', 'urllib3'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.returncode == 0, done.stderr
    for name, entry in app.COMMANDS.items():
        assert name in done.stdout
        assert entry.help.split()[0] in done.stdout


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_is_where_the_table_says(name: str, capsys: pytest.CaptureFixture[str]):
    """A command that is listed can be called, and explains itself."""
    assert app.run([name, "--help"]) == exit_codes.OK
    assert f"Usage: memotherm {name}" in capsys.readouterr().out


def test_version():
    """The version is the package's."""
    assert memotherm_cli("--version").stdout == f"memotherm {memotherm.__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "--nonsense"], ["demo", "surplus"]], ids=" ".join)
def test_a_wrong_call_is_a_usage_error_with_a_hint(arguments: list[str], capsys: pytest.CaptureFixture[str]):
    """One line says what is wrong, one what to do; the exit code is 2."""
    assert app.run(arguments) == exit_codes.USAGE
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("error: ")
    assert "hint: " in told.err
    assert "Traceback" not in told.err


@pytest.mark.slow
def test_an_unexpected_error_is_one_line_unless_debug_is_asked_for(tmp_path: Path):
    """A person gets a sentence; a developer gets the traceback."""
    nowhere = {"TMPDIR": str(tmp_path / "missing"), "TEMP": "", "TMP": ""}
    code = (
        "import sys, tempfile; from memotherm.cli.app import run\n"
        "def fail(*args, **kwargs): raise OSError('no folder for temporary files')\n"
        "tempfile.TemporaryDirectory = fail\n"
        "sys.exit(run(sys.argv[1:]))"
    )
    short, long = (
        subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True, text=True, timeout=60, env={**os.environ, **nowhere},
        )
        for arguments in (["demo"], ["--debug", "demo"])
    )  # fmt: skip

    assert short.returncode == exit_codes.FAILURE
    assert "error: no folder for temporary files" in short.stderr
    assert "Traceback" not in short.stderr
    assert "Traceback" in long.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes close differently on Windows")
def test_a_reader_that_leaves_early_is_no_error():
    """`memotherm demo | head -1` ends quietly."""
    code = f"{sys.executable} -m memotherm demo --json | head -c 10; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=120)

    assert done.returncode == exit_codes.OK, done.stderr
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="pipes close differently on Windows")
def test_a_policy_is_adopted_although_nobody_reads_the_report(tmp_path: Path):
    """`memotherm policy adopt research --yes | head -0` puts the policy in force."""
    store = tmp_path / "m.db"
    with memotherm.open(store, embedder="none") as mem:
        mem.remember("The build runs in make")
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "memotherm", "policy", "adopt", "research", "--yes", "--store", str(store)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, timeout=120)
    os.close(writer)

    assert (done.returncode, done.stderr) == (exit_codes.OK, "")
    with memotherm.open(store, embedder="none") as mem:
        assert mem.policies.current().name == "research"


def test_exit_codes_are_those_of_the_docs():
    """The table of the reference has every exit code, and no other."""
    page = (ROOT / "docs" / "reference" / "cli.md").read_text("utf-8").partition("## Exit codes")[2]
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}

    assert documented == {getattr(exit_codes, name) for name in exit_codes.__all__}
    assert documented > {getattr(errors, name).exit_code for name in errors.__all__}


def test_exit_codes_follow_the_error():
    """The exit code depends on the kind of error."""
    assert errors.NotFound.exit_code == exit_codes.NOT_FOUND
    assert errors.StaleWrite.exit_code == exit_codes.CONFLICT
    assert errors.SettingsError.exit_code == exit_codes.CONFIG


def test_why_says_whether_a_memory_was_in_a_prompt_and_what_would_change_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its words or its id: in it, left out with the budget that it enters at, given before, or outdated."""
    path = tmp_path / "memory.db"
    with memotherm.open(path) as mem:
        shop = mem.scoped(project="shop")
        port = shop.remember("The staging database listens on port 5544")
        session = shop.session("s1")
        session.before_turn("which port does the staging database use?", budget=40)
        session.before_turn("which port does the staging database use?", budget=400)
        session.before_turn("which port does the staging database use?", budget=400)
        _, second, first = shop.receipts.list()
        mem.scoped(project="inn", user="ana").remember("The inn has ten rooms")

    def told(*arguments: str) -> dict[str, Any]:
        app.run(["why", *arguments, "--json", "--store", str(path), "--project", "shop"])
        answer: dict[str, Any] = json.loads(capsys.readouterr().out)
        first: dict[str, Any] = answer["answers"][0]
        return answer | first

    assert (told("staging", "port")["rule"], told("staging", "port")["given_in"]) == ("given", second.number)
    assert told(port.id, "--turn", str(second.number))["state"] == "included"
    tight = told("listens on port", "--turn", str(first.number))
    assert (tight["rule"], tight["turn"]) == ("beside", first.number)
    assert tight["fits_at"] > 40
    assert app.run(["why", "xylophone", "--store", str(path), "--project", "shop"]) != 0
    assert app.run(["delete", port.id]) != 0
    assert "did you mean 'forget'?" in capsys.readouterr().err
    with memotherm.open(path) as mem:
        mem.scoped(project="shop").remember("The dock is closed", source="extracted")
    assert told("The dock is closed", "--turn", str(first.number))["rule"] == "later"
    with memotherm.open(path) as mem:
        mem.scoped(project="shop").context("the dock")
    assert told("The dock is closed")["rule"] == "proposed"
    app.run(["events", "--store", str(path), "--project", "inn"])
    assert "there are no events here; 1 in narrower scopes: --include-narrower" in capsys.readouterr().err


def test_what_a_person_does_in_the_terminal_is_by_a_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Or by the user of the scope; what a program does by the library is by an agent."""
    path = tmp_path / "agent.db"
    with memotherm.open(path) as mem:
        memory = mem.remember("The dock is open")
    for arguments in (["move", memory.id, "hot"], ["remember", "Ana paints the dock", "--user", "ana"]):
        app.run([*arguments, "--store", str(path)])
    capsys.readouterr()
    app.run(["events", "--include-narrower", "--store", str(path), "--json"])
    assert [event["actor"] for event in json.loads(capsys.readouterr().out)["events"]] == ["ana", "person", "agent"]


def test_lists_at_the_root_say_what_narrower_scopes_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Nothing here is not nothing at all; filters hold there as well."""
    path = tmp_path / "agent.db"
    with memotherm.open(path) as mem:
        mem.scoped(project="shop").remember("Paint the dock", kind="task")
        mem.scoped(project="shop").remember("Ana owns the dock", source="extracted", tags=["people"])
    for command, told in (
        (["tasks"], "no task is open here; 1 in narrower scopes: --include-narrower"),
        (["review"], "no proposal waits here; 1 in narrower scopes: --include-narrower"),
        (["review", "--tag", "bank"], "no proposal waits here"),
    ):
        app.run([*command, "--store", str(path)])
        assert capsys.readouterr().err.rstrip().endswith(told), command
    with memotherm.open(path) as mem:
        mem.remember("Buy a boat", kind="task")
        mem.remember("Ben owns the boat", source="extracted", tags=["people"])
    for command in (["tasks"], ["review"], ["list"], ["status"], ["list", "--tag", "people", "--retention", "any"]):
        app.run([*command, "--store", str(path)])
        assert capsys.readouterr().err.rstrip().endswith("note: 1 more in narrower scopes: --include-narrower"), command
        app.run([*command, "--store", str(path), "--project", "shop"])
        app.run([*command, "--store", str(path), "--include-narrower"])
        assert "more in narrower" not in capsys.readouterr().err, command
    app.run(["recall", "who paints the dock?", "--kind", "rule", "--store", str(path)])
    left_out = "left out: 1 memory of narrower scopes; --include-narrower searches them"
    assert capsys.readouterr().err == f"note: no memory matches\nnote: {left_out}\n"
    app.run(["events", "--store", str(path)])
    assert capsys.readouterr().err.rstrip().endswith("note: 2 more in narrower scopes: --include-narrower")
