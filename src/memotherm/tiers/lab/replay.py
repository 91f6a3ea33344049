"""The report of a replay: policies compared with the record, an LRU cache, an oracle, and keeping everything live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.value import Value
from memotherm.settings import Settings
from memotherm.tiers.lab.caches import Step, belady_hits, lru_hits
from memotherm.tiers.lab.simulate import Outcome, simulate
from memotherm.tiers.lab.state import Asked, Timeline
from memotherm.tiers.policy import Policy

_RESAMPLES = 1000
#: The most memories that a report names for one policy.
_MOST_CAUSES = 12
_HOT, _COLD = 0, 2

#: Called with (done, total).
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Interval(Value):
    """A 95 % interval, by bootstrap over sessions."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ReplayRow(Value):
    """The result of one policy or baseline. Shares are from 0 to 1."""

    name: str
    #: The share of the demanded memories that were hot or warm, and its interval.
    live_hits: float
    interval: Interval
    #: The share that were hot, for an oracle a bound by the tokens of hot; None where there is no hot tier.
    hot_hits: float | None = None
    #: The mean tokens of a turn: the hot memories in sight, and the demanded warm ones.
    tokens_per_turn: float | None = None
    #: The number of hot and warm memories.
    live_mean: float
    live_max: int
    #: The moves of rules, and how many of them took a move of the last 7 days back.
    moves: int | None = None
    flaps: int | None = None
    #: How many demanded memories were cold.
    cold_asked: int
    #: By how much the oracle of the same size has a higher share of live hits; None for oracles and bounds.
    regret: float | None = None
    #: What a baseline is; empty for policies.
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Cause(Value):
    """A memory that was cold when it was demanded, although the oracle would have had it live."""

    policy: str
    id: str
    #: The beginning of its content.
    content: str
    #: The rule that moved it to cold.
    rule: str
    #: How often that happened.
    times: int


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Replay(Value):
    """The report of a replay."""

    rows: tuple[ReplayRow, ...]
    #: The fewest memories that explain half of each policy's regret, at most 12 each.
    causes: tuple[Cause, ...] = ()
    #: Policy -> rule -> how many demanded memories it had moved to cold that the oracle would have had live.
    regret_by_rule: dict[str, dict[str, int]] = field(default_factory=dict, hash=False)
    #: (first policy, other policy) -> the interval of the difference of live hits, first minus other.
    differences: dict[tuple[str, str], Interval] = field(default_factory=dict, hash=False)
    #: The tier that each active memory would have at the end, by policy and id.
    final: dict[str, dict[str, Tier]] = field(default_factory=dict, hash=False, repr=False)
    #: How many questions the log has, and how many of them could be asked again.
    questions: int = 0
    askable: int = 0
    #: How many memories the questions that were asked again demanded.
    demanded: int = 0
    #: Limits of the replay, as sentences for the user.
    notes: tuple[str, ...] = ()

    def row(self, name: str) -> ReplayRow:
        """Return the row with a name."""
        return next(row for row in self.rows if row.name == name)


def replay_timeline(
    timeline: Timeline, policies: Sequence[Policy], settings: Settings, progress: Progress | None = None
) -> Replay:
    """Replay policies on a time line and compare them with the baselines."""
    length = len(timeline.steps)
    groups = _Groups([step for step in timeline.steps if isinstance(step, Asked) and step.counted])

    def ticks(passes: int) -> Callable[[int], None]:
        """Return the progress callback of the next pass."""
        return lambda done: progress and progress(passes * length + done, (len(policies) + 1) * length)

    outcome = simulate(timeline, None, settings, {}, ticks(0))
    (_, recorded, _), _ = _policy_rows("recorded", outcome, groups, note="what really happened")
    everything = np.ones(groups.demanded, np.bool_)
    rows = [_row("everything", everything, groups, outcome.active, moves=0, flaps=0, note="nothing ever cools")]
    unsearched = outcome.unsearched
    causes: list[Cause] = []
    regret_by_rule: dict[str, dict[str, int]] = {}
    shares: dict[str, NDArray[np.float64]] = {}
    final: dict[str, dict[str, Tier]] = {}
    for passes, policy in enumerate(policies, 1):
        # The memories of the last pass are not needed any more.
        del outcome
        outcome = simulate(timeline, policy.tier_rules, policy.settings(settings), unsearched, ticks(passes))
        found, oracle = _policy_rows(policy.name, outcome, groups)
        rows += found
        regretted = np.flatnonzero(oracle & ~_live(outcome)).tolist()
        causes += _causes(policy.name, outcome, regretted, timeline)
        rules = Counter(outcome.rules.get(position, "") for position in regretted)
        regret_by_rule[policy.name] = dict(rules.most_common())
        shares[policy.name] = groups.resampled(_live(outcome))
        final[policy.name] = outcome.state.final()
    first, *others = shares
    return Replay(
        rows=(*rows, recorded),
        causes=tuple(causes),
        regret_by_rule=regret_by_rule,
        differences={(first, other): _interval(shares[first] - shares[other]) for other in others},
        final=final,
        questions=timeline.questions,
        askable=timeline.askable,
        demanded=groups.demanded,
        notes=timeline.notes,
    )


