"""Erasing a person: everything at and below a scope, on both stores, and nothing else."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, Scope
from memotherm.errors import InvalidInput, ReadOnly
from memotherm.hooks.spool import Spool
from memotherm.rest.app import application
from memotherm.tools.results import everything_json
from tests.helpers import ROOT

#: In every text of Ana, and in no other.
WORD = "quokka"


def _life_of_ana(mem: Memotherm) -> None:
    """Leave traces of Ana in every table: contents, tags, metadata, keys, queries, reasons, sessions, notes."""
    ana = mem.scoped(user="ana")
    first = ana.remember(f"Ana keeps a {WORD}", tags=[WORD], metadata={"pet": WORD}, key=f"pets/{WORD}", source=WORD)
    ana.update(ana.remember("Ana goes out", kind=f"{WORD}-walk").id, kind=f"{WORD}-hunt")
    ana.update(first.id, content=f"Ana keeps a tame {WORD}", why=f"the {WORD} is tame")
    ana.forget(ana.remember(f"Ana sold a {WORD}").id, why=f"not the {WORD}")
    ana.scoped(project="zoo").archive(ana.scoped(project="zoo").remember(f"The zoo has a {WORD}").id)
    ana.remember(f"An old {WORD}", ttl=1)
    session = ana.session("s1")
    session.add(f"We talk of the {WORD}", metadata={"author": WORD})
    session.before_turn(f"What about the {WORD}?")
    ana.recall(f"where is the {WORD}")
    ana.context(f"the {WORD}")


def _texts(mem: Memotherm, folder: Path) -> Iterator[str]:
    """Yield everything that the store has on disk, or in any column of any table."""
    if "://" not in mem.status().store:
        yield from (path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file())
        return
    import psycopg

    with psycopg.connect(mem.status().store) as connection:
        tables = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'memotherm%'"
        ).fetchall()
        assert tables
        for schema, table in tables:
            yield str(connection.execute(f'SELECT * FROM {schema}."{table}"').fetchall())


def test_erasing_a_user_leaves_no_trace_and_nobody_else_loses_anything(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Her texts are in no file and no column, the report counts what was removed, and a second time finds nothing."""
    mem = open_mem(tmp_path / "store.db")
    _life_of_ana(mem)
    bob = mem.scoped(user="bob")
    kept = bob.remember("Bob keeps a wombat")
    bob.recall("wombat")
    erased = mem.scoped(user="ana").erase()
    assert (erased.memories, erased.with_vectors, erased.with_words, erased.sessions) == (6, 6, 4, 1)
    assert min(erased.recalls, erased.receipts) >= 1
    assert erased.tombstones == 7
    assert [memory.id for memory in mem.find(include_narrower=True, retention="any")] == [kept.id]
    assert not [text for text in _texts(mem, tmp_path) if WORD in text]
    assert mem.check() == []
    again = mem.scoped(user="ana").erase()
    assert (again.memories, again.recalls, again.receipts, again.tombstones) == (0, 0, 0, 7)
    assert [hit.memory.id for hit in bob.recall("wombat")] == [kept.id]


def test_a_query_that_names_what_was_forgotten_is_purged_with_it(open_mem: Callable[..., Memotherm]) -> None:
    """By a word that no other memory has; other queries stay in the log."""
    mem = open_mem()
    mem.remember("The door of the office has a keypad")
    secret = mem.remember("The code of the office door is 4711, said Brunhilde")
    mem.forget(secret.id)
    for query in ("does 4711 open the office?", "what did Brunhilde say on the phone yesterday?", "office door keypad"):
        mem.recall(query)
        mem.context(query)
    mem.purge(secret.id)
    assert {recall.query for recall in mem.inspect.recalls()} == {"office door keypad"}
    assert {receipt.query for receipt in mem.receipts.list()} == {None, "office door keypad"}


