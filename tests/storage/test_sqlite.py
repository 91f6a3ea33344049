"""What is special about the SQLite store: bands and their caches, words, erasure, foreign and newer files."""

from __future__ import annotations

import itertools
import logging
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memotherm
from memotherm import Memory, Memotherm, Scope, Settings, Tier
from memotherm.errors import InvalidInput, NotAStore, SchemaTooNew, StoreDamaged, StoreUnavailable
from memotherm.model.actions import Action
from memotherm.storage import base
from memotherm.storage.open import open_store
from memotherm.storage.sqlite.band import CodedBand, ExactBand
from memotherm.storage.sqlite.statements import PART_BITS, SQL
from memotherm.storage.sqlite.store import SqliteStore
from memotherm.storage.sqlite.tables import SCHEMA_VERSION
from memotherm.storage.store import Transaction
from memotherm.storage.values import Cause, Search
from memotherm.testing import HashEmbedder
from tests.stores import limits

Open = Callable[..., Memotherm]
_NORMAL: dict[str, Any] = {"synchronous": "normal"}


@pytest.fixture
def coded_bands() -> Iterator[None]:
    """Search more than 3 vectors by their codes."""
    with limits(exact=3):
        yield


def caches(path: Path) -> list[Path]:
    return sorted(Path(f"{path}-vectors").glob("*"))


def near(mem: Memotherm, text: str) -> list[str]:
    """Return the contents that have vectors in a band, nearest first."""
    store, vector = mem._services.store, HashEmbedder().embed([text])[0]
    search = Search(spaces=store.spaces(Scope()), now=datetime(2026, 1, 5, tzinfo=UTC), tiers=(Tier.HOT, Tier.WARM))
    scores = store.search_vector(search, vector, 1000)
    records = store.records(list(scores))
    return [records[no].memory.content for no in scores]


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def contents(found: object) -> list[str]:
    return [hit.memory.content for hit in found]  # type: ignore[attr-defined]


# Bands


def random_rows(count: int, dimensions: int = 32, seed: int = 7) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    rows = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)  # type: ignore[no-any-return]


def keys_of(*nos: int, parts: int = 1) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([no << PART_BITS | part for no in nos for part in range(parts)], np.int64)


def held(band: ExactBand | CodedBand, query: np.ndarray[tuple[int], np.dtype[np.float32]]) -> set[int]:
    keys, _ = band.search(query, 10_000, None)
    assert len(keys) == len(set(keys.tolist()))
    return set(keys.tolist())


@pytest.mark.parametrize("coded", [False, True], ids=["exact", "coded"])
def test_a_band_holds_what_was_added_and_not_discarded(coded: bool) -> None:
    """Adding, discarding and adding again, in any order, leaves exactly what should be there."""
    rows = random_rows(60)
    band: ExactBand | CodedBand = CodedBand.of(keys_of(*range(20)), rows[:20]) if coded else ExactBand(32)
    if not coded:
        band.add(keys_of(*range(20)), rows[:20])
    band.add(keys_of(*range(20, 40), parts=2), np.repeat(rows[20:40], 2, axis=0))
    for no in (0, 5, 19, 25, 39, 100):
        band.discard(no)
    band.add(keys_of(5, 25), rows[40:42])
    band.discard(6)
    band.discard(6)
    expected = {
        *keys_of(*(set(range(20)) - {0, 6, 19})).tolist(),
        *keys_of(*(set(range(20, 40)) - {25, 39}), parts=2).tolist(),
        *keys_of(25).tolist(),
    }

    assert held(band, rows[0]) == expected
    assert band.search(rows[41], 1, None)[0].tolist() == keys_of(25).tolist()
    assert band.search(rows[40], 1, np.array([5, 7]))[0].tolist() == keys_of(5).tolist()
    assert set(band.search(rows[0], 10, np.array([0, 1, 2]))[0].tolist()) == set(keys_of(1, 2).tolist())


def test_a_filter_stays_true_when_the_codes_are_repacked(tmp_path: Path) -> None:
    """What was allowed before is found among the new codes, and nothing else."""
    rows = random_rows(30)
    band, allowed = CodedBand.of(keys_of(*range(20)), rows[:20]), np.array([3, 7, 25])
    assert set(band.search(rows[0], 10, allowed)[0].tolist()) == set(keys_of(3, 7).tolist())
    band.discard(7)
    band.add(keys_of(*range(20, 30)), rows[20:])
    band.save(str(tmp_path / "band.tvim"))
    assert set(band.search(rows[0], 10, allowed)[0].tolist()) == set(keys_of(3, 25).tolist())


def test_an_exact_band_follows_every_change() -> None:
    """Whatever is added, discarded and added again is found where it is now, and nothing else."""
    dice, rows = random.Random(3), random_rows(64)
    band = ExactBand(32)
    band.add(keys_of(*range(40)), rows[:40])
    there = {no: rows[no] for no in range(40)}
    assert held(band, rows[0]) == set(keys_of(*there).tolist())

    for _ in range(300):
        no = dice.randrange(48)
        if no in there:
            band.discard(no)
            del there[no]
        else:
            there[no] = rows[dice.randrange(64)]
            band.add(keys_of(no), there[no][np.newaxis, :])
        assert held(band, rows[0]) == set(keys_of(*there).tolist())
        if there:
            wanted = dice.choice(list(there))
            best = max(no for no in there if np.array_equal(there[no], there[wanted]))
            assert band.search(there[wanted], 1, None)[0].tolist() == keys_of(best).tolist()


