"""A store on a server: the same values and errors as with the store itself, retries, keys, and captures offline."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import memotherm
from memotherm import Memotherm, Scope
from memotherm.cli.app import run
from memotherm.errors import (
    Forbidden,
    InvalidInput,
    LimitReached,
    NotFound,
    ReadOnly,
    StaleWrite,
    StoreUnavailable,
    WrongKey,
)
from memotherm.hooks.spool import Spool
from memotherm.operations.table import OPERATIONS
from memotherm.remote.client import RemoteMemotherm
from memotherm.remote.groups import RemoteSession
from memotherm.rest.app import application
from memotherm.session import Session
from memotherm.tiers.policy import PRESETS
from tests.interfaces.served import environment, free_port, serving


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memotherm]:
    with memotherm.open(tmp_path_factory.mktemp("remote") / "served.db", embedder="none") as mem:
        yield mem


@pytest.fixture(scope="module")
def address(local: Memotherm) -> Iterator[str]:
    with serving(local) as url:
        yield url


@pytest.fixture
def project(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)[:100]


@pytest.fixture
def here(local: Memotherm, project: str) -> Memotherm:
    return local.scoped(project=project)


@pytest.fixture
def remote(address: str, project: str) -> Iterator[Memotherm]:
    with memotherm.open(address, scope=Scope(project=project)) as mem:
        yield mem


def public(cls: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(cls) if not name.startswith("_")}


def test_every_verb_of_the_facade_is_a_request_or_no_attribute(remote: Memotherm) -> None:
    """What a server does not offer, such as reembedding, is not there; `hasattr` says so."""
    needs_the_store = {"store", "keys", "checkpoint"}

    assert not any(hasattr(remote, name) for name in needs_the_store)
    assert not any(hasattr(remote.notes(), name) for name in ("sync", "append", "watch", "root"))
    for name in public(Memotherm) - needs_the_store:
        assert name in vars(RemoteMemotherm), f"{name} is inherited, and has no store"
    for group in (remote.bulk, remote.inspect, remote.receipts, remote.policies):
        assert all(name in vars(type(group)) for name in public(type(group)))
    assert public(Session) - {"memory", "id"} <= vars(RemoteSession).keys()


def test_the_server_has_a_handler_for_every_route_of_the_table(local: Memotherm) -> None:
    """The OpenAPI document has every operation of the table at its place."""
    api: Any = application(local)
    while not hasattr(api, "openapi"):
        api = getattr(api, "_app", None) or api.app  # ours, or that of a library
    served = {
        operation["operationId"]: f"{method.upper()} {path}"
        for path, methods in api.openapi()["paths"].items()
        for method, operation in methods.items()
    }

    assert {name: served[name] for name in OPERATIONS if name in served} == {
        name: operation.route for name, operation in OPERATIONS.items() if operation.route
    }


def test_memories_come_back_equal(here: Memotherm, remote: Memotherm) -> None:
    """What the server returns is what the store itself returns."""
    stored = remote.remember(
        "the café opens at 9", kind="preference", tags=("a", "b"), priority=1, ttl="7d", metadata={"n": [1, None]}
    )
    many = remote.remember_many([{"content": "one", "ttl": timedelta(hours=1)}, {"content": "two", "tier": "cold"}])

    assert here.get(stored.id) == stored
    assert remote.get(stored.id).content == stored.content
    assert [memory.source for memory in many] == ["agent", "agent"]
    assert remote.find(limit=1000) == here.find(limit=1000)
    assert remote.history(stored.id) == here.history(stored.id)
    assert remote.events(limit=2) == here.events(limit=2)
    assert remote.inspect.scopes() == here.inspect.scopes()
    assert remote.status(include_narrower=True).tiers == here.status(include_narrower=True).tiers
    keyed = remote.remember("three", key="plans/3", version=0)
    with pytest.raises(StaleWrite):
        remote.remember("four", key="plans/3", version=0)
    remote.remember_many([], forget=[many[1].id], why="not needed")
    assert here.history(many[1].id)[-1].why == "not needed"
    assert remote.inspect.keys("plans/", depth=1) == here.inspect.keys("plans/", depth=1) == ["plans/3"]
    assert list(remote.find(prefix="plans/")) == [keyed]
    assert [hit.memory.id for hit in remote.recall("three", prefix="plans/")] == [keyed.id]
    assert remote.find(prefix="") == here.find(prefix="")
    assert remote.inspect.full_id(stored.id[:-1]) == stored.id
    assert remote.inspect.heat(stored).decay == pytest.approx(here.inspect.heat(stored).decay, abs=1e-3)


def test_recalls_and_contexts_come_back_equal(here: Memotherm, remote: Memotherm) -> None:
    """Hits have the parts of their scores, and a context its entries and what was left out."""
    for number in range(3):
        here.remember(f"otter number {number} likes fish", tier="hot" if number else "warm")

    found, expected = remote.recall("otter", track=False), here.recall("otter", track=False)
    assert [hit.memory for hit in found] == [hit.memory for hit in expected]
    assert [hit.why.text for hit in found] == [hit.why.text for hit in expected]
    assert (found.query, found.confidence) == ("otter", expected.confidence)
    for budget in (200, 20):
        theirs, ours = remote.context("otter", budget, track=False), here.context("otter", budget, track=False)
        assert theirs.text == ours.text
        assert [entry.memory for entry in theirs.included] == [entry.memory for entry in ours.included]
        assert [entry.memory for entry in theirs.left_out] == [entry.memory for entry in ours.left_out]


def test_changes_are_made_on_the_server(here: Memotherm, remote: Memotherm) -> None:
    """Update, priorities, retention, many at once, undo and purge."""
    memory = remote.remember("the plan", metadata={"status": "open"})
    changed = remote.update(memory.id, content="the new plan", tags=["x"], version=memory.version)
    assert (changed.content, changed.tags) == ("the new plan", ("x",))
    assert [each.id for each in remote.scoped().pinned()] == []
    remote.pin(memory.id, "important")
    assert [each.id for each in remote.pinned()] == [memory.id]
    assert here.history(memory.id)[-1].why == "important"
    gone = remote.forget(memory.id, "no longer")
    assert here.history(memory.id)[-1].why == "no longer"
    assert remote.get(memory.id) == gone
    assert remote.undo(gone.version).retention == "active"
    remote.unpin(memory.id)
    assert [each.id for each in remote.bulk.forget(where={"status": "open"})] == [memory.id]
    assert [each.id for each in remote.bulk.restore(where={"status": "open"})] == [memory.id]
    assert [each.content for each in remote.bulk.purge(where={"status": "open"})] == ["the new plan"]
    with pytest.raises(NotFound):
        here.get(memory.id)


def test_a_scope_is_erased_on_the_server(here: Memotherm, remote: Memotherm) -> None:
    """The report is that of the store, other scopes stay, and a memory without a scope is refused."""
    for user in ("ana", "bob"):
        here.scoped(user=user).remember(f"{user} lives in Oslo")
    erased = remote.scoped(user="ana").erase()
    assert erased.memories == 1
    assert erased.scope == here.scope.narrowed(user="ana")
    assert [memory.scope.user for memory in here.find(include_narrower=True)] == ["bob"]
    with pytest.raises(InvalidInput, match="name the scope to erase"):
        memotherm.open(str(remote).split("'")[1]).erase()


def test_policies_are_adopted_on_the_server(local: Memotherm, address: str, remote: Memotherm) -> None:
    """Lint, adoption and rollback have the values of the store itself."""
    with memotherm.open(address) as whole:
        name = next(name for name in PRESETS if name != "builtin")
        assert whole.policies.lint(name) == local.policies.lint(name)
        adopted = whole.policies.adopt(name)
        assert whole.policies.history() == local.policies.history() == [adopted]
        assert whole.policies.rollback().hash == adopted.hash
        assert whole.policies.current() == local.policies.current()
        assert whole.policies.unused() is None


def test_policies_are_compared_and_replayed_on_the_server(
    local: Memotherm, here: Memotherm, address: str, remote: Memotherm, tmp_path: Path
) -> None:
    """Differences and reports of replays are those of the store itself; one that fails raises its error."""
    pinned = here.remember("the otter lives in Oslo", priority="critical", tier="warm")
    here.recall("where does the otter live?")
    base, own = tmp_path / "base.toml", tmp_path / "own.toml"
    base.write_text('[policy]\nname = "base"\nextends = "builtin"\n')
    own.write_text(
        '[policy]\nname = "own"\nextends = "builtin"\n[[rule]]\nid = "critical"\nrun = "compact"\nto = "hot"\n'
        'why = "critical"\n[[rule.when]]\npriority = "critical"\ntier = "warm"\n'
    )
    with memotherm.open(address) as whole:
        found = whole.policies.diff("builtin", own)
        assert found == local.policies.diff("builtin", own) == whole.policies.diff(whole.policies.current(), own)
        assert pinned.id in {difference.memory.id for difference in found}
        local.policies.adopt(base)
        assert whole.policies.current() == local.policies.current()
        local.policies.rollback()
    replayed = remote.policies.replay(["builtin", own])
    assert replayed == replace(here.policies.replay(["builtin", own]), final={})
    assert replayed.questions == 1
    for wrong in ([], ["builtin", "builtin"]):
        with pytest.raises(InvalidInput, match=r"polic(y|ies)"):
            remote.policies.replay(wrong)


def test_all_that_is_stored_comes_back_equal(here: Memotherm, remote: Memotherm) -> None:
    """Memories of any retention, events, receipts and the recall log, at and below the scope."""
    here.scoped(user="ana").remember("the otter lives in Oslo")
    here.forget(here.remember("gone").id)
    here.scoped(user="ana").recall("otter")
    here.scoped(user="ana").context("otter")
    stored = remote.inspect.everything()
    assert stored == here.inspect.everything()
    assert (len(stored.memories), len(stored.receipts)) == (2, 1)
    assert remote.scoped(user="bob").inspect.everything().memories == ()


def test_the_notes_of_the_server_are_searched_read_and_curated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder of this machine, and what changes the index, are refused; a server without notes says so."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-26.md").write_text("# Day\n\n- The otter lives in Oslo\n")
    settings = {"notes_root": str(tmp_path)}
    with memotherm.open(tmp_path / "a.db", embedder="none", settings=settings) as mem, serving(mem) as url:
        with memotherm.open(url) as remote:
            notes = remote.notes()
            found = notes.search("otter", min_score=0.0, track=False)
            expected = mem.notes().search("otter", min_score=0.0, track=False)
            assert found == expected
            assert notes.get(found[0].citation) == mem.notes().get(found[0].citation)
            assert notes.curate(found[0].citation, dry_run=True) == mem.notes().curate(found[0].citation, dry_run=True)
            for act in (
                lambda: remote.notes("."),
                lambda: repr(notes.sync()),
                lambda: len(notes.paths()),
                lambda: notes.root,
            ):
                with pytest.raises(InvalidInput, match="needs the store itself"):
                    act()
        assert run(["notes", "search", "otter", "--json", "--store", url]) == 0
        assert "The otter lives in Oslo" in capsys.readouterr().out


def test_a_server_without_notes_says_so(remote: Memotherm, local: Memotherm) -> None:
    """The error is that of a store without notes."""
    for memory in (remote, local):
        with pytest.raises(NotFound, match="no notes"):
            memory.notes().search("otter")


def test_a_session_works_on_the_server(here: Memotherm, remote: Memotherm) -> None:
    """It begins when it is opened, and its verbs return the same values."""
    session = remote.session("s1")
    assert session.hot() == []
    added = session.add("the badger said yes")
    assert session.hot()[0].id == added.id
    assert session.status() == here.inspect.session("s1")
    assert "badger" in session.before_turn("what did the badger say?").text
    assert session.spill().spilled_ids == (added.id,)
    assert session.recall("badger").promoted == ()
    assert session.recall("badger").promoted == (added.id,), "used three times, with the listing"
    assert session.forget(added.id).retention == "deleted"
    flush = session.flush_due(199_000)
    assert flush is not None
    assert flush.file in flush.prompt
    assert session.flush_due(199_500) is None
    session.session_end("they talked about badgers")
    assert here.inspect.session("s1").state == "summarized"


def test_errors_are_of_the_same_class(remote: Memotherm) -> None:
    """A program that handles errors of a store handles those of a server."""
    memory = remote.remember("once")
    wrong: list[tuple[type[Exception], Any]] = [
        (NotFound, lambda: remote.get("mem_" + "0" * 26)),
        (InvalidInput, lambda: remote.remember("")),
        (InvalidInput, lambda: remote.recall("x", limit=-1)),
        (InvalidInput, lambda: remote.remember("x", expires_at=datetime(2020, 1, 1, tzinfo=UTC))),
        (StaleWrite, lambda: remote.update(memory.id, content="twice", version=memory.version + 1)),
        (StaleWrite, lambda: remote.bulk.forget(kind="fact", count=50)),
        (LimitReached, lambda: [remote.remember(f"pinned {n}", priority="pinned") for n in range(6)]),
        (ReadOnly, lambda: remote.read_only().remember("x")),
        (InvalidInput, lambda: remote.scoped(tenant="other").status()),
    ]
    for expected, act in wrong:
        with pytest.raises(expected):
            act()


def test_what_needs_the_store_itself_says_so(remote: Memotherm, address: str) -> None:
    """The error names the verb, and where to run it."""
    for act in (lambda: remote.store.reembed(None), lambda: remote.checkpoint("x.db")):
        with pytest.raises(InvalidInput, match="needs the store itself: run it where"):
            act()
    with pytest.raises(InvalidInput, match="embedder is for a store that is opened here"):
        memotherm.open(address, embedder="none")


def test_an_erasure_reports_what_is_gone_on_the_server_and_here(
    here: Memotherm, remote: Memotherm, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is that of the server, with the jobs of hooks that waited on this machine."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    here.scoped(user="ana").remember("Ana keeps an otter")
    here.remember("the zoo opens at nine")
    Spool(tmp_path / "spool").add(
        {"do": "store", "store": address, "scope": {"project": here.scope.project, "user": "ana"}, "settings": {},
         "text": "my otter"}
    )  # fmt: skip
    erased = remote.scoped(user="ana").erase()

    assert (erased.scope, erased.memories, erased.jobs) == (here.scoped(user="ana").scope, 1, 1)
    assert [memory.content for memory in here.find()] == ["the zoo opens at nine"]
    with pytest.raises(InvalidInput, match="name the scope"), memotherm.open(address) as everyone:
        everyone.erase()


def test_the_async_face_reaches_the_server(address: str, project: str) -> None:
    """`aopen` with an address has the same verbs."""

    async def act() -> list[str]:
        async with memotherm.aopen(address, scope=Scope(project=project)) as mem:
            await mem.remember("an async otter")
            session = await mem.session("s1")
            await session.add("hello there")
            return [hit.memory.content for hit in await mem.recall("otter")]

    assert asyncio.run(act()) == ["an async otter"]


def test_a_key_is_required_and_never_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key comes from the argument, the environment or a private file; it is in no text.

    What concerns the whole store is forbidden to it, and the doctor leaves it out.
    """
    with memotherm.open(tmp_path / "keys.db", embedder="none") as mem:
        secret = mem.keys.create("laptop", "acme")
        file = tmp_path / "key"
        file.write_text(secret)
        file.chmod(0o600)
        with serving(mem) as url:
            with memotherm.open(url, key=secret) as remote:
                stored = remote.remember("of acme")
                assert stored.scope == Scope(tenant="acme")
                assert secret not in repr(remote) + repr(vars(remote))
            with memotherm.open(url, key=file) as remote:
                assert remote.get(stored.id).content == "of acme"
            monkeypatch.setenv("MEMOTHERM_API_KEY", secret)
            with memotherm.open(url) as remote:
                assert remote.get(stored.id).content == "of acme"
                with pytest.raises(Forbidden, match="whole store"):
                    remote.check()
            assert run(["doctor", "--store", url, "--json"]) == 0
            findings = {each["name"]: each for each in json.loads(capsys.readouterr().out)["findings"]}
            assert "whole store" in findings["check"]["detail"]
            assert {findings[name]["state"] for name in ("check", "policy")} == {"note"}
            assert {findings[name]["state"] for name in ("store", "permission")} == {"ok"}
            with memotherm.open(url, key="mtk_wrong") as remote, pytest.raises(WrongKey) as refused:
                remote.status()
            assert "mtk_wrong" not in str(refused.value)
            file.chmod(0o644)
            with pytest.raises(memotherm.SettingsError, match="chmod 600"):
                memotherm.open(url, key=file)


