"""A context: the text for a prompt, what is in it and what is not, and the receipt that says why.

Values only: nothing here knows the store, and the same values print the same bytes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from memotherm.model import Memory, Tier, Why
from memotherm.text.cutting import title

__all__ = ["Context", "Entry", "Later", "Receipt"]

_PLACES = 4

T = TypeVar("T")


class Later(Generic[T]):
    """A value that is worked out when somebody first looks at it; equal and printed as the value is."""

    __slots__ = ("_lock", "_value", "_work")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, work: Callable[[], T]) -> None:
        self._lock = threading.Lock()
        self._work: Callable[[], T] | None = work
        self._value: T

    @property
    def value(self) -> T:
        """The value itself."""
        with self._lock:
            if self._work is not None:
                self._value = self._work()
                self._work = None
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Later) and bool(self.value == other.value)

    def __repr__(self) -> str:
        return repr(self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        return _worked_out, (self.value,)


def _worked_out(value: T) -> Later[T]:
    return Later(lambda: value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One memory that was considered for a context: where it stands in it, or why it does not."""

    memory: Memory
    #: pinned, hot or recalled: the part of the text it belongs to.
    section: str
    #: full, shortened or title; None when it was left out.
    form: str | None
    #: What it costs in this text; for one left out, what it would have cost.
    tokens: int
    #: The rule that let it in or kept it out.
    rule: str
    #: The rule in words.
    reason: str
    #: The score for the query; None for what came without a search.
    score: float | None = None
    #: Works out the parts of the score; most of them are never looked at.
    explain: Callable[[], Why] | None = field(default=None, repr=False, compare=False)
    #: For one left out: the smallest budget at which it would have entered; None when no budget helps.
    fits_at: int | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def why(self) -> Why | None:
        """The parts of the score; None for what came without a search."""
        return None if self.explain is None else self.explain()

    @property
    def content(self) -> str:
        """The memory's whole content, whatever form it has in the text."""
        return self.memory.content

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        return {
            "id": self.id,
            "title": title(self.content),
            "section": self.section,
            "tier": str(self.memory.tier),
            "priority": str(self.memory.priority),
            "form": self.form,
            "tokens": self.tokens,
            "rule": self.rule,
            "reason": self.reason,
            "score": None if self.score is None else round(self.score, _PLACES),
            "parts": None if self.explain is None else _rounded(asdict(self.explain())),
            "fits_at": self.fits_at,
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt:
    """How a context came about: everything that was considered, and what decided."""

    #: When the context was assembled, by the memory's clock.
    at: datetime
    query: str | None
    budget: int
    #: Tokens of the whole text, and what each part of it takes.
    tokens: int
    shares: dict[str, int]
    #: What counted the tokens, and whether the count is exact or an upper bound.
    tokenizer: str
    exact: bool
    format: str
    #: The tiers that were searched for the query; empty when there was none.
    tiers: tuple[Tier, ...]
    #: SHA-256 of all settings but paths and keys.
    settings: str
    included: tuple[Entry, ...] = ()
    #: Works out what was considered and is not in the text: nobody may ever look at it.
    rest: Later[tuple[Entry, ...]]
    #: Whether pinned memories were shortened or left out for want of space.
    pinned_cut: bool = False
    #: What a reader should know: pinned memories that were shortened, a budget too small for anything.
    notes: tuple[str, ...] = ()
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """What was considered and is not in the text, most important first."""
        return self.rest.value

    def as_dict(self) -> dict[str, Any]:
        """Return the receipt as plain values, for machines."""
        return {
            "at": self.at.isoformat(),
            "query": self.query,
            "budget": self.budget,
            "tokens": self.tokens,
            "shares": dict(self.shares),
            "tokenizer": self.tokenizer,
            "exact": self.exact,
            "format": self.format,
            "tiers": [str(tier) for tier in self.tiers],
            "settings": self.settings,
            "pinned_cut": self.pinned_cut,
            "notes": list(self.notes),
            "degraded": list(self.degraded),
            "included": [entry.as_dict() for entry in self.included],
            "left_out": [entry.as_dict() for entry in self.left_out],
        }

    def as_json(self) -> str:
        """Return the receipt as JSON; the same receipt gives the same bytes."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {tokens}" for name, tokens in self.shares.items())
        counted = "counted exactly" if self.exact else "an upper bound"
        searched = f" (searched {', '.join(self.tiers)})" if self.tiers else ""
        lines = [
            f"receipt   {self.at:%Y-%m-%d %H:%M:%S} UTC, {self.format}",
            f"query     {json.dumps(self.query, ensure_ascii=False) if self.query else 'none'}{searched}",
            f"budget    {self.budget} tokens of {self.tokenizer}, {counted}: {self.tokens} used ({shares})",
            f"settings  sha256 {self.settings[:16]}",
            *(f"note      {note}" for note in self.notes),
            *(f"degraded  {reason}" for reason in self.degraded),
        ]
        lines += _table("in ", self.included) + _table("out", self.left_out)
        return "\n".join(lines) + "\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What an agent gets to read before it works, within a budget, with the receipt for it."""

    text: str
    #: Tokens of the text, counted on the text itself.
    tokens: int
    budget: int
    #: What is in the text, in its order.
    included: tuple[Entry, ...]
    receipt: Receipt

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """What was considered and is not in it, most important first."""
        return self.receipt.left_out

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers that were searched for the query; empty when there was none."""
        return self.receipt.tiers

    @property
    def pinned_cut(self) -> bool:
        """Whether pinned memories were shortened or left out for want of space."""
        return self.receipt.pinned_cut

    @property
    def degraded(self) -> tuple[str, ...]:
        """What did not work, in plain words; empty when all did."""
        return self.receipt.degraded

    @property
    def messages(self) -> list[dict[str, str]]:
        """The text as chat messages; in the format `messages` they are what the text is the JSON of."""
        if self.receipt.format == "messages":
            found: list[dict[str, str]] = json.loads(self.text) if self.text else []
            return found
        return [{"role": "user", "content": self.text}] if self.text else []

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


def _rounded(parts: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value is None else round(value, _PLACES) for name, value in parts.items()}


def _table(mark: str, entries: tuple[Entry, ...]) -> list[str]:
    if not entries:
        return []
    cost = "tokens" if mark == "in " else "fits at"
    lines = ["", f"{mark}  {cost:>7}  {'form':<9}  {'section':<8}  {'score':>5}  memory"]
    for entry in entries:
        amount = entry.tokens if mark == "in " else entry.fits_at
        score = "" if entry.score is None else f"{entry.score:.2f}"
        row = (f"{mark}  {'never' if amount is None else amount:>7}", f"{entry.form or '-':<9}", f"{entry.section:<8}")
        lines.append("  ".join((*row, f"{score:>5}", entry.id, title(entry.content, 48))))
        lines.append(f"     {entry.rule}: {entry.reason}" + (f"; {entry.explain()}" if entry.explain else ""))
    return lines
