"""Every operation of the table is called through Python, asyncio, REST, a remote client, MCP and the command line.

The results are equal.

Each interface gets a store of its own with the same past, on a clock that stands still.
"""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from starlette.testclient import TestClient

import memotherm
from memotherm import Memory, Memotherm, Scope
from memotherm.aio import AsyncMemotherm
from memotherm.cli.app import run
from memotherm.mcp.results import concise
from memotherm.mcp.server import build
from memotherm.operations.codec import from_json, to_json
from memotherm.operations.operation import Operation, read_arguments
from memotherm.operations.table import OPERATIONS
from memotherm.remote.groups import write_arguments
from memotherm.rest.app import application
from memotherm.tiers.replay import Interval, Replay
from tests.interfaces.served import serving

Json = dict[str, Any]
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
POLICY = {"name": "research"}
#: What differs from store to store: ids, durations, and the hash of settings, which name a folder.
IDS = re.compile(
    r"(mem|rec)_[0-9a-z]{26}|\"settings\": \"[0-9a-f]{64}\"|\"milliseconds\": [0-9.]+|[0-9]+\.[0-9]{3,}"
    r"|/tmp/\S+?(?=\")|http://[0-9.:]+"
)

#: The arguments of a call, as JSON, beside those that every operation gets: the id of a memory, a session, and so on.
CALLS: Mapping[str, Json] = {
    "recall": {"query": "otter"},
    "context": {"query": "otter"},
    "feedback": {"used": ["{memory_id}"]},
    "remember": {
        "content": "a seal dive",
        "tags": ["x"],
        "priority": "critical",
        "ttl_minutes": 60,
        "metadata": {"n": 1},
    },
    "remember_many": {
        "memories": [{"content": "a walrus", "kind": "fact", "tier": "cold"}, {"content": "a lynx", "kind": "fact"}],
        "why": "because",
    },
    "capture": {"content": "We have decided to keep the otter in the river"},
    "find": {"kind": "fact", "limit": 2, "since": "7d"},
    "count": {"tier": "warm"},
    "kinds": {"tier": "warm"},
    "select": {"request": "everything about the otter"},
    "alias": {"name": "Zhang Wei", "also": "张伟"},
    "amend": {"content": "the otter lives in Rome", "why": "moved"},
    "keys": {"prefix": "zoo/"},
    "update": {"content": "the otter lives in Rome", "why": "moved"},
    "move": {"tier": "cold", "why": "done"},
    "rescope": {"scope": {"project": "shop"}},
    "prioritize": {"priority": "important"},
    "forget_many": {"kind": "fact", "dry_run": True, "memories": True},
    "restore_many": {"kind": "fact", "dry_run": True, "memories": True},
    "approve_many": {"kind": "fact", "dry_run": True, "memories": True},
    "reject_many": {"kind": "fact", "dry_run": True, "memories": True},
    "purge_many": {"kind": "fact", "dry_run": True, "memories": True},
    "undo_many": {"events": [1, 2], "run": True},
    "session_add": {"content": "the badger said yes"},
    "session_promote": {"memory_id": "{session_memory}"},
    "session_demote": {"memory_id": "{session_memory}", "tier": "cold"},
    "session_keep": {"memory_id": "{session_memory}"},
    "session_forget": {"memory_id": "{session_memory}"},
    "session_heard": {"memory_id": "{session_memory}"},
    "session_recall": {"query": "badger"},
    "session_before_turn": {"prompt": "what did the badger say?"},
    "session_before_tool": {"tool": "Bash", "command": "make otter"},
    "session_flush_due": {"total_tokens": 190_000},
    "session_end": {"summary": "they talked about badgers"},
    "notes_search": {"query": "heron", "min_score": 0.0},
    "notes_get": {"path": "memory/2026-01-26.md"},
    "notes_curate": {"path": "memory/2026-01-26.md", "dry_run": True},
    "policy_lint": {"policy": POLICY},
    "policy_diff": {"first": {"name": "builtin"}, "second": POLICY},
    "policy_replay": {"policies": [{"name": "builtin"}, POLICY]},
    "policy_adopt": {"policy": POLICY},
    "erase": {"confirm": "user=ana"},
    "get_by_key": {"key": "zoo/otter"},
}
#: The command of an operation, with the arguments of `CALLS`.
COMMANDS: Mapping[str, str] = {
    "recall": "recall otter",
    "context": "context otter",
    "feedback": "feedback --used {memory_id}",
    "receipts": "receipts",
    "remember": "remember 'a seal dive' --tag x --priority critical --ttl 60m --metadata '{{\"n\": 1}}' --source agent",
    "find": "list --kind fact --limit 2 --since 7d",
    "count": "list --count --tier warm",
    "select": "select 'everything about the otter'",
    "alias": "alias 'Zhang Wei' 张伟",
    "amend": "amend {memory_id} 'the otter lives in Rome' --why moved",
    "conflicts": "conflicts --limit 100",
    "decide": "conflicts --keep {memory_id}",
    "tasks": "tasks --limit 50",
    "finish": "tasks --done {memory_id}",
    "get": "get {memory_id}",
    "get_by_key": "get --key zoo/otter",
    "keys": "list --keys --prefix zoo/",
    "update": "update {memory_id} --content 'the otter lives in Rome' --why moved",
    "move": "move {memory_id} cold --why done",
    "prioritize": "prioritize {memory_id} important",
    "pin": "pin {memory_id}",
    "unpin": "unpin {memory_id}",
    "verify": "verify {memory_id}",
    "rescope": "rescope {memory_id} project=shop",
    "archive": "archive {memory_id}",
    "forget": "forget {memory_id}",
    "restore": "restore {memory_id}",
    "approve": "approve {memory_id}",
    "reject": "reject {memory_id}",
    "history": "history {memory_id}",
    "session_add": "session add s1 'the badger said yes'",
    "session_hot": "session hot s1",
    "session_status": "session status s1",
    "session_spill": "session spill s1",
    "session_promote": "session promote s1 {session_memory}",
    "session_demote": "session demote s1 {session_memory} --tier cold",
    "session_keep": "session keep s1 {session_memory}",
    "session_prune": "session prune s1",
    "session_clear": "session clear s1",
    "session_recall": "session recall s1 badger",
    "session_end": "session end s1 --summary 'they talked about badgers'",
    "notes_search": "notes search heron --min-score 0 --root {folder}",
    "notes_get": "notes get memory/2026-01-26.md --root {folder}",
    "notes_curate": "notes curate memory/2026-01-26.md --dry-run --root {folder}",
    "compact": "compact",
    "maintain": "maintain",
    "events": "events",
    "timeline": "timeline",
    "stale": "stale",
    "undo": "undo 2",
    "undo_many": "undo 1 2 --run",
    "policy_lint": "policy lint research --on-store",
    "policy_diff": "policy diff builtin research",
    "policy_replay": "policy replay builtin research",
    "policy_rollback": "policy rollback --yes",
    "status": "status",
    "scopes": "scopes",
    "erase": "erase --user ana --yes",
    "check": "store check",
}
#: Commands that print another form than the result (what was confirmed, several answers, a file), or need a model.
OTHER_FORMS = {
    "explain_receipt", "purge", "forget_many", "restore_many", "approve_many", "reject_many", "purge_many",
    "session_flush_due", "policy_adopt", "everything", "checkpoint", "import_", "reembed",
}  # fmt: skip
#: Operations for programs, which have no command.
WITHOUT_COMMAND = {
    "receipt", "remember_many", "capture", "full_id", "move_out_of_session", "uses", "heat", "neighbours", "recalls",
    "session_forget", "session_heard", "session_start", "session_before_turn", "session_before_tool",
    "session_context_compacted", "session_run_ended", "sent_context", "tier_history", "start", "cool", "batches",
    "kinds",
}  # fmt: skip
#: What is in force before an operation.
BEFORE: Mapping[str, Callable[[Memotherm, str], object]] = {
    "unpin": lambda mem, memory_id: mem.pin(memory_id),
    "restore": lambda mem, memory_id: mem.archive(memory_id),
    "tasks": lambda mem, _: mem.remember("feed the otter", kind="task"),
    "finish": lambda mem, memory_id: mem.update(memory_id, kind="task"),
    "approve": lambda mem, _: mem.remember("the lynx is shy", source="extracted"),
    "reject": lambda mem, _: mem.remember("the lynx is shy", source="extracted"),
    "feedback": lambda mem, _: mem.recall("otter"),
    "conflicts": lambda mem, _: mem.remember("the otter lives in Rome"),
    "decide": lambda mem, _: mem.remember("the otter lives in Rome"),
    "policy_replay": lambda mem, _: mem.recall("otter"),
    "policy_rollback": lambda mem, _: mem.policies.adopt("research"),
}


