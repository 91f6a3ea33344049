"""Writing the recall log: its rows, receipts of contexts, and the counters that metrics read."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memotherm.model import Scope, Tier
from memotherm.model.clock import from_micros, to_micros
from memotherm.model.recall import TimedRecall
from memotherm.model.receipts import KeptEntry, KeptReceipt, Reason
from memotherm.storage.rows import USE_WINDOW_MICROS, TimedUse, UnwrittenUses
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import LaterUse, LogEntry, RecallEntry, Tally
from memotherm.storage.writer import UnwrittenEntry
from memotherm.text.redaction import MARK
from memotherm.text.words import query_words

#: The upper bounds of the buckets of durations, in milliseconds; the last bucket has none.
BUCKETS_MS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
#: What the log holds instead of a query if it stores no texts.
_HASH = re.compile("[0-9a-f]{64}")
#: How many words of a purged text quote it if all of them are there, although other memories have them, too.
_SHORTEST_QUOTATION = 3


def write_entries(statements: Statements, entries: Sequence[UnwrittenEntry]) -> None:
    """Count the uses of recalls, keep their receipts, and log those that are to be kept."""
    count_uses(statements, [(use, to_micros(entry.at)) for entry, _, _ in entries for use in entry.uses])
    kept = [entry for entry, keep, _ in entries if keep]
    relevance = {no: value for entry, _, _ in entries for no, value in entry.relevance}
    statements.run_many("relevance_set", [{"no": no, "relevance": value} for no, value in sorted(relevance.items())])
    receipts = [(entry, entry.receipt) for entry, _, _ in entries if entry.receipt is not None]
    rows = [
        {**receipt._asdict(), "entries": _encoded(receipt.entries), "at": to_micros(entry.at), "space": entry.space}
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


def without_purged(statements: Statements, waiting: Sequence[UnwrittenEntry]) -> list[UnwrittenEntry]:
    """Return entries, and whether each is logged, without what was purged between the recall and this transaction.

    As a purge does with those that are logged already: a recall that returned the memory is not logged, and a
    receipt loses the query and the memory.
    """
    rows = _purged(statements, [logged.entry for logged in waiting])
    nos, ids = {no for no, _ in rows}, {memory_id for _, memory_id in rows}
    return [
        UnwrittenEntry(_receipt_without(entry, ids), keep and nos.isdisjoint(entry.returned))
        for entry, keep, _ in waiting
    ]


def _purged(statements: Statements, entries: Sequence[RecallEntry]) -> list[Row]:
    """Return number and id of the memories that were purged since entries were made, or of those in the entries."""
    seen = [entry.seen for entry in entries]
    known = [seq for seq in seen if seq is not None]
    if known and len(known) == len(seen):
        return statements.rows("purged_since", seq=min(known))
    nos = {no for entry in entries for no in entry.returned}
    receipts = [entry.receipt for entry in entries if entry.receipt is not None]
    ids = {parts[0] for receipt in receipts for parts in receipt.entries}
    return statements.rows("purged_of", nos=list(nos), ids=list(ids)) if nos or ids else []


def _receipt_without(entry: RecallEntry, purged: set[str]) -> RecallEntry:
    receipt = entry.receipt
    if not purged or receipt is None or purged.isdisjoint(parts[0] for parts in receipt.entries):
        return entry
    remaining = [parts for parts in receipt.entries if parts[0] not in purged]
    return replace(entry, receipt=receipt._replace(query=None, entries=remaining))


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
        "options": _encoded(dict(entry.options)) if entry.options else "",
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


def erase_from_logs(statements: Statements, ids: Mapping[int, str], texts: Collection[str]) -> None:
    """Erase what the log and the receipts say about purged memories, given their ids by number, and their texts."""
    nos, memory_ids = list(ids), set(ids.values())
    statements.run("recalls_erase", nos=nos)
    statements.run("uses_erase", nos=nos)
    for receipt, entries in statements.rows("receipts_naming", ids=list(memory_ids)):
        statements.run("receipt_erase", receipt=receipt, entries=_without_entries(entries, memory_ids))
    if texts:
        _erase_quotations(statements, nos, texts)


def _without_entries(entries: str, memory_ids: Collection[str]) -> str:
    """Return the entries of a receipt without those of some memories."""
    remaining = [entry for entry in json.loads(entries) if entry[0] not in memory_ids]
    return _encoded(remaining)


def _erase_quotations(statements: Statements, nos: Sequence[int], purged: Iterable[str]) -> None:
    """Erase the queries, and the reasons that callers gave, which quote the texts of purged memories.

    They have a word of one that no other memory has, or all words of one. A recall that returned a purged memory is
    erased in any case; but it may also have been asked for before that was stored, or while it was hidden.
    """
    said = [frozenset(query_words(text)) for text in purged]
    words: frozenset[str] = frozenset().union(*said)
    whole: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for each in said:
        if len(each) >= _SHORTEST_QUOTATION:
            whole[max(each, key=len)].append(each)
    recalls, receipts, reasons = (
        {number: words.intersection(query_words(text)) for number, text in statements.rows(name)}
        for name in ("logged_queries", "receipt_queries", "given_reasons")
    )
    used: frozenset[str] = frozenset().union(*recalls.values(), *receipts.values(), *reasons.values())
    gone = used.difference(word for (word,) in statements.rows("words_stored", words=sorted(used), nos=nos))

    def quoting(texts: Mapping[int, frozenset[str]]) -> list[int]:
        return [
            number
            for number, of_text in texts.items()
            if not gone.isdisjoint(of_text) or any(each <= of_text for word in of_text for each in whole.get(word, ()))
        ]

    statements.run("recalls_drop", recalls=quoting(recalls))
    statements.run("receipt_queries_erase", receipts=quoting(receipts))
    statements.run("reasons_erase", seqs=quoting(reasons), mark=MARK)


def _encoded(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


# Counters


def recall_buckets(tallies: Mapping[str, Tally], *, cold: bool) -> list[Tally]:
    """Return the counters of each bucket of durations, in order, of recalls that searched cold or did not."""
    return [tallies.get(_name(number, cold=cold), Tally()) for number in range(len(BUCKETS_MS) + 1)]


def _name(number: int, *, cold: bool) -> str:
    return f"recall.{'cold' if cold else 'live'}:{number}"