def test_a_coded_band_repacks_without_losing_anything(tmp_path: Path) -> None:
    """Saving lets the codes catch up with what changed; a loaded band is the same."""
    rows = random_rows(40)
    band = CodedBand.of(keys_of(*range(30)), rows[:30])
    band.discard(3)
    band.add(keys_of(3, 31), rows[30:32])
    before = held(band, rows[0])
    keys = band.save(str(tmp_path / "band.tvim"))
    loaded = CodedBand.load(str(tmp_path / "band.tvim"), keys)

    assert held(band, rows[0]) == held(loaded, rows[0]) == before == set(keys_of(*range(30), 31).tolist())
    assert loaded.search(rows[30], 1, None)[0].tolist() == keys_of(3).tolist()


def test_discarded_parts_do_not_hide_what_is_left() -> None:
    """A long memory that was removed takes no place in an answer, however many parts it had."""
    long, short = random_rows(1), random_rows(3, seed=8)
    rows = np.concatenate([np.repeat(long, 50, axis=0), short])
    band = CodedBand.of(np.concatenate([keys_of(1, parts=50), keys_of(2, 3, 4)]), rows)
    band.discard(1)

    assert set(band.search(long[0], 3, None)[0].tolist()) == set(keys_of(2, 3, 4).tolist())


def test_equal_vectors_can_be_coded() -> None:
    """A band without any variation cannot be calibrated and is searched all the same."""
    rows = np.repeat(random_rows(1), 30, axis=0)
    band = CodedBand.of(keys_of(*range(30)), rows)

    assert held(band, rows[0]) == set(keys_of(*range(30)).tolist())


@pytest.mark.slow
def test_coded_search_agrees_with_exact_search(open_mem: Open, tmp_path: Path) -> None:
    """Through moves, changes and forgetting, both kinds of band give the same answers and scores."""
    memories = []
    for limit in (5, 20_000):
        with limits(exact=limit):
            memories.append(open_mem(tmp_path / f"{limit}.db", embedder=HashEmbedder(max_chars=80)))
    answers = []
    for mem in memories:
        made = [mem.remember(f"memory {n} of otter {n % 7} and river {n % 11} " * (1 + n % 3)) for n in range(120)]
        mem.recall("otter")
        for n in range(0, 120, 3):
            mem.move(made[n].id, "cold")
        for n in range(0, 120, 5):
            mem.update(made[n].id, content=f"changed {n} to badger {n % 4}")
        mem.recall("otter")
        for n in range(0, 120, 7):
            mem.forget(made[n].id)
        for n in range(0, 120, 14):
            mem.restore(made[n].id)
        answers.append(
            [
                [(hit.memory.content, round(hit.score, 6)) for hit in mem.recall(query, tiers=tiers, track=False)]
                for query in ("otter 3 and river 5", "badger 2", "changed 40", "memory")
                for tiers in (("hot", "warm"), ("cold",), ("warm", "cold"))
            ]
        )

    assert answers[0] == answers[1]


@pytest.mark.usefixtures("coded_bands")
def test_an_embedder_of_any_length_works_above_the_limit(open_mem: Open, tmp_path: Path) -> None:
    """Codes exist for multiples of 8 dimensions only; other bands stay exact."""
    mem = open_mem(tmp_path / "memory.db", settings=_NORMAL, embedder=HashEmbedder(50))
    mem.remember_many([{"content": f"otter {number}"} for number in range(20)])

    assert contents(mem.recall("otter 7", limit=1)) == ["otter 7"]
    assert caches(tmp_path / "memory.db") == []


# The cache of a band


@pytest.fixture
def coded(open_mem: Open, tmp_path: Path, coded_bands: None) -> tuple[Path, Open]:
    """A closed store whose band is cached, and a way to open it."""
    path = tmp_path / "memory.db"
    with memotherm.open(path, embedder=HashEmbedder(), settings=Settings(**_NORMAL)) as mem:
        mem.remember_many([{"content": f"otter {number}"} for number in range(30)])
        mem.recall("otter")
    assert [file.suffix for file in caches(path)] == [".npz", ".tvim"]

    def again() -> Memotherm:
        return open_mem(path, settings=_NORMAL)

    return path, again


def test_a_cache_is_loaded_and_brought_up_to_date(coded: tuple[Path, Open], caplog: pytest.LogCaptureFixture) -> None:
    """What happened since it was written is applied."""
    path, again = coded
    mem = again()
    new = mem.remember("a badger")
    gone = mem.find(limit=1000)[5]
    mem.forget(gone.id)
    moved = mem.find(limit=1000)[7]
    mem.move(moved.id, "cold")
    cached = caches(path)
    found = near(mem, "a badger")

    assert found[0] == new.content
    assert gone.content not in found
    assert moved.content not in found
    assert len(found) == 29
    assert caches(path) == cached
    assert caplog.records == []


