"""The arguments of searches and listings, as the services take them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, Unpack, get_args

from memotherm.errors import InvalidInput
from memotherm.facade.services import Services
from memotherm.model import Retention, Scope, Tier, Trust
from memotherm.model.clock import as_moment, to_micros
from memotherm.model.memory import MemoryFilters, OrderName, TierName, placed_in, placement
from memotherm.recall.mentioned import mentioned
from memotherm.recall.values import Question
from memotherm.remember.draft import checked_key, checked_tags
from memotherm.storage.store import Store
from memotherm.storage.values import EventFilter, Filter, Find, Identity
from memotherm.text.content import require_text
from memotherm.tiers.rules.select import parsed_where

#: Stands for active, archived and deleted in a listing.
ANY_RETENTION = "any"
#: The most entries of a page.
LARGEST_PAGE = 1000
_LONGEST_QUERY = 100_000
_LONGEST_KIND = 100
#: The longest text that a listing looks for in contents.
_LONGEST_PART = 1000
#: The most memories that a listing leaves out.
_MOST_SKIPPED = 1_000_000_000
_LONGEST_CURSOR = 18


class Queries(ABC):
    """What a view makes of the arguments of a search or a listing."""

    __slots__ = ()

    scope: Scope

    @property
    @abstractmethod
    def services(self) -> Services:
        """The services."""

    @abstractmethod
    def now(self) -> datetime:
        """Return the time by the memory's clock."""

    @abstractmethod
    def listed(self, *, include_narrower: bool) -> tuple[Store, Sequence[int]]:
        """Return the store and the spaces of a listing."""

    def question(
        self,
        query: str,
        tiers: Sequence[Tier | TierName] | TierName,
        *,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        where: Mapping[str, Any] | None = None,
        prefix: str | None = None,
        sources: Sequence[str] | None = None,
        mentions: Sequence[str] | None = None,
        hidden: bool = False,
        true_at: datetime | str | None = None,
        min_score: float | None = None,
        place: tuple[tuple[int, ...], Identity | None] | None = None,
        now: datetime | None = None,
        listing: bool = False,
        irrelevant: bool = False,
    ) -> Question:
        """Return a query as the search takes it, or say what is wrong with it; one for a listing has no text.

        With `irrelevant`, the candidates without any relevance are hits as well.
        """
        searched = tuple(dict.fromkeys(map(Tier.of, _listed(tiers, "tiers"))))
        floor = 0.0 if min_score is None else min_score
        if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1:
            raise InvalidInput(f"min_score must be between 0 and 1, not {min_score!r}")
        accepted = None if kinds is None else _texts(kinds, "kinds", "a kind", _LONGEST_KIND)
        origins = None if sources is None else _texts(sources, "sources", "a source")
        spaces, serving = self.services.store.visible(self.scope) if place is None else place
        conditions = self._conditions(tags, since, until, where, prefix, true_at)
        tier = conditions.pop("tier")
        searched = searched if tier is None else (tier,)
        nos = self._mentioned(self.services.store, spaces, mentions, hidden=hidden)
        return Question(
            text="" if listing else require_text(query, "the query", _LONGEST_QUERY),
            spaces=spaces,
            serving=serving,
            tiers=searched,
            where=Filter(now=now or self.now(), kinds=accepted, sources=origins, nos=nos, **conditions),
            min_score=-1.0 if irrelevant else floor,
            # A search that mixes the archive with live memories lets the live ones go first.
            penalise=Tier.COLD in searched and len(searched) > 1,
        )

    def listing(
        self,
        *,
        order: OrderName = "newest",
        skip: int = 0,
        cursor: str | None = None,
        include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> Find:
        """Return the filters and the order of a listing as the store takes them, or say what is wrong with them."""
        unknown = filters.keys() - MemoryFilters.__annotations__.keys()
        if unknown:
            raise InvalidInput(f"unknown filter {min(unknown)!r}: use {', '.join(MemoryFilters.__annotations__)}")
        if order not in get_args(OrderName):
            raise InvalidInput(f"unknown order {order!r}: use {', '.join(get_args(OrderName))}")
        if isinstance(skip, bool) or not isinstance(skip, int) or not 0 <= skip <= _MOST_SKIPPED:
            raise InvalidInput(f"skip must be a whole number from 0 to {_MOST_SKIPPED}, not {skip!r}")
        if cursor is not None and (skip or order != "newest"):
            raise InvalidInput("a cursor continues the newest memories: leave out order and skip, or the cursor")
        tier, priority = placement(filters.get("tier"), filters.get("priority"))
        kind = filters.get("kind")
        retention, contains = filters.get("retention", Retention.ACTIVE), filters.get("contains")
        ids, trust = filters.get("ids"), filters.get("trust")
        names = ("tags", "since", "until", "where", "prefix", "true_at")
        conditions = self._conditions(*(filters.get(name) for name in names))  # type: ignore[arg-type]
        return Find(
            now=self.now(),
            order=order,
            skip=skip,
            before=None if cursor is None else cursor_number(cursor, "before"),
            retention=None if retention == ANY_RETENTION else Retention.of(retention),
            kinds=None if kind is None else (require_text(kind, "a kind", _LONGEST_KIND),),
            trust=None if trust is None else Trust.of(trust),
            contains=None if contains is None else require_text(contains, "contains", _LONGEST_PART),
            ids=None if ids is None else _texts(ids, "ids", "an id"),
            nos=self._mentioned(
                *self.listed(include_narrower=include_narrower),
                filters.get("mentions"),
                hidden=retention != Retention.ACTIVE,
            ),
            **conditions
            | {name: value for name, value in (("tier", tier), ("priority", priority)) if value is not None},
        )

    def event_filter(
        self, action: str, actor: str, rule: str, since: datetime | str | None, until: datetime | str | None
    ) -> EventFilter:
        """Return which events a listing of the ledger wants, as the store takes it."""
        texts = {"action": action, "actor": actor, "rule": rule}
        moments = {"since": since, "until": until}
        given: dict[str, Any] = {name: require_text(text, name, _LONGEST_PART) for name, text in texts.items() if text}
        given |= {name: to_micros(as_moment(at, name, self.now())) for name, at in moments.items() if at is not None}
        return EventFilter(**given)

    def _mentioned(self, store: Store, spaces: Sequence[int], names: object, *, hidden: bool) -> tuple[int, ...] | None:
        """Return the numbers of the memories that mention one of some names; None if no name is given."""
        if names is None:
            return None
        return mentioned(store, spaces, _texts(names, "mentions", "a name"), self.now(), hidden=hidden)

    def _conditions(
        self,
        tags: Sequence[str] | None,
        since: datetime | str | None,
        until: datetime | str | None,
        where: Mapping[str, Any] | None,
        prefix: str | None,
        true_at: datetime | str | None,
    ) -> dict[str, Any]:
        """Return the conditions that searches and listings have in common."""
        now = self.now()
        tier, priority = placed_in(where)
        if where is not None and (tier or priority):
            where = {name: value for name, value in where.items() if name != "tier"}
        return {
            "tier": tier,
            "priority": priority,
            "tags": None if tags is None else checked_tags(tags),
            "since": None if since is None else as_moment(since, "since", now),
            "until": None if until is None else as_moment(until, "until", now),
            "true_at": None if true_at is None else as_moment(true_at, "true_at", now),
            "where": None if where is None else parsed_where(where),
            "prefix": checked_key(prefix) if prefix else None,
        }


def wanted_retentions(retention: Retention | str) -> tuple[Retention, ...]:
    """Return the retentions of a search: one of them, or all but purged for any."""
    if retention == ANY_RETENTION:
        return (Retention.ACTIVE, Retention.ARCHIVED, Retention.DELETED, Retention.PROPOSED)
    wanted = Retention.of(retention)
    if wanted is Retention.PURGED:
        raise InvalidInput("a purged memory has no content to search: use active, archived, deleted, proposed or any")
    return (wanted,)


def require_limit(limit: int, most: int, name: str = "limit") -> None:
    """Refuse a limit that is no whole number, negative, or more than can be served."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= most:
        raise InvalidInput(f"{name} must be a whole number from 0 to {most}, not {limit!r}")


def require_where(where: object) -> None:
    """Refuse a filter of metadata that is wrong, without a store."""
    parsed_where(where)


def cursor_number(cursor: str, word: str) -> int:
    """Return the number in a cursor such as `before-17`."""
    number = str(cursor).removeprefix(f"{word}-")
    if not number.isascii() or not number.isdigit() or len(number) > _LONGEST_CURSOR:
        raise InvalidInput(f"{cursor!r} is not a cursor: pass the one that the last page came with")
    return int(number)


def _listed(values: object, name: str) -> Sequence[object]:
    """Return several values where one, or several, were given."""
    if isinstance(values, str):
        return [values]
    if not isinstance(values, Sequence | AbstractSet):
        raise InvalidInput(f"{name} must be a list of words, not {values!r}")
    return list(values)


def _texts(values: object, name: str, each: str, longest: int = _LONGEST_PART) -> tuple[str, ...]:
    """Return the texts of an argument that takes one or several."""
    return tuple(require_text(value, each, longest) for value in _listed(values, name))
