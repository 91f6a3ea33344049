"""Receipts of contexts as they are kept, and why a memory is in a context, or is not.

Reasons are codes that are recorded where it is decided; the words for them are only here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memotherm.model.memory import Scope
from memotherm.model.value import Value

#: The words for each code; the details of a reason take the places of the braces.
WORDS: Mapping[str, str] = {
    # Why a memory was considered.
    "pinned": "pinned, kept in {}",
    "blocker": "an active blocker",
    "current": "current work",
    "current_priority": "current work, {}",
    "rule": "a rule",
    "profile": "about the user",
    "task": "an open task",
    "summary": "the summary of the last session",
    "said_on": "of {}",
    "best_hit": "best match, found in {1}",
    "hit": "match {}, found in {}",
    "call": "{}: {}",
    "similar_call": "{}: similar, relevance {:.2f}",
    "replaces": "said after {}, which may be outdated",
    # How it was included.
    "shortened": "shortened to whole sentences",
    "title": "title only",
    # Why it was left out.
    "given": "already given in this session",
    "duplicate": "{} says the same",
    "sibling": "{} says this of {}",
    "alike": "like {}, it says nothing of {}",
    "relevance": "not relevant enough ({:.2f}, needs {:.2f})",
    "hints": "only its time or author matches the query",
    "context_min_confidence": "the search found no clear answer (confidence {:.2f}, needs {:.2f})",
    "valid_until": "it no longer holds",
    "valid_from": "it does not hold yet",
    "condition": "it has ended: {}",
    "branch": "it is about the branch {}",
    "max_pinned": "{} memories are pinned, and max_pinned is {}",
    "on_pinned_overflow": "the pinned memories need {} tokens, and the budget is {}",
    "hot_max_tokens": "the hot block is full at {} tokens",
    "hot_max_facts": "the hot block is full at {} memories",
    "recall_max_tokens": "recalled memories are full at {} tokens",
    "entry_tokens": "even its title exceeds the limit for one memory",
    "low": "low priority is included only if space is left",
    "budget": "no room left in {} tokens",
    "frame": "nothing fits into {1} tokens: the frame alone takes {0}",
    "beside": "no memory fits into {1} tokens beside the frame of {0}",
    "off": "a budget of 0 turns the context off",
    # Why it was not considered.
    "later": "it was stored later, at {} UTC",
    "scope": "its scope ({}) cannot be seen from the scope of the context ({})",
    "hidden": "it was {} then: restore it to have it considered",
    "proposed": "it was only proposed then: approve it to have it considered",
    "expired": "it had expired at {} UTC",
    "unknown": "it was {} then, and the receipt does not record why it was not in the context",
    "unsearched": "it was {} then, and contexts without a question search nothing",
    "unsearched_cold": "it was cold then, and contexts search cold memories only with include_cold",
    "unranked": "it was {} then, and not among the first hits of the search for the question",
}  # fmt: skip

_NOT_RELEVANT = ("duplicate", "sibling", "alike", "relevance", "hints", "context_min_confidence")
_NOT_VALID = ("valid_until", "valid_from", "condition", "branch")
_NO_ROOM = (
    "max_pinned", "on_pinned_overflow", "hot_max_tokens", "hot_max_facts", "recall_max_tokens", "entry_tokens",
    "low", "budget", "frame", "beside", "off",
)  # fmt: skip
#: What codes of the same kind have in common: the answer to "why was it left out?" in short.
GROUPS: Mapping[str, str] = {
    "given": "Already given in this session",
    **dict.fromkeys(_NO_ROOM, "No room"),
    **dict.fromkeys(_NOT_RELEVANT, "Not relevant"),
    **dict.fromkeys(_NOT_VALID, "Does not hold now"),
}

#: The part of a context that a memory is in, by why it was considered.
PARTS: Mapping[str, str] = {
    "pinned": "pinned", "rule": "rules", "profile": "about the user", "task": "open tasks",
    "blocker": "current work", "current": "current work", "current_priority": "current work",
    "summary": "the last session", "said_on": "recalled", "best_hit": "recalled", "hit": "recalled",
    "call": "recalled", "similar_call": "recalled", "replaces": "possible replacements",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Reason(Value):
    """A reason as it is recorded: a code, and the numbers and names that its words tell."""

    code: str
    details: tuple[str | int | float, ...] = ()

    def __str__(self) -> str:
        return WORDS[self.code].format(*self.details)


class Decided(Value):
    """Something that was decided about a memory, with the reasons."""

    __slots__ = ()

    #: Why the memory was considered, and what decided, as codes.
    reasons: tuple[Reason, ...]

    @property
    def rule(self) -> str:
        """The code of what decided."""
        return self.reasons[-1].code

    @property
    def reason(self) -> str:
        """The reasons in words: why it was considered, then what decided."""
        return "; ".join(map(str, self.reasons))


class Considered(Decided):
    """A memory that was considered for a context: included in it, or left out."""

    __slots__ = ()

    #: pinned, hot or recalled: the section of the text.
    section: str
    #: full, shortened or title; None when it was left out.
    form: str | None

    @property
    def rule(self) -> str:
        """What decided: its section if it was included, else the code of the last reason."""
        return self.section if self.form else super().rule


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
    #: What the text says of it beside its content, such as `outdated` or `conflict`; empty for most.
    mark: str = ""


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
