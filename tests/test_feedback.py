"""How strongly a memory was used: returned, opened, confirmed, reflected; not by being injected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memotherm import Memotherm, Tier
from memotherm.errors import InvalidInput, NotFound, ReadOnly
from memotherm.model.recall import UseKind
from memotherm.testing import FakeClock
from memotherm.tiers.rules import properties

Open = Callable[..., Memotherm]


def weight_of(mem: Memotherm, memory_id: str) -> float:
    """Return the weight of the uses of a memory, without opening it."""
    return next(memory.use_weight for memory in mem.find(limit=100) if memory.id == memory_id)


def test_each_kind_of_use_counts_by_its_weight(
    mem: Memotherm, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A use adds the weight of its kind, and restarts the time without use; a context adds nothing."""
    weights = {"returned": 1.5, "confirmed": 8.0, "reflected": 16.0}
    for name, weight in weights.items():
        monkeypatch.setitem(properties.USE_WEIGHTS, UseKind(name), weight)
    port = mem.remember("The staging database listens on port 5433", tier="hot")
    found = mem.recall("which port has staging?")
    assert weight_of(mem, port.id) == 1.5
    mem.get(port.id)
    assert weight_of(mem, port.id) == 3.0
    mem.feedback(found, used=[port.id])
    assert weight_of(mem, port.id) == 11.0
    mem.feedback(found, answer="It listens on 5433.")
    assert weight_of(mem, port.id) == 27.0
    used = clock()
    clock.advance(days=2)
    mem.context()
    mem.context("which port has staging?")
    (memory,) = mem.find()

    assert (memory.use_weight, memory.recent_uses, memory.access_count) == (27.0, 27.0, 4)
    assert memory.accessed_at == used


def test_a_memory_does_not_stay_hot_because_it_is_injected(open_mem: Open, clock: FakeClock) -> None:
    """What is in every context cools like what is not; an answer that repeats it keeps it hot."""
    mem = open_mem(settings={"cool_hot_days": 10})
    shown = mem.remember("The office has a red door", tier="hot")
    useful = mem.remember("The staging database listens on port 5433", tier="hot")
    for _ in range(12):
        clock.advance(days=1)
        context = mem.context("a question")
        mem.feedback(context, answer="Use port 5433 of the staging database.")
        mem.maintain()

    tiers = {memory.id: memory.tier for memory in mem.find()}
    assert tiers == {shown.id: Tier.WARM, useful.id: Tier.HOT}
    assert {memory.id: memory.access_count for memory in mem.find()} == {shown.id: 0, useful.id: 12}


@pytest.mark.parametrize("query", [None, "which port has the staging database?"])
def test_a_context_promotes_warms_and_keeps_nothing(open_mem: Open, clock: FakeClock, query: str | None) -> None:
    """Neither what is listed nor what the search of a context found: after twelve days, all is as without contexts."""
    mem = open_mem(settings={"cool_hot_days": 5, "cool_warm_days": 10})
    mem.remember("The staging database listens on port 5433")
    mem.remember("The staging database is restarted on Mondays", tier="cold")
    mem.remember("The staging database is blue", tier="hot")
    shown = 0
    for _ in range(16):
        clock.advance(days=1)
        shown += len(mem.context(query, include_cold=True).included)
        mem.maintain()

    memories = mem.find(limit=10)
    assert shown > 4
    assert {memory.tier for memory in memories} == {Tier.COLD}
    assert {(memory.access_count, memory.use_weight, memory.accessed_at) for memory in memories} == {(0, 0.0, None)}
    assert sum(len(receipt.included) for receipt in mem.receipts.list(limit=50)) == shown


def test_feedback_counts_once_for_a_recall(mem: Memotherm) -> None:
    """Repeating it changes nothing, and another recall counts anew."""
    port = mem.remember("The staging database listens on port 5433")
    first = mem.recall("staging port")
    assert mem.feedback(first, used=[port.id]).confirmed == (port.id,)
    assert mem.feedback(first.recall_id, used=[port.id, port.id]).confirmed == ()
    assert mem.feedback(mem.recall("staging"), used=[port.id]).confirmed == (port.id,)

    assert weight_of(mem, port.id) == 1 + 2 + 1 + 2


