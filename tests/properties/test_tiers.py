"""Whatever is done with sessions and tiers, in whatever order, these things stay true.

Hot fits its limit, pinned memories stay where they are, compacting twice moves nothing the second
time, every change of tier has exactly one event, and undo puts a memory back, in both indexes too.
"""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule

import memotherm
from memotherm import Memory, Memotherm, Priority, Settings, Tier
from memotherm.errors import InvalidInput, LimitReached, StaleWrite
from memotherm.session import Session
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import examples
from tests.stores import a_store

LIMIT = 40
SESSIONS = ("red", "blue")
WORDS = ("otter", "pond", "budget", "deploy", "frozen", "tea", "metric", "units", "deep", "lake")
TIERS = st.sampled_from(list(Tier))

contents = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
marks = st.fixed_dictionaries(
    {},
    optional={
        "kind": st.sampled_from(["fact", "decision", "preference", "message"]),
        "tags": st.lists(st.sampled_from(["blocker", "task", "permanent", "x"]), max_size=2, unique=True),
        "tier": TIERS,
        "priority": st.sampled_from(list(Priority)),
        "ttl": st.sampled_from(["1h", "2d", "10d"]),
        "metadata": st.sampled_from([{"status": "open"}, {"status": "done"}, {"due": "2026-06-01"}]),
    },
)


