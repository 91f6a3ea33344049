"""A wrong fact is found, corrected in part and stays corrected, through every interface, until one undo."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from click.testing import CliRunner
from mcp import Client, StdioServerParameters

import memotherm
from memotherm.cli.app import app
from memotherm.operations.codec import to_json
from tests.interfaces.served import environment, served

WRONG = "Ana is married to Jamie and works at Google."
RIGHT = "Ana is married to Jamie. Ana joined Anthropic."
#: Calls a verb (store, select, amend, find or undo) with its arguments, and returns its JSON.
Calls = Callable[..., Any]


@contextmanager
def in_python(path: Path) -> Iterator[Calls]:
    with memotherm.open(path, embedder="none") as mem:
        verbs: dict[str, Callable[..., object]] = {
            "store": mem.remember,
            "select": mem.select,
            "amend": lambda memory_id, text, part: mem.amend(memory_id, text, part=part),
            "find": mem.find,
            "undo": mem.undo,
        }
        yield lambda verb, *arguments: to_json(verbs[verb](*arguments))


@contextmanager
def by_commands(path: Path) -> Iterator[Calls]:
    def call(verb: str, *arguments: Any) -> Any:
        names = {"store": "remember", "find": "list"}
        command = [names.get(verb, verb), *map(str, arguments[:2])]
        command += ["--part", arguments[2]] if verb == "amend" else []
        done = CliRunner().invoke(app, [*command, "--store", str(path), "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    yield call


@contextmanager
def over_rest(path: Path) -> Iterator[Calls]:
    with served(path) as server:

        def call(verb: str, *arguments: Any) -> Any:
            if verb == "amend":
                memory_id, text, part = arguments
                status, answer = server.ask("POST", f"/memories/{memory_id}/amend", {"content": text, "part": part})
            elif verb == "undo":
                status, answer = server.ask("POST", f"/events/{arguments[0]}/undo")
            else:
                paths = {"store": "/memories", "select": "/memories:select", "find": "/memories:find"}
                names = {"store": ("content",), "select": ("request",), "find": ()}[verb]
                status, answer = server.ask("POST", paths[verb], dict(zip(names, arguments, strict=True)))
            assert status < 300, answer
            return answer

        yield call


@contextmanager
def over_mcp(path: Path) -> Iterator[Calls]:
    command = ["-m", "memotherm", "mcp", "--store", str(path), "--tools", "all"]
    env = environment(path.parent / "home")
    parameters = StdioServerParameters(command=sys.executable, args=command, env=env, cwd=str(path.parent))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(parameters)) as client:

        def call(verb: str, *arguments: Any) -> Any:
            name, *names = {
                "store": ("store_memory", "content"),
                "select": ("memory_select", "request"),
                "amend": ("memory_amend", "memory_id", "content", "part"),
                "find": ("memory_find",),
                "undo": ("memory_undo", "event"),
            }[verb]
            answer = portal.call(client.call_tool, name, dict(zip(names, arguments, strict=True)))
            assert not answer.is_error, answer.content
            return answer.structured_content

        yield call


def fed_again(path: Path, older: Path) -> None:
    """Say the old form again by another handle on the store: a capture, an older export, and a note."""
    (path.parent / "notes").mkdir()
    (path.parent / "notes" / "MEMORY.md").write_text(f"# People\n\n- {WRONG}\n- Ben lives in Rome\n")
    with memotherm.open(path, embedder="none") as mem:
        assert mem.capture("ANA  works at Google!").memory is None
        mem.capture(f"As I said before: {WRONG}")
        assert mem.store.import_("jsonl", older).stored == 0
        mem.notes(path.parent / "notes").sync()


@pytest.mark.slow
@pytest.mark.parametrize("interface", [in_python, by_commands, over_rest, over_mcp])
def test_a_wrong_fact_stays_corrected_until_an_undo(interface: Any, tmp_path: Path) -> None:
    """Stored by an agent, found by a name, corrected in part, and fed again by a capture, an import and a note."""
    path = tmp_path / "memory.db"
    older = tmp_path / "older.jsonl"
    with interface(path) as call:
        wrong = call("store", WRONG)
        with memotherm.open(path, embedder="none") as mem:
            older.write_text(f"{json.dumps(mem.get(wrong['id']).as_dict())}\n{json.dumps({'content': WRONG})}\n")
        (match,) = call("select", "Ana's employer Google")["matches"]
        amended = call("amend", match["memory"]["id"], "Ana joined Anthropic.", "works at Google")
        assert (amended["id"], amended["content"]) == (wrong["id"], RIGHT)

        fed_again(path, older)
        said = [item["content"] for item in call("find")["memories"]]
        assert RIGHT in said
        assert any("Ben lives in Rome" in text for text in said)
        assert not [text for text in said if "Google" in text]

        assert call("undo", amended["version"])["content"] == WRONG
        assert [item["content"] for item in call("find")["memories"]].count(WRONG) == 1