@pytest.mark.parametrize("suffix", [".npz", ".tvim"])
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut"),
        pytest.param(lambda data: b"PK\x03\x04" + b"junk" * 100, id="junk"),
        pytest.param(lambda data: data[:-40] + b"\xff" * 40, id="overwritten"),
    ],
)
def test_a_damaged_cache_is_rebuilt(
    coded: tuple[Path, Open], suffix: str, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """The answer is the same, and the log says what happened."""
    path, again = coded
    (file,) = [each for each in caches(path) if each.suffix == suffix]
    file.write_bytes(damage(file.read_bytes()))
    with caplog.at_level(logging.WARNING):
        found = contents(again().recall("otter 7", limit=200))

    assert found[0] == "otter 7"
    assert len(found) == 30
    assert [file.suffix for file in caches(path)] == [".npz", ".tvim"]


@pytest.mark.parametrize("suffix", [".npz", ".tvim", ""])
def test_a_missing_cache_is_rebuilt(coded: tuple[Path, Open], suffix: str) -> None:
    """Its files may be deleted at any time."""
    path, again = coded
    for file in caches(path):
        if not suffix or file.suffix == suffix:
            file.unlink()

    assert len(contents(again().recall("otter 7", limit=200))) == 30
    assert [file.suffix for file in caches(path)] == [".npz", ".tvim"]


def test_a_cache_that_lacks_too_much_is_rebuilt(coded: tuple[Path, Open]) -> None:
    """When a fifth has changed, reading anew is cheaper than catching up."""
    path, again = coded
    before = caches(path)
    mem = again()
    mem.remember_many([{"content": f"badger {number}"} for number in range(20)])

    assert len(near(mem, "otter 7")) == 50
    assert caches(path) != before


@pytest.mark.usefixtures("coded_bands")
def test_the_cache_of_another_store_is_not_taken(coded: tuple[Path, Open], open_mem: Open) -> None:
    """A store that was replaced by another one under the same name does not find the old codes."""
    path, _ = coded
    path.unlink()
    mem = open_mem(path, settings=_NORMAL)
    mem.remember_many([{"content": f"badger {number}"} for number in range(10)])

    assert all(content.startswith("badger") for content in contents(mem.recall("otter 7", limit=200)))


@pytest.mark.usefixtures("coded_bands")
def test_the_cache_of_a_later_state_is_not_taken_after_a_backup_was_put_back(coded: tuple[Path, Open]) -> None:
    """Codes of memories that the backup never had are not believed, however many events follow; check() tells."""
    path, again = coded
    with memotherm.open(path, embedder=HashEmbedder(), settings=Settings(**_NORMAL)) as mem:
        mem.checkpoint(path.with_name("backup"))
        mem.remember_many([{"content": f"badger {number}"} for number in range(40)])
        assert len(near(mem, "badger 7")) == 70
    shutil.copy(path.with_name("backup"), path)

    mem = again()
    assert [problem.code for problem in mem.check()] == ["vector_cache"]
    mem.remember_many([{"content": f"heron {number}"} for number in range(44)])
    assert [problem.code for problem in mem.check()] == ["vector_cache"]
    for number in range(44):
        assert contents(mem.recall(f"heron {number}", limit=1)) == [f"heron {number}"]
    assert len(near(mem, "heron")) == 74
    assert mem.check() == []


@pytest.mark.parametrize("position", [0, 10, 100, 400, -40, -1])
def test_a_cache_with_a_changed_byte_is_not_believed(coded: tuple[Path, Open], position: int) -> None:
    """A byte that the disk has changed makes the codes worthless; they are made again."""
    path, again = coded
    (file,) = [each for each in caches(path) if each.suffix == ".tvim"]
    changed = bytearray(file.read_bytes())
    changed[position] ^= 0x55
    file.write_bytes(changed)

    mem = again()
    assert [problem.code for problem in mem.check()] == ["vector_cache"]
    assert len(mem.recall("otter 7", limit=200)) == 30
    assert all(contents(mem.recall(f"otter {number}", limit=1)) == [f"otter {number}"] for number in range(30))
    assert mem.check() == []


def test_a_copy_over_a_store_whose_log_remains_is_refused(tmp_path: Path, open_mem: Open) -> None:
    """The log belongs to the former file; the error says which file to remove, and the copy is not changed."""
    path = tmp_path / "memory.db"
    with memotherm.open(path, embedder=HashEmbedder()) as mem:
        mem.remember("in the checkpoint")
        mem.checkpoint(tmp_path / "backup")
        mem.remember_many([{"content": f"later {number}"} for number in range(50)])
        log = Path(f"{path}-wal").read_bytes()
    shutil.copy(tmp_path / "backup", path)
    Path(f"{path}-wal").write_bytes(log)

    with pytest.raises(StoreDamaged, match=r"memory\.db-wal belongs to another file"):
        memotherm.open(path, embedder=HashEmbedder())
    assert path.read_bytes() == (tmp_path / "backup").read_bytes()
    Path(f"{path}-wal").unlink()
    assert contents(open_mem(path).recall("checkpoint")) == ["in the checkpoint"]


@pytest.mark.usefixtures("coded_bands")
def test_a_folder_that_cannot_be_written_costs_only_the_cache(open_mem: Open, tmp_path: Path) -> None:
    """A file where the cache's folder should be is left alone."""
    path = tmp_path / "memory.db"
    Path(f"{path}-vectors").write_text("mine")
    mem = open_mem(path, settings=_NORMAL)
    mem.remember_many([{"content": f"otter {number}"} for number in range(10)])

    assert contents(mem.recall("otter 7", limit=1)) == ["otter 7"]
    assert Path(f"{path}-vectors").read_text() == "mine"


def test_what_one_opening_counts_another_one_changes(open_mem: Open, tmp_path: Path) -> None:
    """How many memories there are and which have a word is remembered, and never older than the ledger."""
    here, there = (open_mem(tmp_path / "memory.db") for _ in range(2))
    otter = there.remember("an otter")

    def counted() -> tuple[int, dict[str, int]]:
        search = replace(here._view.seen(), tiers=(Tier.HOT, Tier.WARM))
        found = here._services.store.search_text(search, ["otter"], 10)
        return found.total, dict(found.frequencies)

    assert counted() == counted() == (1, {"otter": 1})
    there.remember("another otter")
    assert counted() == (2, {"otter": 2})
    there.move(otter.id, "cold")
    assert counted() == (1, {"otter": 1})
    there.forget(otter.id)
    there.remember("no such animal")
    assert counted() == (2, {"otter": 1})


@pytest.mark.usefixtures("coded_bands")
def test_two_openings_with_coded_bands_agree(open_mem: Open, tmp_path: Path) -> None:
    """Each sees the other's writes in its next search, whatever kind of change it was."""
    one, two = (open_mem(tmp_path / "memory.db", settings=_NORMAL) for _ in range(2))
    made = one.remember_many([{"content": f"otter {number}"} for number in range(10)])
    for mem in (one, two):
        assert len(mem.recall("otter", limit=100)) == 10

    two.update(made[0].id, content="a badger")
    one.forget(made[1].id)
    two.purge(made[2].id)
    one.move(made[3].id, Tier.COLD)
    two.remember("otter 10")

    for mem in (one, two):
        found = near(mem, "a badger")
        assert found[0] == "a badger"
        assert sorted(found) == sorted(["a badger", *(f"otter {number}" for number in range(4, 11))])
        assert contents(mem.recall("otter 3", tiers=["cold"])) == ["otter 3"]


# Words


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        pytest.param("東京都に住んでいます", "東京", id="japanese"),
        pytest.param("我喜欢喝绿茶", "绿茶", id="chinese"),
        pytest.param("我喜欢喝绿茶", "茶", id="last chinese character"),
        pytest.param("我喜欢喝绿茶", "喝", id="one chinese character"),
        pytest.param("서울에서 만나요", "서울", id="korean"),
        pytest.param("ฉันชอบกินข้าวผัด", "ข้าวผัด", id="thai"),
        pytest.param("मुझे हिन्दी पसंद है", "हिन्दी", id="hindi"),
        pytest.param("Le café est fermé", "CAFE FERME", id="accents"),
        pytest.param("Schöne Grüße", "grüsse", id="german"),
        pytest.param('say "hello" AND (goodbye) NOT near* ^x', "hello", id="query syntax in content"),
    ],
)
def test_text_is_found_in_every_script(open_mem: Open, stored: str, asked: str) -> None:
    """The index works on our own words, so that SQLite's idea of a word does not matter."""
    mem = open_mem(embedder="none")
    mem.remember("something else entirely")
    mem.remember(stored)

    assert contents(mem.recall(asked)) == [stored]


