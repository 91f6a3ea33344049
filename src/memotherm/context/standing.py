"""What holds whatever is asked: the rules of a person, the profile of the user, open tasks, the last summary.

A session starts with it, rules first. None of it needs to be hot or pinned.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import NamedTuple

from memotherm.context.forms import Candidate
from memotherm.context.selection import invalidity
from memotherm.model import Trust
from memotherm.model.marks import PERHAPS_OUTDATED, doubtful_parts
from memotherm.model.memory import PROFILE, SUMMARY
from memotherm.model.receipts import Reason
from memotherm.model.summary import shortened
from memotherm.recall.confidence import subject_words
from memotherm.recall.values import DEFAULT_WEIGHTS
from memotherm.storage.store import Store
from memotherm.storage.values import Record, Search
from memotherm.text.language import WORD_LISTS
from memotherm.text.phrase_patterns import PhrasePattern
from memotherm.text.phrases import asks_about_user, asks_for_rules, asks_for_tasks, is_question, sentences
from memotherm.text.relative_days import DAY_WORDS
from memotherm.text.times import cut_spans
from memotherm.text.words import content_words, plain_text, weighed_words
from memotherm.tiers.rules.properties import due_of, is_closed

#: The most tokens of what a session starts with, besides pinned memories.
START_TOKENS = 600
#: The most memories of the profile at the start, and in the answer to "what do you know about me?".
_MOST_PROFILE, _MOST_ASKED = 5, 20
#: The most open tasks.
_MOST_TASKS = 5
#: How long a task that is overdue is shown at the start, if no session has ended since.
_OVERDUE = timedelta(days=7)
#: The most rules, and how many memories are looked at for the profile, tasks and summaries, newest first.
_MOST_RULES = 200
_MOST_RECENT = 50
#: The hottest urgency that comes after the profile: critical memories and blockers come before it.
_URGENT = 1
_NEVER = 1 << 62


class Standing(NamedTuple):
    """A memory that is given whatever is asked."""

    record: Record
    reason: Reason
    #: Rules come before everything else.
    first: bool = False
    #: What its line says besides: that a task is overdue.
    mark: str = ""


class StandingFinder:
    """Finds it in some spaces, and in those of past sessions, which are looked up when something is read."""

    def __init__(
        self,
        store: Store,
        spaces: Sequence[int],
        now: datetime,
        past_spaces: Callable[[], tuple[int, ...]] | None = None,
    ) -> None:
        self._store = store
        self._seen = tuple(spaces)
        self._past_spaces = past_spaces
        self._now = now

    @functools.cached_property
    def _spaces(self) -> tuple[int, ...]:
        return self._seen if self._past_spaces is None else (*self._seen, *self._past_spaces())

    def start(self) -> list[Standing]:
        """Return what a session starts with, most important first."""
        summaries = self._newest(SUMMARY)[:1]
        # An overdue task is shown until a session has ended since.
        known = max((record.memory.updated_at for record in summaries), default=self._now - _OVERDUE)
        tasks = self.tasks(overdue_since=max(known, self._now - _OVERDUE).date())
        given = [*self.rules(), *self.profile(_MOST_PROFILE), *tasks]
        shown = frozenset(_as_told(each.record.memory.content) for each in given)
        last = (_without_told(record, shown) for record in summaries)
        return [*given, *(Standing(record, Reason(code="summary")) for record in last if record)]

    def asked(self, query: str) -> list[Standing]:
        """Return what a query asks for by what it is: rules, what is known about the user, open tasks."""
        return [
            *(self.rules() if asks_for_rules(query) else ()),
            *(self.profile(_MOST_ASKED, past=False) if asks_about_user(query) else ()),
            *(self.tasks() if asks_for_tasks(query) else ()),
            *self.said_on(query),
        ]

    def said_on(self, query: str) -> list[Standing]:
        """Return what was said on the days that a question names, newest first, if it names nothing else.

        "Good work today" and "enough for this week" are no questions.
        """
        days, rest = cut_spans(query, self._now.date())
        if not days or not is_question(query) or _has_subject(rest):
            return []
        found: list[Standing] = []
        for first, last in days:
            since, until = (datetime.combine(day, time(), UTC) for day in (first, last + timedelta(days=1)))
            search = Search(spaces=self._spaces, now=self._now, since=since, until=until, limit=_MOST_ASKED)
            found += [
                Standing(record, Reason(code="said_on", details=(f"{record.memory.updated_at:%Y-%m-%d}",)))
                for record in self._store.find(search)
            ]
        return found[:_MOST_ASKED]

    def rules(self) -> Iterator[Standing]:
        """Yield the rules of a person, newest first; those of an agent are recalled like everything else."""
        for record in self._newest("rule", most=_MOST_RULES):
            if record.memory.trust is Trust.PERSON and invalidity(record.memory, self._now) is None:
                yield Standing(record, Reason(code="rule"), first=True)

    def profile(self, most: int, *, past: bool = True) -> list[Standing]:
        """Return the preferences of the user, and facts about the user, newest first.

        Without `past`, those of past sessions are left out, which a search looks at only if nothing else answers.
        """
        found = [*self._newest("preference", past=past), *self._newest("fact", tags=(PROFILE,), past=past)]
        found.sort(key=lambda record: record.memory.updated_at, reverse=True)
        certain = filter(None, map(_without_doubtful, found))
        held = (record for record in certain if invalidity(record.memory, self._now) is None)
        return [Standing(record, Reason(code="profile")) for record in islice(held, most)]

    def tasks(self, overdue_since: date = date.min) -> list[Standing]:
        """Return the open tasks: by their deadlines, then newest first; none that was due before a day."""
        today = self._now.date()
        tasks = [
            (due_of(record.memory), record)
            for record in self._newest("task")
            if not is_closed(record.memory) and invalidity(record.memory, self._now) is None
        ]
        tasks.sort(key=lambda task: task[0] or date.max)
        wanted = ((due, record) for due, record in tasks if due is None or due >= min(overdue_since, today))
        return [
            Standing(record, Reason(code="task"), mark=_overdue(due) if due and due < today else "")
            for due, record in islice(wanted, _MOST_TASKS)
        ]

    def _newest(
        self, *kinds: str, tags: tuple[str, ...] | None = None, most: int = _MOST_RECENT, past: bool = True
    ) -> list[Record]:
        spaces = self._spaces if past else self._seen
        search = Search(spaces=spaces, now=self._now, kinds=kinds, tags=tags, order="updated", limit=most)
        return self._store.find(search)


def _as_told(content: str) -> str:
    """Return the words of a memory that a summary tells."""
    return shortened(content.partition("\n")[0])


def _without_doubtful(record: Record) -> Record | None:
    """Return a preference without the sentences that are perhaps outdated; None if nothing is left.

    Where nobody has asked, they would stand without what says otherwise, which is often a fact. Who the user is stays.
    """
    memory = record.memory
    if memory.kind != "preference" or not (doubtful := doubtful_parts(memory)):
        return record
    kept = [each for each in sentences(memory.content) if not any(part in each for part in doubtful)]
    metadata = {name: value for name, value in memory.metadata.items() if name != PERHAPS_OUTDATED}
    said = "".join(kept).strip()
    return record._replace(memory=replace(memory, content=said, metadata=metadata)) if said else None


def _without_told(record: Record, shown: Collection[str]) -> Record | None:
    """Return a summary without what a start shows anyway; None if nothing is left of it."""
    memory = record.memory
    day, *lines = memory.content.split("\n")
    kept = []
    for line in lines:
        name, mark, told = line.partition(": ")
        rest = "; ".join(each for each in told.split("; ") if each not in shown)
        if rest or not mark:
            kept.append(f"{name}{mark}{rest}")
    return record._replace(memory=replace(memory, content="\n".join((day, *kept)))) if kept or not lines else None


def _has_subject(query: str) -> bool:
    """Return whether a query names something besides days, and what was done on them."""
    plain = f" {plain_text(query)} "
    rest = _time_words().sub(" ", plain.replace(" ", "  "))
    subject = subject_words(weighed_words(query, DEFAULT_WEIGHTS.framing_word))
    return not content_words(rest).isdisjoint(subject)


@functools.cache
def _time_words() -> PhrasePattern:
    """Return a pattern for words for days, and for words that ask what was done."""
    return PhrasePattern(
        word for text in (WORD_LISTS["other"]["days"], WORD_LISTS["other"]["did"], *DAY_WORDS) for word in text.split()
    )


def in_order(standing: Sequence[Standing], hot: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates, most important first: rules, urgent hot memories, what else stands, other hot memories."""
    urgent = [each for each in hot if each.order[0] <= _URGENT]
    rules = [_candidate(each, (-1, place)) for place, each in enumerate(standing) if each.first]
    others = [_candidate(each, (_URGENT, _NEVER, place)) for place, each in enumerate(standing) if not each.first]
    return [*rules, *urgent, *others, *(each for each in hot if each.order[0] > _URGENT)]


def _candidate(standing: Standing, order: tuple[int, ...]) -> Candidate:
    record = standing.record
    return Candidate(record.memory, "hot", order, standing.reason, number=record.no, mark=standing.mark)


def _overdue(due: date) -> str:
    return f"overdue since {due.day} {due:%B}"
