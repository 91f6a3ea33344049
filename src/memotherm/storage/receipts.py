"""Conversion between receipts, entries of the recall log, and rows."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

from memotherm.model import Scope, Tier
from memotherm.model.clock import from_micros
from memotherm.model.recall import TimedRecall
from memotherm.model.receipts import KeptEntry, KeptReceipt
from memotherm.storage.values import ReceiptRow

__all__ = ["receipt_of", "receipt_row", "timed_recall_of", "without_entries"]


#: What the log holds instead of a query if it stores no texts.
_HASH = re.compile("[0-9a-f]{64}")


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


def receipt_row(receipt: ReceiptRow, at: int, space: int | None) -> dict[str, Any]:
    """Return a receipt as the parameters of a statement."""
    entries = json.dumps(receipt.entries, ensure_ascii=False, separators=(",", ":"))
    return {**receipt._asdict(), "entries": entries, "at": at, "space": space}


def receipt_of(row: Sequence[Any], scope: Scope) -> KeptReceipt:
    """Return the receipt of a row."""
    number, at, _, query, budget, tokens, text_format, entries = row
    considered = [
        KeptEntry(id=memory_id, section=section, form=form, tokens=cost, reason=reason, score=score)
        for memory_id, section, form, cost, reason, score in json.loads(entries)
    ]
    return KeptReceipt(
        number=number,
        at=from_micros(at),
        scope=scope,
        query=query,
        budget=budget,
        tokens=tokens,
        format=text_format,
        included=tuple(entry for entry in considered if entry.form is not None),
        left_out=tuple(entry for entry in considered if entry.form is None),
    )


def without_entries(entries: str, memory_ids: Collection[str]) -> str:
    """Return the entries of a receipt without those of some memories."""
    remaining = [entry for entry in json.loads(entries) if entry[0] not in memory_ids]
    return json.dumps(remaining, ensure_ascii=False, separators=(",", ":"))