def losing_proxy(target: str, lost: list[bytes]) -> tuple[socket.socket, str]:
    """Return a proxy that forwards the first request and loses its response, then forwards everything."""
    listener = socket.create_server(("127.0.0.1", 0))
    host, port = target.removeprefix("http://").split(":")

    def forward() -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client, socket.create_connection((host, int(port))) as server:
                request = b""
                while b"\r\n\r\n" not in request:
                    request += client.recv(65536)
                head, _, body = request.partition(b"\r\n\r\n")
                length = next(
                    int(x.split(b":")[1]) for x in head.split(b"\r\n") if x.lower().startswith(b"content-length")
                )
                while len(body) < length:
                    body += client.recv(65536)
                server.sendall(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + b"\r\n\r\n" + body)
                response = b"".join(iter(lambda: server.recv(65536), b""))
                if not lost:
                    lost.append(response)
                else:
                    client.sendall(response)

    threading.Thread(target=forward, daemon=True).start()
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_a_lost_response_does_not_repeat_the_change(here: Memotherm, address: str, project: str) -> None:
    """The request is sent again with the same idempotency key, and carried out once."""
    lost: list[bytes] = []
    listener, url = losing_proxy(address, lost)
    with listener, memotherm.open(url, scope=Scope(project=project)) as remote:
        memory = remote.remember("sent twice, stored once")

    assert b" 201 " in lost[0]
    assert here.find()[0].access_count == 0
    # Adoptions of policies by other tests concern no memory.
    assert [event.memory_id for event in here.events(oldest_first=True) if event.memory_id] == [memory.id]


