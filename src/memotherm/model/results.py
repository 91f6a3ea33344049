"""Results of calls: moves and events, pages, counts, sessions, and the effects of a run of the rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from memotherm.model.memory import Memory, Retention, Scope, Tier
from memotherm.model.value import Value


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Move(Value):
    """A decision to change the tier or retention of a memory, and the rule that made it."""

    id: str
    from_tier: Tier
    to: Tier
    #: The id of the rule.
    rule: str
    #: The reason in words.
    why: str
    #: The new retention; None for no change.
    retention: Retention | None = None
    #: The hash of the adopted policy with the rule; empty for built-in rules.
    policy: str = ""

    @classmethod
    def of(cls, memory: Memory, to: Tier | Retention | str, why: str, rule: str = "") -> Move:
        """Return the move of a memory to a tier or a retention; the engine fills in the rule."""
        if isinstance(to, Retention) or str(to) in set(Retention):
            return cls(
                id=memory.id, from_tier=memory.tier, to=memory.tier, rule=rule, why=why, retention=Retention.of(to)
            )
        return cls(id=memory.id, from_tier=memory.tier, to=Tier.of(to), rule=rule, why=why)

    def __str__(self) -> str:
        change = f"{self.from_tier} -> {self.to}" if self.retention is None else f"-> {self.retention}"
        return f"{self.id} {change}: {self.why} [{self.rule}]"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Event(Value):
    """One entry of the ledger: what changed, when, by whom and by which rule."""

    seq: int
    at: datetime
    #: The memory that changed.
    memory_id: str
    #: What was done, as one of `memotherm.model.actions.Action`: remember, update, move, ...
    action: str
    #: Who requested it.
    actor: str
    #: The rule that decided it; "explicit" when a caller did.
    rule: str
    #: The reason in words.
    why: str
    #: Field -> (before, after), for every field that changed.
    changes: Mapping[str, tuple[Any, Any]] = field(hash=False)
    #: The hash of the adopted policy with the rule; empty for built-in rules.
    policy: str = ""

    def __str__(self) -> str:
        changed = ", ".join(f"{name}: {was} -> {now}" for name, (was, now) in self.changes.items())
        return f"#{self.seq} {self.at:%Y-%m-%d %H:%M:%S} {self.action} {self.memory_id} {changed} ({self.why})"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Adoption(Value):
    """A change of the active policy."""

    #: Its number in the ledger; 0 before it is stored.
    number: int = 0
    at: datetime
    actor: str
    #: adopt or rollback.
    action: str
    #: The active policy from then on; an empty hash means the built-in rules.
    name: str
    hash: str
    #: Its text and the texts of what it extends, as JSON; interfaces leave it out.
    document: str = field(default="", repr=False, compare=False)

    def __str__(self) -> str:
        return f"#{self.number} {self.at:%Y-%m-%d %H:%M:%S} {self.action}: {self.name} {self.hash} ({self.actor})"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SkippedEvent(Value):
    """An event that could not be undone."""

    seq: int
    #: The memory.
    id: str
    why: str

    def __str__(self) -> str:
        return f"event {self.seq} was not undone: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Cooled(Value):
    """What `bulk.cool` moved to warm."""

    #: How many memories were moved.
    count: int
    #: Tokens of the hot memories that are left in the scope, and their limit.
    tokens: int
    limit: int
    #: One event of the run, for `bulk.undo([event], run=True)`; None if nothing was moved.
    event: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Undone(Value):
    """What came of undoing several events."""

    #: The memory of each undone event, the newest event first; its `version` is the event to undo to redo it.
    memories: tuple[Memory, ...] = ()
    #: Events that were left as they are, such as changes of a memory that was changed again since.
    skipped: tuple[SkippedEvent, ...] = ()

    def __str__(self) -> str:
        return f"{len(self.memories)} events undone, {len(self.skipped)} skipped"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class TierCount(Value):
    """Memories and tokens in one tier."""

    memories: int = 0
    tokens: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Compaction(Value):
    """The moves of one run of the tier rules."""

    moves: tuple[Move, ...] = ()
    #: Whether the moves were only computed.
    dry_run: bool = False
    #: The rules that failed and moved nothing, in plain words.
    degraded: tuple[str, ...] = ()

    @property
    def hot(self) -> int:
        """How many memories moved to hot."""
        return self._count(Tier.HOT)

    @property
    def warm(self) -> int:
        """How many memories moved to warm."""
        return self._count(Tier.WARM)

    @property
    def cold(self) -> int:
        """How many memories moved to cold."""
        return self._count(Tier.COLD)

    def _count(self, tier: Tier) -> int:
        return sum(move.to is tier and move.retention is None for move in self.moves)

    def __str__(self) -> str:
        return f"Tier compaction: hot={self.hot} warm={self.warm} cold={self.cold}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Maintenance(Value):
    """The effects of one run of maintenance."""

    #: Moves because of use or disuse.
    moves: tuple[Move, ...] = ()
    #: Numbers of memories that expired, and whose retention changed.
    expired: int = 0
    archived: int = 0
    deleted: int = 0
    purged: int = 0
    #: Idle sessions that were ended.
    ended: int = 0
    #: Memories whose missing vectors were made.
    embedded: int = 0
    #: What could not be done, in plain words.
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Spill(Value):
    """The memories that a spill moved out of a session's hot tier."""

    moved: tuple[Move, ...] = ()

    @property
    def spilled_count(self) -> int:
        """How many memories moved."""
        return len(self.moved)

    @property
    def spilled_ids(self) -> tuple[str, ...]:
        """The ids of the memories that moved."""
        return tuple(move.id for move in self.moved)

    @property
    def target_tier(self) -> str | None:
        """The tier they moved to: warm, cold, or mixed; None when nothing moved."""
        targets = {str(move.to) for move in self.moved}
        return "mixed" if len(targets) > 1 else next(iter(targets), None)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Suggestion(Value):
    """A suggested action for a session."""

    type: Literal["spill", "recall", "prune"]
    reason: str
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SessionStatus(Value):
    """The working memory of one session."""

    session: str
    state: Literal["active", "archived", "summarized"]
    hot: TierCount
    warm: TierCount
    cold: TierCount
    #: The maximum hot tokens of the session.
    limit: int
    suggestions: tuple[Suggestion, ...] = ()

    @property
    def utilization_percent(self) -> float:
        """The share of the hot limit in use, in percent."""
        return 100.0 * self.hot.tokens / self.limit if self.limit else 100.0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Captured(Value):
    """The result of `capture`: whether a text was stored, and why or why not."""

    #: stored, duplicate or skipped; spooled if the server of a remote store cannot be reached.
    status: str
    memory: Memory | None = None
    why: str = ""
    #: How many characters of recalled memories were removed from the text.
    removed_chars: int = 0
    #: How many credentials and private passages were replaced by a mark.
    redacted: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Conflict(Value):
    """Two active memories that say something else about the same thing, of which none has replaced the other."""

    older: Memory
    newer: Memory
    #: The words that they have in common, with "…" in the place of the value.
    about: str
    #: What the older and the newer one say there; of a denial, the words that deny.
    values: tuple[str, str]
    #: The id of the one that counts until somebody decides: the more trusted one, else the newer one.
    winner: str
    #: Why that one counts.
    why: str = field(repr=False)

    def __str__(self) -> str:
        said = (f"{each.updated_at:%Y-%m-%d} {each.id} {each.content}" for each in (self.newer, self.older))
        return "\n".join(
            (f"conflict: {self.about}", *(f"  {line}" for line in said), f"  {self.winner} counts: {self.why}")
        )


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class LoggedRecall(Value):
    """An entry of the recall log."""

    at: datetime
    #: The query, or its SHA-256 if the setting `recall_log` says so; empty for uses without a query.
    query: str
    tiers: tuple[Tier, ...] = ()
    #: How many memories were returned.
    returned: int = 0


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class EventPage(Value):
    """A page of the ledger; pass `cursor` to `events` for the next one."""

    events: tuple[Event, ...] = ()
    #: Where the next page starts; None on the last one.
    cursor: str | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def __len__(self) -> int:
        return len(self.events)


