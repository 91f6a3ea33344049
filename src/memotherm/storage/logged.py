"""Writing entries of the recall log, with what they count, and what they may still say when they are written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from memotherm.model import Tier
from memotherm.model.clock import to_micros
from memotherm.storage.log_writer import Logged
from memotherm.storage.receipts import receipt_row
from memotherm.storage.statements import Row, Statements
from memotherm.storage.tallies import recall_tallies, shadow_tallies, sums
from memotherm.storage.uses import count_uses, later_use_is_new
from memotherm.storage.values import LaterUse, RecallEntry, Use
from memotherm.storage.waiting import TimedUse

__all__ = ["without_purged", "write_entries"]


def write_entries(statements: Statements, entries: Sequence[Logged], window_micros: int, shadow: str) -> None:
    """Count the uses of recalls, keep their receipts, and log those that are to be kept.

    Args:
        statements: The transaction.
        entries: The recalls and later uses, in order.
        window_micros: The time in which uses count as recent.
        shadow: The hash of the policy in the shadow; empty without one.
    """
    count_uses(statements, _uses(statements, entries), window_micros)
    recalls = [(entry, keep) for entry, keep, _ in entries if isinstance(entry, RecallEntry)]
    kept = [entry for entry, keep in recalls if keep]
    relevance = {no: value for entry, _ in recalls for no, value in entry.relevance}
    statements.run_many("relevance_set", [{"no": no, "relevance": value} for no, value in sorted(relevance.items())])
    receipts = [(entry, entry.receipt) for entry, _ in recalls if entry.receipt is not None]
    rows = [receipt_row(receipt, to_micros(entry.at), entry.space) for entry, receipt in receipts]
    statements.run_many("receipt_add", rows)
    statements.run_many("recall_add", list(map(_recall_row, kept)))
    tallies = [tally for entry in kept if entry.query for tally in recall_tallies(entry)]
    if shadow:
        tallies += _shadow_tallies(statements, kept, shadow)
    statements.run_many("tally_add", sums(tallies))


def _uses(statements: Statements, entries: Sequence[Logged]) -> Iterator[TimedUse]:
    """Yield the uses of entries; a use that followed a recall is recorded, and counts if it was not before."""
    for entry, _, _ in entries:
        at = to_micros(entry.at)
        if isinstance(entry, RecallEntry):
            yield from ((use, at) for use in entry.uses)
        elif later_use_is_new(statements, entry):
            yield Use(entry.no, entry.weight, times=0), at


def _shadow_tallies(statements: Statements, kept: Sequence[RecallEntry], policy: str) -> list[dict[str, object]]:
    """Return what the policy in the shadow would have had cold: returned memories, and candidates."""
    tallies: list[dict[str, object]] = []
    for entry in kept:
        if entry.query and Tier.COLD not in entry.tiers:
            nos = {*entry.returned, *(no for no, _ in entry.candidates)}
            cold = {no for (no,) in statements.rows("shadow_cold", policy=policy, nos=list(nos))}
            tallies += shadow_tallies(entry, policy, cold)
    return tallies


def without_purged(statements: Statements, waiting: Sequence[Logged]) -> list[Logged]:
    """Return entries, and whether each is logged, without what was purged between the recall and this transaction.

    As a purge does with those that are logged already: a recall that returned the memory is not logged, a receipt
    loses the query and the memory, and a later use of it is dropped.
    """
    rows = _purged(statements, [logged.entry for logged in waiting])
    nos, ids = {no for no, _ in rows}, {memory_id for _, memory_id in rows}
    remaining = []
    for entry, keep, _ in waiting:
        if isinstance(entry, RecallEntry):
            remaining.append(Logged(_receipt_without(entry, ids), keep and nos.isdisjoint(entry.returned)))
        elif entry.no not in nos:
            remaining.append(Logged(entry, keep))
    return remaining


def _purged(statements: Statements, entries: Sequence[RecallEntry | LaterUse]) -> list[Row]:
    """Return number and id of the memories that were purged since entries were made, or of those in the entries."""
    seen = [entry.seen if isinstance(entry, RecallEntry) else None for entry in entries]
    known = [seq for seq in seen if seq is not None]
    if len(known) == len(seen):
        return statements.rows("purged_since", seq=min(known))
    nos = {no for entry in entries for no in ((entry.no,) if isinstance(entry, LaterUse) else entry.returned)}
    receipts = [entry.receipt for entry in entries if isinstance(entry, RecallEntry) and entry.receipt is not None]
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
        "options": json.dumps(dict(entry.options), ensure_ascii=False, separators=(",", ":")) if entry.options else "",
    }
