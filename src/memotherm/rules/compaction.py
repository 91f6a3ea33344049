"""The four ordered rules that keep hot small, and every exception to them.

1. `compact.done`        decisions and tasks go cold
2. `compact.preference`  a hot preference that is not used goes warm
3. `compact.blocker`     active blockers go hot, as far as the caps allow
4. `compact.focus`       whatever else is hot goes warm

The caps count what stays hot, so a second run at the same moment moves nothing. A blocker of a
session also has to fit into that session's own limit, because a promotion that spills another
blocker would be undone by the next run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memotherm.model import Memory, Move, Priority, Scope, Tier
from memotherm.rules.marks import is_blocker, is_done_work
from memotherm.settings import Settings

__all__ = ["Situation", "compaction"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What the rules need to know beside the memories themselves."""

    now: datetime
    settings: Settings
    #: The sessions that go on; what was added or promoted in them stays hot.
    open_sessions: frozenset[str] = frozenset()

    @property
    def stay(self) -> timedelta:
        """How long a memory that use brought back to warm stays there at least."""
        return timedelta(days=self.settings.min_stay_days)


def compaction(memories: Iterable[Memory], situation: Situation) -> list[Move]:
    """Return the moves of one run, in the order of the rules; each memory moves at most once."""
    if not situation.settings.tiering:
        return []
    moves: dict[str, list[Move]] = {"compact.done": [], "compact.preference": [], "compact.focus": []}
    staying: list[Memory] = []
    waiting: list[Memory] = []
    for memory in memories:
        move = _leaving(memory, situation)
        if move is not None:
            moves[move.rule].append(move)
        elif memory.tier is Tier.HOT:
            staying.append(memory)
        elif is_blocker(memory):
            waiting.append(memory)
    blockers = _promoted(staying, waiting, situation.settings)
    return [*moves["compact.done"], *moves["compact.preference"], *blockers, *moves["compact.focus"]]


def _leaving(memory: Memory, situation: Situation) -> Move | None:
    """Return the move of the first rule that takes a memory away from where it is."""
    if memory.priority is Priority.PINNED or is_blocker(memory):
        return None
    rules: tuple[Callable[[Memory, Situation], Move | None], ...] = (_done, _preference, _focus)
    return next((move for rule in rules if (move := rule(memory, situation)) is not None), None)


def _done(memory: Memory, situation: Situation) -> Move | None:
    if memory.tier is Tier.COLD or not is_done_work(memory):
        return None
    if situation.now - memory.updated_at < timedelta(days=situation.settings.task_cold_after_days):
        return None
    if memory.tier_rule == "maintain.warm" and situation.now - memory.tier_since < situation.stay:
        return None
    what = "a decision" if memory.kind == "decision" else "a task"
    return _move(memory, Tier.COLD, "compact.done", f"{what} that does not say it is still open")


def _preference(memory: Memory, situation: Situation) -> Move | None:
    if memory.tier is not Tier.HOT or memory.kind != "preference" or not _idle(memory, situation):
        return None
    days = (situation.now - memory.used_at).days
    return _move(memory, Tier.WARM, "compact.preference", f"a preference not used for {days} days")


def _focus(memory: Memory, situation: Situation) -> Move | None:
    if memory.tier is not Tier.HOT:
        return None
    if not situation.settings.strict_hot_blockers_only and _may_stay(memory, situation):
        return None
    return _move(memory, Tier.WARM, "compact.focus", "hot is for blockers and current work")


def _may_stay(memory: Memory, situation: Situation) -> bool:
    """Tell whether a hot memory that blocks nothing has another reason to be there."""
    return (
        memory.tier_rule in ("explicit", "note.curated")
        or (memory.kind == "preference" and not _idle(memory, situation))
        or memory.scope.session in situation.open_sessions
    )


def _idle(memory: Memory, situation: Situation) -> bool:
    return situation.now - memory.used_at >= timedelta(days=situation.settings.inactive_preference_days)


def _promoted(staying: list[Memory], waiting: list[Memory], settings: Settings) -> list[Move]:
    """Return the blockers that fit beside what stays: the most insistent first, then the latest used."""
    facts, tokens = len(staying), sum(memory.tokens for memory in staying)
    held: dict[Scope, int] = defaultdict(int)
    for memory in staying:
        held[memory.scope] += memory.tokens
    moves = []
    for memory in sorted(waiting, key=lambda each: (each.priority.rank, -each.used_at.timestamp(), each.id)):
        fits_session = memory.scope.session is None or held[memory.scope] + memory.tokens <= settings.hot_token_limit
        fits_block = facts + 1 <= settings.hot_max_facts and tokens + memory.tokens <= settings.hot_max_tokens
        if fits_session and fits_block:
            facts, tokens = facts + 1, tokens + memory.tokens
            held[memory.scope] += memory.tokens
            moves.append(_move(memory, Tier.HOT, "compact.blocker", "an active blocker"))
    return moves


def _move(memory: Memory, to: Tier, rule: str, why: str) -> Move:
    return Move(id=memory.id, from_tier=memory.tier, to=to, rule=rule, why=why)
