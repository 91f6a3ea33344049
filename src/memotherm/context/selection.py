"""The candidates of one context: each memory once, and what is left out before packing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from memotherm.context.packing import Candidate
from memotherm.context.values import Entry
from memotherm.model import Priority
from memotherm.model.clock import to_micros
from memotherm.model.memory import MemoryFields
from memotherm.recall.values import Ranking
from memotherm.storage.values import Record
from memotherm.tiers.rules.properties import is_blocker

__all__ = ["Selection", "urgency"]

#: Members of an enumeration take time to look up.
_LOW = Priority.LOW


@dataclass(slots=True)
class Selection:
    """The memories read for one request so far, and which of them are not candidates."""

    #: What was injected before: memory number -> its `updated_at` then, in microseconds.
    injected: Mapping[int, int]
    #: A fact that was stated before this moment says when it was last verified.
    old: datetime
    #: The most hits of the search that are considered.
    most_hits: int
    #: The numbers of the memories read so far.
    numbers: set[int | None] = field(default_factory=set)
    #: What is not a candidate, with its reason.
    skipped: list[Entry] = field(default_factory=list)
    ranking: Ranking = field(default_factory=Ranking)
    #: The number of the last event in the snapshot; None if the store does not know it.
    seen: int | None = None
    #: Why the hits of the search are not candidates; empty when they are.
    withheld: str = ""
    #: Those hits.
    withheld_hits: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    #: The digest of each candidate's content, and the candidate's id.
    ids_by_digest: dict[str, str] = field(default_factory=dict)

    def listed(self, pinned: Iterable[Record], hot: Iterable[Record]) -> list[Candidate]:
        """Return the pinned and the hot memories that are candidates."""
        found = [self._listed(record, "pinned", (record.no,)) for record in pinned]
        found += [self._listed(record, "hot", (urgency(record.fields), record.no)) for record in hot]
        return list(self._new(found))

    def hits(self) -> Iterator[Candidate]:
        """Yield those of the best hits of the search that are candidates, best first."""
        return self._new(self._hits())

    def not_candidates(self) -> tuple[Entry, ...]:
        """Return the hits that too low a confidence leaves out, what was given before, and duplicates."""
        if self.withheld and not self.withheld_hits:
            self.withheld_hits = [
                _skipped(candidate, "context_min_confidence", self.withheld) for candidate in self.hits()
            ]
        return (*self.withheld_hits, *self.skipped)

    def _new(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        """Yield the candidates that were not injected before and whose content is not a duplicate."""
        numbers, injected, ids_by_digest = self.numbers, self.injected, self.ids_by_digest
        for candidate in candidates:
            number, memory = candidate.number, candidate.memory
            if number is None or number in numbers:
                continue
            numbers.add(number)
            if injected and injected.get(number) == to_micros(memory.updated_at):
                self.skipped.append(_skipped(candidate, "given", "this session was given it before"))
                continue
            memory_id = memory.id
            original = ids_by_digest.setdefault(memory.digest, memory_id)
            if original == memory_id:
                yield candidate
            else:
                self.skipped.append(_skipped(candidate, "duplicate", f"{original} says the same"))

    def _listed(self, record: Record, section: str, order: tuple[int, ...]) -> Candidate:
        memory = record.fields
        if section == "pinned":
            reason = f"always included, kept in {memory.tier}"
        elif is_blocker(memory):
            reason = "an active blocker"
        else:
            reason = "current work" if memory.priority is Priority.NORMAL else f"current work, {memory.priority}"
        return Candidate(memory, section, order, reason, None, None, record.no, _verification(memory, self.old))

    def _hits(self) -> Iterator[Candidate]:
        records, old = self.ranking.records, self.old
        for position, ranked in enumerate(self.ranking.ranked[: self.most_hits]):
            record = records.get(ranked.no)
            if record is not None:
                memory = record.fields
                order = (memory.priority is _LOW, position)
                reason = f"hit {position + 1}, found in {memory.tier}"
                verified = _verification(memory, old)
                yield Candidate(memory, "recalled", order, reason, ranked.score, ranked, record.no, verified)


def urgency(memory: MemoryFields) -> int:
    """Return the rank of a hot memory, most urgent first: critical, blocker, then by priority."""
    if memory.priority is Priority.CRITICAL:
        return 0
    if is_blocker(memory) and memory.priority is not Priority.LOW:
        return 1
    return memory.priority.rank


def _verification(memory: MemoryFields, old: datetime) -> str:
    """Return when a fact that was stated before `old` was last verified; nothing for other memories."""
    verified_at = memory.verified_at
    if (verified_at is None and memory.kind != "fact") or memory.updated_at > old:
        return ""
    if verified_at is not None and verified_at >= memory.updated_at:
        return f"verified {verified_at:%Y-%m-%d}"
    return f"not verified since {memory.updated_at:%Y-%m-%d}"


def _skipped(candidate: Candidate, rule: str, reason: str) -> Entry:
    return Entry(
        _memory=candidate.memory,
        section=candidate.section,
        form=None,
        tokens=0,
        rule=rule,
        reason=f"{candidate.reason}; {reason}",
        score=candidate.score,
        _why=candidate.why,
    )
