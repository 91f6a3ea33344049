"""What two policies would do with the same memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memotherm.model import Memory, Move
from memotherm.model.value import Value
from memotherm.policy.document import Policy
from memotherm.rules.rule import HotUse, RuleSet, Situation
from memotherm.settings import Settings

__all__ = ["Difference", "differences"]

_RUNS = ("compact", "maintain")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Difference(Value):
    """A memory that two policies would leave in different tiers."""

    memory: Memory
    #: The run of the rules: compact or maintain.
    run: str
    #: What the first policy would do; None leaves it where it is.
    first: Move | None
    second: Move | None

    def __str__(self) -> str:
        first, second = (
            f"{self.memory.tier} (stays)" if move is None else f"{move.to} [{move.rule}]"
            for move in (self.first, self.second)
        )
        return f"{self.memory.id} {self.run}: {first} against {second}"


def differences(
    first: Policy, second: Policy, memories: Iterable[Memory], now: datetime, settings: Settings
) -> Iterator[Difference]:
    """Yield the memories whose next move differs, each decided alone."""
    listed = list(memories)
    for run in _RUNS:
        sides = [_Side(policy, run, now, settings, listed) for policy in (first, second)]
        for memory in listed:
            ours, theirs = (side.move(memory) for side in sides)
            if (ours and ours.to) != (theirs and theirs.to):
                yield Difference(memory=memory, run=run, first=ours, second=theirs)


class _Side:
    """One policy in one run."""

    def __init__(self, policy: Policy, run: str, now: datetime, settings: Settings, memories: Iterable[Memory]) -> None:
        own: dict[str, Any] = {"now": now, "settings": policy.settings(settings)}
        self._rules = RuleSet(policy.tier_rules, run, own["settings"])
        alone = Situation(**own)
        staying = [memory for memory in memories if memory.tier == "hot" and not self._rules.first_move(memory, alone)]
        self._situation = Situation(**own, hot=HotUse.of(staying))

    def move(self, memory: Memory) -> Move | None:
        return self._rules.first_move(memory, self._situation)