@pytest.mark.parametrize(
    "query", ['"', "AND OR NOT", "a* ^b", "NEAR(x y)", "words:x", "-x", "(", "'; DROP TABLE x", "{}"]
)
def test_a_query_has_no_syntax(open_mem: Open, query: str) -> None:
    """Whatever is asked is words."""
    mem = open_mem(embedder="none")
    mem.remember("nothing of that sort")

    assert contents(mem.recall(query)) == []


def test_an_index_made_by_other_rules_for_words_is_rebuilt(open_mem: Open, tmp_path: Path) -> None:
    """A store of an older version is found in again after it was opened once."""
    path = tmp_path / "memory.db"
    with memotherm.open(path, embedder="none", settings=Settings()) as mem:
        mem.remember("otters swim", tags=["wet"])
        mem.remember("badgers dig", tier="cold")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE meta SET value = '0' WHERE key = 'words'")
        connection.execute("DELETE FROM text_live")
        connection.execute("UPDATE text_cold SET words = 'other rules'")
    mem = open_mem(path, embedder="none")

    assert contents(mem.recall("otter")) == ["otters swim"]
    assert contents(mem.recall("wet")) == ["otters swim"]
    assert contents(mem.recall("badger", tiers=["cold"])) == ["badgers dig"]


# Caches


