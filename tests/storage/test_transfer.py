"""From one store to another: nothing is lost, nothing is new, and an interruption does no harm."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import memotherm
from memotherm import Memory, Memotherm
from memotherm.cli.app import run
from memotherm.errors import InvalidInput, NotFound, StoreDamaged
from memotherm.storage import transfer
from memotherm.storage.transfer import TABLES
from memotherm.testing import HashEmbedder
from tests.postgres import empty_database

TENANTS = ("acme", "umbrella", None)


@pytest.fixture
def url(postgres: str) -> Iterator[str]:
    """An empty database."""
    with empty_database(postgres) as found:
        yield found


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which everything has happened that leaves a trace."""
    folder = tmp_path_factory.mktemp("lived_in")
    path = folder / "source.db"
    with memotherm.open(path, embedder=HashEmbedder()) as mem:
        for tenant in TENANTS:
            _lived_in(mem.scoped(tenant=tenant) if tenant else mem, folder / f"notes-{tenant}")
        mem.store.key_value("keys").put("ops", {"hash": "x"})
        mem.policies.adopt("builtin")
        mem.remember("said and done", kind="task", metadata={"status": "done"})
        mem.compact()
    return path


@pytest.fixture
def source(lived_in: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    return Path(shutil.copy(lived_in, tmp_path))


def _lived_in(mem: Memotherm, root: Path) -> None:
    facts = mem.remember_many([{"content": f"the otter {n} lives in pond {n % 5}", "tags": ["zoo"]} for n in range(30)])
    mem.move(facts[0].id, "cold", why="far away")
    mem.pin(facts[1].id)
    mem.update(facts[2].id, content="ein Otter, 獺, выдра")
    mem.archive(facts[3].id)
    mem.forget(facts[4].id)
    mem.purge(facts[5].id)
    mem.remember("by its words only", key="zoo/words", index=False)
    mem.remember("a long text " * 2000, ttl="30d", metadata={"deep": {"list": [1, None, "ü"]}})
    session = mem.session("s1")
    session.add("what did the otter say?", metadata={"speaker": "ann"})
    session.add("nothing", metadata={"speaker": "bob"})
    session.recall("otter")
    session.before_turn("the otter")
    session.flush_due(190_000)
    found = mem.recall("otter pond", limit=3)
    mem.feedback(found, used=[found[0].memory.id])
    mem.context("otter", budget=300)
    root.mkdir()
    (root / "MEMORY.md").write_text("# Zoo\n\n- The heron flies.\n\nHerons are grey.\n", "utf-8")
    notes = mem.notes(root)
    notes.sync()


def told(place: str | Path) -> dict[str, object]:
    """Return everything that can be asked of a store."""
    with memotherm.open(place, embedder=HashEmbedder()) as mem:
        assert mem.check() == []
        return {str(tenant): _told(mem.scoped(tenant=tenant) if tenant else mem) for tenant in TENANTS}


def _told(mem: Memotherm) -> dict[str, object]:
    memories: list[Memory] = []
    for retention in ("active", "archived", "deleted", "purged"):
        memories += mem.find(retention=retention, limit=1000)
    return {
        "memories": memories,
        "history": [mem.history(memory.id) for memory in memories],
        "hits": [(hit.memory.id, round(hit.score, 5)) for hit in mem.recall("otter pond 3", limit=20, track=False)],
        "cold": [hit.memory.id for hit in mem.recall("otter", tiers=("cold",), track=False)],
        "status": (mem.status().tiers, mem.status().retention, mem.status().seq),
        "metrics": mem.metrics().moves,
        "key_values": mem.store.key_value("keys").all(),
        "policies": mem.policies.history(),
    }


@pytest.mark.slow
def test_there_and_back_again(source: Path, url: str, tmp_path: Path) -> None:
    """From a file to a server and back: both copies answer as the original does."""
    there = memotherm.migrate(source, url)
    back = memotherm.migrate(url, tmp_path / "back.db")

    assert there.rows == back.rows
    assert there.digest == back.digest
    assert set(there.rows) == {table.name for table in TABLES}
    assert [name for name, rows in there.rows.items() if not rows] == [], "every table had something to lose"
    assert told(source) == told(url) == told(tmp_path / "back.db")


def test_the_copy_goes_on_living(source: Path, url: str, tmp_path: Path) -> None:
    """New numbers begin behind the old ones, and what was purged stays away."""
    memotherm.migrate(source, url)
    with memotherm.open(url, embedder=HashEmbedder()) as mem:
        before = mem.status().seq
        acme = mem.scoped(tenant="acme")
        new = acme.remember("a new otter")
        purged = tmp_path / "purged.jsonl"
        purged.write_text(json.dumps({"content": "the otter 5 lives in pond 0"}) + "\n", "utf-8")

        assert new.version > before
        assert new.id in [hit.memory.id for hit in acme.recall("a new otter", limit=1)]
        assert acme.store.import_("jsonl", purged).forgotten == 1
        assert mem.check() == []


def test_a_checkpoint_of_a_server_is_a_file(source: Path, url: str, tmp_path: Path) -> None:
    """Which is a store of its own."""
    memotherm.migrate(source, url)
    with memotherm.open(url, embedder=HashEmbedder()) as mem:
        mem.checkpoint(tmp_path / "checkpoint.db")
        with pytest.raises(InvalidInput, match="exists"):
            mem.checkpoint(tmp_path / "checkpoint.db")
    memotherm.restore(tmp_path / "checkpoint.db", tmp_path / "restored.db")

    assert told(tmp_path / "restored.db") == told(url)
    assert not list(tmp_path.glob(".memotherm-*"))


@pytest.mark.parametrize("share", [0.1, 1])
def test_an_interrupted_transfer_leaves_nothing(source: Path, url: str, share: float) -> None:
    """The new store is empty, and the same command copies everything."""

    def interrupt(done: int, total: int) -> None:
        if done >= share * total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memotherm.migrate(source, url, progress=interrupt)
    with memotherm.open(url, embedder="none") as mem:
        assert (mem.status().seq, mem.check()) == (0, [])

    memotherm.migrate(source, url)
    assert told(url) == told(source)


def test_a_copy_that_differs_is_taken_back(source: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables of both are compared before the copy is committed."""
    summaries = iter(range(1000))
    monkeypatch.setattr(transfer, "summarize", lambda *_: (next(summaries), ""))
    with pytest.raises(StoreDamaged, match="nothing was copied"):
        memotherm.migrate(source, url)
    with memotherm.open(url, embedder="none") as mem:
        assert mem.status().seq == 0


def test_only_into_an_empty_store(source: Path, tmp_path: Path) -> None:
    """Nothing is ever mixed, and a store that does not exist is not made."""
    with memotherm.open(tmp_path / "used.db", embedder="none") as mem:
        mem.remember("mine")

    with pytest.raises(InvalidInput, match="not empty"):
        memotherm.migrate(source, tmp_path / "used.db")
    with pytest.raises(InvalidInput, match="not empty"):
        memotherm.migrate(source, source)
    with pytest.raises(NotFound):
        memotherm.migrate(tmp_path / "nowhere.db", tmp_path / "new.db")
    assert not (tmp_path / "nowhere.db").exists()
    assert not (tmp_path / "new.db").exists()


def test_the_command(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what was copied, for people and for machines."""
    assert run(["store", "migrate", str(source), str(tmp_path / "one.db")]) == 0
    assert "verified" in capsys.readouterr().out
    assert run(["store", "migrate", str(source), str(tmp_path / "two.db"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)

    assert found["rows"]["memories"] > 90
    assert len(found["digest"]) == 64
    assert run(["store", "migrate", str(source), str(tmp_path / "two.db")]) != 0
