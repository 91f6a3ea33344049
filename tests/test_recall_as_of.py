"""Recall as of an earlier moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from memotherm import Memotherm, Scope
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import Flaky, contents, opened


@pytest.fixture
def clock() -> FakeClock:
    """A clock that is moved by hand."""
    return FakeClock()


@pytest.fixture
def embedder() -> Flaky:
    """An embedder that can fail."""
    return Flaky()


@pytest.fixture
def mem(tmp_path: Path, clock: FakeClock, embedder: Flaky) -> Iterator[Memotherm]:
    """A memory whose clock and embedder the test controls."""
    with opened(tmp_path / "a.db", clock=clock, embedder=embedder) as memory:
        yield memory
        assert memory.check() == []


def test_the_answer_is_the_one_of_that_moment(mem: Memotherm, clock: FakeClock) -> None:
    """Changed contents, forgotten memories and those that did not exist yet are as they were then."""
    port = mem.remember("the port is 5433")
    host = mem.remember("the host is otter")
    then = clock.now
    clock.advance(days=1)
    mem.update(port.id, content="the port is 5544")
    mem.forget(host.id)
    mem.remember("the port of the mirror is 6000")

    assert set(contents(mem.recall("port host", as_of=then))) == {"the port is 5433", "the host is otter"}
    assert set(contents(mem.recall("port host"))) == {"the port is 5544", "the port of the mirror is 6000"}
    assert len(mem.recall("port host", as_of=then - timedelta(days=1))) == 0


def test_a_name_is_looked_for_in_what_was_there_at_that_moment(mem: Memotherm, clock: FakeClock) -> None:
    """A memory that has expired since had the name then."""
    mem.remember("Frank takes the ferry", tier="warm", ttl="1h")
    then = clock.now
    clock.advance(days=1)

    assert contents(mem.recall("ferry", mentions=["Frank"], as_of=then)) == ["Frank takes the ferry"]
    assert contents(mem.recall("ferry", mentions=["Ann"], as_of=then)) == []


def test_a_memory_is_the_one_of_that_moment(mem: Memotherm, clock: FakeClock) -> None:
    """Its tokens and its digest are those of its content then, and its times those of the changes until then."""
    memory = mem.remember("the port is 5433")
    clock.advance(days=1)
    mem.update(memory.id, content="the port of the database is 5434")
    clock.advance(days=1)
    mem.move(memory.id, "cold")
    clock.advance(days=1)
    before, then = mem.get(memory.id), clock.now
    clock.advance(days=1)
    mem.move(memory.id, "warm")
    mem.update(memory.id, content="5435")
    mem.forget(memory.id)
    (hit,) = mem.recall("port", tiers="cold", as_of=then)

    for name in ("content", "tokens", "digest", "created_at", "updated_at", "tier_since", "retention_since"):
        assert getattr(hit.memory, name) == getattr(before, name)


@pytest.mark.parametrize("query", ["port", ""])
def test_hidden_memories_are_those_of_that_moment(
    mem: Memotherm, clock: FakeClock, embedder: Flaky, query: str
) -> None:
    """With the retention and the expiry that they had, from the state that serves all retentions."""
    kept = mem.remember("the port is 5433")
    gone = mem.remember("the old port is 5000")
    mem.remember("the port of the fair is 6000", ttl="1d")
    mem.forget(gone.id)
    then = clock.advance(days=2)

    def found(retention: str, **more: datetime) -> set[tuple[str, str, datetime | None]]:
        hits = mem.recall(query, retention=retention, track=False, **more)
        return {(hit.memory.content, str(hit.memory.retention), hit.memory.expires_at) for hit in hits}

    before = {retention: found(retention) for retention in ("active", "deleted", "any")}
    clock.advance(days=1)
    mem.update(kept.id, content="the port is 5544")
    mem.forget(kept.id)
    mem.restore(gone.id)

    assert {retention: found(retention, as_of=then) for retention in before} == before
    assert len(before["any"]) > len(before["deleted"]) == len(before["active"]) == 1
    assert embedder.texts.count("the port is 5433") == 2, "when it was stored, and for the first query"


def test_a_context_is_the_one_of_that_moment(mem: Memotherm, clock: FakeClock) -> None:
    """Tiers and priorities are as they were then as well; nothing is counted or logged, and the receipt says when."""
    rule = mem.remember("never deploy on Fridays", priority="pinned")
    task = mem.remember("the ferry is repainted this week", tier="hot")
    port = mem.remember("the port of the staging database is 5433")
    before = mem.context("which port has the staging database?", track=False)
    then = clock.now
    clock.advance(days=1)
    mem.unpin(rule.id)
    mem.move(task.id, "cold", "it is done")
    mem.update(port.id, content="the port of the staging database is 5544")
    past = mem.context("which port has the staging database?", as_of=then)
    clock.advance(days=1)
    mem.recall("port", as_of=clock.now)
    mem.recall("port", as_of=clock.now - timedelta(hours=1))

    assert past.text == before.text
    assert past.receipt.at == then
    assert [entry.id for entry in past.left_out] == [entry.id for entry in before.left_out]
    assert "5544" in mem.context("which port has the staging database?", track=False).text
    assert mem.context(as_of=then).text == mem.context(as_of=then, budget=2000).text != mem.context().text
    assert past.recall_id is None
    assert mem.context("port", as_of=then - timedelta(days=1)).text == ""
    with pytest.raises(InvalidInput, match="time zone"):
        mem.context("port", as_of=datetime(2026, 1, 1))  # noqa: DTZ001


def test_a_memory_that_had_expired_has_the_same_effect_on_scores(mem: Memotherm, clock: FakeClock) -> None:
    """Before maintenance it is in the indexes, but not in the answer; so it was at that moment."""
    for number in range(6):
        mem.remember(f"the otter of pond {number} likes herring")
        mem.remember(f"the harbour of town {number} has an otter", ttl="1d")
    clock.advance(days=2)
    found, then = mem.recall("otter harbour herring", track=False), clock.now
    clock.advance(days=1)
    mem.maintain()

    past = mem.recall("otter harbour herring", as_of=then)
    assert [hit.memory.id for hit in past] == [hit.memory.id for hit in found]
    # The past is searched in SQLite, whose vectors are rounded differently.
    assert [hit.score for hit in past] == pytest.approx([hit.score for hit in found], abs=1e-6)
    assert past.confidence == pytest.approx(found.confidence, abs=1e-6)


def test_a_failing_embedder_degrades_the_answer(mem: Memotherm, clock: FakeClock, embedder: Flaky) -> None:
    """As in a plain recall, words are searched and the answer says so; later the vectors are made after all."""
    memory = mem.remember("the port is 5433")
    then = clock.now
    clock.advance(days=1)
    mem.update(memory.id, content="the host is otter")
    embedder.down = True
    down = mem.recall("port", as_of=then)
    plain = mem.recall("host")
    embedder.down = False
    up = mem.recall("port", as_of=then)

    assert contents(down) == ["the port is 5433"]
    assert down.degraded[0] == plain.degraded[0] == "text only: words is down: try again later"
    assert down[0].why.vector is None
    assert up.degraded == ()
    assert up[0].why.vector is not None


def test_vectors_of_another_embedder_degrade_the_answer(tmp_path: Path, clock: FakeClock) -> None:
    """No vector is made anew for a query about the past."""
    with opened(tmp_path / "b.db", clock=clock, embedder=HashEmbedder(name="first")) as first:
        first.remember("the port is 5433")
    second = HashEmbedder(name="second")
    with opened(tmp_path / "b.db", clock=clock, embedder=second) as mem:
        found = mem.recall("port", as_of=clock.now)

        assert contents(found) == ["the port is 5433"]
        assert found.degraded == mem.recall("port").degraded
        assert "the port is 5433" not in second.texts


def test_a_moment_is_rebuilt_once(mem: Memotherm, clock: FakeClock, embedder: Flaky) -> None:
    """A second query about the same moment makes no vector of a content again."""
    memory = mem.remember("the port is 5433")
    then = clock.now
    clock.advance(days=1)
    mem.update(memory.id, content="the port is 5544")
    mem.recall("port", as_of=then)
    mem.recall("the number of the port", as_of=then)

    assert embedder.texts.count("the port is 5433") == 2, "when it was stored, and for the first query"


def test_a_moment_is_not_rebuilt_after_later_changes(mem: Memotherm, clock: FakeClock, embedder: Flaky) -> None:
    """What was stored and changed since does not change the past, nor make it be read again."""
    memory = mem.remember("the port is 5433")
    then = clock.now
    clock.advance(days=1)
    mem.update(memory.id, content="the port is 5544")
    before = contents(mem.recall("port", as_of=then))
    mem.remember("the port of the mirror is 6000")
    mem.move(memory.id, "cold")
    mem.forget(memory.id)

    assert contents(mem.recall("port", as_of=then)) == before == ["the port is 5433"]
    assert embedder.texts.count("the port is 5433") == 2, "when it was stored, and for the first query"


def test_moments_without_a_change_between_them_are_rebuilt_once(
    mem: Memotherm, clock: FakeClock, embedder: Flaky
) -> None:
    """Queries about an hour, a day and a minute ago share what was rebuilt, if nothing has changed in between."""
    memory = mem.remember("the port is 5433")
    then = clock.now
    clock.advance(days=3)
    mem.update(memory.id, content="the port is 5544")

    for later in (1, 2, 0):
        assert contents(mem.recall("port", as_of=then + timedelta(days=later))) == ["the port is 5433"]
    assert embedder.texts.count("the port is 5433") == 2, "when it was stored, and for the first query"


def test_answers_about_ever_earlier_moments_are_those_of_a_new_process(
    mem: Memotherm, clock: FakeClock, tmp_path: Path
) -> None:
    """Every change ends what one moment has in common with the next: an expiry, a move, a new or a deleted memory."""
    moments = [clock.now]
    port = mem.remember("the port is 5433")
    actions: list[Callable[[], object]] = [
        lambda: mem.move(port.id, "cold"),
        lambda: mem.remember("the port is closed at night"),
        lambda: mem.forget(port.id),
        lambda: mem.restore(port.id),
        lambda: mem.update(port.id, content="the port is 5544", tags=["net"]),
        lambda: mem.pin(port.id),
        lambda: mem.remember("the port of the mirror is 6000", ttl=timedelta(hours=30)),
    ]
    for action in actions:
        moments.append(clock.advance(hours=20))
        action()
    moments += [clock.advance(hours=20), clock.advance(hours=20)]

    def answer(memory: Memotherm, moment: datetime, retention: str) -> list[tuple[str, str, float]]:
        found = memory.recall("port", as_of=moment, retention=retention)
        return [(hit.memory.content, str(hit.memory.tier), hit.score) for hit in found]

    for moment in reversed(moments):
        with opened(tmp_path / "a.db", clock=clock, embedder=Flaky()) as fresh:
            for retention in ("active", "deleted"):
                assert answer(mem, moment, retention) == answer(fresh, moment, retention)


def test_a_past_that_stayed_in_memory_is_that_of_a_new_process(
    mem: Memotherm, clock: FakeClock, tmp_path: Path
) -> None:
    """A memory that was moved to another scope since is found where a new process finds it."""
    session = mem.scoped(session="s1")
    memory = session.remember("the port is 5433")
    then = clock.now
    clock.advance(days=1)
    for view in (mem, session):
        view.recall("port", as_of=then)
    session.move_out_of_session(memory.id)
    with opened(tmp_path / "a.db", clock=clock, embedder=HashEmbedder()) as fresh:
        for view, again in ((mem, fresh), (session, fresh.scoped(session="s1"))):
            assert contents(view.recall("port", as_of=then)) == contents(again.recall("port", as_of=then))


def test_a_purge_is_seen_at_once(mem: Memotherm, clock: FakeClock) -> None:
    """What was rebuilt before is not used after a purge."""
    memory = mem.remember("the port is 5433")
    then = clock.now
    clock.advance(days=1)
    assert len(mem.recall("port", as_of=then)) == 1
    mem.purge(memory.id)

    assert len(mem.recall("port", as_of=then)) == 0


def test_later_uses_do_not_change_the_past(mem: Memotherm, clock: FakeClock, embedder: Flaky, tmp_path: Path) -> None:
    """Uses are not in the ledger, so that none counts: neither for this process nor for one that rebuilds the state."""
    port = mem.remember("the port is 5433")
    mem.remember("the otter swims")
    then = clock.now
    clock.advance(days=1)
    before = mem.recall("port", as_of=then).hits
    mem.recall("port")
    assert mem.get(port.id).access_count == 1

    with opened(tmp_path / "a.db", clock=clock, embedder=embedder) as rebuilt:
        assert mem.recall("port", as_of=then).hits == rebuilt.recall("port", as_of=then).hits == before


def test_each_scope_sees_its_own_past(mem: Memotherm, clock: FakeClock) -> None:
    """A state that was rebuilt for one scope is not used for another."""
    mem.scoped(user="u1").remember("the port is 5433")
    mem.scoped(user="u2").remember("the port is 6000")

    assert contents(mem.scoped(user="u1").recall("port", as_of=clock.now)) == ["the port is 5433"]
    assert contents(mem.scoped(user="u2").recall("port", as_of=clock.now)) == ["the port is 6000"]
    assert mem.scope == Scope()


@pytest.mark.parametrize(
    ("moment", "message"),
    [
        (datetime(2026, 3, 1), "as_of must have a time zone.*2026-03-01T00:00:00 has none"),  # noqa: DTZ001
        ("2026-03-01", "as_of must be a datetime, not '2026-03-01'"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-1))), "as_of is out of range: 9999-12-31T23:59"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), "as_of is out of range: 0001-01-01T00:00"),
    ],
)
def test_what_is_no_moment_is_refused(mem: Memotherm, moment: datetime, message: str) -> None:
    """The message names the argument."""
    with pytest.raises(InvalidInput, match=message):
        mem.recall("port", as_of=moment)