@pytest.mark.slow
def test_a_word_is_found_where_it_is_after_every_change(open_mem: Open, tmp_path: Path) -> None:
    """The lists of words that a process keeps are corrected by what has changed, whoever has changed it."""
    path, tiers = tmp_path / "memory.db", ("hot", "warm", "cold")
    first, second = open_mem(path, embedder="none"), open_mem(path, embedder="none")
    queries = ["otter", "badger swims", "水", "水獺", "tagged otter"]

    def answers(mem: Memotherm) -> list[list[tuple[str, float]]]:
        views = (mem, mem.scoped(user="ann"))
        recalls = [view.recall(query, 50, tiers=tiers, track=False) for view in views for query in queries]
        return [[(hit.memory.id, hit.score) for hit in found] for found in recalls]

    one, two, *_ = first.remember_many([{"content": f"the otter {number} swims"} for number in range(20)])
    seen = [answers(first), answers(second)]
    changes: list[Callable[[], object]] = [
        lambda: second.update(one.id, content="the badger digs"),
        lambda: first.scoped(user="ann").remember("水獺在水裡", tags=["tagged"]),
        lambda: second.move(two.id, "cold"),
        lambda: first.update(two.id, content="an otter and a badger"),
        lambda: second.move(two.id, "hot"),
        lambda: first.archive(one.id),
        lambda: second.restore(one.id),
        lambda: first.purge(two.id),
        lambda: first.remember_many([{"content": f"a badger {number}"} for number in range(600)]),
        lambda: second.remember(" ".join(f"otter{number}" for number in range(60_000))),
        lambda: first.remember("the last otter"),
    ]
    for change in changes:
        change()
        assert answers(first) == answers(second) == answers(open_mem(path, embedder="none"))
        seen.append(answers(first))

    assert all(before != after for before, after in itertools.pairwise(seen[1:-2]))


def test_what_has_changed_is_found_without_reading_all_events(tmp_path: Path) -> None:
    """SQLite looks for the newest events, not through an index of all."""
    with closing(SqliteStore(str(tmp_path / "memory.db"), Settings())) as store, store._reading() as statements:
        plan = statements.connection.execute(f"EXPLAIN QUERY PLAN {SQL['events_changed_since']}", {"seq": 1}).fetchall()

    assert plan[0][3].startswith("SEARCH events")


@pytest.mark.parametrize("exact_limit", [3, 20_000])
@pytest.mark.parametrize("capacity", [0, 3000, 32 << 20])
def test_a_recall_sees_the_uses_and_changes_of_every_process(
    open_mem: Open, tmp_path: Path, capacity: int, exact_limit: int
) -> None:
    """What a process keeps in memory of candidates and hits is what the store has, however little it may keep."""
    path = tmp_path / "memory.db"

    def opened() -> Memotherm:
        with limits(exact=exact_limit, vectors=capacity, candidates=capacity):
            return open_mem(path)

    def scores(mem: Memotherm) -> list[tuple[Memory, float, float, float]]:
        found = mem.scoped(session="s").recall("otter", track=False)
        return [(hit.memory, hit.score, hit.why.vector or 0.0, hit.why.use) for hit in found]

    first, second = opened(), opened()
    memories = first.remember_many([{"content": f"otter number {number}"} for number in range(12)])
    first.scoped(session="s").remember("otter of the session")
    seen = [scores(first), scores(second)]
    for step, mem in enumerate([first, first, second, first, second, second]):
        mem.recall("otter", limit=3 + step)
        mem.session("s").recall(f"otter {'session' * (step % 2)}", auto_promote=False)
        mem.prioritize(memories[step].id, "important")
        mem.update(memories[-step].id, content=f"an otter swims {step}")
        fresh = opened()
        assert scores(first) == scores(second) == scores(fresh)
        seen.append(scores(first))

    assert all(before != after for before, after in itertools.pairwise(seen[1:]))
    assert [use > 0 for *_, use in seen[-1]].count(True) >= 8


def test_vectors_in_memory_take_a_limited_number_of_bytes(open_mem: Open, tmp_path: Path) -> None:
    """Those of the scopes that were not searched for long leave first, and every scope finds what it did before."""
    with limits(vectors=60_000):
        mem = open_mem(tmp_path / "memory.db")
    users = [mem.scoped(user=f"user{number}") for number in range(8)]
    for user in users:
        user.remember_many([{"content": f"otter {number} swims"} for number in range(20)])
    found = [contents(user.recall("otter 7", track=False)) for user in users]
    bands = mem._services.store._bands._loaded  # type: ignore[attr-defined]

    assert 1 < len({key.space for key, _ in bands}) < len(users)
    assert sum(band.size for band in bands.values()) <= 60_000
    assert [contents(user.recall("otter 7", track=False)) for user in users] == found


def test_candidates_in_memory_take_a_limited_number_of_bytes(open_mem: Open, tmp_path: Path) -> None:
    """Those that were not used for long leave first."""
    with limits(candidates=200_000):
        mem = open_mem(tmp_path / "memory.db", embedder="none")
    mem.remember_many([{"content": f"otter{number} word{number % 40}"} for number in range(800)])
    for number in range(40):
        mem.recall(f"word{number}", track=False)
        mem.recall("word7", track=False)
    cached = mem._services.store._columns  # type: ignore[attr-defined]

    assert 8 in cached
    assert 0 < len(cached) <= 800
    assert 0 < cached.size <= 200_000


def test_uses_that_another_process_has_counted_leave_the_memories_in_the_cache(open_mem: Open, tmp_path: Path) -> None:
    """Only their uses are read again, and those that no recall asks for stay as well."""
    path = tmp_path / "memory.db"
    mem, other = open_mem(path, embedder="none"), open_mem(path, embedder="none")
    mem.remember_many([{"content": f"otter{number} word{number % 2}"} for number in range(20)])
    cached = mem._services.store._columns  # type: ignore[attr-defined]
    before = [contents(mem.recall(f"word{number}", track=False)) for number in range(2)]
    for _ in range(3):
        other.recall("otter4 word0", 1)
    other.metrics()  # writes the uses

    found = mem.recall("word0", track=False)
    assert found[0].memory.content == "otter4 word0" != before[0][0]
    assert found[0].memory.access_count == 3
    assert found[0].memory == mem.get(found[0].memory.id)
    assert len(cached) == 20
    assert contents(mem.recall("word1", track=False)) == before[1]


