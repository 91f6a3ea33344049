"""The log stage: one entry for each recall, and the uses that it counts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from memotherm.recall.values import Ranked, Ranking
from memotherm.settings import Settings
from memotherm.storage.contract import UsageStore
from memotherm.storage.values import RecallEntry, ReceiptRow
from memotherm.text.redaction import redactor

__all__ = ["RecallLog", "logged_query"]

_CANDIDATES_LOGGED = 50


def logged_query(query: str, settings: Settings) -> str | None:
    """Return a query as the log and the receipts keep it, without secrets; None if they keep no queries."""
    return redactor(settings).redact(query).text if settings.recall_log == "text" else None


class RecallLog:
    """Logs queries and their results, and counts uses, as the settings say."""

    def __init__(self, store: UsageStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    def write(
        self,
        ranking: Ranking,
        returned: Sequence[int],
        answers: Iterable[Ranked],
        *,
        touched: Sequence[int] = (),
        promoted: Sequence[int] = (),
        relevance: Sequence[tuple[int, float]] = (),
        receipt: ReceiptRow | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Log a recall, and count the uses of some memories.

        Args:
            ranking: The candidates of the query.
            returned: The numbers of the memories that the caller got.
            answers: The candidates whose best relevance decides whether the query counts as answered.
            touched: The memories whose use is counted.
            promoted: The memories that were moved to hot.
            relevance: Memories and their new running relevance.
            receipt: The receipt of a context, to be kept.
            options: What a replay needs to know beside that.
        """
        question, keep = ranking.question, self._settings.recall_log != "off"
        if question is None or not (keep or touched or receipt):
            return
        best = max((candidate.relevance for candidate in answers), default=None)
        query = logged_query(question.text, self._settings) or hashlib.sha256(question.text.encode()).hexdigest()
        entry = RecallEntry(
            at=question.where.now,
            space=question.spaces[-1] if question.spaces else None,
            query=query,
            tiers=question.tiers,
            micros=(time.perf_counter_ns() - ranking.started) // 1000,
            candidates=[(candidate.no, candidate.score) for candidate in ranking.ranked[:_CANDIDATES_LOGGED]],
            returned=returned,
            promoted=promoted,
            degraded=ranking.degraded,
            best=best or 0.0,
            found=best is not None and best >= self._settings.hit_threshold,
            touched=touched,
            relevance=relevance,
            receipt=receipt,
            options={
                **({"used": True} if touched else {}),
                **({"filtered": True} if question.where.selective else {}),
                **({"alone": True} if len(question.spaces) == 1 else {}),
                **(options or {}),
            },
        )
        self._store.log_recall(entry, keep=keep)

    def count_use(
        self, nos: Sequence[int], now: datetime, space: int | None = None, receipt: ReceiptRow | None = None
    ) -> None:
        """Count a use of memories that were read without a query, and keep the receipt of their context."""
        entry = RecallEntry(
            at=now,
            space=space,
            query="",
            tiers=(),
            micros=0,
            candidates=(),
            returned=nos,
            touched=nos,
            receipt=receipt,
            options={"used": True},
        )
        keep = self._settings.recall_log != "off" and space is not None and bool(nos)
        self._store.log_recall(entry, keep=keep)