class Tiers(RuleBasedStateMachine):
    """Two sessions and the scope around them; the model is what the ledger should say of each memory."""

    memories = Bundle("memories")

    @initialize()
    def begin(self) -> None:
        self.clock = FakeClock()
        self.store = ExitStack()
        self.mem = memotherm.open(
            self.store.enter_context(a_store()),
            embedder=HashEmbedder(32),
            clock=self.clock,
            settings=Settings(hot_token_limit=LIMIT, hot_max_tokens=60, hot_max_facts=4, max_pinned=3),
        )
        self.sessions = {name: self.mem.session(name) for name in SESSIONS}
        #: id -> tier after every verb, to be compared with the ledger.
        self.places: dict[str, list[Tier]] = {}
        #: The tiers of pinned memories, which only an explicit call may change.
        self.pinned: dict[str, Tier] = {}

    def teardown(self) -> None:
        if hasattr(self, "mem"):
            with self.store, self.mem:
                assert self.mem.check() == []

    # The verbs

    @rule(target=memories, content=contents, fields=marks, where=st.sampled_from([None, *SESSIONS]))
    def remember(self, content: str, fields: dict[str, Any], where: str | None) -> Any:
        view = self.view(where)
        try:
            memory = view.remember(content, **fields)
        except LimitReached:
            return multiple()
        if "tier" in fields:
            self.pinned.pop(memory.id, None)
        return where, memory.id

    @rule(target=memories, content=contents, where=st.sampled_from(SESSIONS))
    def add(self, content: str, where: str) -> Any:
        memory = self.sessions[where].add(content)
        if memory.priority is Priority.PINNED:
            # Adding again what is pinned asks for it in hot, explicitly.
            self.pinned.pop(memory.id, None)
        return where, memory.id

    @rule(known=memories, tier=TIERS)
    def move(self, known: tuple[str | None, str], tier: Tier) -> None:
        where, memory_id = known
        if self.active(known):
            try:
                self.view(where).move(memory_id, tier)
            except LimitReached:
                return
            self.pinned.pop(memory_id, None)

    @rule(known=memories, priority=st.sampled_from(list(Priority)))
    def prioritize(self, known: tuple[str | None, str], priority: Priority) -> None:
        where, memory_id = known
        if self.active(known):
            try:
                self.view(where).prioritize(memory_id, priority)
            except LimitReached:
                return
            self.pinned.pop(memory_id, None)

    @rule(known=memories)
    def archive_and_restore(self, known: tuple[str | None, str]) -> None:
        where, memory_id = known
        if self.active(known):
            view = self.view(where)
            view.archive(memory_id)
            try:
                view.restore(memory_id)
            except LimitReached:
                self.pinned.pop(memory_id, None)

    @rule(known=consumes(memories))
    def forget(self, known: tuple[str | None, str]) -> None:
        where, memory_id = known
        if self.active(known):
            self.view(where).forget(memory_id)
            self.pinned.pop(memory_id, None)

    @rule(where=st.sampled_from(SESSIONS), count=st.integers(0, 6))
    def spill(self, where: str, count: int) -> None:
        self.sessions[where].spill(count)

    @rule(where=st.sampled_from(SESSIONS), query=queries)
    def session_recall(self, where: str, query: str) -> None:
        self.sessions[where].recall(query)

    @rule(query=queries, promote=st.booleans())
    def recall(self, query: str, promote: bool) -> None:
        self.mem.recall(query, tiers=tuple(Tier), promote=promote)

    @rule(where=st.sampled_from(SESSIONS))
    def look_at_hot(self, where: str) -> None:
        self.sessions[where].hot()
        self.sessions[where].memory.context("otter", budget=100)

    @rule(where=st.sampled_from(SESSIONS))
    def prune(self, where: str) -> None:
        self.sessions[where].prune(keep=3)

    @rule(where=st.sampled_from(SESSIONS))
    def end(self, where: str) -> None:
        self.sessions[where].end()

    @rule()
    def maintain(self) -> None:
        self.mem.maintain()

    @rule(hours=st.sampled_from([1, 13, 24 * 8, 24 * 31, 24 * 181]))
    def wait(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    @rule(where=st.sampled_from([None, *SESSIONS]))
    def compacting_twice_moves_nothing_the_second_time(self, where: str | None) -> None:
        view = self.view(where)
        planned = view.compact(dry_run=True)
        done = view.compact()

        assert done.moves == planned.moves
        assert view.compact().moves == ()

    @rule(known=memories, tier=TIERS)
    def undoing_a_move_restores_the_former_place(self, known: tuple[str | None, str], tier: Tier) -> None:
        where, memory_id = known
        if not self.active(known):
            return
        view = self.view(where)
        before = view.get(memory_id)
        try:
            after = view.move(memory_id, tier)
            seq = view.history(memory_id)[-1].seq
            if after == before or after.tier is before.tier:
                return
            view.undo(seq)
        except (LimitReached, StaleWrite, InvalidInput):
            self.pinned.pop(memory_id, None)
            return
        restored = view.get(memory_id)
        assert _axes(restored) == _axes(before)
        self.found_only_where_it_is(view, restored)

    # What must be true

    @invariant()
    def hot_fits_its_limit(self) -> None:
        for session in getattr(self, "sessions", {}).values():
            assert session.status().hot.tokens <= LIMIT

    @invariant()
    def pinned_memories_stay(self) -> None:
        if not hasattr(self, "mem"):
            return
        now = {memory.id: memory.tier for name in (None, *SESSIONS) for memory in self.view(name).pinned()}
        for memory_id, tier in self.pinned.items():
            # Only a promotion may have brought it closer.
            assert now[memory_id].rank <= tier.rank
        self.pinned = now

    @invariant()
    def every_change_of_tier_has_exactly_one_event(self) -> None:
        if not hasattr(self, "mem"):
            return
        for where in (None, *SESSIONS):
            for memory in self.view(where).find(limit=1000):
                told = [
                    event.changes["tier"] for event in self.view(where).history(memory.id) if "tier" in event.changes
                ]
                assert told[0][0] is None
                assert all(was != now for was, now in told)
                assert all(before[1] == after[0] for before, after in itertools.pairwise(told))
                assert told[-1][1] == memory.tier

    # Small steps

    def view(self, where: str | None) -> Memotherm:
        return self.mem if where is None else self.session(where).memory

    def session(self, where: str) -> Session[Memotherm]:
        return self.sessions[where]

    def active(self, known: tuple[str | None, str]) -> bool:
        where, memory_id = known
        found = {memory.id for memory in self.view(where).find(limit=1000)}
        return memory_id in found

    def found_only_where_it_is(self, view: Memotherm, memory: Memory) -> None:
        for tier in Tier:
            hits = view.recall(memory.content, limit=200, tiers=(tier,), track=False)
            mine = [hit for hit in hits if hit.memory.id == memory.id]
            if memory.priority is not Priority.PINNED:
                assert len(mine) == (tier is memory.tier)
            if tier is memory.tier:
                assert mine[0].why.vector is not None
                assert mine[0].why.text is not None


def _axes(memory: Memory) -> tuple[object, ...]:
    return (
        memory.tier,
        memory.tier_rule,
        memory.priority,
        memory.retention,
        memory.content,
        memory.scope,
        memory.expires_at,
    )


TestTiers = Tiers.TestCase
TestTiers.settings = settings(max_examples=examples(40), stateful_step_count=30)


@pytest.mark.postgres
class TestTiersOnPostgres(Tiers.TestCase):  # type: ignore[misc, valid-type]
    """The same on a server."""

    settings = settings(max_examples=examples(8), stateful_step_count=30)