@contextmanager
def prepared(folder: Path, operation: Operation) -> Iterator[tuple[Memotherm, Json]]:
    """Open a store with a past, and yield it with the arguments of a call."""
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "2026-01-26.md").write_text("# Day\n\n- The heron sleeps\n")
    settings = {"notes_root": str(folder), "sync_on_session_start": False, "sync_on_search": operation.owner == "notes"}
    with memotherm.open(folder / "store.db", embedder="none", settings=settings, clock=lambda: NOW) as mem:
        kept = mem.remember("the otter lives in Oslo", tier="warm", key="zoo/otter")
        mem.remember("the otter eats fish", tier="hot")
        mem.scoped(user="ana").remember("Ana feeds the otter")
        mem.context("otter")
        added = mem.session("s1").add("the badger said no")
        target = mem.session("s1").add("a turn to move out").id if operation.name == "move_out_of_session" else kept.id
        if operation.name in BEFORE:
            before = BEFORE[operation.name](mem, target)
            target = before.id if operation.name in ("approve", "reject") and isinstance(before, Memory) else target
        mem = mem.by("person") if operation.name == "approve" else mem  # noqa: PLW2901
        known = {
            "memory_id": target, "session_id": "s1", "number": mem.receipts.list().receipts[0].number,
            "part": target[:-1], "event_seq": 2,
        }  # fmt: skip
        text = json.dumps(CALLS.get(operation.name, {}))
        text = text.replace("{memory_id}", target).replace("{session_memory}", added.id)
        required = {name: known[name] for name, each in operation.by_wire.items() if each.required and name in known}
        yield mem, {**required, **json.loads(text)}