def test_reading_by_id_or_key_counts_each_time(mem: Memotherm, clock: FakeClock) -> None:
    """As a recall does, and in the same count; feedback still finds the recall before it."""
    port = mem.remember("The staging database listens on port 5433", key="port")
    mem.get(port.id)
    found = mem.recall("staging port")
    clock.advance(minutes=61)
    mem.get(key="port")
    assert mem.feedback(used=[port.id]).recall_id == found.recall_id
    mem.get(port.id, include_narrower=True)

    (memory,) = mem.find()
    assert (memory.access_count, memory.use_weight, memory.accessed_at) == (4, 5.0, clock.now)


@pytest.mark.parametrize(
    ("content", "query", "answer", "expected"),
    [
        ("The port of staging is 5433", "What is the port of staging?", "5433", True),
        ("The port of staging is 5433", "What is the port of staging?", "I do not know the port of staging.", False),
        ("The port of staging is 5433", "Is the port of staging 5433?", "Yes, 5433.", False),
        ("Anna prefers tea in the morning", "What shall we order?", "Let us order tea for Anna.", True),
        ("Anna prefers tea in the morning", "What shall we order?", "Pizza with mushrooms, and a cake.", False),
        ("会议在星期三下午举行", "什么时候开会？", "星期三下午。", True),
    ],
)
@pytest.mark.sqlite
def test_an_answer_reflects_what_it_says_and_the_query_did_not(
    open_mem: Open, content: str, query: str, answer: str, expected: bool
) -> None:
    """Words and numbers of the memory that the query does not have must be in the answer."""
    mem = open_mem(settings={"context_min_confidence": 0.0})
    memory = mem.remember(content, tier="hot")
    context = mem.context(query)

    assert mem.feedback(context, answer=answer).reflected == ((memory.id,) if expected else ())


@pytest.mark.sqlite
def test_a_word_that_two_memories_share_reflects_neither(mem: Memotherm) -> None:
    """Only what tells a memory from the others of the recall counts."""
    for place in ("Oslo", "Bergen"):
        mem.remember(f"The {place} warehouse stores copper wire", tier="hot")

    found = mem.feedback(mem.context("what do we have?"), answer="Copper wire, in Bergen.").reflected
    assert [mem.get(memory_id).content for memory_id in found] == ["The Bergen warehouse stores copper wire"]


def test_feedback_reaches_what_the_scope_sees_only(mem: Memotherm) -> None:
    """The recall of another user or tenant cannot be named, and nothing is counted."""
    ann, bob, rival = (
        mem.scoped(tenant=tenant, user=user) for tenant, user in (("a", "ann"), ("a", "bob"), ("b", "ann"))
    )
    secret = ann.remember("The code is 4711")
    bob.remember("The sky is blue")
    found = ann.recall("code")
    for view in (bob, rival):
        with pytest.raises(NotFound, match="recall_log"):
            view.feedback(found.recall_id, answer="4711")
        with pytest.raises(NotFound):
            view.feedback(found.recall_id, used=[secret.id])

    assert weight_of(ann, secret.id) == 1


def test_feedback_that_cannot_be_is_refused(open_mem: Open) -> None:
    """A memory that was not returned, an unknown recall, and a recall that was not logged say what to do."""
    mem = open_mem()
    port, other = mem.remember("The staging port is 5433"), mem.remember("Otters swim", tier="cold")
    with pytest.raises(NotFound, match="recall_id"):
        mem.feedback(used=[port.id])
    found = mem.recall("staging port")
    wrong: list[tuple[Any, dict[str, Any]]] = [
        (found, {"used": [other.id]}),
        (found, {"used": port.id}),
        (found, {"answer": 7}),
    ]
    for recall, arguments in wrong:
        with pytest.raises(InvalidInput):
            mem.feedback(recall, **arguments)
    with pytest.raises(NotFound):
        mem.feedback("rec_0", used=[port.id])
    with pytest.raises(ReadOnly):
        mem.read_only().feedback(found, used=[port.id])
    mem.read_only().get(port.id)
    assert weight_of(mem, port.id) == 1
    silent = open_mem(settings={"recall_log": "off"})
    silent.remember("The staging port is 5433")
    with pytest.raises(InvalidInput, match="recall_log"):
        silent.feedback(silent.recall("staging port"))
