"""A store as one scope sees it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from memotherm.context.assembler import Assembler, Request
from memotherm.context.standing import StandingFinder
from memotherm.context.values import Context
from memotherm.errors import Forbidden, InvalidInput, NotFound, StoreError
from memotherm.facade.endings import Endings, with_branch, with_checks, with_package
from memotherm.facade.queries import Queries, mentioned_in, wanted_retentions
from memotherm.facade.services import Services
from memotherm.model import Hit, Memory, Recall, Retention, Scope, Tier, Trust, Why
from memotherm.model.actions import Action
from memotherm.model.clock import as_moment
from memotherm.model.memory import FormatName, TierName
from memotherm.model.recall import Feedback
from memotherm.model.results import LARGEST_PAGE, Compaction, Maintenance, Page, ScopeCount
from memotherm.recall.as_of import require_moment
from memotherm.recall.pipeline import nearest
from memotherm.recall.recaller import RecallLog
from memotherm.remember.authority import require_ids
from memotherm.remember.draft import Draft
from memotherm.remember.forgotten import require_allowed_texts
from memotherm.storage.store import Store
from memotherm.storage.values import ACTIVE_ONLY, EVERY_TIER, Cause, Identity, Record, Search
from memotherm.text.content import pluralize, require_limit
from memotherm.vectors.vectorizer import Progress

#: What a question about an earlier state sees before that state is known.
_NOWHERE: tuple[tuple[int, ...], Identity | None] = ((), None)
#: The number of a memory in its store, as a context names a memory that it has shortened.
NUMBER = re.compile(r"#([0-9]{1,18})")
#: How many scopes a hint names.
_MOST_NAMED = 5


class Caller(NamedTuple):
    """Who asks for something."""

    #: Who stands behind what is written.
    trust: Trust = Trust.AGENT
    #: The name, if the interface knows it; otherwise the scope tells.
    name: str = ""
    #: The folder that the caller works in, whose project may be read; None for a server.
    folder: str | None = None


class View(Queries):
    """A store as one scope sees it, and what somebody does there."""

    __slots__ = ("_own_space", "caller")

    def __init__(self, services: Services, scope: Scope, caller: Caller | None = None) -> None:
        super().__init__(services, scope)
        #: Who asks; the interface says so, and no argument raises its trust.
        self.caller = caller or Caller()
        #: The number of the scope, once a receipt needed it.
        self._own_space: int | None = None

    # Who asks, and from where

    @property
    def trust(self) -> Trust:
        """Who stands behind what is written."""
        return self.caller.trust

    @property
    def folder(self) -> str | None:
        """The folder that the caller works in, whose project may be read; None for a server."""
        return self.caller.folder

    def refresh(self) -> None:
        """Read which policy is in force, before the rules run."""
        self.services.active_policy.refresh()

    def narrowed(self, /, *, owner: str | None = None, **fields: str | None) -> View:
        """Return a view from a narrower scope; another tenant has services of its own."""
        scope = self.scope.narrowed(owner=owner, **fields)
        services = self._last_services()
        if scope.tenant != self.scope.tenant:
            services = services.on(services.all_tenants.for_tenant(scope.tenant))
        return View(services, scope, self.caller)

    def read_only(self) -> View:
        """Return a view that refuses changes, and whose recalls are neither counted nor logged."""
        return View(self._last_services().read_only(), self.scope, self.caller)

    def by(self, trust: Trust, name: str = "") -> View:
        """Return a view whose changes have at most a trust, and are asked for by somebody with a name."""
        caller = self.caller._replace(trust=trust, name=name or self.caller.name)
        return View(self._last_services(), self.scope, caller)

    def in_folder(self, folder: str) -> View:
        """Return a view of somebody who works in a folder."""
        return View(self._last_services(), self.scope, self.caller._replace(folder=folder))

    def maintain(self, part: Store, progress: Progress | None = None) -> Maintenance:
        """Run the maintenance rules over the memories of one part of the store inside the scope."""
        self.refresh()
        cause = replace(self.cause(Action.MAINTAIN), actor="maintain")
        return self.services.on(part).engine.maintain(self.scope, cause, progress)

    def compact(self, *, dry_run: bool = False) -> Compaction:
        """Run the compaction rules over the visible memories."""
        self.refresh()
        return self.services.engine.compact(self.scope, self.cause(Action.MOVE), dry_run=dry_run)

    def retain(
        self, ids: Sequence[str], wanted: Retention, action: Action, why: str = "", *, inside: bool = False
    ) -> list[Memory]:
        """Change the retention of memories, of all or none."""
        return self.services.changes.retain(self.scope, ids, wanted, self.cause(action, why), inside=inside)

    def review(
        self, ids: Sequence[str], wanted: Retention, action: Action, why: str, *, inside: bool = False
    ) -> list[Memory]:
        """Approve or reject proposals, all or none."""
        return self.services.proposals.review(self.scope, ids, wanted, self.cause(action, why), inside=inside)

    def hint(self) -> str:
        """Return where the memories are if none can be seen from the scope, or an empty text."""
        counts = self.services.store.counts(self.spaces(), self.now())
        if any(counts.tiers[tier].memories for tier in Tier):
            return ""
        return _whereabouts(self.scope, self.store_inside.scopes(self.spaces_inside()))

    def with_narrower(self) -> View:
        """Return a view whose services can read everything inside the scope."""
        if self.store_inside is self.services.store:
            return self
        return View(self.services.on(self.store_inside), self.scope, self.caller)

    @property
    def actor(self) -> str:
        """Who the ledger says has asked for a change."""
        named = self.caller.name or self.scope.agent or self.scope.user
        return named or ("person" if self.trust is Trust.PERSON else "agent")

    def cause(self, action: Action, why: str = "") -> Cause:
        """Return the cause of a change that is asked for now, if neither reason nor actor says what was forgotten."""
        # A word alone, such as the usual actor, says nothing.
        if why or not self.actor.isalpha():
            require_allowed_texts(self.services.store, self.scope, (why, self.actor), self.trust)
        return Cause(action=action, at=self.now(), actor=self.actor, why=why, by=self.trust)

    def seen(self) -> Search:
        """Return what reads all active memories that the scope can see."""
        return Search(spaces=self.spaces(), now=self.now())

    def record_inside(self, memory_id: str) -> Record:
        """Return a memory at or below the scope, by its id, or raise `NotFound`."""
        record = self.store_inside.get(self.spaces_inside(), memory_id) if isinstance(memory_id, str) else None
        if record is None or record.memory.retention is Retention.PURGED:
            raise NotFound(f"there is no memory {memory_id!r} at or below this scope ({self.scope})")
        return record

    def count_uses(self, records: Sequence[Record], *, named: bool = True) -> None:
        """Count a use of memories that were read, but not searched."""
        log = RecallLog(self.services.store, self.services.settings)
        log.write_listed([record.no for record in records], self.now(), self.spaces()[-1], track=True, named=named)

    def record(self, memory_id: str, *, purged: bool = False) -> Record:
        """Return a memory that the scope can see, by its id or by `#` and its number, or raise `NotFound`."""
        require_ids(memory_id)
        record = None
        if isinstance(memory_id, str):
            number = NUMBER.fullmatch(memory_id)
            record = self._numbered(int(number[1])) if number else self.services.store.get(self.spaces(), memory_id)
        if record is None or (record.memory.retention is Retention.PURGED and not purged):
            raise NotFound(f"no memory {memory_id!r} can be seen from here ({self.scope})")
        return record

    def _numbered(self, number: int) -> Record | None:
        """Return the active memory with a number, if the scope can see it."""
        store = self.services.store
        with store.snapshot():
            visible = store.candidates(self.seen(), [number])
            return store.records([number])[number] if visible else None

    def with_key(self, key: str) -> Record:
        """Return the visible memory with a key, from the narrowest scope that has it, or raise `NotFound`."""
        spaces = self.spaces()
        records = self.services.store.with_key(spaces, key, self.now())
        if not records:
            raise NotFound(f"no memory with the key {key!r} can be seen from here ({self.scope})")
        return max(records, key=lambda record: spaces.index(record.space))

    def nearest(
        self, query: str, limit: int, *, where: Mapping[str, Any] | None = None, prefix: str | None = None
    ) -> list[tuple[Memory, float]]:
        """Return the memories of all tiers whose vectors are nearest to that of a query, with the cosines.

        It serves stores of other frameworks that order by cosines alone; nothing is logged.
        """
        require_limit(limit, self.services.settings.pool_size)
        question = self.question(query, tuple(Tier), where=where, prefix=prefix, min_score=0.0)
        return nearest(self.services.store, self.services.vectorizer, question, limit)

    def sync_notes(self) -> tuple[str, ...]:
        """Sync the notes of `notes_root` before memories are read; return what may be out of date, and why."""
        settings = self.services.settings
        if not settings.notes_root or not settings.sync_on_search:
            return ()
        # Only a memory with notes needs them.
        from memotherm.facade.note_folders import NoteFolders

        return NoteFolders(self).refresh()

    def context_request(
        self,
        query: str | None,
        budget: int,
        format: FormatName = "markdown",  # noqa: A002 - the word everyone uses for it
        *,
        include_cold: bool | None = None,
        track: bool = True,
        where: Mapping[str, Any] | None = None,
        now: datetime | None = None,
    ) -> Request:
        """Return what is wanted of a context as the assembler takes it, with the notes synced unless `now` is past."""
        degraded = () if now is not None else self.sync_notes()
        settings = self.services.settings
        cold = settings.context_includes_cold if include_cold is None else include_cold
        tiers = (Tier.WARM, Tier.COLD) if cold else (Tier.WARM,)
        blank = query is None or (isinstance(query, str) and not query.strip())
        current, now = now is None, now or self.now()
        store, question = self.services.store, None
        place = (store.spaces(self.scope), None) if blank else store.visible(self.scope)
        if track and current and settings.log_days and budget and self._own_space not in place[0]:
            place = (self._spaces_with_own(place[0]), place[1])
        if not blank:
            question = self.question(str(query), tiers, min_score=0.0, where=where, place=place, now=now, past=current)
        request = Request(
            spaces=place[0], now=now, question=question, budget=budget, format=format, track=track, degraded=degraded,
            past_spaces=self.past_spaces(place[0]) if current else None,
        )  # fmt: skip
        if not current or self.folder is None:
            return request
        here = Endings(self)
        return replace(
            request, unfit=here.unfit, changed_since=here.changed_since, places_behind=here.places_behind,
            anchored=here.anchored,
        )  # fmt: skip

    def _spaces_with_own(self, spaces: tuple[int, ...]) -> tuple[int, ...]:
        """Return the visible spaces with that of the scope itself, which is made if the scope has stored nothing yet.

        The receipt of a context is kept under its scope, with the agent and the session.
        """
        store, scope = self.services.store, self.scope
        own = store.collection(scope, "")
        if own is None and store.writable:
            try:
                own = store.transact(lambda transaction: transaction.space(scope))
            except (StoreError, Forbidden):
                # A busy store delays the receipt, not the context; nor does a name that nothing can be stored under.
                return spaces
        self._own_space = own
        return spaces if own is None or own in spaces else (*spaces, own)

    def recall(
        self,
        query: str,
        limit: int,
        tiers: Sequence[Tier | TierName] | TierName,
        filters: dict[str, Any],
        *,
        promote: bool,
        track: bool,
        as_of: datetime | None,
        retention: Retention | str,
        include_narrower: bool,
        scope: Mapping[str, str] | None = None,
        fields: Sequence[str] = (),
    ) -> Recall:
        """Return the memories that answer a query; `filters` are arguments of `question`.

        With `fields`, only memories whose own scope sets all of these.
        """
        if scope is not None:
            return self._with_fields(scope, as_of).recall(
                query, limit, tiers, filters, promote=promote, track=track, as_of=None, retention=retention,
                include_narrower=include_narrower, fields=tuple(scope),
            )  # fmt: skip
        require_limit(limit, self.services.settings.pool_size)
        retentions, listing = wanted_retentions(retention), query == ""
        filters = {**filters, "listing": listing}
        if include_narrower and (promote or as_of is not None):
            raise InvalidInput("promote and as_of concern what is visible from a scope: leave include_narrower out")
        if as_of is not None:
            return self._recall_at(require_moment(as_of), query, limit, tiers, {**filters, "retentions": retentions})
        view = self.with_narrower() if include_narrower else self
        place = None
        if fields or include_narrower:
            store, spaces = view.place(include_narrower=include_narrower)
            if not include_narrower:
                wider = {space for name in fields for space in store.spaces(replace(self.scope, **{name: None}))}
                spaces = tuple(space for space in spaces if space not in wider)
            place = (spaces, store.identity())
        with_past = place is None and retentions == ACTIVE_ONLY and not listing
        question = view.question(query, tiers, **filters, retentions=retentions, place=place, past=with_past)
        if listing:
            return view.services.recaller.list(question, limit, track=track)
        hidden = question.search.hidden

        recaller = view.services.recaller
        found, promotion = recaller.search(question, limit), None
        if view.folder is not None:
            found = Endings(view).checked(found)
        if promote and not hidden:
            hits = (*found.pinned, *found.hits)
            promotion = self.services.engine.promote(hits, self.scope, question.search.spaces, self.cause(Action.MOVE))
        recall = recaller.answer(found, promotion, track=track and not hidden)
        if not hidden and not any(value for name, value in filters.items() if name != "listing"):
            search = question.search
            finder = StandingFinder(view.services.store, search.spaces, search.now, question.past_spaces)
            # What was said on a day of long ago is cold.
            said = EVERY_TIER if {Tier.HOT, Tier.WARM}.issubset(recall.tiers) else recall.tiers
            asked = [
                each.record.memory
                for each in finder.asked(query)
                if each.record.memory.tier in (said if each.reason.code == "said_on" else recall.tiers)
            ]
            recall = _with_asked(recall, asked, limit)
        unseen = not (recall.hits or recall.hint or include_narrower or hidden)
        return replace(recall, hint=self.hint()) if unseen else recall

    def _recall_at(
        self,
        moment: datetime,
        query: str,
        limit: int,
        tiers: Sequence[Tier | TierName] | TierName,
        filters: dict[str, Any],
    ) -> Recall:
        """Return the memories that answer a query as the store was at a moment."""
        services, names = self.services, filters.pop("mentions", None)
        question = self.question(query, tiers, **filters, place=_NOWHERE, now=moment)
        with services.past.at(services.store, services.vectorizer, self.scope, moment) as past:
            question = past.placed(question)
            if names is not None:
                nos = mentioned_in(past.store, past.spaces, names, moment)
                question = replace(question, search=replace(question.search, nos=nos))
            return (past.recaller.list if filters["listing"] else past.recaller.recall)(question, limit, track=False)

    def _with_fields(self, scope: object, as_of: datetime | None) -> View:
        """Return the view from a scope that has some fields as well."""
        if not isinstance(scope, Mapping) or not scope or None in scope.values():
            raise InvalidInput(f'scope names fields and their values, such as {{"environment": "test"}}, not {scope!r}')
        if as_of is not None:
            raise InvalidInput("as_of answers for everything that a scope saw: leave it or scope out")
        return self.narrowed(**scope)

    def remember(
        self, drafts: Sequence[Draft], forget: Sequence[str] = (), why: str = "", *, wait: bool = False
    ) -> list[Memory]:
        """Store drafts and delete memories, in one transaction."""
        if self.folder is not None or any(isinstance(draft.valid_until, str) for draft in drafts):
            drafts = [self.placed(with_checks(draft, self.folder)) for draft in drafts]
        return self.services.writer.remember(drafts, self.scope, self.cause(Action.REMEMBER, why), forget, wait=wait)

    def placed(self, draft: Draft) -> Draft:
        """Return a draft with the package of the folder, and its branch if that is kept apart."""
        if self.folder is None or (self.scope.user and not self.scope.project):
            return draft
        draft = with_package(draft, self.folder)
        return with_branch(draft, self.folder) if self.services.settings.branches_apart else draft

    def past_context(self, request: Request) -> Context:
        """Return the memories for a prompt from the state at an earlier moment, that of the request."""
        services, question = self.services, request.question
        with services.past.at(services.store, services.vectorizer, self.scope, request.now) as past:
            assembler = Assembler(past.store, past.pipeline, services.settings)
            question = None if question is None else past.placed(question)
            return assembler.context(replace(request, spaces=past.spaces, question=question))

    def feedback(
        self, recall: Recall | Context | str | None, used: Sequence[str], answer: str, at: datetime | str | None
    ) -> Feedback:
        """Count the uses of a recall, or of the last ones of the scope."""
        if isinstance(used, str) or not isinstance(answer, str):
            raise InvalidInput("feedback takes a list of ids in used, and a text in answer")
        log, spaces, now = self.services.feedback, self.spaces(), self.now()
        moment = now if at is None else as_moment(at, "at", now)
        records = [self.record(memory_id) for memory_id in used]
        if recall is None:
            return log.give(log.last(spaces[-1:], moment), records, answer, spaces, moment)
        recall_id = recall if isinstance(recall, str) else recall.recall_id
        if recall_id is None:
            raise InvalidInput("that recall is not in the recall log: set recall_log to text, and leave track on")
        spaces = (*spaces, *self.spaces_inside())
        return log.give([log.named(spaces, recall_id, now)], records, answer, spaces, moment)

    def page(self, limit: int, *, include_narrower: bool, **arguments: Any) -> Page:  # noqa: ANN401 - of `listing`
        """Return a page of a listing."""
        require_limit(limit, LARGEST_PAGE)
        store, search = self.listing(include_narrower=include_narrower, **arguments)
        records = store.find(replace(search, limit=limit + 1))
        page, more = records[:limit], len(records) > limit
        first = search.before is None and not search.skip
        return Page(
            memories=tuple(record.memory for record in page),
            cursor=f"before-{page[-1].no}" if more and page and search.order == "newest" else None,
            hint=self.hint() if first and not page and not include_narrower else "",
        )


def _with_asked(recall: Recall, asked: Sequence[Memory], limit: int) -> Recall:
    """Return a recall with the memories first that the query asks for by what they are, such as the rules."""
    if not asked:
        return recall
    pinned, ids = {hit.memory.id for hit in recall.pinned}, {memory.id for memory in asked}
    first = [Hit(memory=memory, score=1.0, why=Why()) for memory in asked if memory.id not in pinned]
    return replace(recall, hits=(*first, *(hit for hit in recall.hits if hit.memory.id not in ids))[:limit])


def _whereabouts(scope: Scope, counts: Sequence[ScopeCount]) -> str:
    """Return a sentence about the scopes that have most memories, or an empty text if there are none."""
    largest = sorted((count for count in counts if count.memories), key=lambda count: -count.memories)
    if not largest:
        return ""
    named = [f"{count.scope} ({count.memories})" for count in largest[:_MOST_NAMED]]
    more = [f"and {len(largest) - _MOST_NAMED} more scopes"] if len(largest) > _MOST_NAMED else []
    total = pluralize(sum(count.memories for count in largest), "memory")
    return f"{total} in scopes narrower than this one ({scope}): {', '.join([*named, *more])}"
