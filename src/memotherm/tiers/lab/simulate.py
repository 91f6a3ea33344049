"""One pass over the time line of a store, following its recorded moves or the rules of a policy."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from memotherm.model import Priority, Retention, Tier
from memotherm.model.recall import UseKind
from memotherm.settings import Settings
from memotherm.tiers.lab.caches import Step
from memotherm.tiers.lab.state import Asked, Born, Changed, Moved, Ran, State, Timeline, TimelineStep, Used
from memotherm.tiers.rules.properties import USE_WEIGHTS
from memotherm.tiers.rules.rule import Rule

#: Called before every thousandth step with how many were taken.
Tick = Callable[[int], None]
_TICK = 1000


@dataclass(slots=True)
class Outcome:
    """Counts of one pass, per demanded memory, per question, and per step of the caches."""

    state: State
    #: The rank of the tier of each demanded memory.
    tiers: array[int] = field(default_factory=lambda: array("b"))
    #: The rule that put each demanded cold memory where it is, by the position of the demand.
    rules: dict[int, str] = field(default_factory=dict)
    #: For each counted question: the tokens of a turn, and the number of live memories.
    tokens: array[int] = field(default_factory=lambda: array("q"))
    live: array[int] = field(default_factory=lambda: array("q"))
    #: For each counted question: the number of active memories.
    active: array[int] = field(default_factory=lambda: array("q"))
    #: Memories and steps of caches that answer the same demands, and the number of live memories at each.
    keys: array[int] = field(default_factory=lambda: array("q"))
    steps: array[int] = field(default_factory=lambda: array("b"))
    sizes: array[int] = field(default_factory=lambda: array("q"))
    #: How many demanded memories could have been hot in as many tokens as are, with a fraction of the last one.
    hot_bound: float = 0.0
    #: Per question: its answers in tiers that it did not search.
    unsearched: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def cache_step(self, index: int, step: Step) -> None:
        """Add a step of the caches."""
        self.keys.append(index)
        self.steps.append(step)
        self.sizes.append(self.state.live)


def simulate(
    timeline: Timeline,
    rules: Sequence[Rule] | None,
    settings: Settings,
    unsearched: Mapping[int, tuple[int, ...]],
    tick: Tick = lambda _: None,
) -> Outcome:
    """Follow the recorded moves, and from the start of the period on let rules decide.

    Args:
        timeline: What happened from outside.
        rules: The rules of the policy that move memories between tiers; None follows the recorded moves to the end.
        settings: Settings with the limits of the policy.
        unsearched: What each question would have found in tiers that it did not search, from a recorded pass.
        tick: Called with the number of steps taken.
    """
    state = State(timeline.memories, rules or (), settings, timeline.start)
    outcome = Outcome(state)
    given_by: dict[int | None, frozenset[int]] = {}
    for number, step in enumerate(timeline.steps):
        if number % _TICK == 0:
            tick(number)
        state.limited = rules is not None and step.at >= timeline.start
        if not state.limited:
            _take_recorded(outcome, step, state)
        elif isinstance(step, Ran):
            state.run(step)
        elif isinstance(step, Asked):
            _count(outcome, step)
            more = unsearched.get(step.question, ())
            given = [index for index in (*step.returned, *more) if _searched(state, index, step)]
            if step.question in timeline.followed:
                given_by[step.question] = frozenset(given)
            _average(state, step, given)
            if step.promote:
                state.promote(step, given)
            _use(state, step, given)
        elif isinstance(step, Used) and step.question in given_by:
            # Memories that the policy did not return cannot be used later.
            given = [index for index in step.places if index in given_by[step.question]]
            state.use(given, step.at, step.weight)
        elif not isinstance(step, Moved):
            _take_recorded(outcome, step, state)
    return outcome


def _take_recorded(outcome: Outcome, step: TimelineStep, state: State) -> None:
    """Apply a recorded step."""
    if isinstance(step, Born):
        state.add(step.place, step.memory)
        outcome.cache_step(step.place, Step.ADD)
    elif isinstance(step, Changed):
        was = state.tier(step.place)
        state.change(step.place, dict(step.values), step.at)
        retention = step.values.get("retention")
        if retention is not None and (was is None) is (retention is Retention.ACTIVE):
            outcome.cache_step(step.place, Step.ADD if retention is Retention.ACTIVE else Step.DROP)
    elif isinstance(step, Moved):
        state.move(step.place, step.tier, step.rule, step.at)
    elif isinstance(step, Used):
        state.use(step.places, step.at, step.weight)
    elif isinstance(step, Asked):
        _count(outcome, step)
        missed = [index for index in step.demanded if not _searched(state, index, step)]
        if missed:
            outcome.unsearched[step.question] = tuple(index for index in missed if index not in step.returned)
        _average(state, step, step.returned)
        _use(state, step, step.returned)


def _average(state: State, asked: Asked, given: Sequence[int]) -> None:
    if asked.average:
        state.average((index, asked.relevance[index]) for index in given if index in asked.relevance)


def _use(state: State, asked: Asked, given: Sequence[int]) -> None:
    if asked.used:
        state.use(given, asked.at, USE_WEIGHTS[UseKind.RETURNED])


def _searched(state: State, index: int, asked: Asked) -> bool:
    """Return whether a question can find a memory; hot and pinned memories are in every context."""
    memory, tier = state.memories[index], state.tier(index)
    if memory is None or tier is None:
        return False
    return tier in asked.tiers or tier is Tier.HOT or memory.priority is Priority.PINNED


def _count(outcome: Outcome, asked: Asked) -> None:
    """Count the demanded memories of a question by tier."""
    if not asked.counted:
        return
    state, tokens = outcome.state, outcome.state.hot_tokens(asked.scope)
    outcome.hot_bound += _most_hot(state, asked, tokens)
    for index in asked.demanded:
        memory, tier = state.memories[index], state.tier(index) or Tier.COLD
        if memory is not None and tier is Tier.COLD:
            outcome.rules[len(outcome.tiers)] = memory.tier_rule
        elif memory is not None and tier is Tier.WARM:
            tokens += memory.tokens
        outcome.tiers.append(tier.rank)
        outcome.cache_step(index, Step.ASK)
    outcome.tokens.append(tokens)
    outcome.live.append(state.live)
    outcome.active.append(state.active)


def _most_hot(state: State, asked: Asked, room: int) -> float:
    """Return how many of the demanded memories fit into a number of tokens, the last one in part.

    This fractional knapsack is a bound: nothing costs to make a memory hot before it is demanded.
    """
    memories = [memory for index in asked.demanded if (memory := state.memories[index]) is not None]
    hot = sum(memory.tier is Tier.HOT and memory.retention is Retention.ACTIVE for memory in memories)
    fitting = 0.0
    for tokens in sorted(memory.tokens for memory in memories):
        if tokens > room:
            fitting += room / tokens
            break
        fitting += 1
        room -= tokens
    # Hot memories that the scope does not see cost it nothing.
    return max(fitting, hot)