def view(mem: Any, operation: Operation) -> Any:
    """Return the memory in the scope that a call needs."""
    if operation.name == "move_out_of_session":
        return mem.scoped(session="s1")
    return mem.scoped(user="ana") if operation.name == "erase" else mem


def plain(operation: Operation, given: Json) -> tuple[Json, str | None]:
    """Return the arguments of the facade, and the session."""
    arguments = read_arguments(operation, given)
    session = arguments.pop("session_id", None) if operation.owner == "session" else None
    for name in (*operation.more, "memories") if operation.name != "remember_many" else operation.more:
        arguments.pop(name, None)
    if operation.name == "remember_many":
        arguments["memories"] = [read_arguments(OPERATIONS["remember"], draft) for draft in arguments["memories"]]
    return arguments, session


def by_python(mem: Memotherm, operation: Operation, given: Json) -> Any:
    arguments, session = plain(operation, given)
    return operation.perform(view(mem, operation), arguments, session)


def by_async(mem: Memotherm, operation: Operation, given: Json) -> Any:
    arguments, session_id = plain(operation, given)

    async def call() -> Any:
        face = AsyncMemotherm(view(mem, operation))
        owner: Any = face
        if operation.owner == "session":
            owner = await face.session(str(session_id))
        elif operation.owner != "memory":
            owner = face.notes() if operation.owner == "notes" else getattr(face, operation.owner)
        return await getattr(owner, operation.verb)(**arguments)

    return asyncio.run(call())


def by_remote(mem: Memotherm, operation: Operation, given: Json) -> Any:
    arguments, session = plain(operation, given)
    with serving(mem) as url, memotherm.open(url) as remote:
        return operation.perform(view(_with_notes(remote), operation), arguments, session)


def _with_notes(remote: Any) -> Any:
    remote._settings = memotherm.Settings(notes_root="of the server")  # which `perform` asks for
    return remote


def by_rest(mem: Memotherm, operation: Operation, given: Json) -> Any:
    path = operation.path.format(**{name: value for name, value in given.items() if isinstance(value, str | int)})
    body = {name: value for name, value in given.items() if f"{{{name}}}" not in operation.path}
    scope = ";".join(f"{name}={value}" for name, value in view(mem, operation).scope.items())
    headers = {"memotherm-scope": scope} if scope else {}
    if operation.result_type is memotherm.Context:
        body["memories"] = True
    if list(body) == ["policy"]:
        body = body["policy"]
    query = operation.method in ("GET", "DELETE")
    with TestClient(application(mem), base_url="http://127.0.0.1") as client:
        response = client.request(
            operation.method,
            path,
            headers=headers,
            **({"params": body} if query else {"json": body}),  # type: ignore[arg-type]
        )
    assert response.status_code < 300, response.text
    if response.status_code == 204:
        return None
    found = response.json()
    if operation.name == "status":
        found |= {"store": "", "bytes": 0, "seq": 0, "schema": 0}
    return from_json(operation.result_type, found[operation.result] if operation.result else found)