def test_a_context_lists_hot_memories_as_another_process_has_left_them(open_mem: Open, tmp_path: Path) -> None:
    """Their rows stay in memory between contexts, except those that were changed or have left the tier."""
    path = tmp_path / "memory.db"
    mem, other = open_mem(path, embedder="none"), open_mem(path, embedder="none")
    hot = mem.remember_many([{"content": f"The otter has {number} cubs", "tier": "hot"} for number in range(5)])
    assert len(mem.context(budget=500, track=False).receipt.included) == 5

    other.update(hot[1].id, content="The otter has left")
    other.move(hot[2].id, "cold")
    other.forget(hot[3].id)
    other.remember("The otter is back", tier="hot", priority="critical")
    listed = mem.context(budget=500, track=False).receipt.included

    expected = ["The otter is back", hot[4].content, "The otter has left", hot[0].content]
    assert sorted(entry.content for entry in listed) == sorted(expected)
    assert [entry.memory for entry in listed] == [mem.get(entry.id) for entry in listed]


@pytest.mark.parametrize("exact_limit", [10, 10_000])
def test_a_filter_that_is_used_often_lets_through_what_it_did_before(
    open_mem: Open, tmp_path: Path, exact_limit: int
) -> None:
    """From some search on it is known as a whole; what is stored, changed or expires later counts at once."""
    with limits(exact=exact_limit):
        mem = open_mem(tmp_path / "memory.db")
    kinds = ("fact", "task")
    mem.remember_many([{"content": f"otter {number} swims", "kind": kinds[number % 2]} for number in range(60)])
    first = contents(mem.recall("otter", 30, kinds=["task"], track=False))

    for _ in range(20):
        assert contents(mem.recall("otter", 30, kinds=["task"], track=False)) == first
    assert len(first) == 30
    assert {hit.memory.kind for hit in mem.recall("otter", 30, kinds=["task"])} == {"task"}
    new = mem.remember("otter 60 swims", kind="task")
    assert new.content in contents(mem.recall("otter", 31, kinds=["task"], track=False))
    mem.update(new.id, kind="fact")
    assert contents(mem.recall("otter", 30, kinds=["task"], track=False)) == first


def test_a_store_with_many_spaces_caches_a_limited_number_of_scopes(
    open_mem: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that runs for years meets a new space with every session."""
    monkeypatch.setattr(base, "MOST_SCOPES", 10)
    mem = open_mem(tmp_path / "memory.db")
    ids = [mem.scoped(session=f"s{number}").remember(f"otter {number}").id for number in range(30)]

    assert [mem.scoped(session=f"s{number}").get(id_).scope.session for number, id_ in enumerate(ids)] == [
        f"s{number}" for number in range(30)
    ]
    assert 0 < len(mem._services.store._shared.scopes) <= 10  # type: ignore[attr-defined]


# Erasure


@pytest.mark.usefixtures("coded_bands")
def test_a_purge_leaves_no_trace_in_any_file(open_mem: Open, tmp_path: Path) -> None:
    """Neither the database nor its log nor a cache contains the content, a former content, a tag or its words."""
    path = tmp_path / "memory.db"
    mem = open_mem(path, settings=_NORMAL)
    kept = [{"content": f"filler number {number} " + "lorem ipsum " * (number % 90)} for number in range(150)]
    mem.remember_many(kept)
    secrets = []
    for number in range(20):
        words = [f"zq{name}{number}x" for name in ("first", "second", "tag", "meta", "source")]
        first, second, tag, meta, source = words
        memory = mem.remember(
            f"the {first} secret " + "padding " * (number * 40), tags=[tag], metadata={"k": meta}, source=source
        )
        mem.recall("secret", track=False)
        mem.update(memory.id, content=f"the {second} secret")
        if number % 3 == 0:
            mem.move(memory.id, "cold")
        if number % 4 == 0:
            mem.forget(memory.id)
        secrets.append((memory, words))
    for number in range(0, 150, 10):
        mem.update(mem.find(limit=1000)[number].id, tags=["touched"])
    for memory, _ in secrets:
        mem.purge(memory.id)
    everything = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())

    assert b"filler number 7 " in everything
    assert [word for _, words in secrets for word in words if word.encode() in everything] == []
    assert all("purge" in [event.action for event in mem.history(memory.id)] for memory, _ in secrets)


@pytest.mark.usefixtures("coded_bands")
def test_a_purged_vector_is_in_no_cache(open_mem: Open, tmp_path: Path) -> None:
    """Codes are made of vectors, so caches with a purged memory go at once."""
    path = tmp_path / "memory.db"
    mem = open_mem(path, settings=_NORMAL)
    made = mem.remember_many([{"content": f"otter {number}"} for number in range(10)])
    mem.recall("otter")
    assert caches(path) != []
    mem.purge(made[0].id)

    assert caches(path) == []
    assert len(mem.recall("otter", limit=100)) == 9


_SECRET = "zqsecretx"
_PATIENT: dict[str, Any] = {"busy_timeout_ms": 600_000}


@contextmanager
def reader_of(path: Path) -> Iterator[None]:
    """Keep a read transaction of another connection open."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM memories").fetchall()
        yield