class _Groups:
    """The demands by session, or by day where there is none, and how to resample them."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        numbers: dict[object, int] = {}
        group = [
            numbers.setdefault(step.scope.session or step.at.date(), len(numbers))
            for step in asked
            for _ in step.demanded
        ]
        self.demanded = len(group)
        self._group = np.array(group, np.int64)
        self._count = max(1, len(numbers))
        self._sizes = np.bincount(self._group, minlength=self._count).astype(np.float64)

    def resampled(self, hits: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return the shares of hits of resamples, which are the same for every call."""
        sums = np.bincount(self._group, weights=hits.astype(np.float64), minlength=self._count)
        source = np.random.default_rng(0)
        shares = np.zeros(_RESAMPLES)
        for number in range(_RESAMPLES):
            weights = np.bincount(source.integers(0, self._count, self._count), minlength=self._count)
            demanded = float(weights @ self._sizes)
            shares[number] = float(weights @ sums) / demanded if demanded else 0.0
        return shares


def _interval(shares: NDArray[np.float64]) -> Interval:
    low, high = np.percentile(shares, (2.5, 97.5))
    return Interval(low=float(low), high=float(high))


def _share(hits: NDArray[np.bool_]) -> float:
    return float(hits.mean()) if len(hits) else 0.0


def _live(outcome: Outcome) -> NDArray[np.bool_]:
    return np.asarray(np.array(outcome.tiers, np.int8) < _COLD)


def _asked_hits(hits: bytearray, outcome: Outcome) -> NDArray[np.bool_]:
    """Return the hits of the asking steps of a cache."""
    asks = np.array(outcome.steps, np.int8) == Step.ASK
    return np.asarray(np.frombuffer(hits, np.uint8).astype(np.bool_)[asks])


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0


def _row(name: str, hits: NDArray[np.bool_], groups: _Groups, sizes: Sequence[int], **more: Any) -> ReplayRow:  # noqa: ANN401
    """Return the row of a policy or a baseline that has the demanded memories live in `hits`."""
    return ReplayRow(
        name=name,
        live_hits=_share(hits),
        interval=_interval(groups.resampled(hits)),
        cold_asked=int((~hits).sum()),
        live_mean=_mean(sizes),
        live_max=max(sizes, default=0),
        **more,
    )


def _policy_rows(
    name: str, outcome: Outcome, groups: _Groups, note: str = ""
) -> tuple[list[ReplayRow], NDArray[np.bool_]]:
    """Return the rows of the oracle, the policy and an LRU of the same size, and the hits of the oracle."""
    live, state, sizes = _live(outcome), outcome.state, outcome.live
    oracle = _asked_hits(belady_hits(outcome.keys, outcome.sizes, outcome.steps), outcome)
    lru = _asked_hits(lru_hits(outcome.keys, outcome.sizes, outcome.steps), outcome)
    best, bound = _share(oracle), outcome.hot_bound / groups.demanded if groups.demanded else 0.0
    told, recent = "knows what is asked later, same size", "keeps what was used last, same size"
    rows = [
        _row(f"oracle@{name}", oracle, groups, sizes, hot_hits=bound, note=told),
        _row(
            name,
            live,
            groups,
            sizes,
            hot_hits=_share(np.array(outcome.tiers, np.int8) == _HOT),
            tokens_per_turn=_mean(outcome.tokens),
            moves=state.moves,
            flaps=state.flaps,
            regret=best - _share(live),
            note=note,
        ),
        _row(f"lru@{name}", lru, groups, sizes, regret=best - _share(lru), note=recent),
    ]
    return rows, oracle


def _causes(name: str, outcome: Outcome, regretted: Sequence[int], timeline: Timeline) -> list[Cause]:
    """Return the memories that explain half of the regret, largest share first.

    `regretted` are the positions of demands that were cold and that the oracle has live.
    """
    asked = [key for key, step in zip(outcome.keys, outcome.steps, strict=True) if step == Step.ASK]
    times = Counter(asked[position] for position in regretted)
    rules = {asked[position]: outcome.rules.get(position, "") for position in regretted}
    causes: list[Cause] = []
    explained = 0
    for index, count in times.most_common(_MOST_CAUSES):
        if explained * 2 >= len(regretted):
            break
        explained += count
        memory_id, content = timeline.names[index]
        causes.append(Cause(policy=name, id=memory_id, content=content, rule=rules[index], times=count))
    return causes
