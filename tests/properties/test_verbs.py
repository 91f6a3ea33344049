"""Any sequence of verbs leaves what a plain-Python model of the axes says."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

import memotherm
from memotherm import Memory, Memotherm, Priority, Retention, Scope, Settings, Tier
from memotherm.errors import MemothermError, NotFound
from memotherm.testing import FakeClock, HashEmbedder
from memotherm.text.tokens import count_tokens
from memotherm.text.words import query_words, words
from tests.helpers import examples
from tests.stores import a_store, limits

from .model import LIMITED, Item, Model, Refused, Wish

_POOL = 200
HOUR = timedelta(hours=1)
_SCOPES = (
    Scope(),
    Scope(project="apollo"),
    Scope(project="apollo", user="ann"),
    Scope(project="apollo", user="bob", session="s1"),
    Scope(tenant="rival"),
)
_CONTENTS = (
    "production deploys are frozen until friday",
    "the user prefers metric units",
    "  the user prefers metric units  ",
    "otters swim in the river",
    "Grüße aus 東京",
    "x",
)

scopes = st.sampled_from(_SCOPES)
contents = st.sampled_from(_CONTENTS)
tiers = st.sampled_from(Tier)
priorities = st.sampled_from(Priority)
tags = st.lists(st.sampled_from(["red", "blue", "green"]), max_size=2, unique=True).map(tuple)
hours = st.sampled_from([1, 30, 200])
wishes = st.builds(
    Wish,
    content=contents,
    kind=st.sampled_from(["fact", "task"]),
    tags=tags,
    tier=st.none() | tiers,
    priority=st.just(Priority.NORMAL) | priorities,
    ttl_hours=st.none() | hours,
)


class Verbs(RuleBasedStateMachine):
    """A memory in a file and the model of it, moved side by side."""

    items = Bundle("items")

    @initialize(reject=st.booleans(), exact_limit=st.sampled_from([0, 3, 20_000]))
    def open(self, reject: bool, exact_limit: int) -> None:
        self.folder = TemporaryDirectory()
        self.store = ExitStack()
        self.place = self.store.enter_context(a_store())
        if self.place == ":memory:":
            self.place = Path(self.folder.name) / "memory.db"
        self.clock = FakeClock()
        self.model = Model(reject=reject)
        self.settings = Settings(
            max_pinned=LIMITED[Priority.PINNED],
            max_critical=LIMITED[Priority.CRITICAL],
            on_tier_limit="reject" if reject else "demote_oldest",
            pool_size=_POOL,
            synchronous="normal",
        )
        self.exact_limit = exact_limit
        self.mem = self.opened()

    def opened(self) -> Memotherm:
        with limits(exact=self.exact_limit):
            return memotherm.open(self.place, embedder=HashEmbedder(), clock=self.clock, settings=self.settings)

    def view(self, scope: Scope) -> Memotherm:
        return self.mem.scoped(**dict(scope.items()))

    def both(self, real: Callable[[], Any], modelled: Callable[[], Any]) -> tuple[Any, Any]:
        """Do the same to the memory and to the model; both must refuse, or neither."""
        try:
            expected = modelled()
        except Refused as refusal:
            error = refusal.error
        else:
            return real(), expected
        with pytest.raises(MemothermError) as raised:
            real()
        assert type(raised.value) is error
        return None, None

    def same(self, memory: Memory | None, item: Item) -> None:
        """Compare a memory with what the model knows of it."""
        if memory is None:
            return
        said = (
            memory.id, memory.content, memory.kind, memory.tags, memory.tier, memory.tier_rule, memory.priority,
            memory.retention, memory.expires_at, memory.access_count, memory.scope, memory.tokens,
        )  # fmt: skip
        assert said == (
            item.id, item.content, item.kind, item.tags, item.tier, item.tier_rule, item.priority,
            item.retention, item.expires_at, item.uses, item.scope, count_tokens(item.content),
        )  # fmt: skip

    # Verbs

    @rule(target=items, scope=scopes, wish=wishes)
    def remember(self, scope: Scope, wish: Wish) -> Any:
        return self.remember_many(scope, [wish], one=True)

    @rule(target=items, scope=scopes, some=st.lists(wishes, min_size=1, max_size=4))
    def remember_some(self, scope: Scope, some: list[Wish]) -> Any:
        return self.remember_many(scope, some)

    def remember_many(self, scope: Scope, some: list[Wish], *, one: bool = False) -> Any:
        view, known = self.view(scope), len(self.model.items)
        made, expected = self.both(
            lambda: (
                [view.remember(**some[0].arguments())]
                if one
                else view.remember_many([wish.arguments() for wish in some])
            ),
            lambda: self.model.remember(scope, some, self.clock()),
        )
        if made is None:
            return multiple()
        for memory, item in zip(made, expected, strict=True):
            item.id = item.id or memory.id
            assert memory.id == item.id
        self.same(made[-1], expected[-1])
        return multiple(*self.model.items[known:])

    @rule(scope=scopes, item=items, content=st.none() | contents, labels=st.none() | tags, ttl=st.none() | hours)
    def update(
        self, scope: Scope, item: Item, content: str | None, labels: tuple[str, ...] | None, ttl: int | None
    ) -> None:
        fields: dict[str, Any] = {"content": content, "tags": labels}
        fields = {name: value for name, value in fields.items() if value is not None}
        ends = {} if ttl is None else {"expires_at": self.clock() + HOUR * ttl}
        memory, _ = self.both(
            lambda: self.view(scope).update(item.id, **fields, ttl=None if ttl is None else ttl * HOUR),
            lambda: self.model.change(scope, item, self.clock(), **fields, **ends),
        )
        self.same(memory, item)

    @rule(scope=scopes, item=items, tier=tiers)
    def move(self, scope: Scope, item: Item, tier: Tier) -> None:
        memory, _ = self.both(
            lambda: self.view(scope).move(item.id, tier, why="a test"),
            lambda: self.model.change(scope, item, self.clock(), tier=tier, tier_rule="explicit"),
        )
        self.same(memory, item)

    @rule(scope=scopes, item=items, priority=priorities)
    def prioritize(self, scope: Scope, item: Item, priority: Priority) -> None:
        memory, _ = self.both(
            lambda: self.view(scope).prioritize(item.id, priority),
            lambda: self.model.change(scope, item, self.clock(), priority=priority),
        )
        self.same(memory, item)

    @rule(scope=scopes, item=items)
    def pin(self, scope: Scope, item: Item) -> None:
        memory, _ = self.both(
            lambda: self.view(scope).pin(item.id),
            lambda: self.model.change(scope, item, self.clock(), priority=Priority.PINNED),
        )
        self.same(memory, item)

    @rule(scope=scopes, item=items)
    def unpin(self, scope: Scope, item: Item) -> None:
        memory, _ = self.both(
            lambda: self.view(scope).unpin(item.id), lambda: self.model.unpin(scope, item, self.clock())
        )
        self.same(memory, item)

    @rule(scope=scopes, item=items, verb=st.sampled_from(["archive", "forget", "restore"]))
    def retain(self, scope: Scope, item: Item, verb: str) -> None:
        wanted = {"archive": Retention.ARCHIVED, "forget": Retention.DELETED, "restore": Retention.ACTIVE}[verb]
        memory, _ = self.both(
            lambda: getattr(self.view(scope), verb)(item.id),
            lambda: self.model.retain(scope, item, wanted, self.clock()),
        )
        self.same(memory, item)

    @rule(scope=scopes, item=items)
    def purge(self, scope: Scope, item: Item) -> None:
        self.both(lambda: self.view(scope).purge(item.id), lambda: self.model.purge(scope, item, self.clock()))

    @rule(scope=scopes, item=items, pick=st.integers(0, 1000))
    def undo(self, scope: Scope, item: Item, pick: int) -> None:
        history = self.view(item.scope).history(item.id)
        position = pick % len(history)
        memory, _ = self.both(
            lambda: self.view(scope).undo(history[position].seq),
            lambda: self.model.undo(scope, item, position, self.clock()),
        )
        self.same(memory, item)

    @rule(hours=st.integers(1, 100))
    def time_passes(self, hours: int) -> None:
        self.clock.advance(hours=hours)

    @rule()
    def reopen(self) -> None:
        self.mem.close()
        self.mem = self.opened()

    # What can be seen

    @rule(scope=scopes, query=contents, where=st.lists(tiers, min_size=1, unique=True), track=st.booleans())
    def recall(self, scope: Scope, query: str, where: list[Tier], track: bool) -> None:
        """With room for everything, a recall returns what may be seen and is relevant, and all with a word of it."""
        found = self.view(scope).recall(query, limit=_POOL, tiers=where, track=track)
        visible = self.model.visible(scope, self.clock())
        every = [item for item in visible if item.priority is Priority.PINNED]
        pinned = every[-LIMITED[Priority.PINNED] :]
        others = [item for item in visible if item.priority is not Priority.PINNED and item.tier in where]

        assert {hit.memory.id for hit in found.pinned} == {item.id for item in pinned}
        hits = {hit.memory.id for hit in found}
        worded = {item.id for item in others if not {*query_words(query)}.isdisjoint(words(item.content))}
        assert worded <= hits <= {item.id for item in others}
        assert len(found.degraded) == (len(every) > len(pinned))
        for item in [*pinned, *(item for item in others if item.id in hits)] if track else []:
            item.uses += 1

    @rule(scope=scopes, tier=st.none() | tiers, retention=st.sampled_from(Retention), limit=st.integers(1, 5))
    def find(self, scope: Scope, tier: Tier | None, retention: Retention, limit: int) -> None:
        """The pages of a listing, one after the other, are what the model has, newest first."""
        expected = [
            item.id
            for item in reversed(self.model.seen(scope))
            if item.retention is retention
            and (tier is None or item.tier is tier)
            and (retention is not Retention.ACTIVE or item.visible(self.clock()))
        ]
        found, cursor = [], None
        while True:
            page = self.view(scope).find(tier=tier, retention=retention, limit=limit, cursor=cursor)
            found += [memory.id for memory in page]
            cursor = page.cursor
            if cursor is None:
                break

        assert found == expected

    @rule(scope=scopes, item=items)
    def get(self, scope: Scope, item: Item) -> None:
        memory, _ = self.both(lambda: self.view(scope).get(item.id), lambda: self.model.one(scope, item))
        self.same(memory, item)
        item.uses += memory is not None

    @rule(scope=scopes, item=items)
    def history(self, scope: Scope, item: Item) -> None:
        """Every change has exactly one event, and nothing else has one."""
        if not scope.sees(item.scope):
            with pytest.raises(NotFound):
                self.view(scope).history(item.id)
            return
        self.same_history(item)

    def same_history(self, item: Item) -> None:
        events = self.view(item.scope).history(item.id)
        assert [dict(event.changes) for event in events] == item.events
        assert [event.seq for event in events] == sorted({event.seq for event in events})

    @rule(scope=scopes)
    def status(self, scope: Scope) -> None:
        """What is past its time counts as deleted, whether or not it was taken out yet."""
        status, seen = self.view(scope).status(), self.model.seen(scope)
        active = self.model.visible(scope, self.clock())
        over = sum(item.retention is Retention.ACTIVE for item in seen) - len(active)
        for tier in Tier:
            there = [item for item in active if item.tier is tier]
            assert status.tiers[tier].memories == len(there)
            assert status.tiers[tier].tokens == sum(count_tokens(item.content) for item in there)
        due = {Retention.ACTIVE: -over, Retention.DELETED: over}
        for retention in Retention:
            stored = sum(item.retention is retention for item in seen)
            assert status.retention[retention] == stored + due.get(retention, 0)
        assert status.pending_vectors == 0

    @invariant()
    def limits_hold(self) -> None:
        if not hasattr(self, "mem"):
            return
        for scope in _SCOPES:
            for priority, limit in LIMITED.items():
                held = [m for m in self.view(scope).find(priority=priority) if m.scope == scope]
                assert len(held) <= limit

    def teardown(self) -> None:
        if not hasattr(self, "mem"):
            return
        try:
            for item in self.model.items:
                self.same_history(item)
                if item.retention is not Retention.PURGED:
                    self.same(self.view(item.scope).get(item.id), item)
            if isinstance(self.place, Path):  # a server leaves out numbers, and tells a tenant only its own
                assert self.mem.status().seq == sum(len(item.events) for item in self.model.items)
            assert self.mem.check() == []
        finally:
            self.mem.close()
            self.store.close()
            self.folder.cleanup()


TestVerbs = pytest.mark.timeout(900)(Verbs.TestCase)  # shrinking a failure takes minutes
TestVerbs.settings = settings(max_examples=examples(30), stateful_step_count=40)


@pytest.mark.postgres
@pytest.mark.timeout(900)
class TestVerbsOnPostgres(Verbs.TestCase):  # type: ignore[misc, valid-type]
    """The same on a server."""

    settings = settings(max_examples=examples(8), stateful_step_count=25)