def purge_while_read(mem: Memotherm, path: Path) -> None:
    """Purge a secret while another connection reads the state before it."""
    memory = mem.remember(f"the {_SECRET} of the vault")
    mem.remember("an otter swims")
    with reader_of(path):
        purging = threading.Thread(target=mem.purge, args=[memory.id], daemon=True)
        purging.start()
        purging.join(60)
        assert not purging.is_alive(), "the purge waits for the reader"
        assert _SECRET.encode() in b"".join(files(path.parent).values())


@pytest.mark.parametrize("occasion", ["write", "maintain", "close", "open", "write of another process"])
def test_a_purge_during_a_read_is_finished_at_the_next_occasion(open_mem: Open, tmp_path: Path, occasion: str) -> None:
    """The purge does not wait for a reader; the log is emptied by whoever writes, maintains, opens or closes next."""
    path = tmp_path / "memory.db"
    mem = memotherm.open(path, embedder=HashEmbedder(), settings=_PATIENT)
    other = open_mem(path, settings=_PATIENT)
    # Keeps SQLite from deleting the log because its last connection is closed.
    with closing(sqlite3.connect(path)) as idle, mem:
        idle.execute("SELECT count(*) FROM memories").fetchall()
        purge_while_read(mem, path)
        match occasion:
            case "write":
                mem.remember("a badger digs")
            case "maintain":
                mem.maintain()
            case "close":
                mem.close()
            case "open":
                open_mem(path)
            case _:
                other.remember("a badger digs")

        assert _SECRET.encode() not in b"".join(files(tmp_path).values())
        assert Path(f"{path}-wal").exists()


