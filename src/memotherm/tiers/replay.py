"""The report of a replay: policies compared with the record, and with keeping everything live."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memotherm.model import Tier
from memotherm.model.value import Value
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import LogEntry
from memotherm.tiers.policy import Policy
from memotherm.tiers.replay_run import Outcome, PastStore
from memotherm.tiers.timeline import Progress, Timeline

_RESAMPLES = 1000
#: The most memories that a report names for one policy.
_MOST_CAUSES = 12
_NAME_CHARS = 60
_EVERYTHING = "nothing ever cools"

#: For each demanded memory, in order.
Hits = NDArray[np.bool_]


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
    #: The share that were hot; None where there is no hot tier.
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
    #: What a baseline is; empty for policies.
    note: str = ""


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Cause(Value):
    """A memory that was cold when it was demanded."""

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
    #: The memories that were demanded most often while they were cold, at most 12 of each policy.
    causes: tuple[Cause, ...] = ()
    #: Policy -> rule -> how many demanded memories it had moved to cold.
    cold_by_rule: dict[str, dict[str, int]] = field(default_factory=dict, hash=False)
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
    store: Store, timeline: Timeline, policies: Sequence[Policy], settings: Settings, progress: Progress | None = None
) -> Replay:
    """Replay policies on the time line of a store, and compare them with the baselines."""
    length = len(timeline.steps)

    def ticks(passes: int) -> Callable[[int], None]:
        """Return the progress callback of the next pass."""
        return lambda done: progress and progress(passes * length + done, (len(policies) + 1) * length)

    with closing(PastStore(timeline, settings)) as past:
        recorded = past.run(None, settings, {}, ticks(0))
        outcomes = {
            policy.name: past.run(policy.tier_rules, policy.settings(settings), recorded.unsearched, ticks(passes))
            for passes, policy in enumerate(policies, 1)
        }
    groups = _Groups(timeline)
    report = _Report(store, groups)
    report.add_row(
        "everything", np.ones(groups.demanded, np.bool_), recorded.active, moves=0, flaps=0, note=_EVERYTHING
    )
    for name, outcome in outcomes.items():
        report.add_policy(name, outcome)
    causes, cold_by_rule = tuple(report.causes), dict(report.cold_by_rule)
    report.add_policy("recorded", recorded, note="what really happened")
    shares = {name: groups.resampled(_live(outcome)) for name, outcome in outcomes.items()}
    first, *others = shares
    return Replay(
        rows=tuple(report.rows),
        causes=causes,
        cold_by_rule=cold_by_rule,
        differences={(first, other): _interval(shares[first] - shares[other]) for other in others},
        final={name: outcome.final for name, outcome in outcomes.items()},
        questions=timeline.questions,
        askable=len(timeline.demanded),
        demanded=groups.demanded,
        notes=tuple(timeline.notes()),
    )


class _Groups:
    """The demands by session, or by day where there is none, and how to resample them."""

    def __init__(self, timeline: Timeline) -> None:
        numbers: dict[object, int] = {}
        asked = [step for step in timeline.steps if isinstance(step, LogEntry)]
        group = [
            numbers.setdefault(timeline.scope_of(entry).session or entry.at.date(), len(numbers))
            for entry in asked
            for _ in timeline.demanded.get(entry.number, ())
        ]
        self.demanded = len(group)
        self._group = np.array(group, np.int64)
        self._count = max(1, len(numbers))
        self._sizes = np.bincount(self._group, minlength=self._count).astype(np.float64)

    def resampled(self, hits: Hits) -> NDArray[np.float64]:
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


def _live(outcome: Outcome) -> Hits:
    return np.array([tier is not Tier.COLD for tier in outcome.tiers], np.bool_)


def _mean(values: Sequence[float] | Hits) -> float:
    return float(sum(values) / len(values)) if len(values) else 0.0


class _Report:
    """The rows of a report, and what was demanded while it was cold."""

    def __init__(self, store: Store, groups: _Groups) -> None:
        self.rows: list[ReplayRow] = []
        self.causes: list[Cause] = []
        self.cold_by_rule: dict[str, dict[str, int]] = {}
        self._store = store
        self._groups = groups

    def add_row(self, name: str, hits: Hits, sizes: Sequence[int], **more: Any) -> None:  # noqa: ANN401
        """Add a row that has the demanded memories live in `hits`."""
        row = ReplayRow(
            name=name,
            live_hits=_mean(hits),
            interval=_interval(self._groups.resampled(hits)),
            cold_asked=int((~hits).sum()),
            live_mean=_mean(sizes),
            live_max=max(sizes, default=0),
            **more,
        )
        self.rows.append(row)

    def add_policy(self, name: str, outcome: Outcome, note: str = "") -> None:
        """Add the row of a policy, and what was demanded while it was cold."""
        self.add_row(
            name,
            _live(outcome),
            outcome.live,
            hot_hits=_mean([tier is Tier.HOT for tier in outcome.tiers]),
            tokens_per_turn=_mean(outcome.tokens),
            moves=outcome.moves,
            flaps=outcome.flaps,
            note=note,
        )
        demands = zip(outcome.asked, outcome.tiers, outcome.rules, strict=True)
        cold = [(no, rule) for no, tier, rule in demands if tier is Tier.COLD]
        rules = dict(cold)
        self.cold_by_rule[name] = dict(Counter(rule for _, rule in cold).most_common())
        most = Counter(no for no, _ in cold).most_common(_MOST_CAUSES)
        records = self._store.records([no for no, _ in most])
        for no, times in most:
            memory = records[no].memory
            content = memory.content[:_NAME_CHARS]
            self.causes.append(Cause(policy=name, id=memory.id, content=content, rule=rules[no], times=times))