CALLERS = {"async": by_async, "rest": by_rest, "remote": by_remote}


def comparable(operation: Operation, value: Any) -> str:
    """Return a result as text, without what differs from store to store."""
    found = operation.body(value)
    if operation.name == "status":
        found |= dict.fromkeys(("store", "bytes", "seq", "schema"), 0)
    return without_ids(found)


def without_ids(found: Any) -> str:
    return IDS.sub("-", json.dumps(found, sort_keys=True))


@pytest.mark.parametrize("name", [name for name, each in OPERATIONS.items() if each.route])
def test_every_interface_has_the_result_of_python(name: str, tmp_path: Path) -> None:
    """The value that comes back is the one that Python returns for the same past."""
    operation = OPERATIONS[name]
    with prepared(tmp_path / "python", operation) as (mem, given):
        expected = by_python(mem, operation, given)
    for interface, call in CALLERS.items():
        with prepared(tmp_path / interface, operation) as (mem, given):
            found = call(mem, operation, given)
        assert comparable(operation, found) == comparable(operation, expected), interface
        assert type(found) is type(expected), interface


@pytest.mark.parametrize("name", [name for name, each in OPERATIONS.items() if each.tool is not None])
def test_a_tool_has_the_result_of_its_operation(name: str, tmp_path: Path) -> None:
    """With the parameters and the defaults of the tool, without what agents do not need."""
    operation = OPERATIONS[name]
    declared = operation.tool
    assert declared is not None
    names = dict(word.partition(":")[::2] for word in declared.parameters.split())
    with prepared(tmp_path / "python", operation) as (mem, given):
        offered = {**declared.defaults, **{key: value for key, value in given.items() if key in names}}
        expected = by_python(mem, operation, offered)
    with prepared(tmp_path / "tool", operation) as (mem, given):
        arguments = {names[key] or key: value for key, value in given.items() if key in names}
        found = by_mcp(view(mem, operation), declared.name, arguments)

    assert without_ids(found) == without_ids(concise(operation.body(expected), changed=operation.writes))


def by_mcp(mem: Memotherm, tool: str, arguments: Json) -> Any:
    """Call a tool in a session of the protocol."""

    async def call() -> Any:
        async with Client(build(mem, ["all"])) as client:
            return await client.call_tool(tool, arguments)

    answer = anyio.run(call)
    assert not answer.is_error, answer.content[0].text
    return answer.structured_content


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_the_result_of_its_operation(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every member of the result is in the JSON; commands print more."""
    monkeypatch.chdir(tmp_path)  # which is in no repository
    operation = OPERATIONS[name]
    with prepared(tmp_path / "python", operation) as (mem, given):
        expected = operation.body(by_python(mem.by("person"), operation, given))
    with prepared(tmp_path / "command", operation) as (mem, given):
        used = given["used"][0] if "used" in given else given.get("memory_id")
        line = COMMANDS[name].format(folder=tmp_path / "command", memory_id=used, session_memory=used)

        def opened(*_: Any, scope: Scope, **__: Any) -> Any:
            return nullcontext(mem.scoped(**dict(scope.items())))

        monkeypatch.setattr(memotherm, "open", opened)
        assert run([*shlex.split(line), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    own = {"status": ("store", "bytes", "seq", "schema"), "context": expected.keys() - {"text", "tokens", "budget"}}
    members = expected.keys() - set(own.get(name, ()))

    assert members <= found.keys()
    assert without_ids({each: found[each] for each in members}) == without_ids(
        {each: expected[each] for each in members}
    )


def test_every_operation_has_a_command_or_a_reason_for_none() -> None:
    """What is added to the table is called by these tests."""
    assert COMMANDS.keys() | OTHER_FORMS | WITHOUT_COMMAND == OPERATIONS.keys()


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_is_explained(name: str) -> None:
    """A summary, a type for each parameter, and examples that are valid."""
    operation = OPERATIONS[name]

    assert operation.summary.endswith(".")
    assert operation.group
    assert all(parameter.type for parameter in operation.parameters)
    for example in operation.examples:
        assert example.keys() <= operation.by_wire.keys()
        assert write_arguments(operation, read_arguments(operation, example)) == example


def test_a_value_comes_back_from_json_as_it_was() -> None:
    """Also one whose mappings have tuples as keys."""
    report = Replay(rows=(), differences={("house", "builtin"): Interval(low=0.0, high=0.5)})
    assert from_json(Replay, json.loads(json.dumps(to_json(report)))) == report
