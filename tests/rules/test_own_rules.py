"""Rules from outside the package: given to open(), or by an entry point."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

import memotherm
from memotherm import DEFAULT_RULES, Memory, Memotherm, Move, Select, Situation, Tier
from memotherm.errors import InvalidInput
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.tiers.rules.table import installed_rules
from tests.plugins import install_plugin
from tests.stores import located

DONE = {"status": "done"}


class ArchiveLogs:
    """Log lines go cold at once."""

    id = "house.logs"
    selects = Select(tiers=("warm",), when={"kind": "log"})  # type: ignore[arg-type]

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        return Move.of(memory, "cold", "log lines are looked up, not remembered")


class Broken:
    """A rule with a fault: it decides once and then raises."""

    id = "house.broken"
    selects = Select(tiers=("warm",))  # type: ignore[arg-type]

    def __init__(self) -> None:
        self.asked = 0

    def decide(self, memory: Memory, situation: Situation) -> Move | None:
        self.asked += 1
        if self.asked > 1:
            raise KeyError("no such thing")
        return Move.of(memory, Tier.COLD, "by mistake")


def opened(*rules: object, clock: FakeClock | None = None, **settings: object) -> Memotherm:
    return memotherm.open(
        located(),
        embedder=HashEmbedder(),
        rules=rules,  # type: ignore[arg-type]
        clock=clock,
        settings=settings,
    )


def test_a_rule_of_ones_own_runs_with_the_others() -> None:
    """Its move has its id and reason in the result and in the ledger, and can be undone."""
    with opened(*DEFAULT_RULES, ArchiveLogs()) as mem:
        line, decision = (
            mem.remember("GET /otters 200", kind="log"),
            mem.remember("We use SQLite", kind="decision", metadata=DONE),
        )

        moves = mem.compact().moves

        assert [(move.id, move.rule) for move in moves] == [(decision.id, "compact.done"), (line.id, "house.logs")]
        event = mem.history(line.id)[-1]
        assert (event.rule, event.why) == ("house.logs", "log lines are looked up, not remembered")
        assert mem.undo(event.seq).tier is Tier.WARM


def test_the_first_rule_of_the_list_decides() -> None:
    """A rule before the built-in ones takes a memory away from them."""

    class KeepDecisionsWarm:
        id = "house.decisions"
        selects = Select(tiers=("hot",), when={"kind": "decision"})  # type: ignore[arg-type]

        def decide(self, memory: Memory, situation: Situation) -> Move | None:
            return Move.of(memory, "warm", "decisions stay within reach")

    with opened(KeepDecisionsWarm(), *DEFAULT_RULES) as mem:
        memory = mem.remember("We use SQLite", kind="decision", tier="hot", metadata=DONE)

        (move,) = mem.compact().moves

        assert (move.id, move.to, move.rule) == (memory.id, Tier.WARM, "house.decisions")


def test_a_rule_that_raises_is_named_and_moves_nothing() -> None:
    """Not even what it had decided before; the other rules go on."""
    with opened(Broken(), *DEFAULT_RULES) as mem:
        notes = [mem.remember(f"note {number}") for number in range(3)]
        decision = mem.remember("We use SQLite", kind="decision", metadata=DONE)

        done = mem.compact()

        assert [move.id for move in done.moves] == [decision.id]
        (reason,) = done.degraded
        assert "house.broken" in reason
        assert "no such thing" in reason
        assert [mem.get(note.id).tier for note in notes] == [Tier.WARM] * 3


def test_without_rules_nothing_moves() -> None:
    """An empty list is a list of rules too."""
    with opened() as mem:
        mem.remember("We use SQLite", kind="decision", metadata=DONE)

        assert mem.compact().moves == ()


def test_a_maintenance_rule_may_look_at_time_and_metadata(clock: FakeClock) -> None:
    """The selection is made by the store: by age and by metadata."""

    class CloseTickets:
        id = "house.tickets"
        selects = Select(during="maintain", when={"age": ">= 2d", "metadata.status": ["closed", "void"]})

        def decide(self, memory: Memory, situation: Situation) -> Move | None:
            return Move.of(memory, "archived", "a closed ticket")

    with opened(*DEFAULT_RULES, CloseTickets(), clock=clock) as mem:
        closed = mem.remember("ticket 1", metadata={"status": "closed"})
        mem.remember("ticket 2", metadata={"status": "open"})
        clock.advance(days=3)
        mem.remember("ticket 3", metadata={"status": "closed"})

        done = mem.maintain()

        assert done.archived == 1
        assert mem.get(closed.id).retention == "archived"
        assert len(mem.find()) == 2


def test_a_promotion_rule_decides_by_relevance() -> None:
    """Without the built-in ones, only it promotes; a failing one is named by the recall."""

    class PromoteAll:
        id = "house.promote"
        selects = Select(during="promote", tiers=("warm", "cold"))  # type: ignore[arg-type]

        def decide(self, memory: Memory, situation: Situation) -> Move | None:
            return Move.of(memory, "hot", f"asked for at {situation.relevance:.1f}")

    class FailingPromotion(Broken):
        id = "house.failing"
        selects = Select(during="promote")

    broken = FailingPromotion()
    broken.asked = 1
    with opened(broken, PromoteAll()) as mem:
        memory = mem.remember("otters hold hands")

        recall = mem.recall("otters", promote=True)

        assert recall.promoted == (memory.id,)
        assert any("house.failing" in reason for reason in recall.degraded)


def test_a_spill_rule_decides_what_leaves_a_full_session() -> None:
    """It is asked before the built-in one."""

    class SpillQuestions:
        id = "house.spill"
        selects = Select(during="spill", tiers=("hot",), when={"kind": "question"})  # type: ignore[arg-type]

        def decide(self, memory: Memory, situation: Situation) -> Move | None:
            return Move.of(memory, "warm", situation.reason)

    with opened(SpillQuestions(), *DEFAULT_RULES, hot_token_limit=14) as mem:
        session = mem.session("s")
        first = session.add("one two three four five")
        question = session.add("is it six or seven?", type="question")
        session.add("eight nine ten eleven twelve")

        assert mem.session("s").memory.get(question.id).tier_rule == "house.spill"
        assert session.memory.get(first.id).tier is Tier.HOT


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (object(), "needs an id"),
        (type("NoSelect", (), {"id": "x"})(), "needs selects"),
        (type("NoDecide", (), {"id": "x", "selects": Select()})(), "decide"),
        (ArchiveLogs, "instance"),
    ],
)
def test_what_is_no_rule_is_refused_with_what_it_lacks(rule: object, message: str) -> None:
    """When the store is opened, not when the rule first runs."""
    with pytest.raises(InvalidInput, match=message):
        opened(rule)


def test_an_id_is_used_once() -> None:
    """The ledger names rules by their ids."""
    with pytest.raises(InvalidInput, match=r"two rules have the id house\.logs"):
        opened(ArchiveLogs(), ArchiveLogs())


PLUGIN = """
from memotherm import Move, Select