def test_a_purge_leaves_no_quotation_in_reasons_queries_and_receipts(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Neither its own nor those of other memories, from before it was stored or after; what says nothing of it stays.

    A word quotes it that no other memory has, and so does a text with all of its words.
    """
    mem = open_mem(tmp_path / "store.db")
    other = mem.remember("The office has a red door, and the harbour a blue one")
    mem.context(f"Remember that the code of the {WORD} door is 4711")
    stored = mem.remember(f"The code of the {WORD} door is 4711")
    mem.update(stored.id, content=f"The code of the {WORD} gate is 4712", why=f"the {WORD} is no longer 4711")
    mem.move(stored.id, "cold", why="nobody asks for it")
    mem.move(other.id, "hot", why=f"the {WORD} lives there")
    common = mem.remember("The harbour has a red door")
    mem.move(other.id, "cold", why="Now the harbour has a red door, too")
    mem.move(other.id, "hot", why="the door is red")
    for query in (f"is the {WORD} in?", "has the harbour a red door?", "which door is red?"):
        mem.recall(query, kinds=["task"])
        mem.context(query)
    mem.purge(stored.id, why=f"the {WORD} asked for it")
    mem.purge(common.id, why="by request")
    assert [event.why for event in mem.history(stored.id)] == [
        "", "[redacted]", "nobody asks for it", "[redacted]",
    ]  # fmt: skip
    assert [event.why for event in mem.history(other.id)] == ["", "[redacted]", "[redacted]", "the door is red"]
    assert mem.history(common.id)[-1].why == "by request"
    assert {recall.query for recall in mem.inspect.recalls()} == {"which door is red?"}
    assert {receipt.query for receipt in mem.receipts.list()} == {None}
    assert not [text for text in _texts(mem, tmp_path) if WORD in text or "4711" in text]
    assert mem.check() == []


def test_a_later_query_that_says_what_was_purged_is_logged_without_it(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Nor does a receipt keep it; the rest of the query is kept, and other queries are."""
    mem = open_mem(tmp_path / "memory.db")
    kept = mem.remember("The north door is red")
    mem.purge(mem.remember("The vault opens with walrus-Trumpet-7").id)
    for ask in (mem.recall, lambda text: mem.context(text, budget=300)):
        ask("is it true that the vault opens with walrus-Trumpet-7 or which door is red?")
        ask("which door is red?")

    queries = [recall.query for recall in mem.inspect.recalls()]
    assert len(queries) == 4
    assert sum(query == "which door is red?" for query in queries) == 2
    assert all("walrus" not in str(query) for query in queries)
    assert all("walrus" not in str(receipt.query) for receipt in mem.receipts.list())
    assert kept.id in {entry.id for receipt in mem.receipts.list() for entry in receipt.included}


def test_everything_of_a_user_can_be_read_for_a_request_of_access(open_mem: Callable[..., Memotherm]) -> None:
    """Memories of any retention in all projects, their events, the receipts and the queries; nothing of others."""
    mem = open_mem()
    _life_of_ana(mem)
    mem.scoped(user="bob").remember("Bob keeps a wombat")
    mem.scoped(user="bob").recall("wombat")
    stored = mem.scoped(user="ana").inspect.everything()
    assert sorted(str(memory.retention) for memory in stored.memories) == ["active"] * 4 + ["archived", "deleted"]
    assert {event.memory_id for event in stored.events} == {memory.id for memory in stored.memories}
    assert {f"where is the {WORD}", f"the {WORD}"} <= {recall.query for recall in stored.recalls}
    assert len(stored.receipts) == 2
    assert "wombat" not in str(list(everything_json(stored)))


def test_what_was_erased_does_not_come_back_with_an_import(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Its marks remain."""
    ana = open_mem().scoped(user="ana")
    ana.remember("Ana keeps a quokka")
    ana.erase()
    export = tmp_path / "export.jsonl"
    export.write_text(json.dumps({"content": "Ana keeps a quokka"}))
    assert ana.store.import_("jsonl", export).forgotten == 1


def test_an_erasure_needs_a_scope_and_the_right_to_write(mem: Memotherm) -> None:
    """The whole store is not a scope."""
    mem.remember("a fact of everyone")
    with pytest.raises(InvalidInput, match="name the scope"):
        mem.erase()
    with pytest.raises(ReadOnly):
        mem.scoped(user="ana").read_only().erase()
    assert len(mem.find().memories) == 1


def test_notes_are_no_longer_indexed_and_their_folders_named(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Headings and paths are erased from the store; the files are the user's."""
    for name in ("notes", "store"):
        (tmp_path / name).mkdir()
    mem = open_mem(tmp_path / "store" / "notes.db")
    (tmp_path / "notes" / "MEMORY.md").write_text(f"# About the {WORD}\n\nThe {WORD} sleeps by day.\n")
    ana = mem.scoped(user="ana")
    ana.notes(tmp_path / "notes").sync()
    erased = ana.erase()
    assert (erased.notes, erased.folders) == (1, (str(tmp_path / "notes"),))
    assert not [text for text in _texts(mem, tmp_path / "store") if WORD in text]


@pytest.mark.slow
def test_the_command_asks_and_erases_the_jobs_of_hooks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --yes nothing is erased; with it, the jobs of the user in the spool are gone too, and only those."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    store = str(tmp_path / "agent.db")
    with memotherm.open(store, scope=Scope(user="ana")) as mem:
        mem.remember(f"Ana keeps a {WORD}")
    spool = Spool(tmp_path / "spool")
    job = {"do": "capture", "role": "user", "session": "s", "store": store, "settings": {}}
    spool.set_aside(spool.add({**job, "text": f"my {WORD}", "scope": {"user": "ana", "project": "x"}}))
    spool.add({**job, "text": f"my {WORD}", "scope": {"user": "ana"}})
    kept = spool.add({**job, "text": "my wombat", "scope": {"user": "bob"}})
    export = [sys.executable, "-m", "memotherm", "export", "--store", store, "--user", "ana", "--everything"]
    lines = subprocess.run(export, capture_output=True, check=True).stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["memory", "event"]
    command = [sys.executable, "-m", "memotherm", "erase", "--store", store, "--user", "ana", "--json"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 2
    done = subprocess.run([*command, "--yes"], capture_output=True, check=True)
    assert {name: json.loads(done.stdout)[name] for name in ("memories", "jobs", "dry_run")} == {
        "memories": 1, "jobs": 2, "dry_run": False,
    }  # fmt: skip
    assert spool.waiting() == [kept]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]


@pytest.mark.sqlite
def test_the_verb_erases_the_jobs_of_hooks_as_well(
    open_mem: Callable[..., Memotherm], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of its scope and store, unless the caller keeps them."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    mem, spool = open_mem(tmp_path / "agent.db"), Spool(tmp_path / "spool")
    job = {"do": "capture", "role": "user", "session": "s", "settings": {}, "text": f"my {WORD}"}
    of_ana = {**job, "store": str(tmp_path / "agent.db"), "scope": {"user": "ana"}}
    spool.add(of_ana)
    kept = [spool.add({**of_ana, "scope": {"user": "bob"}}), spool.add({**of_ana, "store": str(tmp_path / "other.db")})]
    ana = mem.scoped(user="ana")

    assert ana.erase(jobs=False).jobs == 0
    assert len(spool.waiting()) == 3
    assert ana.erase().jobs == 1
    assert spool.waiting() == kept


@pytest.mark.slow
def test_an_erasure_that_was_killed_is_continued(tmp_path: Path) -> None:
    """Each batch is erased whole or not at all, the store is sound, and a second call erases the rest."""
    store = str(tmp_path / "agent.db")
    with memotherm.open(store, embedder="none", scope=Scope(user="ana")) as mem:
        mem.remember_many([{"content": f"{WORD} number {number}"} for number in range(800)])
    code = (
        "import memotherm, sys\n"
        "mem = memotherm.open(sys.argv[1], embedder='none', scope=memotherm.Scope(user='ana'))\n"
        "print('ready', flush=True)\n"
        "mem.erase()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, store], stdout=subprocess.PIPE, cwd=ROOT) as child:
        assert child.stdout is not None
        child.stdout.readline()
        left = 800
        while left == 800:
            with contextlib.closing(sqlite3.connect(store)) as connection:
                (left,) = connection.execute("SELECT count(*) FROM memories WHERE retention < 3").fetchone()
        os.kill(child.pid, signal.SIGKILL)
    with memotherm.open(store, embedder="none", scope=Scope(user="ana")) as mem:
        assert mem.check() == []
        remaining = mem.status().tiers
        assert mem.erase().memories == sum(count.memories for count in remaining.values())
        assert sum(count.memories for count in remaining.values()) % 100 == 0
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and WORD.encode() in path.read_bytes()]


@pytest.mark.sqlite
def test_the_server_erases_the_scope_that_the_request_confirms(
    open_mem: Callable[..., Memotherm], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another confirmation than the scope of the request is a conflict, and nothing is erased."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    mem = open_mem()
    headers = {"Memotherm-Scope": "user=ana"}
    with TestClient(application(mem), "http://127.0.0.1") as client:
        stored = client.post("/memories", json={"content": "the password is hunter2"}, headers=headers).json()
        assert stored["warnings"] == [
            "it seems to contain a password and was stored as it is: purge it if it is a secret"
        ]
        refused = client.post("/erase", json={"confirm": "user=bob"}, headers=headers)
        assert (refused.status_code, len(mem.find(include_narrower=True))) == (409, 1)
        assert client.post("/erase", json={"confirm": "everyone"}).status_code == 409
        erased = client.post("/erase", json={"confirm": "user=ana"}, headers=headers)
        assert (erased.status_code, erased.json()["memories"], len(mem.find(include_narrower=True))) == (200, 1, 0)


@pytest.mark.parametrize("spelling", ["THE CODE  IS 4711!", "the\u200b code is 4711", "Ｔhe code is 4711."])
def test_what_was_purged_is_not_captured_in_any_spelling(open_mem: Callable[..., Memotherm], spelling: str) -> None:
    """Nor as a part of a larger text; a person may remember it again, and then it is captured as before."""
    mem = open_mem()
    mem.purge(mem.remember("The code is 4711.").id)
    refused = mem.capture(spelling)
    assert (refused.status, refused.memory) == ("skipped", None)
    assert "`remember` stores it again" in refused.why
    larger = mem.capture(f"The door is blue.\n{spelling}\nIt was painted in May.").memory
    assert larger is not None
    assert larger.content == "The door is blue.\n[forgotten]\nIt was painted in May."
    mem.remember("The code is 4711.")
    assert mem.capture(f"Once more: the door is green.\n{spelling}").memory.content.endswith(spelling)  # type: ignore[union-attr]
