"""Claims: what the sentences of a memory state, stored with it and changed with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.text.claims import claims_of
from tests.helpers import opened


def _slots(text: str) -> dict[int, int]:
    return {claim.slot: claim.value for claim in claims_of(text)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The staging port is 5433.", "The staging port is 5544."),
        ("Good morning, all. The staging port is 5433. See you.", "The staging port is 5544."),
        ("We deploy on Fridays", "We no longer deploy on Fridays"),
        ("Hola. Vivo en Madrid. Me gusta.", "Ya no vivo en Madrid"),
        ("我住在北京。今天很冷。", "我住在上海"),
        ("The shop uses Postgres", "The shop now uses MySQL"),
    ],
)
def test_sentences_about_the_same_thing_share_a_slot_with_another_value(one: str, other: str) -> None:
    """Wherever they stand in their texts."""
    first, second = _slots(one), _slots(other)
    assert any(first[slot] != second[slot] for slot in first.keys() & second.keys())


@pytest.mark.parametrize("text", ["", "Thanks!", "What is the staging port?", "## Ports:", "x" * 5000])
def test_what_states_nothing_has_no_claims(text: str) -> None:
    """Small talk, questions, headings, and texts that are documents."""
    assert claims_of(text) == []


def test_claims_follow_their_memory(tmp_path: Path) -> None:
    """Stored, rewritten, hidden, brought back, moved to another scope, taken back and purged."""
    with opened(tmp_path / "memory.db") as everyone:
        mem = everyone.scoped(project="otter")
        memory = mem.remember("Good news. The staging port is 5433. We deploy on Fridays.")
        steps: list[Callable[[Memotherm], object]] = [
            lambda mem: mem.update(memory.id, content="The staging port is 5544"),
            lambda mem: mem.update(memory.id, kind="decision"),
            lambda mem: mem.archive(memory.id),
            lambda mem: mem.restore(memory.id),
            lambda mem: mem.rescope(memory.id, {}),
            lambda mem: mem.undo(mem.history(memory.id)[-1].seq),
            lambda mem: mem.purge(memory.id),
        ]
        for step in steps:
            step(mem)
            assert mem.check() == []
        mem.store.repair()
        assert mem.check() == []
