"""A store as one scope sees it, and the arguments of its searches and listings as the services take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Unpack, get_args

from memotherm.errors import InvalidInput
from memotherm.facade.services import Services
from memotherm.model import Priority, Retention, Scope, Tier, Trust
from memotherm.model.clock import as_moment, read_clock, to_micros
from memotherm.model.memory import HISTORY, MemoryFilters, OrderName, TierName, placed_in, placement
from memotherm.recall.selecting import mentioned
from memotherm.recall.values import Question
from memotherm.remember.draft import checked_key, checked_tags
from memotherm.storage.store import Store
from memotherm.storage.values import ACTIVE_ONLY, EVERY_RETENTION, EVERY_TIER, EventFilter, Identity, Search
from memotherm.text.content import LONGEST_PART, cursor_number, listed, require_limit, require_text, require_texts
from memotherm.tiers.rules.where import parsed_where

#: Stands for active, archived and deleted in a listing.
ANY_RETENTION = "any"
_LONGEST_QUERY = 100_000
_LONGEST_KIND = 100
#: The most memories that a listing leaves out.
_MOST_SKIPPED = 1_000_000_000


class Queries:
    """A store as one scope sees it, and the arguments of its searches and listings."""

    __slots__ = ("_services", "scope")

    def __init__(self, services: Services, scope: Scope) -> None:
        self._services = services
        self.scope = scope

    @property
    def services(self) -> Services:
        """The services, with the rules and limits of the policy that is in force as far as was seen."""
        services = self._services
        if services.adoption == services.store.adopted:
            return services
        services.active_policy.rules()
        return self._last_services()

    def _last_services(self) -> Services:
        """Return the services with the policy that was read last, without reading: an event loop may call it."""
        services = self._services
        if services.adoption != services.active_policy.last.adoption:
            services = self._services = services.on(services.store)
        return services

    def now(self) -> datetime:
        """Return the time by the memory's clock."""
        return read_clock(self._services.clock)

    def spaces(self) -> tuple[int, ...]:
        """Return the spaces whose memories the scope can see."""
        return self.services.store.spaces(self.scope)

    @property
    def store_inside(self) -> Store:
        """The store for what lies inside the scope: without a tenant, that is every tenant's."""
        return self.services.all_tenants if self.scope.tenant is None else self.services.store

    def spaces_inside(self) -> tuple[int, ...]:
        """Return the spaces of the scope and of narrower ones, in `store_inside`."""
        return self.store_inside.spaces_within(self.scope)

    def place(self, *, include_narrower: bool = False) -> tuple[Store, tuple[int, ...]]:
        """Return the store and the spaces of it that are read: what the scope sees, or the scope and narrower ones."""
        return (self.store_inside, self.spaces_inside()) if include_narrower else (self.services.store, self.spaces())

    def question(
        self,
        query: str,
        tiers: Sequence[Tier | TierName] | TierName,
        *,
        kinds: Sequence[str] | None = None,
        sources: Sequence[str] | None = None,
        min_score: float | None = None,
        place: tuple[tuple[int, ...], Identity | None] | None = None,
        listing: bool = False,
        irrelevant: bool = False,
        past: bool = False,
        **filters: Any,  # noqa: ANN401 - arguments of `_search`
    ) -> Question:
        """Return a query as the search takes it, or say what is wrong with it; one for a listing has no text.

        With `past`, it is also about what was said in past sessions.
        """
        searched = tuple(dict.fromkeys(map(Tier.of, listed(tiers, "tiers"))))
        floor = 0.0 if min_score is None else min_score
        if isinstance(floor, bool) or not isinstance(floor, int | float) or not 0 <= floor <= 1:
            raise InvalidInput(f"min_score must be between 0 and 1, not {min_score!r}")
        accepted = None if kinds is None else require_texts(kinds, "kinds", "a kind", _LONGEST_KIND)
        origins = None if sources is None else require_texts(sources, "sources", "a source")
        store = self.services.store
        spaces, serving = store.visible(self.scope) if place is None else place
        search = self._search(store, spaces, searched, **filters, kinds=accepted, sources=origins)
        past_spaces = self.past_spaces(spaces) if past else None
        if past_spaces is not None and (Tier.COLD in searched or search.since or search.until):
            # Whoever asks for the archive, or for a time, asks for past sessions, too.
            search, past_spaces = replace(search, spaces=(*spaces, *past_spaces())), None
        return Question(
            text="" if listing else require_text(query, "the query", _LONGEST_QUERY),
            search=search,
            serving=serving,
            past_spaces=past_spaces,
            min_score=floor,
            irrelevant=irrelevant,
            # A search that mixes the archive with live memories lets the live ones go first.
            penalise=Tier.COLD in search.tiers and len(search.tiers) > 1,
        )

    def past_spaces(self, spaces: Sequence[int]) -> Callable[[], tuple[int, ...]] | None:
        """Return what finds the spaces of past sessions beside those that the scope sees; None for an agent's scope."""
        if self.scope.agent is not None:
            return None
        store, scope = self.services.store, replace(self.scope, agent=HISTORY)
        return lambda: tuple(space for space in store.spaces(scope) if space not in spaces)

    def listing(
        self,
        *,
        order: OrderName = "newest",
        skip: int = 0,
        cursor: str | None = None,
        include_narrower: bool = False,
        **filters: Unpack[MemoryFilters],
    ) -> tuple[Store, Search]:
        """Return what a listing reads, and of which store, or say what is wrong with its arguments."""
        unknown = filters.keys() - MemoryFilters.__annotations__.keys()
        if unknown:
            raise InvalidInput(f"unknown filter {min(unknown)!r}: use {', '.join(MemoryFilters.__annotations__)}")
        if order not in get_args(OrderName):
            raise InvalidInput(f"unknown order {order!r}: use {', '.join(get_args(OrderName))}")
        require_limit(skip, _MOST_SKIPPED, "skip")
        if cursor is not None and (skip or order != "newest"):
            raise InvalidInput("a cursor continues the newest memories: leave out order and skip, or the cursor")
        given: dict[str, Any] = {**filters}
        tier, priority = placement(given.pop("tier", None), given.pop("priority", None))
        kind, contains = given.pop("kind", None), given.pop("contains", None)
        ids, trust = given.pop("ids", None), given.pop("trust", None)
        retention = given.pop("retention", Retention.ACTIVE)
        store, spaces = self.place(include_narrower=include_narrower)
        return store, self._search(
            store,
            spaces,
            tier=tier,
            priority=priority,
            retentions=EVERY_RETENTION if retention == ANY_RETENTION else (Retention.of(retention),),
            kinds=None if kind is None else (require_text(kind, "a kind", _LONGEST_KIND),),
            trust=None if trust is None else Trust.of(trust),
            contains=None if contains is None else require_text(contains, "contains", LONGEST_PART),
            ids=None if ids is None else require_texts(ids, "ids", "an id"),
            before=None if cursor is None else cursor_number(cursor, "before"),
            order=order,
            skip=skip,
            **given,
        )

    def _search(
        self,
        store: Store,
        spaces: tuple[int, ...],
        tiers: tuple[Tier, ...] = EVERY_TIER,
        *,
        tier: Tier | None = None,
        priority: Priority | None = None,
        retentions: tuple[Retention, ...] = ACTIVE_ONLY,
        now: datetime | None = None,
        tags: Sequence[str] | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        where: Mapping[str, Any] | None = None,
        prefix: str | None = None,
        true_at: datetime | str | None = None,
        mentions: Sequence[str] | None = None,
        **checked: Any,  # noqa: ANN401 - fields of `Search`
    ) -> Search:
        """Return what is read, or say what is wrong with the conditions that searches and listings have in common."""
        today = self.now()
        # A filter of the metadata may name the tier or the priority.
        named_tier, named_priority = placed_in(where)
        if where is not None and (named_tier or named_priority):
            where = {name: value for name, value in where.items() if name != "tier"}
        tier = tier or named_tier
        return Search(
            spaces=spaces,
            now=now or today,
            tiers=tiers if tier is None else (tier,),
            retentions=retentions,
            priority=priority or named_priority,
            tags=None if tags is None else checked_tags(tags),
            since=None if since is None else as_moment(since, "since", today),
            until=None if until is None else as_moment(until, "until", today),
            true_at=None if true_at is None else as_moment(true_at, "true_at", today),
            where=None if where is None else parsed_where(where),
            prefix=checked_key(prefix) if prefix else None,
            nos=None if mentions is None else mentioned_in(store, spaces, mentions, today, retentions),
            **checked,
        )

    def event_filter(
        self, action: str, actor: str, rule: str, since: datetime | str | None, until: datetime | str | None
    ) -> EventFilter:
        """Return which events a listing of the ledger wants, as the store takes it."""
        texts = {"action": action, "actor": actor, "rule": rule}
        moments = {"since": since, "until": until}
        given: dict[str, Any] = {name: require_text(text, name, LONGEST_PART) for name, text in texts.items() if text}
        given |= {name: to_micros(as_moment(at, name, self.now())) for name, at in moments.items() if at is not None}
        return EventFilter(**given)


def mentioned_in(
    store: Store,
    spaces: tuple[int, ...],
    names: object,
    now: datetime,
    retentions: tuple[Retention, ...] = ACTIVE_ONLY,
) -> tuple[int, ...]:
    """Return the numbers of the memories that mention one of some names."""
    search = Search(spaces=spaces, now=now, retentions=retentions)
    return mentioned(store, search, require_texts(names, "mentions", "a name"))


def wanted_retentions(retention: Retention | str) -> tuple[Retention, ...]:
    """Return the retentions of a search: one of them, or all but purged for any."""
    if retention == ANY_RETENTION:
        return EVERY_RETENTION
    wanted = Retention.of(retention)
    if wanted is Retention.PURGED:
        raise InvalidInput("a purged memory has no content to search: use active, archived, deleted, proposed or any")
    return (wanted,)