@pytest.mark.slow
def test_an_unreachable_server_is_a_clear_error_and_captures_are_spooled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost: the worker sends the capture when the server is back."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    from memotherm.hooks.capture import process_spool
    from memotherm.hooks.spool import user_spool

    port = free_port()
    with memotherm.open(f"http://127.0.0.1:{port}", scope=Scope(user="jo")) as remote:
        with pytest.raises(StoreUnavailable, match="is `memotherm serve` running there"):
            remote.status()
        captured = remote.capture("We decided to deploy on Tuesdays only", metadata={"role": "user"})
        remote.capture("the password for the staging db is Tr0ub4dor&3", metadata={"password": "hunter2"})
    assert captured.status == "spooled"
    waiting = [path.read_text("utf-8") for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert not [text for text in waiting if "Tr0ub4dor" in text or "hunter2" in text]
    assert "memotherm agent worker" in captured.why
    first = process_spool(user_spool())
    assert (first.captured, first.waiting) == (0, 2)
    assert "cannot be reached" in first.failed[0]
    with memotherm.open(tmp_path / "back.db", embedder="none") as mem, serving(mem, port):
        second = process_spool(user_spool(), include_running=True)
        assert (second.captured, second.waiting, second.failed) == (2, 0, ())
        assert {each.content for each in mem.scoped(user="jo").find()} == {
            "We decided to deploy on Tuesdays only",
            "the password for the staging db is [redacted]",
        }


@pytest.mark.slow
def test_the_command_line_takes_a_server_as_store(
    here: Memotherm, address: str, project: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--store http://...` stores and recalls; a command that needs the store itself says so."""
    where = ["--store", address, "--project", project]
    assert run(["remember", "Production deploys are frozen until Friday", "--json", *where]) == 0
    stored = json.loads(capsys.readouterr().out)
    assert here.get(stored["id"]).content.startswith("Production")
    assert run(["recall", "deploys", "--json", *where]) == 0
    assert json.loads(capsys.readouterr().out)["items"][0]["id"] == stored["id"]
    assert run(["get", stored["id"][:-1], "--json", *where]) == 0
    assert run(["store", "check", *where]) == 0
    assert run(["store", "reembed", *where]) != 0
    assert "needs the store itself" in capsys.readouterr().err


def test_a_hook_takes_a_server_as_store(here: Memotherm, address: str, project: str, tmp_path: Path) -> None:
    """It brings the context of a turn from the server."""
    here.remember("Production deploys are frozen until Friday")
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": "can I deploy to production?"}
    options = ["--client", "claude-code", "--no-worker", "--deadline", "30", "--store", address, "--project", project]
    done = subprocess.run(
        [sys.executable, "-m", "memotherm", "hook", *options],
        input=json.dumps(event),
        capture_output=True,
        encoding="utf-8",
        env=environment(tmp_path / "home"),
        check=False,
    )

    assert "frozen until Friday" in done.stdout, done.stderr
