"""Compaction and maintenance: the store selects, a policy decides, and here it is carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from memotherm.errors import EmbedderError
from memotherm.model import Memory, Move, Retention, Scope, Tier
from memotherm.model.results import Compaction, Maintenance
from memotherm.remember.changes import Changes
from memotherm.rules.compaction import Situation, compaction
from memotherm.rules.cooling import cooling
from memotherm.rules.retention import Transition, overdue
from memotherm.settings import Settings
from memotherm.storage.contract import Store, Transaction
from memotherm.storage.values import Cause, Watch
from memotherm.vectors.vectorizer import Vectorizer

__all__ = ["Tiering", "combined"]

_PAGE = 5000
_BATCH = 500
_LONG_AGO = datetime(1971, 1, 1, tzinfo=UTC)


def combined(runs: Sequence[Maintenance]) -> Maintenance:
    """Return what several runs of maintenance did together."""
    return Maintenance(
        moves=tuple(move for run in runs for move in run.moves),
        expired=sum(run.expired for run in runs),
        archived=sum(run.archived for run in runs),
        deleted=sum(run.deleted for run in runs),
        purged=sum(run.purged for run in runs),
        embedded=sum(run.embedded for run in runs),
        degraded=tuple(dict.fromkeys(reason for run in runs for reason in run.degraded)),
    )


class Tiering:
    """The tier rules of one store, run when asked."""

    def __init__(self, store: Store, changes: Changes, vectorizer: Vectorizer, settings: Settings) -> None:
        self._store = store
        self._changes = changes
        self._vectorizer = vectorizer
        self._settings = settings

    def compact(self, scope: Scope, cause: Cause, *, dry_run: bool) -> Compaction:
        """Run the four rules once over everything that a scope sees and may change."""
        spaces = self._store.spaces(scope)
        situation = Situation(now=cause.at, settings=self._settings, open_sessions=self._store.open_sessions(spaces))
        watch = Watch(name="compaction", spaces=spaces, now=cause.at)
        own = (memory for memory in self._watched(watch) if scope.may_change(memory.scope))
        moves = compaction(own, situation)
        return Compaction(moves=tuple(moves if dry_run else self._carried_out(moves, cause)), dry_run=dry_run)

    def _carried_out(self, moves: list[Move], cause: Cause) -> list[Move]:
        """Carry out the moves, those out of hot first so that nothing has to be spilled for the others."""
        leaving_first = sorted(moves, key=lambda move: move.to is Tier.HOT)
        done = {move.id for move in self._changes.carry_out(leaving_first, cause)}
        return [move for move in moves if move.id in done]

    def maintain(self, spaces: tuple[int, ...], cause: Cause) -> Maintenance:
        """Let expiry, retention windows and use do their work on some spaces."""
        counts = self._retire(spaces, cause)
        moves = self._changes.carry_out(
            [
                move
                for memory in self._watched(self._cooling_watch(spaces, cause.at))
                if (move := cooling(memory, cause.at, self._settings)) is not None
            ],
            cause,
        )
        embedded, degraded = self._embed_waiting(cause.at)
        self._store.tend()
        self._store.trim_recalls(cause.at - timedelta(days=self._settings.recall_log_days))
        return Maintenance(
            moves=tuple(moves),
            expired=counts.get("maintain.expire", 0),
            archived=counts.get("maintain.archive", 0),
            deleted=counts.get("maintain.delete", 0),
            purged=counts.get("maintain.purge", 0),
            embedded=embedded,
            degraded=degraded,
        )

    def _cooling_watch(self, spaces: tuple[int, ...], now: datetime) -> Watch:
        moments = {
            "idle_hot": now - timedelta(days=self._settings.cool_hot_days),
            "idle_warm": now - timedelta(days=self._settings.cool_warm_days),
        }
        return Watch(name="cooling", spaces=spaces, now=now, moments=moments)

    def _retire(self, spaces: tuple[int, ...], cause: Cause) -> dict[str, int]:
        """Carry out the retention transitions that are due, and count them by rule."""
        due = [
            transition
            for memory in self._watched(self._retention_watch(spaces, cause.at))
            if (transition := overdue(memory, cause.at, self._settings)) is not None
        ]
        # Purges come last: the one that ends them cleans the free space of the file for all of them.
        due.sort(key=lambda transition: transition.to is Retention.PURGED)
        counts: dict[str, int] = {}
        for start in range(0, len(due), _BATCH):
            with self._store.write() as transaction:
                for transition in due[start : start + _BATCH]:
                    if self._retired(transaction, transition, cause, clean=transition is due[-1]):
                        counts[transition.rule] = counts.get(transition.rule, 0) + 1
        return counts

    def _retention_watch(self, spaces: tuple[int, ...], now: datetime) -> Watch:
        def before(days: float) -> datetime:
            return now - timedelta(days=days) if days else _LONG_AGO

        moments = {
            "archive_before": before(self._settings.archive_after_days),
            "delete_before": before(self._settings.delete_after_days),
            "purge_before": now - timedelta(days=self._settings.grace_days),
        }
        return Watch(name="retention", spaces=spaces, now=now, moments=moments)

    def _retired(self, transaction: Transaction, transition: Transition, cause: Cause, *, clean: bool) -> bool:
        record = transaction.get(transition.id)
        if record is None or overdue(record.memory, cause.at, self._settings) is None:
            return False
        action = {Retention.ARCHIVED: "archive", Retention.DELETED: "forget", Retention.PURGED: "purge"}[transition.to]
        told = replace(cause, action=action, rule=transition.rule, why=transition.why)
        if transition.to is Retention.PURGED:
            transaction.purge(record, told, clean=clean)
        else:
            transaction.change(record, replace(record.memory, retention=transition.to), told)
        return True

    def _embed_waiting(self, now: datetime) -> tuple[int, tuple[str, ...]]:
        """Make the vectors that memories still wait for, if their embedder answers again."""
        made, degraded = 0, []
        try:
            made += self._vectorizer.fill_fallback(now)
        except EmbedderError as exc:
            degraded.append(f"the fallback embedder has not seen all memories: {exc}")
        try:
            made += self._vectorizer.reembed(now) if self._vectorizer.waiting else 0
        except EmbedderError as exc:
            degraded.append(f"memories still wait for their vectors: {exc}")
        return made, tuple(degraded)

    def _watched(self, watch: Watch) -> Iterator[Memory]:
        """Yield what a policy wants to look at, a page at a time."""
        after = 0
        while page := self._store.watch(watch, after, _PAGE):
            yield from (record.memory for record in page)
            after = page[-1].no
