"""Assembling a context: reads the candidates from the store, packs them, and returns text and receipt.

Pinned and hot memories are looked up; only recalled memories are searched for. A memory that was
injected into a session before is left out unless it has changed since.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import NamedTuple, TypeVar

from memotherm.context.formats import format_of
from memotherm.context.forms import Candidate, QueryFocus
from memotherm.context.packer import Limits, Packed, pack, reason_for
from memotherm.context.values import Context, Entry, Receipt
from memotherm.errors import InvalidInput
from memotherm.model import Priority, Tier
from memotherm.model.clock import to_micros
from memotherm.model.memory import SUMMARY, FormatName, MemoryFields
from memotherm.model.value import Lazy
from memotherm.recall.confidence import subject_words
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.recaller import RecallLog
from memotherm.recall.values import Question, Ranked, Ranking, State, best_relevance
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import Find, ReceiptRow, Record
from memotherm.text.content import without_blocks
from memotherm.text.tokens import counter
from memotherm.text.words import content_words
from memotherm.tiers.rules.properties import is_blocker, is_closed

#: The most hot memories that are considered, newest first, besides blockers and critical ones.
_MOST_HOT = 200
#: The most characters of a prompt that are searched for: its start and its end.
_QUERY_CHARS = 2000
#: How many hits of the search compete for space: one for so many tokens of the budget, within these limits.
#: Reading 20 instead of 100 records takes 13 % off the CPU time of context(400), at 1,000 memories.
_TOKENS_PER_HIT = 40
_LEAST_HITS, _MOST_HITS = 20, 100
#: The least relevance of a hit, as a share of the best one's: of the first hits, and of those after them. What it
#: gains and costs is in docs/evaluation.md.
_FIRST_HITS = 8
_FIRST_SHARE, _LATER_SHARE = 0.5, 0.65
#: The least relevance of any hit, unless the search is so confident: then the best hits may be right although none
#: of them is close.
_LEAST_RELEVANCE = 0.25
_CONFIDENT = 0.7
#: The most that time and author may add to a hit that is far from the query and has none of its words: its
#: relevance against its closeness, and how close is not far.
_MOST_HINTS = 1.5
_CLOSE = 0.15
#: Two memories are versions of a statement if they have this share of their words, and at least so many, in common.
_COMMON_WORDS = 0.75
_LEAST_COMMON = 2
#: Only short contents among the first hits are compared, which takes .3 ms instead of 4.
_LONGEST_VERSION = 300
#: How many of the hits that are not relevant enough are read, so that the receipt can name them.
_NAMED_IRRELEVANT = 5
#: The most open tasks at the beginning of a session, newest first.
_MOST_TASKS = 5
_MOST_RECENT = 50
#: The role in the format `messages`.
_ROLE = "user"
_NOT_HASHED = {
    "store", "openai_api_key", "gemini_api_key", "redact", "redact_patterns", "capture_exclude",
}  # fmt: skip
#: The most memories of a section that a stored receipt names as left out.
_MOST_OF_SECTION = 25
_NO_SPACE = "the space was spent on what is more important"
_LOW_PRIORITY = "low priority enters when space is left"
_LOW = Priority.LOW

T = TypeVar("T")
#: id, section, form, tokens, reason and score of an entry of a stored receipt.
StoredEntry = tuple[str, str, str | None, int, str, float | None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """The arguments of a context."""

    spaces: tuple[int, ...]
    now: datetime
    question: Question | None = None
    budget: int = 2000
    format: FormatName = "markdown"
    #: Whether to log it, and to keep its receipt.
    track: bool = True
    #: The most tokens of recalled memories; None for no limit of their own.
    recalled_tokens: int | None = None
    #: Whether it begins a session: with the summary of the last one, and open tasks.
    begins: bool = False
    #: What was injected before: memory number -> its `updated_at` then, in microseconds.
    injected: Mapping[int, int] = field(default_factory=dict)
    #: What may be out of date, and why.
    degraded: tuple[str, ...] = ()


class Skipped(NamedTuple):
    """A memory that is not a candidate, and why."""

    candidate: Candidate
    rule: str
    reason: str

    @property
    def entry(self) -> Entry:
        """The entry of the receipt."""
        candidate = self.candidate
        return Entry(
            _memory=candidate.memory,
            section=candidate.section,
            form=None,
            tokens=0,
            rule=self.rule,
            reason=f"{candidate.explanation}; {self.reason}",
            score=candidate.score,
            _why=candidate.why,
        )


@dataclass(kw_only=True, slots=True)
class Selection:
    """The candidates of one context, each memory once, and what is left out before packing."""

    #: Pinned and hot memories, most important first.
    listed: list[Candidate] = field(default_factory=list)
    #: The hits of the search, best first; none if they are withheld.
    hits: list[Candidate] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ranking: Ranking = field(default_factory=Ranking)
    #: The best relevance of a hit, and whether the query has a subject, not only a time or an author.
    best: float = 0.0
    has_subject: bool = False
    #: The least relevance of any hit.
    least: float = _LEAST_RELEVANCE
    #: The number of the last event in the snapshot; None if the store does not know it.
    seen: int | None = None
    notes: list[str] = field(default_factory=list)

    def irrelevance(self, hit: Ranked, place: int) -> str:
        """Return why the hit at this place in the ranking is not relevant enough; empty if it is."""
        least = max(self.least, self.best * (_FIRST_SHARE if place < _FIRST_HITS else _LATER_SHARE))
        if hit.relevance < least:
            return f"relevance {hit.relevance:.2f} is below {least:.2f}, the least for this query"
        close = hit.closeness >= min(_CLOSE, hit.relevance / _MOST_HINTS)
        if self.has_subject and not hit.coverage and not close:
            return "only its time or author matches the query"
        return ""


class Assembler:
    """Assembles contexts: pinned memories, then hot ones, then the hits of a query."""

    def __init__(self, store: Store, pipeline: Pipeline, settings: Settings) -> None:
        self._store = store
        self._pipeline = pipeline
        self._settings = settings
        self._recalls = RecallLog(store, settings)

    def context(self, request: Request) -> Context:
        """Return a context; with `track`, log it as a recall."""
        return self._assemble(request)[0]

    def turn_context(self, space: int, request: Request, *, repeat: bool = False) -> Context:
        """Return a context for a turn of a session, without what was injected before and is unchanged.

        What it includes is recorded in the store, so that the separate processes of an agent's hooks share it.
        With `repeat`, it may include what was injected before.
        """
        injected = {} if repeat else self._store.injected(space)
        context, included = self._assemble(replace(request, injected=injected))
        if included and request.track:
            changed = {each.number: to_micros(each.memory.updated_at) for each in included if each.number is not None}
            self._store.mark_injected(space, changed)
        return context

    def forget_turns(self, space: int) -> None:
        """Forget what was injected: the prompt of the session is new, or was summarised."""
        self._store.clear_injected(space)

    def _assemble(self, request: Request) -> tuple[Context, list[Candidate]]:
        """Return a context and the candidates that are in it."""
        settings, question = self._settings, request.question
        if isinstance(request.budget, bool) or not isinstance(request.budget, int) or request.budget < 0:
            raise InvalidInput(f"budget must be a whole number of tokens from 0, not {request.budget!r}")
        text_format = format_of(request.format, _ROLE)
        count = counter(settings.tokenizer)
        selection = self._select(request)
        limits = Limits(
            budget=request.budget,
            hot_tokens=settings.hot_max_tokens,
            hot_memories=settings.hot_max_facts,
            reserve=0 if question is None else settings.recall_max_tokens,
            recalled_tokens=request.recalled_tokens,
            on_pinned_overflow=settings.on_pinned_overflow,
        )
        focus = None if question is None else QueryFocus(question.text)
        packed = pack(selection.listed, selection.hits, text_format, count.count, limits, focus, by_line=count.by_line)
        receipt = Receipt(
            at=request.now,
            query=None if question is None else question.text,
            budget=request.budget,
            tokens=packed.tokens,
            shares=packed.shares,
            tokenizer=count.name,
            exact=count.exact,
            format=request.format,
            tiers=() if question is None else question.tiers,
            confidence=None if question is None else selection.ranking.confidence,
            settings=settings_hash(settings),
            _included=Lazy(lambda: packed.included),
            _left_out=Lazy(lambda: (*packed.left_out.value, *(each.entry for each in selection.skipped))),
            pinned_cut=packed.pinned_cut,
            notes=(*packed.notes, *selection.notes),
            degraded=(*request.degraded, *selection.ranking.degraded),
        )
        context = Context(
            recall_id=self._log(request, selection, packed) if request.track else None,
            text=packed.text,
            tokens=packed.tokens,
            budget=request.budget,
            receipt=receipt,
        )
        return context, [candidate for candidate, _ in packed.chosen]

    def _select(self, request: Request) -> Selection:
        """Read and search the memories, and return the candidates.

        Pinned and hot memories are read in the snapshot of the search. Hits are left out that are less relevant than
        the best ones, and all of them where confidence is too low.
        """
        settings, selection = self._settings, Selection()
        pinned: list[Record] = []
        hot: list[Record] = []
        recent: list[tuple[Record, str]] = []
        where = (request.spaces, request.now)

        def read_relevant(state: State) -> None:
            """Let only records be read of hits that are relevant enough, and of a few more for the receipt."""
            # Of all candidates, so that it does not depend on the budget.
            selection.best = best_relevance(state.ranked) or 0.0
            selection.has_subject = bool(subject_words(state.terms))
            selection.least = 0.0 if state.confidence >= _CONFIDENT else _LEAST_RELEVANCE
            hits = state.ranked[: state.count]
            relevant = [place for place, hit in enumerate(hits) if not selection.irrelevance(hit, place)]
            if settings.context_min_confidence:
                state.count = min(len(hits), max(relevant, default=-1) + 1 + _NAMED_IRRELEVANT)

        def read_listed(state: State | None = None) -> None:
            with self._store.snapshot() as selection.seen:
                # A search in a replica may have seen an older state.
                searched_here = state is not None and self._pipeline.store is self._store
                pinned.extend(state.pinned_records if state and searched_here else self._store.pinned(*where))
                hot.extend(self._hot(request, selection))
                recent.extend(self._recent(request) if request.begins else ())

        if request.question is None:
            read_listed()
        else:
            wanted = max(_LEAST_HITS, request.budget // _TOKENS_PER_HIT) + len(request.injected)
            count = min(wanted, _MOST_HITS)
            selection.ranking = self._pipeline.run(
                request.question, _MOST_HITS, count, stages=(read_relevant, read_listed)
            )
        candidates = [_listed(record, "pinned", (record.no,)) for record in pinned]
        candidates += [_listed(record, "hot", (urgency(record.fields), record.no)) for record in hot]
        candidates += [
            Candidate(record.fields, "hot", (len(Priority), place), reason, None, None, record.no)
            for place, (record, reason) in enumerate(recent)
        ]
        candidates += _hits(selection.ranking)
        self._choose(selection, _without_repeats(candidates, request.injected, selection.skipped))
        return selection

    def _choose(self, selection: Selection, candidates: Iterable[Candidate]) -> None:
        """Divide the candidates into those that may be included and those that are left out."""
        ranking, least = selection.ranking, self._settings.context_min_confidence
        withheld = ""
        if ranking.question is not None and ranking.confidence < least:
            withheld = f"confidence {ranking.confidence} is below context_min_confidence {least}"
            if ranking.ranked:
                selection.notes.append(f"nothing that was found is included: {withheld}")
        for candidate in candidates:
            if candidate.scored is None:
                selection.listed.append(candidate)
            elif withheld:
                selection.skipped.append(Skipped(candidate, "context_min_confidence", withheld))
            elif least and (why := selection.irrelevance(candidate.scored, candidate.order[-1])):
                selection.skipped.append(Skipped(candidate, "relevance", why))
            else:
                selection.hits.append(candidate)
        selection.hits = _with_outdated(selection.hits)

    def _hot(self, request: Request, selection: Selection) -> list[Record]:
        """Return the hot memories, most urgent first, then newest first."""

        def find_hot(priority: Priority | None = None, tags: tuple[str, ...] | None = None) -> list[Record]:
            find = Find(now=request.now, tier=Tier.HOT, priority=priority, tags=tags, limit=_MOST_HOT + 1)
            return self._store.find(request.spaces, find)

        records = {record.no: record for record in find_hot()}
        if len(records) > _MOST_HOT:
            urgent = (*find_hot(priority=Priority.CRITICAL), *find_hot(tags=("blocker",)))
            records |= {record.no: record for record in urgent}
            selection.notes.append(
                f"more than {_MOST_HOT} memories are hot: the newest and the most urgent were considered"
            )
        unpinned = (record for record in records.values() if record.fields.priority is not Priority.PINNED)
        return sorted(unpinned, key=lambda record: (urgency(record.fields), -record.no))

    def _recent(self, request: Request) -> Iterator[tuple[Record, str]]:
        """Yield the summary of the last session, and open tasks, newest first."""
        find = Find(now=request.now, kinds=(SUMMARY, "task"), order="updated", limit=_MOST_RECENT)
        found = self._store.find(request.spaces, find)
        summaries = [record for record in found if record.fields.kind == SUMMARY][:1]
        yield from ((record, "the summary of the last session") for record in summaries)
        told = "".join(record.fields.content for record in summaries)
        tasks = (record for record in found if record.fields.kind == "task" and not is_closed(record.fields))
        untold = (each for each in tasks if each.fields.content.partition("\n")[0].rstrip(".。;") not in told)
        yield from ((record, "an open task") for record in islice(untold, _MOST_TASKS))

    def _log(self, request: Request, selection: Selection, packed: Packed) -> str | None:
        """Store the receipt, log the context, and return its id; this counts as a use of nothing."""
        settings, ranking = self._settings, selection.ranking
        sections = {
            candidate.number: candidate.section for candidate, _ in packed.chosen if candidate.number is not None
        }
        receipt = None
        if settings.receipt_days and request.budget:
            receipt = _stored_receipt(request, selection, packed, sections)
        included = list(sections)
        if request.question is not None:
            answers = ranking.ranked if ranking.confidence >= settings.context_min_confidence else ()
            return self._recalls.write(ranking, included, answers, receipt=receipt)
        if included or receipt:
            space, seen = request.spaces[-1], selection.seen
            return self._recalls.write_listed(included, request.now, space, receipt=receipt, seen=seen)
        return None


def _listed(record: Record, section: str, order: tuple[int, ...]) -> Candidate:
    """Return the candidate of a memory that is not searched for."""
    memory = record.fields
    if section == "pinned":
        reason = f"always included, kept in {memory.tier}"
    elif is_blocker(memory):
        reason = "an active blocker"
    else:
        reason = "current work" if memory.priority is Priority.NORMAL else f"current work, {memory.priority}"
    return Candidate(memory, section, order, reason, None, None, record.no)


def _hits(ranking: Ranking) -> Iterator[Candidate]:
    """Yield the candidates of the best hits of a search, best first."""
    for position, ranked in enumerate(ranking.ranked[: len(ranking.records)]):
        record = ranking.records.get(ranked.no)
        if record is not None:
            yield Candidate(record.fields, "recalled", (position,), "", ranked.score, ranked, record.no)


def _without_repeats(
    candidates: Iterable[Candidate], injected: Mapping[int, int], skipped: list[Skipped]
) -> Iterator[Candidate]:
    """Yield each memory once; append to `skipped` what was injected before, and duplicates of contents."""
    numbers: set[int | None] = {None}
    originals: dict[str, Candidate] = {}
    for candidate in candidates:
        number, memory = candidate.number, candidate.memory
        if number in numbers:
            continue
        numbers.add(number)
        if injected and injected.get(number or 0) == to_micros(memory.updated_at):
            skipped.append(Skipped(candidate, "given", "this session was given it before"))
            continue
        original = originals.setdefault(memory.digest, candidate)
        if original is candidate:
            yield candidate
        else:
            skipped.append(Skipped(candidate, "duplicate", f"{original.memory.id} says the same"))


def _with_outdated(hits: Sequence[Candidate]) -> list[Candidate]:
    """Return hits of which the older versions of a statement are marked: they share most words with a newer one.

    Messages have no versions: people say similar things about different matters.
    """
    words = {
        hit.memory.id: content_words(hit.memory.content)
        for hit in hits[:_FIRST_HITS]
        if hit.memory.kind != "message" and len(hit.memory.content) <= _LONGEST_VERSION
    }

    def is_outdated(hit: Candidate) -> bool:
        said = words.get(hit.memory.id, set())
        return any(
            other.memory.updated_at > hit.memory.updated_at
            and len(said & newer) >= max(_LEAST_COMMON, _COMMON_WORDS * max(len(said), len(newer)))
            and bool(said - newer)
            for other in hits
            if (newer := words.get(other.memory.id))
        )

    return [hit._replace(outdated=True) if is_outdated(hit) else hit for hit in hits]


def urgency(memory: MemoryFields) -> int:
    """Return the rank of a hot memory, most urgent first: critical, blocker, then by priority."""
    if memory.priority is Priority.CRITICAL:
        return 0
    if is_blocker(memory) and memory.priority is not Priority.LOW:
        return 1
    return memory.priority.rank


def _stored_receipt(
    request: Request, selection: Selection, packed: Packed, included: Collection[int]
) -> ReceiptRow | None:
    """Return the receipt as it is stored: what was included, and the first memories of each section that were not.

    It has no query, and not the budgets that would have included a memory: these cost more than the context itself.
    None if nothing was considered.
    """
    entries: list[StoredEntry] = [
        (candidate.memory.id, candidate.section, form.name, form.cost, reason_for(candidate, form),
         _rounded(candidate.score))
        for candidate, form in packed.chosen
    ]  # fmt: skip
    left_out = (each for each in (*selection.listed, *selection.hits) if each.number not in included)
    entries += [
        _left_out(each, _LOW_PRIORITY if each.memory.priority is _LOW else _NO_SPACE)
        for each in _first_of_sections(left_out, lambda candidate: candidate.section)
    ]
    entries += [
        _left_out(each.candidate, each.reason)
        for each in _first_of_sections(selection.skipped, lambda each: each.candidate.section)
    ]
    if not entries:
        return None
    return ReceiptRow(query=None, budget=request.budget, tokens=packed.tokens, format=request.format, entries=entries)


def _first_of_sections(left_out: Iterable[T], section_of: Callable[[T], str]) -> Iterator[T]:
    """Yield the first of what was left out of each section."""
    counts: Counter[str] = Counter()
    for each in left_out:
        section = section_of(each)
        counts[section] += 1
        if counts[section] <= _MOST_OF_SECTION:
            yield each


def _left_out(candidate: Candidate, reason: str) -> StoredEntry:
    explanation = f"{candidate.explanation}; {reason}"
    return candidate.memory.id, candidate.section, None, 0, explanation, _rounded(candidate.score)


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


@functools.lru_cache(maxsize=16)
def settings_hash(settings: Settings) -> str:
    """Return the SHA-256 of every setting that can change a result."""
    values = {name: value for name, value in asdict(settings).items() if name not in _NOT_HASHED}
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def turn_query(prompt: str | None) -> str | None:
    """Return the query for a prompt: without recalled blocks, and shortened if it is very long."""
    if prompt is None:
        return None
    query = without_blocks(prompt).replace("\x00", "").encode("utf-8", "ignore").decode().strip()
    if len(query) > _QUERY_CHARS:
        query = f"{query[: _QUERY_CHARS // 2]}\n{query[-_QUERY_CHARS // 2 :]}"
    return query or None
