"""The rule engine: the store selects, a rule decides, and the engine applies and records the move."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from memotherm.errors import EmbedderError, LimitReached
from memotherm.model import Hit, Memory, Move, Retention, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.clock import from_micros, system_clock, to_micros
from memotherm.model.results import Compaction, Maintenance
from memotherm.remember.changes import Changes
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import Cause, RecallEntry, Record
from memotherm.tiers.active_policy import ActiveRules
from memotherm.tiers.rules import Select, Situation
from memotherm.tiers.rules.retention import DeletedMemories
from memotherm.tiers.rules.rule import ACTIVE_HOT, Decision, RuleSet, decide_all
from memotherm.vectors.vectorizer import Progress, Vectorizer

# Clock jumps

#: Longest gap between runs that is not a jump, and the delay of purges after a jump.
_DAY = timedelta(days=1)
_NEVER = datetime.min.replace(tzinfo=UTC)
#: Prefix of the notice of a jump.
CLOCK_JUMPED = "the clock jumped ahead"
_NAMESPACE, _KEY = "maintenance", "clock"


class ClockCheck:
    """Whether the clock jumped ahead between two runs of maintenance; all tenants of a store share it.

    The store has the time of the last run and, for a day after a jump, the times of the runs that saw it and before it.
    """

    def __init__(self, store: Store, clock: object) -> None:
        self._store = store
        #: Whether jumps of this clock delay purges; a custom clock is trusted.
        self._enabled = clock is system_clock

    def _read(self, now: datetime) -> dict[str, datetime]:
        text = self._store.get_values(_NAMESPACE, now, _KEY).get(_KEY, "{}")
        return {name: from_micros(micros) for name, micros in json.loads(text).items()}

    def next(self, now: datetime) -> dict[str, datetime]:
        """Return the times after a run at this time; setting the clock back ends a jump."""
        times = self._read(now)
        last, jumped = times.get("last"), times.get("jumped")
        if last is None:
            return {"last": now, "jumped": now}
        if now - last > _DAY:
            return {"last": now, "jumped": now, "before": last}
        return {**times, "last": now} if jumped is not None and jumped <= now < jumped + _DAY else {"last": now}

    def due_at(self, times: Mapping[str, datetime]) -> datetime | None:
        """Return the time at which a purge must have been due, if the clock may have jumped since."""
        return times.get("before", _NEVER) if self._enabled and "jumped" in times else None

    def write(self, times: Mapping[str, datetime], now: datetime) -> None:
        """Store the times after a run."""
        text = json.dumps({name: to_micros(time) for name, time in times.items()})
        self._store.put_value(_NAMESPACE, _KEY, text, now, None, replace=True)

    def notice(self, now: datetime) -> str | None:
        """Return why memories past their grace may not be purged yet; None if they are."""
        jumped = self._read(now).get("jumped") if self._enabled else None
        if jumped is None or not jumped <= now < jumped + _DAY:
            return None
        return (
            f"{CLOCK_JUMPED}, or maintenance had not run for more than a day: what is past its grace since then is "
            f"purged from {jumped + _DAY:%Y-%m-%d %H:%M} UTC on, unless the clock is set back before"
        )


# Engine

#: Moves per transaction, so that other writers never wait long.
_BATCH = 500
#: Time without a change or use after which a session is ended.
_SESSION_IDLE = timedelta(days=7)
#: Idle sessions ended per run, at most.
_MOST_ENDED = 100
_ACTIONS = {
    Retention.ACTIVE: Action.RESTORE,
    Retention.ARCHIVED: Action.ARCHIVE,
    Retention.DELETED: Action.FORGET,
}


def combined(runs: Sequence[Maintenance]) -> Maintenance:
    """Return the sum of several runs of maintenance."""
    counts = ("expired", "archived", "deleted", "purged", "ended", "embedded")
    return Maintenance(
        moves=tuple(move for run in runs for move in run.moves),
        degraded=tuple(dict.fromkeys(reason for run in runs for reason in run.degraded)),
        **{name: sum(getattr(run, name) for run in runs) for name in counts},
    )


class RuleEngine:
    """Runs the rules of one store."""

    def __init__(
        self,
        store: Store,
        changes: Changes,
        vectorizer: Vectorizer,
        active: ActiveRules,
        clock_check: ClockCheck,
    ) -> None:
        self._store = store
        self._changes = changes
        self._vectorizer = vectorizer
        self._rules = active.rules
        self._settings = active.settings
        self._clock_check = clock_check

    def compact(self, scope: Scope, cause: Cause, *, dry_run: bool) -> Compaction:
        """Run the compaction rules once over all memories that a scope sees and may change."""
        spaces = self._store.spaces(scope)
        situation = Situation(now=cause.at, settings=self._settings, open_sessions=self._store.open_sessions(spaces))
        rules = RuleSet(self._rules(), "compact")
        decisions = self._decided(rules, spaces, situation, scope)
        if dry_run:
            moves = [decision.move for decision in decisions]
        else:
            moves = self._applied(decisions, rules, spaces, situation, cause)
            self._log_run("compact", scope, spaces, situation)
        return Compaction(moves=tuple(moves), dry_run=dry_run, degraded=rules.degraded())

    def maintain(self, scope: Scope, cause: Cause, progress: Progress | None = None) -> Maintenance:
        """End idle sessions, run the maintenance rules inside a scope, make vectors, and trim the logs.

        What is hot in the scopes that it sees counts towards the caps.
        """
        spaces, around = self._store.spaces_within(scope), self._store.spaces(scope)
        ended, compacted = self._end_idle_sessions(spaces, cause)
        times = self._clock_check.next(cause.at)
        due_at = self._clock_check.due_at(times)
        situation = Situation(
            now=cause.at,
            settings=self._settings,
            open_sessions=self._store.open_sessions(spaces),
            due_at=due_at,
        )
        rules = RuleSet(self._rules(), "maintain")
        beside = tuple(set(around) - set(spaces))
        decisions = self._decided(rules, spaces, situation, beside=beside)
        moves = self._applied(decisions, rules, spaces, situation, cause, progress)
        self._log_run("maintain", scope, spaces, situation)
        embedded, degraded = self._embed_waiting(cause.at, progress)
        self._store.build_indexes()
        self._clock_check.write(times, cause.at)
        waiting = self.clock_notice(spaces, cause.at)
        if due_at is None:
            self._store.trim_recalls(cause.at - timedelta(days=self._settings.log_days))
            self._store.trim_receipts(cause.at - timedelta(days=self._settings.log_days))
        retired = [move for move in moves if move.retention is not None]
        return Maintenance(
            moves=(*compacted, *(move for move in moves if move.retention is None)),
            expired=sum(move.rule == "maintain.expire" for move in retired),
            archived=sum(move.retention is Retention.ARCHIVED for move in retired),
            deleted=sum(move.retention is Retention.DELETED and move.rule != "maintain.expire" for move in retired),
            purged=sum(move.retention is Retention.PURGED for move in retired),
            ended=ended,
            embedded=embedded,
            degraded=(*rules.degraded(), *degraded, *([waiting] if waiting else [])),
        )

    def clock_notice(self, spaces: tuple[int, ...], now: datetime) -> str | None:
        """Return why memories past their grace are not purged yet; None if nothing is waiting."""
        notice = self._clock_check.notice(now)
        situation = Situation(now=now, settings=self._settings)
        waits = notice and self._store.select(spaces, DeletedMemories.selects, situation, limit=1)
        return notice if waits else None

    def _decided(
        self,
        rules: RuleSet,
        spaces: tuple[int, ...],
        situation: Situation,
        scope: Scope | None = None,
        beside: tuple[int, ...] = (),
    ) -> list[Decision]:
        """Return the moves of one run, limited to memories that `scope` may change; None allows all."""
        return decide_all(
            rules,
            situation,
            self._store.selector(spaces),
            own=_own(scope),
            beside=self._store.selector(beside)(ACTIVE_HOT, situation) if beside else (),
        )

    def _end_idle_sessions(self, spaces: tuple[int, ...], cause: Cause) -> tuple[int, list[Move]]:
        """End idle sessions as `session.end` does; return their number and the moves of compaction."""
        settings, moves = self._settings, list[Move]()
        idle = self._store.idle_sessions(spaces, cause.at - _SESSION_IDLE, _MOST_ENDED)
        for space, scope in idle:
            self._store.clear_injected(space)
            self._end_session(space, cause.at)
            if settings.compaction_on_session_end:
                moves += self.compact(scope, replace(cause, action=Action.MOVE), dry_run=False).moves
        return len(idle), moves

    def _end_session(self, space: int, now: datetime) -> None:
        self._store.transact(lambda transaction: transaction.set_session(space, "archived", now))

    def _log_run(self, name: str, scope: Scope, spaces: tuple[int, ...], situation: Situation) -> None:
        """Log a run of the rules for replays; the ledger does not show runs without moves."""
        if self._settings.recall_log == "off" or not spaces:
            return
        options = {
            "run": name,
            "scope": dict(scope.items()),
            "open": sorted(situation.open_sessions),
            "seq": self._store.seq(),
        }
        entry = RecallEntry(
            at=situation.now,
            space=spaces[-1],
            query="",
            tiers=(),
            micros=0,
            candidates=(),
            returned=(),
            options=options,
        )
        self._store.log_recall(entry, keep=True)

    def promotions(
        self, hits: Iterable[Hit], spaces: Sequence[int], now: datetime
    ) -> tuple[list[Move], tuple[str, ...]]:
        """Return the moves that hits in some spaces have earned, best hit first, and the rules that failed."""
        found = {hit.memory.id: hit for hit in hits}
        if not found:
            return [], ()
        relevances = {memory_id: hit.why.relevance for memory_id, hit in found.items()}
        situation = Situation(now=now, settings=self._settings, recalled=relevances)
        selected = self._store.selector(spaces, read=[hit.memory for hit in found.values()])
        rules = RuleSet(self._rules(), "promote")
        moves = {decision.move.id: decision.move for decision in rules.decisions(selected, situation)}
        earned = [moves[memory_id] for memory_id in found if memory_id in moves]
        return [move for move in earned if move.rule not in rules.failures], rules.degraded()

    def promote(
        self, hits: Sequence[Hit], scope: Scope, spaces: Sequence[int], cause: Cause
    ) -> tuple[list[Move], tuple[str, ...]]:
        """Promote hits in some spaces that the scope may change; return the moves and the failed rules."""
        own = [hit for hit in hits if scope.may_change(hit.memory.scope)]
        moves, failures = self.promotions(own, spaces, cause.at)
        if not moves:
            return [], failures

        def promote(transaction: Transaction) -> list[Move]:
            return [
                move
                for move in moves
                if (record := transaction.get(move.id)) is not None and self._moved(transaction, record, move, cause)
            ]

        return self._store.transact(promote), failures

    def _applied(
        self,
        decisions: list[Decision],
        rules: RuleSet,
        spaces: tuple[int, ...],
        situation: Situation,
        cause: Cause,
        progress: Progress | None = None,
    ) -> list[Move]:
        """Apply moves in small transactions; return the moves whose conditions still hold."""
        # Moves out of hot come first, so that moves to hot spill nothing. Purges come last, because
        # the last one cleans the free space of the file for all of them.
        ordered = sorted(
            decisions,
            key=lambda decision: (decision.move.retention is Retention.PURGED, decision.move.to is Tier.HOT),
        )

        def apply(transaction: Transaction, batch: list[Decision]) -> set[str]:
            def selected(selects: Select, situation: Situation) -> Iterator[Memory]:
                return (record.memory for record in transaction.select(spaces, selects, situation))

            done: set[str] = set()
            for decision in batch:
                move, record = decision.move, transaction.get(decision.move.id)
                if record is None:
                    continue
                changed = record.memory != decision.memory
                if changed and not rules.still_holds(move, selected, situation):
                    continue
                if self._moved(transaction, record, move, cause, clean=decision is ordered[-1]):
                    done.add(move.id)
            return done

        done: set[str] = set()
        for start in range(0, len(ordered), _BATCH):
            done |= self._store.transact(partial(apply, batch=ordered[start : start + _BATCH]))
            if progress is not None:
                progress(min(start + _BATCH, len(ordered)), len(ordered))
        return [decision.move for decision in decisions if decision.move.id in done]

    def _moved(
        self, transaction: Transaction, record: Record, move: Move, cause: Cause, *, clean: bool = False
    ) -> bool:
        """Apply one move, unless the memory has moved since it was decided, or a limit forbids it."""
        cause = cause.for_move(move)
        if move.retention is Retention.PURGED:
            transaction.purge(record, replace(cause, action=Action.PURGE), clean=clean)
            return True
        if move.retention is not None:
            after = replace(record.memory, retention=move.retention)
            transaction.change(record, after, replace(cause, action=_ACTIONS[move.retention]))
            return True
        if record.memory.tier is not move.from_tier or not record.memory.visible_at(cause.at):
            return False
        try:
            self._changes.apply(transaction, record, moved(record.memory, move), cause)
        except LimitReached:
            return False
        return True

    def _embed_waiting(self, now: datetime, progress: Progress | None) -> tuple[int, tuple[str, ...]]:
        """Embed memories whose embedder was unavailable, if it answers again."""
        made, degraded = 0, []
        try:
            made += self._vectorizer.fill_fallback(now, progress)
        except EmbedderError as exc:
            degraded.append(f"the fallback embedder has not seen all memories: {exc}")
        try:
            made += self._vectorizer.reembed(now, progress) if self._vectorizer.waiting else 0
        except EmbedderError as exc:
            degraded.append(f"memories still wait for their vectors: {exc}")
        return made, tuple(degraded)


def moved(memory: Memory, move: Move) -> Memory:
    """Return a memory after a move; whatever is promoted to hot has the full relevance."""
    relevance = 1.0 if move.to is Tier.HOT else memory.relevance
    return replace(memory, tier=move.to, tier_rule=move.rule, relevance=relevance)


def _own(scope: Scope | None) -> Callable[[Memory], bool]:
    """Return the function that says whether a memory may be changed."""
    return lambda memory: scope is None or scope.may_change(memory.scope)
