"""Choosing the candidates of a context: what is relevant enough, what was injected before, what disagrees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from memotherm.context.forms import Candidate
from memotherm.model import Memory, Priority
from memotherm.model.clock import to_micros
from memotherm.model.marks import ANCHORS, doubtful_parts, outdated_sentences
from memotherm.model.receipts import Reason
from memotherm.recall.confidence import subject_words
from memotherm.recall.values import Ranked, Ranking, State, best_relevance
from memotherm.storage.values import Record
from memotherm.text.content import digest
from memotherm.text.phrases import sentences
from memotherm.text.tool_calls import ToolCall
from memotherm.text.triggers import names_call_vaguely, reason_for_call
from memotherm.text.versions import first_words, share_most, statement
from memotherm.text.words import words
from memotherm.tiers.rules.properties import is_blocker

#: The least relevance of a hit, as a share of the best one's: of the first hits, and of those after them. What it
#: gains and costs is in docs/evaluation.md; `python -m bench.calibrate` fits it to a model.
_FIRST_HITS = 3
_FIRST_SHARE, _LATER_SHARE = 0.5, 0.75
#: The least relevance of any hit, but the first ones of a search that is so confident: they may be right although none
#: of them is close.
_LEAST_RELEVANCE = 0.25
_CONFIDENT = 0.85
#: How many of the best candidates are compared with each other.
_COMPARED = 8
#: The most that time and author may add to a hit that is far from the query and has none of its words: its
#: relevance against its closeness, and how close is not far.
_MOST_HINTS = 1.5
_CLOSE = 0.15
#: Hits whose files have changed come after all others.
_BEHIND = 1 << 30
#: How many of the hits that are not relevant enough are read, so that the receipt can name them.
_NAMED_IRRELEVANT = 5
_GIVEN = Reason(code="given")
#: What may stand around a text that otherwise says the same.
_AROUND = " \t\r\n.!…。！"


class Skipped(NamedTuple):
    """A memory that is not a candidate, and why."""

    candidate: Candidate
    reason: Reason


@dataclass(kw_only=True, slots=True)
class Selection:
    """The candidates of one context, each memory once, and what is left out before packing."""

    #: Pinned and hot memories, most important first.
    listed: list[Candidate] = field(default_factory=list)
    #: The hits of the search, best first; none if they are withheld.
    hits: list[Candidate] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    #: None without a query.
    ranking: Ranking | None = None
    #: The best relevance of a hit, and whether the query has a subject, not only a time or an author.
    best: float = 0.0
    has_subject: bool = False
    #: Whether the search is so confident that its first hits may be far from the query.
    confident: bool = False
    #: The number of the last event in the snapshot; None if the store does not know it.
    seen: int | None = None
    notes: list[str] = field(default_factory=list)
    #: Why hits are not relevant enough, by number and whether it is one of the first; None if they are.
    _irrelevant: dict[tuple[int, bool], Reason | None] = field(default_factory=dict)
    #: Whether more memories are pinned than a context holds.
    pinned_cut: bool = False

    def limit_pinned(self, pinned: list[Candidate], limit: int, now: datetime) -> None:
        """Remove the oldest pinned memories that exceed a limit: those of a wider scope may have been pinned later.

        What does not hold now is not counted.
        """
        valid = [candidate for candidate in pinned if invalidity(candidate.memory, now) is None]
        excess = valid[: max(0, len(valid) - limit)]
        if excess:
            reason = Reason(code="max_pinned", details=(len(valid), limit))
            self.skipped += [Skipped(candidate, reason) for candidate in excess]
            self.notes.append(f"{reason}: the oldest were left out")
            self.pinned_cut = True
            numbers = {candidate.number for candidate in excess}
            pinned[:] = [candidate for candidate in pinned if candidate.number not in numbers]

    def judge(self, state: State, count: int) -> int:
        """Note what decides which hits are relevant enough; return how many of the first `count` to read.

        These are the ones that are relevant enough, and a few more for the receipt.
        """
        # Of all candidates, so that it does not depend on the budget.
        self.best = best_relevance(state.ranked) or 0.0
        self.has_subject = bool(subject_words(state.terms))
        self.confident = state.confidence >= _CONFIDENT
        hits = state.ranked[:count]
        relevant = [place for place, hit in enumerate(hits) if not self.irrelevance(hit, place)]
        return min(len(hits), max(relevant, default=-1) + 1 + _NAMED_IRRELEVANT)

    def irrelevance(self, hit: Ranked, place: int) -> Reason | None:
        """Return why the hit at this place in the ranking is not relevant enough; None if it is."""
        asked = hit.no, place < _FIRST_HITS
        if asked not in self._irrelevant:
            self._irrelevant[asked] = self._irrelevance(hit, first=asked[1])
        return self._irrelevant[asked]

    def _irrelevance(self, hit: Ranked, *, first: bool) -> Reason | None:
        least, relevance = self.best * (_FIRST_SHARE if first else _LATER_SHARE), hit.relevance
        if not (first and self.confident):
            least = max(least, _LEAST_RELEVANCE)
        if relevance < least:
            return Reason(code="relevance", details=(float(relevance), float(least)))
        close = hit.closeness >= min(_CLOSE, relevance / _MOST_HINTS)
        if self.has_subject and not hit.coverage and not close:
            return Reason(code="hints")
        return None

    def choose(
        self,
        candidates: Iterable[Candidate],
        injected: Mapping[int, int],
        least: float,
        now: datetime,
        unfit: Callable[[Memory], Reason | None] | None = None,
    ) -> None:
        """Divide the candidates into those that may be included and those that are left out.

        Args:
            candidates: Most important first.
            injected: What was injected before: memory number -> its `updated_at` then, in microseconds.
            least: The least confidence of a search whose hits may be included; 0 switches the selection off.
            now: What does not hold at this moment is left out.
            unfit: Returns why a memory does not belong into the folder of the caller; None if it does.
        """
        ranking = self.ranking
        withheld = None
        if ranking is not None and ranking.confidence < least:
            withheld = Reason(code="context_min_confidence", details=(ranking.confidence, least))
            if ranking.ranked:
                self.notes.append(f"nothing that was found is included: {withheld}")
        numbers: set[int | None] = {None}
        originals: dict[str, Candidate] = {}
        for candidate in map(_without_outdated, candidates):
            number, memory, scored = candidate.number, candidate.memory, candidate.scored
            if number in numbers:
                continue
            numbers.add(number)
            if injected and injected.get(number or 0) == to_micros(memory.updated_at):
                self.skipped.append(Skipped(candidate, _GIVEN))
            elif invalid := invalidity(memory, now) or (unfit and unfit(memory)):
                self.skipped.append(Skipped(candidate, invalid))
            elif (
                scored is not None and least and (unwanted := withheld or self.irrelevance(scored, candidate.order[-1]))
            ):
                self.skipped.append(Skipped(candidate, unwanted))
            # Last, because a memory that is left out for another reason has no duplicates.
            elif (original := originals.setdefault(digest(memory.content.strip(_AROUND)), candidate)) is not candidate:
                self.skipped.append(Skipped(candidate, Reason(code="duplicate", details=(original.memory.id,))))
            else:
                (self.listed if scored is None else self.hits).append(candidate)
        if ranking is not None and least:
            self.hits, siblings = split_siblings(self.hits, ranking.question.text, _COMPARED)
            self.skipped += [Skipped(candidate, why) for candidate, why in siblings]
        self._mark()

    def put_behind(self, places: Callable[[Memory], int]) -> None:
        """Put hits some places later."""
        for place, each in enumerate(self.hits):
            if behind := places(each.memory):
                self.hits[place] = each._replace(order=(each.order[0] + behind, 1))
        self.hits.sort(key=lambda each: each.order)

    def mark_changed(self, changed_since: Callable[[Memory], str]) -> None:
        """Mark the candidates whose files have changed, and put hits behind those whose files have not."""
        for candidates in (self.listed, self.hits):
            for place, each in enumerate(candidates):
                if ANCHORS in each.memory.metadata and (mark := changed_since(each.memory)):
                    order = (_BEHIND, *each.order) if each.section == "recalled" else each.order
                    candidates[place] = each._replace(mark=each.mark or mark, order=order)
        self.hits.sort(key=lambda each: each.order)

    def _mark(self) -> None:
        """Mark the first candidates that disagree."""
        if marks := _marks([*self.listed[:_COMPARED], *self.hits[:_COMPARED]]):
            self.listed, self.hits = (
                [each._replace(mark=marks.get(each.memory.id, each.mark)) for each in candidates]
                for candidates in (self.listed, self.hits)
            )


def _without_outdated(candidate: Candidate) -> Candidate:
    """Return a candidate without the sentences that were superseded."""
    memory = candidate.memory
    if not (outdated := outdated_sentences(memory)):
        return candidate
    kept = (each for each in sentences(memory.content) if each.strip() not in outdated)
    return candidate._replace(memory=replace(memory, content="".join(kept).strip()))


def listed(record: Record, section: str, order: tuple[int, ...]) -> Candidate:
    """Return the candidate of a memory that is not searched for."""
    memory = record.memory
    if section == "pinned":
        reason = Reason(code="pinned", details=(str(memory.tier),))
    elif is_blocker(memory):
        reason = Reason(code="blocker")
    elif memory.priority is Priority.NORMAL:
        reason = Reason(code="current")
    else:
        reason = Reason(code="current_priority", details=(str(memory.priority),))
    return Candidate(memory, section, order, reason, None, None, record.no)


def hits_of(ranking: Ranking) -> Iterator[Candidate]:
    """Yield the candidates of the best hits of a search, best first."""
    for position, ranked in enumerate(ranking.ranked[: len(ranking.records)]):
        record = ranking.records.get(ranked.no)
        if record is not None:
            yield Candidate(record.memory, "recalled", (position,), None, ranked.score, ranked, record.no)


def with_successors(
    candidates: Iterable[Candidate], find: Callable[[str], Record | None], most: int
) -> Iterator[Candidate]:
    """Yield candidates, each of the first `most` that is perhaps outdated behind the memories that say so."""
    for place, candidate in enumerate(candidates):
        if place < most and (doubtful := doubtful_parts(candidate.memory)):
            reason = Reason(code="replaces", details=(candidate.memory.id,))
            for record in filter(None, map(find, dict.fromkeys(reversed([*doubtful.values()])))):
                yield candidate._replace(memory=record.memory, reason=reason, number=record.no, mark="")
        yield candidate


def invalidity(memory: Memory, now: datetime) -> Reason | None:
    """Return why what a memory says does not hold at a moment; None if it does."""
    if memory.valid_until is not None and memory.valid_until <= now:
        return Reason(code="valid_until")
    if memory.valid_from is not None and memory.valid_from > now:
        return Reason(code="valid_from")
    return None


def _marks(candidates: Sequence[Candidate]) -> dict[str, str]:
    """Return which memories are outdated or in conflict with another one, by id.

    If the newer one says that something has changed ("now", "no longer"), it is a correction, and the older one is
    outdated. Otherwise nothing tells which is right, and both are in conflict. Of messages, only those are compared
    that make a statement of a known kind.
    """
    compared = sorted(
        (each.memory for each in candidates if len(each.memory.content) <= LONGEST_VERSION),
        key=lambda memory: memory.updated_at,
    )
    subjects = [first_words(memory.content) for memory in compared]
    marks: dict[str, str] = {}
    for place, newer in enumerate(compared):
        for older, subject in zip(compared[:place], subjects, strict=False):
            if subject.isdisjoint(subjects[place]):
                continue
            difference = statement(older.content).difference(statement(newer.content))
            if difference is None or not (_makes_statement(older) and _makes_statement(newer)):
                continue
            if difference.changed or "correction" in newer.tags:
                marks[older.id] = "outdated"
            else:
                marks |= {each.id: marks.get(each.id, "conflict") for each in (older, newer)}
    return marks


def _makes_statement(memory: Memory) -> bool:
    # Few contexts have versions or conflicts.
    from memotherm.statements.kinds import kind_by_phrases

    return memory.kind != "message" or kind_by_phrases(memory.content) is not None


def urgency(memory: Memory) -> int:
    """Return the rank of a hot memory, most urgent first: critical, blocker, then by priority."""
    if memory.priority is Priority.CRITICAL:
        return 0
    if is_blocker(memory) and memory.priority is not Priority.LOW:
        return 1
    return memory.priority.rank


# For a tool call

#: The most memories that are shown at one call.
_MOST_SHOWN = 3
#: The least confidence of a search, and relevance of a hit, that is shown because it is similar: nobody has asked, so
#: both are higher than those of a prompt, 0.3 and 0.25.
_CALL_CONFIDENCE, _CALL_RELEVANCE = 0.995, 0.45


def about_call(
    call: ToolCall, ranking: Ranking, pinned: Sequence[Record], anchored: Sequence[tuple[Record, str]]
) -> Iterator[Candidate]:
    """Yield the memories that concern a call; similar ones only if none names what it is about.

    Anchored are those with an anchor in a file of the call, each with the place.
    """
    hits = [(ranking.records[each.no], each) for each in ranking.ranked if each.no in ranking.records]
    reasons = {record.no: f"it is about {place}" for record, place in anchored}
    found = 0
    for position, record in enumerate((*pinned, *(record for record, _ in (*anchored, *hits)))):
        memory = record.memory
        reason = "" if call.task else reason_for_call(call, memory.kind, memory.content) or reasons.pop(record.no, "")
        if reason and found < _MOST_SHOWN:
            found += 1
            why = Reason(code="call", details=(str(call), reason))
            yield Candidate(memory, "recalled", (position,), why, None, None, record.no)
    if found or ranking.confidence < _CALL_CONFIDENCE:
        return
    for position, (record, hit) in enumerate(hits[:_MOST_SHOWN]):
        memory = record.memory
        if hit.relevance >= _CALL_RELEVANCE and (call.task or names_call_vaguely(call, memory.kind, memory.content)):
            why = Reason(code="similar_call", details=(str(call), float(hit.relevance)))
            yield Candidate(memory, "recalled", (position,), why, hit.score, hit, record.no)


#: Only contents of at most so many characters are compared with others.
LONGEST_VERSION = 300
#: The fewest digits of a number that names something by itself.
_LEAST_DIGITS = 3
#: How many hits of one kind stay that speak of other numbers, if none speaks of the one that is asked about.
_MOST_ALIKE = 2


def split_siblings(
    hits: Sequence[Candidate], query: str, first: int
) -> tuple[list[Candidate], list[tuple[Candidate, Reason]]]:
    """Divide hits into those that answer a query and those that say the same of other numbers, with the reasons.

    Args:
        hits: The hits, best first.
        query: The query; one without a number has all hits.
        first: How many places of the ranking are compared with the others. These places do not depend on the budget.
            Of two of them that disagree about a value, both stay: "the port is 5433", "the port is 5544".
    """
    asked = _AskedNumbers.of(words(query))
    if not asked.numbers:
        return list(hits), []
    kept: list[Candidate] = []
    siblings: list[tuple[Candidate, Reason]] = []
    numbered = [(hit, asked.numbered(hit.memory)) for hit in hits]
    named = [(hit, said) for hit, said in numbered if said.asked and hit.order[-1] < first]
    of_others: list[tuple[Candidate, _Numbered]] = []
    for hit, said in numbered:
        other, other_said = next((each for each in named if said.is_sibling(each[1])), (hit, said))
        alike = [] if named or not said.of_another else [each for each in of_others if said.is_like(each[1])]
        if other is not hit and not (hit.order[-1] < first and _disagree(other.memory, hit.memory)):
            numbers = ", ".join(sorted(other_said.asked - said.asked))
            siblings.append((hit, Reason(code="sibling", details=(other.memory.id, numbers))))
        elif len(alike) >= _MOST_ALIKE:
            numbers = ", ".join(sorted(asked.numbers))
            siblings.append((hit, Reason(code="alike", details=(alike[0][0].memory.id, numbers))))
        else:
            kept.append(hit)
            of_others += [(hit, said)] if said.of_another else []
    return kept, siblings


class _Numbered(NamedTuple):
    """The words of a text: those with a digit, those of them that name what is asked about, and the others."""

    numbers: Set[str]
    asked: Set[str]
    others: Set[str]
    #: Whether it speaks of another number of the same thing: "service 8", if "service 7" is asked about.
    of_another: bool

    def is_like(self, other: _Numbered) -> bool:
        """Return whether this says of other numbers what another text says."""
        return self.numbers != other.numbers and share_most(self.others, other.others)

    def is_sibling(self, other: _Numbered) -> bool:
        """Return whether this says of other numbers what another text says of numbers that are asked about."""
        return self.asked < other.asked and not self.numbers <= other.numbers and self.is_like(other)


class _AskedNumbers(NamedTuple):
    """The words of a query that have a digit, and the words directly before and behind them.

    A short number names something only together with one of these: "service 7" is not "7 services".
    """

    numbers: frozenset[str]
    before: frozenset[str]
    behind: frozenset[str]

    @classmethod
    def of(cls, query: Sequence[str]) -> _AskedNumbers:
        """Return the numbers in the words of a query."""
        found = [each for each in _with_neighbours(query) if _has_digit(each[1])]
        before, numbers, behind = (frozenset(each[column] for each in found) for column in range(3))
        return cls(numbers, before - {""}, behind - {""})

    def numbered(self, memory: Memory) -> _Numbered:
        """Return the words of a memory; none of a long one."""
        text = words(memory.content) if len(memory.content) <= LONGEST_VERSION else []
        numbers = frozenset(filter(_has_digit, text))
        asked = {
            word
            for before, word, behind in _with_neighbours(text)
            if word in self.numbers and (_is_name(word) or before in self.before or behind in self.behind)
        }
        of_another = any(before in self.before and _has_digit(word) for before, word, _ in _with_neighbours(text))
        return _Numbered(numbers, asked, frozenset(text) - numbers, of_another)


def _with_neighbours(text: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield each word with the one before it and the one behind it; an empty text stands for none."""
    return zip(("", *text), text, (*text[1:], ""), strict=False)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _is_name(number: str) -> bool:
    """Return whether a word with a digit names something by itself: "d13", "1017"."""
    return len(number) >= _LEAST_DIGITS or not number.isdigit()


def _disagree(one: Memory, other: Memory) -> bool:
    return statement(one.content).difference(statement(other.content)) is not None