@pytest.mark.parametrize("damage", ["DROP TABLE text_live", "DELETE FROM text_live_data"])
def test_a_store_with_a_pending_erasure_and_a_lost_index_can_be_opened_and_repaired(
    open_mem: Open, tmp_path: Path, damage: str
) -> None:
    """The erasure goes on waiting until the index is there again; then nothing of the secret is left."""
    path = tmp_path / "memory.db"
    with memotherm.open(path, embedder=HashEmbedder(), settings=_PATIENT) as mem:
        purge_while_read(mem, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('erasure', 'indexes:1')")
        connection.execute(damage)
    mem = open_mem(path)

    assert {problem.code for problem in mem.check()} >= {"text_lost"}
    mem.store.repair()
    mem.maintain()
    assert mem.check() == []
    assert _SECRET.encode() not in b"".join(files(tmp_path).values())


def test_a_purge_without_cleaning_is_finished_by_the_next_start(open_mem: Open, tmp_path: Path) -> None:
    """What remains to be erased is recorded in the transaction of the purge, so a killed process loses nothing."""
    path = tmp_path / "memory.db"
    mem = open_mem(path)
    memory = mem.remember(f"the {_SECRET} of the vault")
    with closing(open_store(str(path), Settings())) as store:

        def purge(transaction: Transaction) -> None:
            record = transaction.get(memory.id)
            assert record is not None
            transaction.purge(record, Cause(action=Action.PURGE, at=memory.created_at), clean=False)

        store.transact(purge)
        assert _SECRET.encode() in b"".join(files(tmp_path).values())
        open_mem(path)

        assert _SECRET.encode() not in b"".join(files(tmp_path).values())


# Files


def test_a_new_store_has_the_current_schema(open_mem: Open, tmp_path: Path) -> None:
    """It is marked as ours."""
    open_mem(tmp_path / "memory.db").remember("x")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert connection.execute("PRAGMA application_id").fetchone() == (0x6D74686D,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_an_empty_file_becomes_a_store(open_mem: Open, tmp_path: Path) -> None:
    """As `mkstemp` leaves one."""
    (tmp_path / "memory.db").touch()
    mem = open_mem(tmp_path / "memory.db")

    assert mem.remember("x").content == "x"


def test_a_newer_schema_is_left_as_it_is(tmp_path: Path) -> None:
    """The error says what to do; not a byte of the file changes."""
    path = tmp_path / "memory.db"
    memotherm.open(path, embedder="none", settings=Settings()).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(SchemaTooNew, match="upgrade"):
        memotherm.open(path, embedder="none", settings=Settings())

    assert path.read_bytes() == before


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path, journal: str) -> None:
    """Not a byte changes, and nothing is left beside it."""
    path = tmp_path / "theirs.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("CREATE TABLE memories (mine TEXT)")
        connection.execute("INSERT INTO memories VALUES ('precious')")
        connection.commit()
    before = files(tmp_path)
    with pytest.raises(NotAStore, match="another program"):
        memotherm.open(path, embedder="none", settings=Settings())

    assert files(tmp_path) == before


@pytest.mark.parametrize("content", [b"Dear diary,\n", b"\x00" * 5000, b"SQLite format 3\x00" + b"junk" * 500])
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    """Text, zeros and something that only begins like a database."""
    path = tmp_path / "diary.txt"
    path.write_bytes(content)
    with pytest.raises(NotAStore):
        memotherm.open(path, embedder="none", settings=Settings())

    assert files(tmp_path) == {"diary.txt": content}


def test_a_folder_is_not_a_store(tmp_path: Path) -> None:
    """The message suggests a file in it."""
    with pytest.raises(StoreUnavailable, match="name a file in it"):
        memotherm.open(tmp_path, embedder="none", settings=Settings())
    with pytest.raises(StoreUnavailable, match="does not exist"):
        memotherm.open(tmp_path / "missing" / "memory.db", embedder="none", settings=Settings())


# Copies


@pytest.mark.usefixtures("coded_bands")
def test_a_checkpoint_restores_to_an_independent_store(open_mem: Open, tmp_path: Path) -> None:
    """Tiers, priorities, hidden memories, history and vectors survive; the two do not share anything."""
    path = tmp_path / "memory.db"
    mem = open_mem(path, settings=_NORMAL)
    made = mem.remember_many([{"content": f"otter {number}"} for number in range(10)])
    mem.pin(made[0].id)
    mem.move(made[1].id, "cold")
    mem.archive(made[2].id)
    mem.checkpoint(tmp_path / "copy.db")
    mem.remember("after the copy")
    restored = open_mem(memotherm.restore(tmp_path / "copy.db", tmp_path / "restored.db"), settings=_NORMAL)

    assert [restored.get(memory.id) for memory in made] == [mem.get(memory.id) for memory in made]
    assert restored.history(made[0].id) == mem.history(made[0].id)
    assert "after the copy" not in contents(restored.recall("after the copy", limit=100))
    restored.remember("only here")
    assert "only here" not in contents(mem.recall("only here", limit=100))
    with pytest.raises(InvalidInput, match="already exists"):
        memotherm.restore(tmp_path / "copy.db", tmp_path / "restored.db")


def test_a_store_in_memory_can_be_checkpointed(open_mem: Open, tmp_path: Path) -> None:
    """What would be lost with the process can be kept."""
    mem = open_mem()
    memory = mem.remember("worth keeping", tier="hot")
    mem.checkpoint(tmp_path / "kept.db")
    restored = open_mem(memotherm.restore(tmp_path / "kept.db", tmp_path / "memory.db"))

    assert restored.get(memory.id) == memory
    assert contents(restored.recall("worth keeping")) == ["worth keeping"]


# Check


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        ("UPDATE memories SET content = 'other' WHERE no = 1", "digest"),
        ("UPDATE memories SET tier = 2 WHERE no = 1", "ledger_state"),
        ("UPDATE memories SET version = 99 WHERE no = 1", "ledger_version"),
        ("UPDATE counters SET memories = 7", "counter"),
        ("DELETE FROM text_live WHERE rowid IN (SELECT min(rowid) FROM text_live)", "text_missing"),
        ("INSERT INTO text_live (rowid, words) VALUES (5, 'extra')", "text_extra"),
        ("UPDATE text_live SET words = 'other'", "text_words"),
        ("DELETE FROM tags", "tags"),
        ("DELETE FROM claims", "claims"),
        ("DELETE FROM vectors", "vector_count"),
        ("INSERT INTO vectors VALUES ((1 << 56) | (50 << 20), x'00')", "vector_orphan"),
        ("UPDATE vectors SET vector = x'0000'", "vector_length"),
        ("DELETE FROM events WHERE seq = 2", "ledger_gap"),
    ],
)
def test_check_names_what_does_not_agree(tmp_path: Path, damage: str, code: str) -> None:
    """Each kind of damage is found and called by its name."""
    path = tmp_path / "memory.db"
    settings = replace(Settings(), synchronous="normal")
    with memotherm.open(path, embedder=HashEmbedder(), settings=settings) as mem:
        made = mem.remember_many([{"content": f"otter {number} swims", "tags": ["wet"]} for number in range(3)])
        mem.pin(made[0].id)
        assert mem.check() == []
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(damage)

        assert code in {problem.code for problem in mem.check()}


def test_the_log_shrinks_after_a_stuck_reader(open_mem: Open, tmp_path: Path) -> None:
    """A reader of an old state lets it grow; after its end two writes are enough."""
    mem = open_mem(tmp_path / "a.db")
    mem.remember("before the reader")
    log = tmp_path / "a.db-wal"
    with closing(sqlite3.connect(tmp_path / "a.db", isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        for number in range(6):
            fillings = [{"content": f"{number} {each}", "metadata": {"filling": "x" * 65_000}} for each in range(50)]
            mem.remember_many(fillings)
        grown = log.stat().st_size

    mem.remember("after the reader")
    mem.remember("and once more")

    assert log.stat().st_size <= 16 << 20 < grown


def test_a_connection_whose_read_cannot_end_is_not_lent_again(tmp_path: Path) -> None:
    """The error of its COMMIT concerns nobody: what was read was read."""
    with memotherm.open(tmp_path / "memory.db", embedder="none") as mem:
        mem.remember("An otter swims")
        store = mem._services.all_tenants
        assert isinstance(store, SqliteStore)
        with store._connections.reading() as statements:
            broken = statements.connection
            broken.close()
        assert all(connection is not broken for connection in store._connections._idle)
        assert [memory.content for memory in mem.find()] == ["An otter swims"]
