"""A context: the text for a prompt, what is in it and what is not, and the receipt that explains it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memotherm.model import Memory, Tier, Why
from memotherm.model.memory import FormatName
from memotherm.model.receipts import Considered, Reason
from memotherm.model.value import Lazy, Value
from memotherm.text.content import first_line

_DECIMALS = 4


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Entry(Considered):
    """A memory that was considered for a context: included in it, or left out."""

    memory: Memory
    #: pinned, hot or recalled: the section of the text.
    section: str
    #: full, shortened or title; None when it was left out.
    form: str | None
    #: Its tokens in the text; for one left out, the tokens it would have cost.
    tokens: int
    #: Why it was considered, and what decided, as codes.
    reasons: tuple[Reason, ...]
    #: The score for the query; None for a memory that was not searched for.
    score: float | None = None
    #: For one left out: the smallest budget at which it would be included; None when no budget helps.
    fits_at: int | None = None
    #: Its lines in the text before the format is applied to the whole; empty when it was left out.
    lines: str = field(default="", repr=False, hash=False, compare=False)
    _why: Lazy[Why] | None = field(default=None, repr=False, hash=False)

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.memory.id

    @property
    def why(self) -> Why | None:
        """The parts of the score; None for a memory that was not searched for."""
        return None if self._why is None else self._why.value

    @property
    def content(self) -> str:
        """The memory's whole content, whatever its form in the text."""
        return self.memory.content

    def as_dict(self) -> dict[str, Any]:
        """Return the entry as plain values."""
        memory, score, why = self.memory, self.score, self.why
        return {
            "id": memory.id,
            "title": first_line(memory.content),
            "section": self.section,
            "tier": str(memory.tier),
            "priority": str(memory.priority),
            "form": self.form,
            "tokens": self.tokens,
            "rule": self.rule,
            "reason": self.reason,
            "score": None if score is None else round(score, _DECIMALS),
            "parts": None if why is None else _parts(why),
            "fits_at": self.fits_at,
        }


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Receipt(Value):
    """How a context was assembled: everything that was considered, and what decided."""

    #: When the context was assembled, by the memory's clock.
    at: datetime
    query: str | None
    budget: int
    #: Tokens of the whole text, and of each part of it.
    tokens: int
    shares: dict[str, int] = field(hash=False)
    #: What counted the tokens, and whether the count is exact or an upper bound.
    tokenizer: str
    exact: bool
    format: FormatName
    #: The tiers that were searched for the query; empty when there was none.
    tiers: tuple[Tier, ...]
    #: How likely what was found answers the query at all, 0 to 1; None when there was no query.
    confidence: float | None = None
    #: SHA-256 of all settings but paths and keys.
    settings: str
    #: Computed when it is first read, as are the entries that are left out.
    _included: Lazy[tuple[Entry, ...]]
    #: Whether pinned memories were shortened or left out, because of the budget or of `max_pinned`.
    pinned_cut: bool = False
    #: What a reader should know: pinned memories that were shortened, a budget too small for anything.
    notes: tuple[str, ...] = ()
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()
    _left_out: Lazy[tuple[Entry, ...]] = field(repr=False, hash=False)

    @property
    def included(self) -> tuple[Entry, ...]:
        """What is in the text, in its order."""
        return self._included.value

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """What was considered and is not in the text, most important first."""
        return self._left_out.value

    def as_dict(self) -> dict[str, Any]:
        """Return the receipt as plain values."""
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
            "confidence": self.confidence,
            "settings": self.settings,
            "pinned_cut": self.pinned_cut,
            "notes": list(self.notes),
            "degraded": list(self.degraded),
            "included": [entry.as_dict() for entry in self.included],
            "left_out": [entry.as_dict() for entry in self.left_out],
        }

    def as_json(self) -> str:
        """Return the receipt as JSON; equal receipts give equal bytes."""
        return json.dumps(self.as_dict(), ensure_ascii=False, indent=2)

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {tokens}" for name, tokens in self.shares.items())
        counted = "counted exactly" if self.exact else "an upper bound"
        searched = f" (searched {', '.join(self.tiers)}; confidence {self.confidence})" if self.tiers else ""
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


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Context(Value):
    """The text for an agent's prompt, within a budget, with its receipt."""

    text: str = field(repr=False)
    #: Tokens of the text.
    tokens: int
    budget: int
    receipt: Receipt = field(repr=False)
    #: What `feedback` takes; None if the recall log does not have it.
    recall_id: str | None = field(default=None, compare=False)

    @property
    def included(self) -> tuple[Entry, ...]:
        """What is in the text, in its order."""
        return self.receipt.included

    @property
    def left_out(self) -> tuple[Entry, ...]:
        """What was considered and is not in the text, most important first."""
        return self.receipt.left_out

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """The tiers that were searched for the query; empty when there was none."""
        return self.receipt.tiers

    @property
    def confidence(self) -> float | None:
        """How likely what was found answers the query at all, 0 to 1; None when there was no query."""
        return self.receipt.confidence

    @property
    def pinned_cut(self) -> bool:
        """Whether pinned memories were shortened or left out, because of the budget or of `max_pinned`."""
        return self.receipt.pinned_cut

    @property
    def degraded(self) -> tuple[str, ...]:
        """What did not work, in plain words; empty when everything did."""
        return self.receipt.degraded

    @property
    def messages(self) -> list[dict[str, str]]:
        """The text as chat messages; in the format `messages`, the text is their JSON."""
        if self.receipt.format == "messages":
            messages: list[dict[str, str]] = json.loads(self.text) if self.text else []
            return messages
        return [{"role": "user", "content": self.text}] if self.text else []

    def parts(self) -> list[tuple[str | None, str]]:
        """Return the text cut where memories begin and end, each part with the memory's id, or None between them.

        The format `messages` is JSON, whose parts mean nothing: it is one part.
        """
        parts: list[tuple[str | None, str]] = []
        done = 0
        for entry in self.included:
            start = self.text.find(entry.lines, done) if entry.lines else -1
            if start < 0:
                continue
            parts += [(None, self.text[done:start])] if start > done else []
            done = start + len(entry.lines)
            parts.append((entry.id, entry.lines))
        return [*parts, *([(None, self.text[done:])] if done < len(self.text) else [])]

    def __str__(self) -> str:
        return self.text

    def __bool__(self) -> bool:
        return bool(self.text)


def _parts(why: Why) -> dict[str, Any]:
    """Return the parts of a score, rounded; whether the query names the author is 0 or 1."""
    parts = why.as_dict() | {"author": int(why.author)}
    # Most parts are 0, and `round` takes longer than anything else here.
    return {
        name: round(value, _DECIMALS) if value and isinstance(value, float) else value for name, value in parts.items()
    }


def _table(mark: str, entries: tuple[Entry, ...]) -> list[str]:
    """Return the lines of a table of entries; `mark` is `in ` or `out`."""
    if not entries:
        return []
    cost = "tokens" if mark == "in " else "fits at"
    lines = ["", f"{mark}  {cost:>7}  {'form':<9}  {'section':<8}  {'score':>5}  memory"]
    for entry in entries:
        amount = entry.tokens if mark == "in " else entry.fits_at
        score = "" if entry.score is None else f"{entry.score:.2f}"
        row = (f"{mark}  {'never' if amount is None else amount:>7}", f"{entry.form or '-':<9}", f"{entry.section:<8}")
        lines.append("  ".join((*row, f"{score:>5}", entry.id, first_line(entry.content, 48))))
        lines.append(f"     {entry.rule}: {entry.reason}" + (f"; {entry.why}" if entry.why else ""))
    return lines
