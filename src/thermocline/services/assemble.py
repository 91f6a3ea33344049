"""Which memories an agent reads before it works, in which order, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from thermocline.errors import InvalidInput, LimitReached
from thermocline.model import Context, LeftOut, Memory, Priority, Recall, Tier
from thermocline.policy.marks import is_blocker
from thermocline.services.recall import Recaller
from thermocline.services.search import Question
from thermocline.settings import Settings
from thermocline.storage.store import Find, RecallEntry, Record, Store
from thermocline.text.tokens import count_tokens

__all__ = ["Assembler"]

#: Hot memories that are looked at; a block of 2000 tokens holds far fewer.
_HOT_LOOKED_AT = 1000
#: Hits that are tried, best first; 800 tokens hold far fewer.
_HITS = 50


@dataclass
class _Page:
    """The text so far. Tokens are counted on the whole of it, never added up."""

    budget: int
    lines: list[str] = field(default_factory=list)
    included: list[Memory] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)
    #: What the text costs.
    tokens: int = 0

    @property
    def text(self) -> str:
        """The text itself."""
        return "\n".join(self.lines)

    def add(self, memory: Memory, limit: int, reason: str) -> bool:
        """Add a memory if the text stays within the budget and the limit; else note why not."""
        self.lines.append(_line(memory))
        # A line costs at least its content, so most of what cannot fit needs no counting.
        tokens = self.tokens + memory.tokens
        if tokens <= min(limit, self.budget) and (tokens := count_tokens(self.text)) <= min(limit, self.budget):
            self.included.append(memory)
            self.tokens = tokens
            return True
        self.lines.pop()
        self.left_out.append(LeftOut(memory=memory, reason=reason))
        return False


class Assembler:
    """Puts contexts together: pinned memories, then the hot block, then what a query finds."""

    def __init__(self, store: Store, recaller: Recaller, settings: Settings) -> None:
        self._store = store
        self._recaller = recaller
        self._settings = settings

    def context(self, spaces: tuple[int, ...], question: Question | None, budget: int, now: datetime) -> Context:
        """Return the context for a query, or for the start of a session when there is none."""
        if isinstance(budget, bool) or not isinstance(budget, int) or budget < 0:
            raise InvalidInput(f"budget must be a whole number of tokens from 0, not {budget!r}")
        page = _Page(budget)
        pinned = self._store.pinned(spaces, now)
        cut = self._add_pinned(page, [record.memory for record in pinned])
        hot = self._hot(spaces, now)
        self._add_hot(page, hot)
        recall = None if question is None else self._recaller.recall(question, _HITS, track=False)
        if recall is not None:
            self._add_recalled(page, recall, {record.memory.id for record in (*pinned, *hot)})
        self._count(spaces, page.included, now)
        return Context(
            text=page.text,
            tokens=page.tokens,
            budget=budget,
            included=tuple(page.included),
            left_out=tuple(page.left_out),
            tiers=recall.tiers if recall else (),
            pinned_cut=cut,
            degraded=recall.degraded if recall else (),
        )

    def _add_pinned(self, page: _Page, pinned: Sequence[Memory]) -> bool:
        """Add the pinned memories, oldest first; when they do not all fit, the oldest are cut first."""
        kept = list(pinned)
        while kept and count_tokens("\n".join(map(_line, kept))) > page.budget:
            if self._settings.on_pinned_overflow == "error":
                raise LimitReached(
                    f"the pinned memories do not fit into {page.budget} tokens: unpin some, raise the budget, "
                    "or set on_pinned_overflow = 'cut'"
                )
            page.left_out.append(LeftOut(memory=kept.pop(0), reason="pinned, but older than what fills the budget"))
        for memory in kept:
            page.add(memory, page.budget, "the budget is full")
        return len(kept) < len(pinned)

    def _hot(self, spaces: tuple[int, ...], now: datetime) -> list[Record]:
        """Return the hot memories: a lookup, not a search; blockers first, then the latest used."""
        blocking = self._store.find(spaces, Find(now=now, tier=Tier.HOT, tags=("blocker",), limit=_HOT_LOOKED_AT))
        others = self._store.find(spaces, Find(now=now, tier=Tier.HOT, limit=_HOT_LOOKED_AT))
        found = {record.no: record for record in (*blocking, *others)}
        unpinned = [record for record in found.values() if record.memory.priority is not Priority.PINNED]
        return sorted(unpinned, key=lambda record: _urgency(record.memory))

    def _add_hot(self, page: _Page, hot: Iterable[Record]) -> None:
        most = page.tokens + self._settings.hot_max_tokens
        for record in hot:
            page.add(record.memory, most, "the hot block is full")

    def _add_recalled(self, page: _Page, recall: Recall, known: set[str]) -> None:
        """Add what the query found; low priority comes last, if there is space."""
        most = page.tokens + self._settings.recall_max_tokens
        found = [hit.memory for hit in recall if hit.memory.id not in known]
        for memory in sorted(found, key=lambda each: each.priority is Priority.LOW):
            page.add(memory, most, "no space left for recalled memories")

    def _count(self, spaces: tuple[int, ...], included: Sequence[Memory], now: datetime) -> None:
        if not included or not self._settings.count_injected:
            return
        records = [self._store.get(spaces, memory.id) for memory in included]
        nos = [record.no for record in records if record is not None]
        entry = RecallEntry(at=now, space=None, query="", tiers=(), micros=0, candidates=(), returned=nos, touched=nos)
        self._store.log_recall(entry, keep=False)


def _urgency(memory: Memory) -> tuple[bool, int, float, str]:
    return not is_blocker(memory), memory.priority.rank, -memory.used_at.timestamp(), memory.id


def _line(memory: Memory) -> str:
    label = "pinned" if memory.priority is Priority.PINNED else f"{memory.tier}/{memory.kind}"
    return f"- [{label}] {' '.join(memory.content.split())}"
