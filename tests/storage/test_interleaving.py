"""Two threads on one store, where the first is stopped at a chosen statement and the second acts in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm, Retention, Tier
from memotherm.errors import InvalidInput, NotFound, StaleWrite
from memotherm.testing import FakeClock
from tests.helpers import contents
from tests.interleaving import stopped_before

pytestmark = pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)

Open = Callable[..., Memotherm]
#: A recall on PostgreSQL reads the candidates and their memories with one statement.
_ON_POSTGRES = {
    "spaces_visible_in": "spaces_visible",
    "candidates": "candidate_memories",
    "memories_of": "candidate_memories",
}


@pytest.fixture
def statement(request: pytest.FixtureRequest, store_kind: str) -> str:
    """A statement that a recall runs on this store."""
    name: str = request.param
    return _ON_POSTGRES.get(name, name) if store_kind == "postgres" else name


@pytest.fixture
def pair(open_mem: Open, tmp_path: Path) -> tuple[Memotherm, Memotherm]:
    """The same store, opened twice."""
    return open_mem(tmp_path / "memory.db"), open_mem(tmp_path / "memory.db")


def last_event(mem: Memotherm, memory_id: str) -> int:
    return mem.history(memory_id)[-1].seq


@pytest.mark.parametrize("statement", ["spaces_visible_in", "moment", "searched", "candidates"], indirect=True)
def test_a_recall_that_is_overtaken_by_a_purge_returns_whole_memories(
    pair: tuple[Memotherm, Memotherm], statement: str, store_kind: str
) -> None:
    """Wherever the purge happens before the hits are read, a hit has its content or is not there."""
    if store_kind == "postgres" and statement in {"moment", "searched"}:
        pytest.skip("PostgreSQL does not run this statement")
    first, second = pair
    secret = first.remember("the otter swims at night")
    first.remember("the otter sleeps by day")
    if statement == "spaces_visible_in" and store_kind == "sqlite":
        first = first.scoped(agent="another")
    with stopped_before(statement, lambda: first.recall("otter", track=False)) as recall:
        second.purge(secret.id)
    hits = recall.result()

    assert all(hit.memory.content for hit in hits)
    assert all(hit.memory.retention is Retention.ACTIVE for hit in hits)
    assert contents(first.recall("otter")) == ["the otter sleeps by day"]


@pytest.mark.parametrize("statement", ["tombstone_add", "events_rewrite", "turn_drop"])
def test_a_purge_is_seen_whole_or_not_at_all(pair: tuple[Memotherm, Memotherm], statement: str) -> None:
    """A recall while the purge is inside its transaction sees the memory as it was."""
    first, second = pair
    secret = first.remember("the otter swims at night")
    with stopped_before(statement, lambda: first.purge(secret.id)) as purge:
        during = contents(second.recall("otter", track=False))
    purge.result()

    assert during == ["the otter swims at night"]
    assert contents(second.recall("otter", track=False)) == []


def test_an_undo_that_is_overtaken_by_a_purge_does_not_bring_the_content_back(
    pair: tuple[Memotherm, Memotherm],
) -> None:
    """The undo has read the former content when the memory is purged."""
    first, second = pair
    memory = first.remember("the first secret")
    first.update(memory.id, content="the second secret")
    seq = last_event(first, memory.id)
    with stopped_before("write", lambda: first.undo(seq)) as undo:
        second.purge(memory.id)

    with pytest.raises((NotFound, InvalidInput, StaleWrite)):
        undo.result()
    assert first.find(retention="purged")[0].content == ""
    assert first.recall("secret").hits == ()


def test_an_undo_of_a_move_keeps_a_content_that_was_written_meanwhile(pair: tuple[Memotherm, Memotherm]) -> None:
    """It puts back what its event changed, and nothing else."""
    first, second = pair
    memory = first.remember("the otter swims")
    first.move(memory.id, "cold")
    seq = last_event(first, memory.id)
    with stopped_before("write", lambda: first.undo(seq)) as undo:
        second.update(memory.id, content="the badger digs")

    assert undo.result().content == "the badger digs"
    after = second.get(memory.id)
    assert (after.content, after.tier) == ("the badger digs", Tier.WARM)
    assert contents(second.recall("badger digs", track=False)) == ["the badger digs"]


def test_an_undo_that_is_overtaken_by_a_change_of_the_same_field_is_refused(
    pair: tuple[Memotherm, Memotherm],
) -> None:
    """What came later is not lost."""
    first, second = pair
    memory = first.remember("one")
    first.update(memory.id, content="two")
    seq = last_event(first, memory.id)
    with stopped_before("write", lambda: first.undo(seq)) as undo:
        second.update(memory.id, content="three")

    with pytest.raises(StaleWrite, match="changed again"):
        undo.result()
    assert second.get(memory.id).content == "three"


def test_an_event_is_undone_once(pair: tuple[Memotherm, Memotherm]) -> None:
    """Of two that undo the same event, the second finds that it was undone."""
    first, second = pair
    memory = first.remember("one")
    first.update(memory.id, content="two")
    seq = last_event(first, memory.id)
    with stopped_before("write", lambda: first.undo(seq)) as undo:
        second.undo(seq)

    with pytest.raises(StaleWrite):
        undo.result()
    assert second.get(memory.id).content == "one"
    assert [event.action for event in second.history(memory.id)].count("undo") == 1


def test_an_update_that_is_overtaken_by_a_purge_does_not_bring_the_memory_back(
    pair: tuple[Memotherm, Memotherm],
) -> None:
    """The purge wins, and nothing is stored."""
    first, second = pair
    memory = first.remember("the secret")
    with stopped_before("write", lambda: first.update(memory.id, content="another secret")) as update:
        second.purge(memory.id)

    with pytest.raises((NotFound, InvalidInput)):
        update.result()
    assert first.recall("secret").hits == ()


def test_two_purges_of_one_memory_are_one(pair: tuple[Memotherm, Memotherm]) -> None:
    """The second finds nothing to purge."""
    first, second = pair
    memory = first.remember("the secret")
    with stopped_before("write", lambda: first.purge(memory.id)) as purge:
        second.purge(memory.id)

    with pytest.raises(NotFound):
        purge.result()
    assert [event.action for event in second.history(memory.id)].count("purge") == 1


@pytest.mark.parametrize("statement", ["memories_of"], indirect=True)
def test_a_recall_logs_the_use_of_a_memory_that_was_purged_meanwhile(
    pair: tuple[Memotherm, Memotherm], clock: FakeClock, statement: str
) -> None:
    """Counting the use of what is gone does no harm."""
    first, second = pair
    memory = first.remember("the otter swims")
    clock.advance(minutes=1)
    with stopped_before(statement, lambda: first.recall("otter")) as recall:
        second.purge(memory.id)

    recall.result()
    assert first.inspect.recalls() == []
    assert first.check() == []


def test_uses_that_are_logged_after_a_purge_do_not_name_what_was_purged(pair: tuple[Memotherm, Memotherm]) -> None:
    """A recall and a context return the memory while another process purges it, and are logged after that."""
    first, second = pair
    secret, other = first.remember("the otter swims at night"), first.remember("the otter sleeps by day")
    with stopped_before("tombstone_add", lambda: second.purge(secret.id)) as purge:
        assert secret.id in [hit.memory.id for hit in first.recall("the secret otter")]
        assert secret.id in [entry.id for entry in first.context("the secret otter").included]
    purge.result()
    first.recall("the badger")
    logged = first.inspect.everything()

    assert [recall.query for recall in logged.recalls if recall.query] == ["the badger"]
    assert [(receipt.query, [entry.id for entry in receipt.included]) for receipt in logged.receipts] == [
        (None, [other.id])
    ]


def test_a_recall_during_an_erasure_is_not_logged_after_it(pair: tuple[Memotherm, Memotherm], tmp_path: Path) -> None:
    """A query that found nothing waits for the log while its scope is erased, and is erased with it."""
    mine = pair[0].scoped(user="ana")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "otters.md").write_text("The otter swims\n")
    mine.notes(tmp_path / "notes").sync()
    with stopped_before("root_drop", mine.erase) as erasing:
        assert mine.recall("my secret task", kinds=["task"]).hits == ()
    erasing.result()

    assert mine.inspect.recalls() == []
