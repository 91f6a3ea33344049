"""What a store holds and how it is used: `mem.inspect`, `mem.receipts`, its status and metrics; and its erasure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from itertools import starmap
from operator import attrgetter
from typing import Literal, cast

from memotherm.context.assembler import ROLE
from memotherm.context.receipts import explain, sent_context
from memotherm.context.standing import START_TOKENS
from memotherm.context.values import Context
from memotherm.errors import Forbidden, InvalidInput, NotFound
from memotherm.facade.undoing import BATCHES
from memotherm.facade.view import NUMBER, View
from memotherm.hooks.spool import erase_jobs, user_spool
from memotherm.model import Hit, Memory, Tier, Trust
from memotherm.model.actions import Action
from memotherm.model.clock import as_moment, to_micros
from memotherm.model.memory import FormatName
from memotherm.model.recall import TimedRecall
from memotherm.model.receipts import KeptReceipt, ReceiptAnswer, ReceiptPage, SentContext
from memotherm.model.reports import Activity, Batch, Erased, Everything, Heat, Metrics, Status, TierPoint, Uses
from memotherm.model.results import LARGEST_PAGE, ScopeCount, SessionStatus
from memotherm.notes.placement import local_day
from memotherm.recall.as_of import state_at
from memotherm.remember import export_scope
from memotherm.remember.draft import checked_key, list_keys
from memotherm.settings import Settings
from memotherm.text.content import cursor_number, pluralize, require_limit
from memotherm.text.phrases import sentences
from memotherm.text.redaction import redactor
from memotherm.tiers.rules.properties import decay, heat
from memotherm.tiers.tier_history import metrics as measured
from memotherm.tiers.tier_history import tier_history

#: The most moments of a history.
_MOST_POINTS = 1000
#: The codes of what a larger budget includes.
_AT_A_BUDGET = ("budget", "frame", "beside", "low", "on_pinned_overflow")
#: How much of a memory its neighbours are searched by.
_LIKENESS_CHARS = 2000
#: The most characters of the title of a session.
_TITLE_CHARS = 90


class Inspection:
    """What a store holds and how it is used, as seen from one scope."""

    def __init__(self, view: View) -> None:
        self._view = view

    def keys(
        self, prefix: str = "", depth: int | None = None, limit: int = LARGEST_PAGE, after: str | None = None
    ) -> list[str]:
        """Return the distinct keys of the visible memories in order, or the prefixes that they have in common.

        Args:
            prefix: Only keys that begin with this.
            depth: Cut each key behind that many slashes after the prefix; a cut one ends with a slash.
            limit: The most keys.
            after: Continue behind this one, the last of the call before.
        """
        require_limit(limit, LARGEST_PAGE)
        if depth is not None:
            require_limit(depth, None, "depth", least=1)
        begin = checked_key(prefix) if prefix else ""
        behind = None if after is None else checked_key(after)
        view = self._view
        return list_keys(view.services.store, view.spaces(), view.now(), begin, depth, behind, limit)

    def full_id(self, part: str, include_narrower: bool = False) -> str:
        """Return the id that begins or ends with a text; raise `InvalidInput` if several do.

        Args:
            part: The beginning of an id, such as mem_01j8zq4x, or its last characters, as a terminal shows them.
            include_narrower: Search everything at and below the scope, instead of what is visible from it.
        """
        view = self._view
        if not isinstance(part, str) or not part:
            raise InvalidInput("an id is text such as mem_01j8zq4x: pass its beginning or its end")
        if NUMBER.fullmatch(part):
            return view.record(part).memory.id
        store, spaces = view.services.store, view.spaces()
        if include_narrower:
            store, spaces = view.store_inside, view.spaces_inside()
        ids = store.ids(spaces, part, 3)
        if not ids:
            raise NotFound(f"no memory {part!r} can be seen from here ({view.scope})")
        if len(ids) > 1 and part not in ids:
            several = f"{', '.join(ids[:2])}{', ...' if len(ids) > 2 else ''}"
            raise InvalidInput(f"several ids begin or end with {part!r} ({several}): pass more of the id")
        return ids[0]

    def heat(self, memory: Memory | str) -> Heat:
        """Return how much a memory, or the one with an id, is used: its heat, and its decay since the last use."""
        found = self._view.record(memory).memory if isinstance(memory, str) else memory
        now = self._view.now()
        return Heat(heat=heat(found, now), decay=decay(found, now))

    def uses(self, memory_id: str, limit: int = 20) -> Uses:
        """Return the last recalls that returned a memory, and the last contexts that considered it, inside this scope.

        It also counts the contexts that included it. Being injected is no access, and rules do not read it.
        The setting `log_days` says how long they are kept.
        """
        require_limit(limit, LARGEST_PAGE)
        record, store, spaces = self._view.record(memory_id), self._view.store_inside, self._view.spaces_inside()
        count, last = store.injections_of(spaces, record.memory.id)
        return Uses(
            recalls=tuple(store.recalls_of(spaces, record.no, limit)),
            receipts=tuple(store.receipts_of(spaces, record.memory.id, limit)),
            injected_count=count,
            last_injected_at=last,
        )

    def neighbours(self, memory_id: str, limit: int = 10) -> list[Hit]:
        """Return the memories that are most like one, best first, from all tiers; nothing is counted or logged.

        Archived and deleted memories have neighbours, too, but are none.
        """
        require_limit(limit, self._view.services.settings.pool_size - 1)
        memory = self._view.record(memory_id).memory
        view = self._view.read_only()
        question = view.question(memory.content[:_LIKENESS_CHARS], tuple(Tier))
        found = view.services.recaller.recall(question, view.services.settings.pool_size)
        # A priority or many uses make no memory alike.
        alike = sorted(found, key=lambda hit: -hit.why.relevance)
        return [hit for hit in alike if hit.memory.id != memory.id][:limit]

    def secrets_in(self, content: str) -> tuple[str, ...]:
        """Return what a text seems to contain that should not be stored, in plain words, such as "a GitHub token".

        `capture`, imports and MCP tools replace it; `remember` stores what it is given.
        """
        return redactor(self._view.services.settings).find(content)

    def recalls(self, limit: int = 100, order: Literal["newest", "slowest"] = "newest") -> list[TimedRecall]:
        """Return queries of the recall log inside this scope, with how long each took and what it found.

        The setting `log_days` says how long the log is kept.

        Args:
            limit: The most queries.
            order: Which come first: newest or slowest.
        """
        require_limit(limit, LARGEST_PAGE)
        if order not in ("newest", "slowest"):
            raise InvalidInput(f"order must be newest or slowest, not {order!r}")
        return self._view.store_inside.timed_recalls(self._view.spaces_inside(), limit, slowest=order == "slowest")

    def tier_history(self, since: datetime | str = "30d", points: int = 60) -> list[TierPoint]:
        """Return how many active memories each tier had inside this scope, from a moment until now, by the ledger.

        Args:
            since: The first moment: a datetime, an ISO date or time, or "30d" for thirty days ago.
            points: How many moments, at equal distances; the last one is now.
        """
        require_limit(points, _MOST_POINTS, "points", least=2)
        now, store = self._view.now(), self._view.store_inside
        first, spaces = as_moment(since, "since", now), self._view.spaces_inside()
        if first >= now:
            raise InvalidInput(f"since must be in the past, not {first.isoformat()}")
        step = (now - first) / (points - 1)
        moments = [now - step * back for back in range(points)]
        with store.snapshot():
            counts, changes = store.counts(spaces, now), store.tier_changes(spaces, first, now, step)
        return tier_history(counts.tiers, changes, moments)

    def start(self, budget: int = 2000, format: FormatName = "markdown") -> Context:  # noqa: A002
        """Return the context that a new session of this scope would start with; no session begins, nothing is logged.

        Args:
            budget: The most tokens.
            format: markdown, xml, index or messages.
        """
        request = self._view.context_request(None, budget, format, track=False)
        return self._view.services.assembler.context(replace(request, begins=True))

    def session(self, session_id: str) -> SessionStatus:
        """Return the status of a session that has begun, without beginning or changing it."""
        view = self._view.narrowed(session=session_id)
        space = view.services.working.find(view.scope)
        if space is None:
            raise NotFound(f"no session {session_id!r} has begun in this scope ({self._view.scope})")
        return view.services.working.status(session_id, space, view.now())

    def scopes(self) -> list[ScopeCount]:
        """Return every scope at and below this one that holds memories, with counts and tokens."""
        return self._view.store_inside.scopes(self._view.spaces_inside())

    def timeline(self, since: datetime | str = "30d", until: datetime | str | None = None) -> list[Activity]:
        """Return what was said when inside this scope, from all tiers: newest day first, by project and session.

        Args:
            since: The first moment: a datetime, an ISO date or time, or "30d" for thirty days ago.
            until: Only what was said before this.
        """
        view = self._view
        store, search = view.listing(since=since, until=until, include_narrower=True)
        found = store.each(replace(search, limit=LARGEST_PAGE))
        return _activities((record.memory for record in found), view.services.settings)

    def batches(self) -> list[Batch]:
        """Return what each run of `backfill` has stored inside this scope, newest first; `undo` takes one back."""
        return self._view.store_inside.batches(self._view.spaces_inside(), BATCHES)

    def everything(self) -> Everything:
        """Return all that is stored at and below this scope: memories of any retention, events, receipts, recalls."""
        return export_scope.everything(self._view.store_inside, self._view.scope)


def _activities(memories: Iterable[Memory], settings: Settings) -> list[Activity]:
    """Return what happened, newest day first, and in each day by project and time."""
    groups: defaultdict[tuple[str, str, str], list[Memory]] = defaultdict(list)
    for memory in sorted(memories, key=attrgetter("created_at", "id")):
        session = str(memory.metadata.get("session") or memory.scope.session or "")
        day = local_day(memory.created_at, settings).isoformat()
        groups[day, memory.scope.project or "", session].append(memory)
    listed = sorted(starmap(_activity, groups.items()), key=attrgetter("project", "first"))
    return sorted(listed, key=attrgetter("day"), reverse=True)


def _activity(key: tuple[str, str, str], memories: list[Memory]) -> Activity:
    day, project, session = key
    edited = (memory.metadata.get("files") for memory in memories)
    files = dict.fromkeys(str(name) for names in edited if isinstance(names, list) for name in names)
    return Activity(
        day=day, project=project, session=session, first=memories[0].created_at, last=memories[-1].created_at,
        memories=len(memories), title=next(filter(None, (_title(memory.content) for memory in memories)), ""),
        files=tuple(files),
    )  # fmt: skip


def _title(content: str) -> str:
    text = next((" ".join(sentence.split()) for sentence in sentences(content) if sentence.strip()), "")
    return text if len(text) <= _TITLE_CHARS else f"{text[: _TITLE_CHARS - 1]}…"


class Receipts:
    """The receipts of contexts inside a scope; the setting `log_days` says how long they are kept."""

    def __init__(self, view: View) -> None:
        self._view = view

    def list(
        self, session: str | None = None, limit: int = 20, cursor: str | None = None, *, entries: bool = True
    ) -> ReceiptPage:
        """Return what was injected by contexts inside this scope, newest first, a page at a time.

        Args:
            session: Only contexts of this session.
            limit: The most receipts of a page.
            cursor: The cursor of the last page.
            entries: Whether to return the memories of each receipt, too.
        """
        require_limit(limit, LARGEST_PAGE)
        view = self._view.narrowed(session=session)
        past = None if cursor is None else cursor_number(cursor, "before")
        found = view.store_inside.receipts(view.spaces_inside(), past, limit + 1, entries=entries)
        page = tuple(found[:limit])
        return ReceiptPage(receipts=page, cursor=f"before-{page[-1].number}" if len(found) > limit and page else None)

    def get(self, number: int) -> KeptReceipt:
        """Return the receipt of a context inside this scope, by its number."""
        found = self._view.store_inside.receipts(self._view.spaces_inside(), number + 1, 1) if number > 0 else []
        if not found or found[0].number != number:
            raise NotFound(f"no receipt {number} is kept in this scope ({self._view.scope}): `receipts` lists them")
        return found[0]

    def sent(self, number: int) -> SentContext:
        """Return the text of a context inside this scope, made again from its receipt, which keeps no texts.

        Args:
            number: The number of its receipt.
        """
        receipt, store, spaces = self.get(number), self._view.store_inside, self._view.spaces_inside()
        memories = {}
        for entry in receipt.included:
            record = self._view.services.store.get(self._view.spaces(), entry.id) or store.get(spaces, entry.id)
            then = None if record is None else state_at(record.memory, store.events(record), receipt.at)
            if record is not None and then is not None and then.content:
                edited = record.memory.updated_at > receipt.at
                memories[entry.id] = record.no, replace(then, updated_at=record.memory.updated_at) if edited else then
        return sent_context(receipt, memories, self._view.services.settings.tokenizer, ROLE)

    def explain(self, number: int, memory_id: str) -> ReceiptAnswer:
        """Return whether a memory was in the context of a receipt, and why.

        Args:
            number: The number of a receipt of a context inside this scope.
            memory_id: A memory that this scope can see, or one inside it.
        """
        receipt, store = self.get(number), self._view.store_inside
        try:
            record, reader = self._view.record(memory_id), self._view.services.store
        except NotFound:
            record, reader = self._view.record_inside(memory_id), store
        answer = explain(receipt, record.memory, reader.events(record))
        if answer.rule in _AT_A_BUDGET:
            return replace(answer, fits_at=self._fits_at(receipt, memory_id))
        if answer.rule != "given":
            return answer
        before = store.receipts_of(self._view.spaces_inside(), record.memory.id, LARGEST_PAGE)
        return replace(answer, given_in=next((each.number for each in before if _gave(each, receipt, answer.id)), None))

    def _fits_at(self, receipt: KeptReceipt, memory_id: str) -> int | None:
        """Return the least budget with which a context like that of a receipt has a memory now; None if none does."""
        view = self._view.narrowed(**dict(receipt.scope.items())).read_only()
        ids = [entry.id for entry in receipt.left_out if entry.rule == "given"]
        records = filter(None, (view.services.store.get(view.spaces(), each) for each in ids))
        given = {record.no: to_micros(record.memory.updated_at) for record in records}
        request = view.context_request(receipt.query, receipt.budget, cast("FormatName", receipt.format), track=False)
        left_out = view.services.assembler.context(replace(request, injected=given)).left_out
        return next((entry.fits_at for entry in left_out if entry.id == memory_id), None)


def _gave(earlier: KeptReceipt, receipt: KeptReceipt, memory_id: str) -> bool:
    """Return whether an earlier turn of the session of a receipt included a memory."""
    same_session = earlier.scope == receipt.scope and earlier.number < receipt.number
    return same_session and any(entry.id == memory_id for entry in earlier.included)


def status(view: View, *, include_narrower: bool) -> Status:
    """Return counts of the visible memories, or of those inside the scope, and the state of the store."""
    services, now = view.services, view.now()
    store, spaces = view.place(include_narrower=include_narrower)
    counts = store.counts(spaces, now)
    waiting = store.pending(spaces, services.vectorizer.changing_to) if services.vectorizer.enabled else 0
    active = services.active_policy.refresh()
    degraded = [
        services.vectorizer.obstacle(),
        services.vectorizer.missing(waiting) if waiting else None,
        services.active_policy.notice(),
        services.engine.clock_notice(spaces, now),
        _left_out_rules(view),
    ]
    return Status(
        store=services.store.name,
        scope=view.scope,
        tiers=counts.tiers,
        retention=counts.retention,
        embedder=services.vectorizer.embedder.name,
        pending_vectors=waiting,
        bytes=services.store.size(),
        seq=services.store.seq(),
        schema=services.store.schema,
        policy="" if active.policy is None else f"{active.policy.name} ({active.policy.digest})",
        degraded=tuple(reason for reason in degraded if reason),
        hint="" if include_narrower or any(count.memories for count in counts.tiers.values()) else view.hint(),
    )


def _left_out_rules(view: View) -> str | None:
    """Return how many rules no longer fit into the start of a session; None if all do."""
    request = view.context_request(None, START_TOKENS, track=False, now=view.now())
    started = view.services.assembler.context(replace(request, begins=True))
    rules = sum(entry.memory.kind == "rule" for entry in started.left_out if entry.reasons[0].code == "rule")
    if not rules:
        return None
    return f"{pluralize(rules, 'rule')} left out at the start of a session, which has {START_TOKENS} tokens"


def metrics(view: View) -> Metrics:
    """Return the metrics of what happened inside the scope, and how full hot is in the fullest place inside it."""
    store, spaces, settings = view.store_inside, view.spaces_inside(), view.services.settings
    of_session = view.scope.session is not None
    seen = store.counts(spaces if of_session else view.spaces(), view.now()).tiers[Tier.HOT].tokens
    places = [(of_session, seen)]
    if not of_session:
        places += [(each.scope.session is not None, each.tiers[Tier.HOT].tokens) for each in store.scopes(spaces)]
    limits = {True: settings.hot_token_limit, False: settings.hot_max_tokens}
    fullest = max(100.0 * tokens / limits[place] if limits[place] else 100.0 for place, tokens in places)
    # Recalls from scopes without visible spaces are counted under space 0.
    return measured(store, spaces if view.scope.items() else (0, *spaces), fullest)


def _require_erasable(view: View) -> None:
    """Refuse to erase memories of more trust than that of the caller."""
    for trust in (trust for trust in Trust if trust.rank > view.trust.rank):
        store, search = view.listing(trust=trust, retention="any", include_narrower=True)
        count = store.count(search)
        if count:
            raise Forbidden(
                f"{pluralize(count, 'memory')} of {view.scope} with the trust {trust}, and a caller with the trust "
                f"{view.trust} may not erase them: use `memotherm erase`, or a key that was created with --person"
            )


def erase(view: View, *, jobs: bool) -> Erased:
    """Erase everything at and below the scope permanently; with `jobs`, the captured texts that wait here as well."""
    if not view.scope.items():
        raise InvalidInput("name the scope to erase, such as mem.scoped(user='ana').erase(): this one has no field")
    _require_erasable(view)
    cause = replace(view.cause(Action.PURGE), rule="erase")
    # Before the store, so that no worker stores them afterwards.
    waiting = erase_jobs(user_spool(), view.services.store.name, view.scope) if jobs else 0
    parts = view.services.all_tenants.parts(view.scope)
    erased = export_scope.all_erased([export_scope.erase(part, view.scope, cause) for part in parts])
    return replace(erased, jobs=waiting)
