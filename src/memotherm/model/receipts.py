"""Receipts of contexts as they are kept, and why a memory was not in a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memotherm.model.memory import Scope
from memotherm.model.reasons import Considered, Decided, Reason
from memotherm.model.value import Value


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class KeptEntry(Considered):
    """A memory that was considered for a context: included in it, or left out."""

    #: The memory's id.
    id: str
    #: pinned, hot or recalled: the section of the text.
    section: str
    #: full, shortened or title; None when it was left out.
    form: str | None
    #: Its tokens in the text; those of its content when it was left out.
    tokens: int
    #: Why it was considered, and what decided, as codes.
    reasons: tuple[Reason, ...]
    #: The score for the query; None for a memory that was not searched for.
    score: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class KeptReceipt(Value):
    """The stored receipt of an injected context."""

    #: Its number; a later one has a higher number.
    number: int
    #: When the context was assembled.
    at: datetime
    #: The scope that it was assembled for, with its session.
    scope: Scope
    #: The query; None if there was none, or if the recall log does not store texts.
    query: str | None
    budget: int
    #: Tokens of the whole text.
    tokens: int
    #: Tokens of the memories that were left out because the session was given them before.
    given_tokens: int
    format: str
    #: The included memories, except those purged since.
    included: tuple[KeptEntry, ...] = ()
    #: What was left out, except memories purged since: the first hits, and the first 200 pinned and hot memories.
    left_out: tuple[KeptEntry, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ReceiptAnswer(Decided):
    """Whether a memory was in the context of a receipt, and why or why not."""

    #: The number of the receipt.
    receipt: int
    #: The memory's id.
    id: str
    #: included; left_out if it was a candidate; not_considered if it was not.
    state: Literal["included", "left_out", "not_considered"]
    #: Why, as it was recorded; for one that was not considered, what the ledger tells.
    reasons: tuple[Reason, ...]
    #: The receipt of the turn that the session was given it in; None unless that is the reason.
    given_in: int | None = None
    #: If it did not fit the budget, the least one with which a context of the same question has it now; else None.
    fits_at: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SentPart(Value):
    """A part of a context that was sent: the lines of one memory, or what is around them."""

    text: str
    #: The memory's id; None for what is around the memories.
    id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class SentContext(Value):
    """The text of a context that was sent, made again from its receipt."""

    parts: tuple[SentPart, ...] = ()
    #: Whether it is the text that was sent; False if its memories were edited or purged since.
    exact: bool


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ReceiptPage(Value):
    """A page of receipts; pass `cursor` to `receipts` for the next one."""

    receipts: tuple[KeptReceipt, ...] = ()
    #: Where the next page starts; None on the last one.
    cursor: str | None = None

    def __iter__(self) -> Iterator[KeptReceipt]:
        return iter(self.receipts)

    def __len__(self) -> int:
        return len(self.receipts)
