"""What the verbs should do, in plain Python: no database, no index, no vectors."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from memotherm import Priority, Retention, Scope, Tier
from memotherm.errors import InvalidInput, LimitReached, MemothermError, NotFound, StaleWrite

LIMITED = {Priority.PINNED: 2, Priority.CRITICAL: 2}
GRACE = timedelta(days=7)

#: Field -> (before, after), as an event tells it.
Changes = dict[str, tuple[Any, Any]]


class Refused(Exception):
    """The verb must fail with an error of this class and change nothing."""

    def __init__(self, error: type[MemothermError]) -> None:
        self.error = error


@dataclass
class Item:
    """A memory as the model knows it."""

    no: int
    scope: Scope
    content: str
    kind: str
    tags: tuple[str, ...]
    tier: Tier
    tier_rule: str
    priority: Priority
    expires_at: datetime | None
    retention: Retention = Retention.ACTIVE
    retention_since: datetime | None = None
    uses: int = 0
    id: str = ""
    events: list[Changes] = field(default_factory=list)

    def visible(self, now: datetime) -> bool:
        lasting = self.expires_at is None or self.expires_at > now or self.priority is Priority.PINNED
        return self.retention is Retention.ACTIVE and lasting


@dataclass(frozen=True)
class Wish:
    """The arguments of one `remember`."""

    content: str
    kind: str = "fact"
    tags: tuple[str, ...] = ()
    tier: Tier | None = None
    priority: Priority = Priority.NORMAL
    ttl_hours: int | None = None

    def arguments(self) -> dict[str, Any]:
        ttl = None if self.ttl_hours is None else f"{self.ttl_hours}h"
        return {
            "content": self.content, "kind": self.kind, "tags": self.tags, "tier": self.tier,
            "priority": self.priority, "ttl": ttl,
        }  # fmt: skip


class Model:
    """The memories of a store and the rules of its verbs."""

    def __init__(self, *, reject: bool) -> None:
        self.items: list[Item] = []
        self.reject = reject

    # Reading

    def seen(self, scope: Scope) -> list[Item]:
        return [item for item in self.items if scope.sees(item.scope)]

    def visible(self, scope: Scope, now: datetime) -> list[Item]:
        return [item for item in self.seen(scope) if item.visible(now)]

    def one(self, scope: Scope, item: Item) -> Item:
        if not scope.sees(item.scope) or item.retention is Retention.PURGED:
            raise Refused(NotFound)
        return item

    def own(self, scope: Scope, item: Item) -> Item:
        """Return an item that may be changed from a scope: a tenant changes only its own."""
        if scope.tenant is not None and self.one(scope, item).scope.tenant != scope.tenant:
            raise Refused(InvalidInput)
        return self.one(scope, item)

    # Verbs

    def remember(self, scope: Scope, wishes: list[Wish], now: datetime) -> list[Item]:
        """Store all wishes, or raise and leave the model as it was."""
        before = copy.deepcopy(self.items)
        try:
            return [self._remember(scope, wish, now) for wish in wishes]
        except Refused:
            # The objects stay the same, because tests hold on to them.
            self.items = [self._reset(item, was) for item, was in zip(self.items, before, strict=False)]
            raise

    @staticmethod
    def _reset(item: Item, was: Item) -> Item:
        item.__dict__.update(was.__dict__)
        return item

    def _remember(self, scope: Scope, wish: Wish, now: datetime) -> Item:
        tier, rule = _first_tier(wish)
        expires_at = None if wish.ttl_hours is None else now + timedelta(hours=wish.ttl_hours)
        known = self._duplicate(scope, wish, now)
        if known is not None:
            known.uses += 1
            # A time to live decides where a memory starts, not where one goes; the longer life wins.
            ends = None if known.expires_at is None or expires_at is None else max(known.expires_at, expires_at)
            self._change(
                known,
                now,
                tags=tuple(dict.fromkeys((*known.tags, *wish.tags))),
                priority=known.priority if wish.priority is Priority.NORMAL else wish.priority,
                tier=tier if rule == "explicit" else known.tier,
                tier_rule=rule if rule == "explicit" else known.tier_rule,
                expires_at=ends,
            )
            return known
        item = Item(
            no=len(self.items), scope=scope, content=wish.content, kind=wish.kind, tags=wish.tags, tier=tier,
            tier_rule=rule, priority=wish.priority, expires_at=expires_at, retention_since=now,
        )  # fmt: skip
        self._make_room(item, now)
        item.events.append(
            {"tier": (None, str(tier)), "priority": (None, str(wish.priority)), "retention": (None, "active")}
        )
        self.items.append(item)
        return item

    def _duplicate(self, scope: Scope, wish: Wish, now: datetime) -> Item | None:
        same = (
            item
            for item in self.items
            if item.scope == scope and item.kind == wish.kind and item.content.strip() == wish.content.strip()
        )
        return next((item for item in same if item.visible(now)), None)

    def change(self, scope: Scope, item: Item, now: datetime, **fields: Any) -> None:
        """Change an active memory."""
        if self.own(scope, item).retention is not Retention.ACTIVE:
            raise Refused(InvalidInput)
        self._require_unique(item, fields.get("content", item.content), now, was=item.content)
        self._change(item, now, **fields)

    def _require_unique(self, item: Item, content: str, now: datetime, was: str | None) -> None:
        """Refuse a content that another visible memory of the scope has, if it is new to the item."""
        if was is not None and was.strip() == content.strip():
            return
        for other in self.items:
            same = (other.scope, other.kind, other.content.strip()) == (item.scope, item.kind, content.strip())
            if other is not item and same and other.visible(now):
                raise Refused(InvalidInput)

    def unpin(self, scope: Scope, item: Item, now: datetime) -> None:
        pinned = item.priority is Priority.PINNED
        self.change(scope, item, now, priority=Priority.NORMAL if pinned else item.priority)

    def retain(self, scope: Scope, item: Item, wanted: Retention, now: datetime) -> None:
        """Archive, forget or restore."""
        self._require_way(self.own(scope, item), wanted, now)
        over = item.expires_at is not None and item.expires_at <= now
        ends = None if wanted is Retention.ACTIVE and over else item.expires_at
        if wanted is Retention.ACTIVE and item.retention is not Retention.ACTIVE:
            self._require_unique(item, item.content, now, was=None)
        self._change(item, now, retention=wanted, expires_at=ends)

    def purge(self, scope: Scope, item: Item, now: datetime) -> None:
        self.own(scope, item)
        self._change(item, now, retention=Retention.PURGED, content="", tags=())
        quoted = {"content", "tags", "metadata", "source"}
        item.events = [{name: pair for name, pair in each.items() if name not in quoted} for each in item.events]

    def undo(self, scope: Scope, item: Item, position: int, now: datetime) -> None:
        """Take back the event at a position of the item's history."""
        if not scope.sees(item.scope):
            raise Refused(NotFound)
        if item.retention is Retention.PURGED:
            raise Refused(InvalidInput)
        self.own(scope, item)
        changes = item.events[position]
        if position and any(_said(getattr(item, name)) != after for name, (_, after) in changes.items()):
            raise Refused(StaleWrite)
        fields: dict[str, Any] = {"retention": Retention.DELETED}
        if position:
            fields = {name: _meant(name, before) for name, (before, _) in changes.items()}
        wanted = fields.get("retention", item.retention)
        if wanted is not item.retention:
            self._require_way(item, wanted, now)
        elif item.retention is not Retention.ACTIVE:
            raise Refused(InvalidInput)
        self._change(item, now, **fields)

    # Rules

    @staticmethod
    def _require_way(item: Item, wanted: Retention, now: datetime) -> None:
        if item.retention is Retention.DELETED and wanted is Retention.ARCHIVED:
            raise Refused(InvalidInput)
        late = item.retention_since is not None and now - item.retention_since >= GRACE
        if item.retention is Retention.DELETED and wanted is Retention.ACTIVE and late:
            raise Refused(InvalidInput)

    def _change(self, item: Item, now: datetime, **fields: Any) -> None:
        after = copy.copy(item)
        after.__dict__.update(fields)
        self._make_room(after, now, before=item)
        changes = {
            name: (_said(getattr(item, name)), _said(value))
            for name, value in fields.items()
            if getattr(item, name) != value
        }
        if "retention" in changes:
            item.retention_since = now
        item.__dict__.update(fields)
        if changes:
            item.events.append(changes)

    def _make_room(self, after: Item, now: datetime, before: Item | None = None) -> None:
        limit = LIMITED.get(after.priority)
        held = before is not None and before.visible(now) and before.priority is after.priority
        if limit is None or held or not after.visible(now):
            return
        holders = [each for each in self.visible(after.scope, now) if each.priority is after.priority]
        own = [each for each in holders if each.scope == after.scope]
        excess = max(len(holders) - limit + 1, 0)
        if excess > (0 if self.reject else len(own)):
            raise Refused(LimitReached)
        for oldest in own[:excess]:
            self._change(oldest, now, priority=Priority.NORMAL)


def _first_tier(wish: Wish) -> tuple[Tier, str]:
    if wish.tier is not None:
        return wish.tier, "explicit"
    if wish.ttl_hours is None:
        return Tier.WARM, "default"
    return (Tier.WARM if wish.ttl_hours >= 24 else Tier.COLD), "ttl"


def _said(value: Any) -> Any:
    """Return a value as an event has it."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Tier | Priority | Retention) else value


def _meant(name: str, said: Any) -> Any:
    """Return what an event's value stands for."""
    if name == "expires_at":
        return None if said is None else datetime.fromisoformat(said)
    if name == "tags":
        return tuple(said)
    axis = {"tier": Tier, "priority": Priority, "retention": Retention}.get(name)
    return axis(said) if axis else said
