"""Writing the recall log: its rows, receipts of contexts, and the counters that metrics read."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memotherm.model import Scope, Tier
from memotherm.model.clock import from_micros, to_micros
from memotherm.model.recall import TimedRecall
from memotherm.model.receipts import KeptEntry, KeptReceipt, Reason
from memotherm.storage.rows import USE_WINDOW_MICROS, TimedUse, UnwrittenUses
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import LaterUse, LogEntry, RecallEntry, Tally
from memotherm.storage.writer import UnwrittenEntry

#: The upper bounds of the buckets of durations, in milliseconds; the last bucket has none.
BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
#: What the log holds instead of a query if it stores no texts.
_HASH = re.compile("[0-9a-f]{64}")


def write_entries(statements: Statements, entries: Sequence[UnwrittenEntry]) -> None:
    """Count the uses of recalls, keep their receipts, and log those that are to be kept."""
    count_uses(statements, [(use, to_micros(entry.at)) for entry, _, _ in entries for use in entry.uses])
    kept = [entry for entry, keep, _ in entries if keep]
    relevance = {no: value for entry, _, _ in entries for no, value in entry.relevance}
    statements.run_many("relevance_set", [{"no": no, "relevance": value} for no, value in sorted(relevance.items())])
    receipts = [(entry, entry.receipt) for entry, _, _ in entries if entry.receipt is not None]
    rows = [
        {**receipt._asdict(), "entries": encoded(receipt.entries), "at": to_micros(entry.at), "space": entry.space}
        for entry, receipt in receipts
    ]
    statements.run_many("receipt_add", rows)
    statements.run_many("recall_add", list(map(_recall_row, kept)))
    times: Counter[tuple[int, str]] = Counter()
    amounts: Counter[tuple[int, str]] = Counter()
    for entry in kept:
        for name, amount in _counted(entry).items() if entry.query else ():
            times[entry.space or 0, name] += 1
            amounts[entry.space or 0, name] += amount
    tallies = [
        {"space": space, "name": name, "times": times[space, name], "amount": amounts[space, name]}
        for space, name in sorted(times)
    ]
    statements.run_many("tally_add", tallies)


def _counted(entry: RecallEntry) -> dict[str, int]:
    """Return the counters that a recall increments, each with its amount.

    They are all recalls, those with a hit, those with promotions, and the bucket of its duration.
    """
    bucket = _name(bisect_left(BUCKETS_MS, entry.micros / 1000), cold=Tier.COLD in entry.tiers)
    counted = {"recall": entry.micros, bucket: entry.micros}
    if entry.found:
        counted["recall.hit"] = 0
    if entry.promoted:
        counted["recall.promoted"] = len(entry.promoted)
    return counted


def _recall_row(entry: RecallEntry) -> dict[str, object]:
    return {
        "id": entry.id,
        "at": to_micros(entry.at),
        "space": entry.space,
        "query": entry.query,
        "tiers": " ".join(entry.tiers),
        "micros": entry.micros,
        "best": entry.best,
        "candidates": f"[{','.join([f'[{no},{score:.4f}]' for no, score in entry.candidates])}]",
        "returned": json.dumps(list(entry.returned)),
        "promoted": json.dumps(list(entry.promoted)),
        "degraded": json.dumps(list(entry.degraded)) if entry.degraded else "",
        "options": encoded(dict(entry.options)) if entry.options else "",
    }


# Uses


def count_uses(statements: Statements, uses: Iterable[TimedUse]) -> None:
    """Count uses, those of a memory in the given order."""
    # In order of number, so that two transactions cannot deadlock.
    ordered = sorted(uses, key=lambda timed: timed[0].no)
    rows = [
        {"no": no, "now": at, "weight": float(weight), "window": at - USE_WINDOW_MICROS} for (no, weight), at in ordered
    ]
    statements.run_many("memory_use", rows)
    if ordered:
        statements.note_uses(UnwrittenUses(ordered))


def add_later_use(statements: Statements, later: LaterUse) -> bool:
    """Record and count a use that followed a recall; tell whether it was not recorded before."""
    key = {"recall": later.recall, "no": later.no, "strength": str(later.strength)}
    new = bool(statements.rows("use_add", **key, space=later.space, at=to_micros(later.at)))
    if new:
        count_uses(statements, [(later.use, to_micros(later.at))])
    return new


# Rows of the log


def log_entry_of(row: Row) -> LogEntry:
    """Return the entry of a row of the recall log."""
    number, at, space, query, tiers, returned, options, recall_id = row
    return LogEntry(
        number=number,
        at=from_micros(at),
        space=space,
        query=query,
        tiers=tuple(Tier(tier) for tier in tiers.split()),
        returned=tuple(json.loads(returned)),
        options=json.loads(options) if options else {},
        id=recall_id,
    )


def timed_recall_of(row: Sequence[Any], scope: Scope) -> TimedRecall:
    """Return the query of a row of the recall log."""
    number, at, _, query, tiers, micros, best, returned, degraded = row
    return TimedRecall(
        number=number,
        at=from_micros(at),
        scope=scope,
        query=None if _HASH.fullmatch(query) else query,
        tiers=tuple(Tier(tier) for tier in tiers.split()),
        milliseconds=micros / 1000,
        best=best,
        returned=len(json.loads(returned)),
        degraded=tuple(json.loads(degraded)) if degraded else (),
    )


def receipt_of(row: Sequence[Any], scope: Scope) -> KeptReceipt:
    """Return the receipt of a row."""
    number, at, _, query, budget, tokens, given, text_format, entries = row
    considered = [
        KeptEntry(
            id=memory_id, section=section, form=form, tokens=cost, reasons=_reasons(reasons), score=score, mark=mark
        )
        for memory_id, section, form, cost, reasons, score, mark in json.loads(entries)
    ]
    return KeptReceipt(
        number=number,
        at=from_micros(at),
        scope=scope,
        query=query,
        budget=budget,
        tokens=tokens,
        given_tokens=given,
        format=text_format,
        included=tuple(entry for entry in considered if entry.form is not None),
        left_out=tuple(entry for entry in considered if entry.form is None),
    )


def _reasons(stored: Iterable[Sequence[Any]]) -> tuple[Reason, ...]:
    return tuple(Reason(code=code, details=tuple(details)) for code, *details in stored)


def encoded(value: object) -> str:
    """Return a value as compact JSON, as the logs hold it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Counters


def recall_buckets(tallies: Mapping[str, Tally], *, cold: bool) -> list[Tally]:
    """Return the counters of each bucket of durations, in order, of recalls that searched cold or did not."""
    return [tallies.get(_name(number, cold=cold), Tally()) for number in range(len(BUCKETS_MS) + 1)]


def _name(number: int, *, cold: bool) -> str:
    return f"recall.{'cold' if cold else 'live'}:{number}"