class ColdLogs:
    id = "pond.logs"
    selects = Select(tiers=("warm",), when={"kind": "log"})

    def decide(self, memory, situation):
        return Move.of(memory, "cold", "a log line")

offered = [ColdLogs()]
"""


@pytest.fixture
def fresh_plugins() -> Iterator[None]:
    """Look plugins up anew, before and after."""
    installed_rules.cache_clear()
    yield
    installed_rules.cache_clear()


@pytest.mark.usefixtures("fresh_plugins")
def test_a_plugin_adds_rules_by_its_entry_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an argument, the built-in rules and those of plugins run."""
    install_plugin(tmp_path, monkeypatch, PLUGIN, "memotherm.rules")
    with memotherm.open(located(), embedder=HashEmbedder()) as mem:
        line, decision = (
            mem.remember("GET /otters 200", kind="log"),
            mem.remember("We use SQLite", kind="decision", metadata=DONE),
        )

        assert {move.id: move.rule for move in mem.compact().moves} == {
            line.id: "pond.logs",
            decision.id: "compact.done",
        }


@pytest.mark.usefixtures("fresh_plugins")
def test_a_plugin_that_cannot_be_loaded_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The built-in rules run, and the log says why the plugin does not."""
    install_plugin(tmp_path, monkeypatch, "import duckweed_not_installed\n", "memotherm.rules")
    with memotherm.open(located(), embedder=HashEmbedder()) as mem, caplog.at_level(logging.WARNING):
        mem.remember("We use SQLite", kind="decision", metadata=DONE)

        assert len(mem.compact().moves) == 1
        assert "pip install duckweed_not_installed" in caplog.text
