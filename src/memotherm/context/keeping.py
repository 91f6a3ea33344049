"""What is kept of a receipt: what was included, and the first memories of each section that were left out.

Which budget would have included a memory is not kept: it costs more than the context itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator

from memotherm.context.packing import Candidate, Form, reason_for
from memotherm.context.values import Entry, Receipt
from memotherm.model import Priority
from memotherm.settings import Settings
from memotherm.storage.values import ReceiptRow

__all__ = ["first_without_space", "kept_receipt"]

#: The most memories of a section that a kept receipt names as left out.
_MOST_OF_SECTION = 25
_NO_SPACE = "the space was spent on what is more important"
_LOW = "low priority enters when space is left"

KeptTuple = tuple[str, str, str | None, int, str, float | None]


def first_without_space(candidates: Iterable[Candidate], included: Container[int | None]) -> Iterator[KeptTuple]:
    """Yield the first candidates of each section that are not included, and read no more of the last section."""
    counts: Counter[str] = Counter()
    for candidate in candidates:
        memory, section = candidate.memory, candidate.section
        if candidate.number in included:
            continue
        counts[section] += 1
        if counts[section] <= _MOST_OF_SECTION:
            reason = _LOW if memory.priority is Priority.LOW else _NO_SPACE
            yield memory.id, section, None, 0, f"{candidate.reason}; {reason}", _rounded(candidate.score)
        elif section == "recalled":
            return


def kept_receipt(
    receipt: Receipt,
    included: Iterable[tuple[Candidate, Form]],
    without_space: Iterable[KeptTuple],
    skipped: Iterable[Entry],
    settings: Settings,
) -> ReceiptRow | None:
    """Return what is stored of a receipt, without its query.

    It is None if the context is off, if nothing was considered, and if receipts are not kept.
    """
    if not settings.receipt_days or not receipt.budget:
        return None
    entries = [*map(_kept_included, included), *without_space, *_first(map(_kept_skipped, skipped))]
    if not entries:
        return None
    return ReceiptRow(
        query=None,
        budget=receipt.budget,
        tokens=receipt.tokens,
        format=receipt.format,
        entries=entries,
    )


def _first(entries: Iterable[KeptTuple]) -> Iterator[KeptTuple]:
    counts: Counter[str] = Counter()
    for entry in entries:
        counts[entry[1]] += 1
        if counts[entry[1]] <= _MOST_OF_SECTION:
            yield entry


def _kept_included(included: tuple[Candidate, Form]) -> KeptTuple:
    candidate, form = included
    reason = reason_for(candidate, form)
    return candidate.memory.id, candidate.section, form.name, form.cost, reason, _rounded(candidate.score)


def _kept_skipped(entry: Entry) -> KeptTuple:
    return entry.id, entry.section, None, 0, entry.reason, _rounded(entry.score)


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)