#: The most entries of a page.
LARGEST_PAGE = 1000


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Page(Value):
    """A page of a listing; pass `cursor` to `find` for the next one."""

    memories: tuple[Memory, ...] = ()
    #: Where the next page starts; None on the last one.
    cursor: str | None = None
    #: Where the memories are, if none is visible from this scope.
    hint: str = ""

    def __iter__(self) -> Iterator[Memory]:
        return iter(self.memories)

    def __len__(self) -> int:
        return len(self.memories)

    def __getitem__(self, index: int) -> Memory:
        return self.memories[index]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Problem(Value):
    """A problem found by `check()`."""

    #: The kind of problem, a stable identifier.
    code: str
    #: What is wrong, and where.
    detail: str

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ScopeCount(Value):
    """What is stored in exactly one scope, without narrower ones."""

    scope: Scope
    #: Active memories by tier.
    tiers: Mapping[Tier, TierCount] = field(hash=False)
    #: Archived and deleted memories.
    hidden: int = 0

    @property
    def memories(self) -> int:
        """How many active memories it has."""
        return sum(count.memories for count in self.tiers.values())

    @property
    def tokens(self) -> int:
        """The tokens of its active memories."""
        return sum(count.tokens for count in self.tiers.values())


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Match(Value):
    """A memory that a request concerns."""

    memory: Memory
    #: mentions, words, meaning or transliteration; empty for one that is left out.
    reason: str
    #: The reason in words.
    why: str


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Selection(Value):
    """What a request in words concerns; nothing is changed yet. Iterating yields the matches."""

    #: What the request names.
    matches: tuple[Match, ...] = ()
    #: What it may mean as well: some of its words, the closest meaning, names in another script.
    proposed: tuple[Match, ...] = ()
    #: The best hit that it does not concern.
    left_out: Match | None = None

    @property
    def ids(self) -> list[str]:
        """The ids of the matches, for `bulk.forget(ids=...)` and `bulk.purge(ids=...)`."""
        return [match.memory.id for match in self.matches]

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    def __len__(self) -> int:
        return len(self.matches)
