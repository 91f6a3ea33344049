"""Tier policies of a store: lint, compare, replay, adopt and roll back."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from memotherm.errors import InvalidInput, PolicyError
from memotherm.facade.view import View
from memotherm.model import Memory, Move
from memotherm.model.actions import Action
from memotherm.model.clock import as_moment
from memotherm.model.results import Adoption
from memotherm.storage.values import Cause
from memotherm.text.content import require_limit
from memotherm.tiers.adoption import (
    Rollback,
    Skipped,
    adopted_policies,
    record_adoption,
    restored_moves,
)
from memotherm.tiers.policy import Difference, Finding, Policy, load
from memotherm.tiers.rules import Situation
from memotherm.tiers.rules.rule import Decision, RuleSet, decide_all
from memotherm.vectors.vectorizer import Progress

if TYPE_CHECKING:
    from memotherm.tiers.replay import Replay

#: A policy, the path of a policy file, or the name of a preset.
PolicySource = Policy | str | os.PathLike[str]


class Policies:
    """The policies of a store, as seen from one scope: `mem.policies`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def lint(self, policy: PolicySource) -> list[Finding]:
        """Return errors and warnings about a policy, including its effect on these memories."""
        loaded, (store, listing) = _loaded(policy), self._view.listing(include_narrower=True)
        found = loaded.lint_in(store, listing.spaces, self._view.now(), store.count(listing))
        return [*loaded.lint(), *found]

    def diff(self, first: PolicySource, second: PolicySource) -> list[Difference]:
        """Return the memories whose next move differs between two policies."""
        sides = (_loaded(first), _loaded(second))
        return [
            Difference(memory=memory, run=run, first=ours, second=theirs)
            for run in ("compact", "maintain")
            for memory, ours, theirs in _paired(*(self._decisions(policy, run) for policy in sides))
            if (ours and ours.to) != (theirs and theirs.to)
        ]

    def _decisions(self, policy: Policy, run: str) -> list[Decision]:
        """Return what a policy would do in the next run at and below the scope."""
        store = self._view.store_inside
        spaces, settings = store.spaces_within(self._view.scope), policy.settings(self._view.services.settings)
        situation = Situation(now=self._view.now(), settings=settings, open_sessions=store.open_sessions(spaces))
        return decide_all(RuleSet(policy.tier_rules, run), situation, store.selector(spaces))

    def replay(
        self,
        policies: Sequence[PolicySource],
        since: datetime | str | None = None,
        limit: int = 10,
        progress: Progress | None = None,
    ) -> Replay:
        """Replay policies on the history of these memories; nothing is changed.

        Beside them stand everything live, and what was recorded.

        Args:
            policies: Policies, paths of their files, or names of those that come with the package.
            since: When the period begins, or how long ago, such as "90d"; None for the beginning of the recall log.
            limit: How many of the best hits of a question it demands at most.
            progress: Called with (done, total) for the questions and then for the steps of all policies.
        """
        # Loaded here, because only a replay needs them.
        from memotherm.tiers.replay import replay_timeline
        from memotherm.tiers.timeline import read_timeline

        loaded = [_loaded(policy) for policy in policies]
        if not loaded:
            raise InvalidInput("name at least one policy to replay, such as builtin")
        if len({policy.name for policy in loaded}) < len(loaded):
            raise InvalidInput("two of the policies have the same name: give each its own [policy] name")
        require_limit(limit, self._view.services.settings.pool_size)
        view, now = self._view.with_narrower(), self._view.now()
        settings = view.services.settings
        timeline = read_timeline(
            view.services.store,
            view.services.pipeline,
            view.scope,
            now,
            settings,
            since=None if since is None else as_moment(since, "since", now),
            first=limit,
            progress=progress,
        )
        return replay_timeline(view.services.store, timeline, loaded, settings, progress)

    def current(self) -> Policy:
        """Return the active policy: the last adopted one, or the built-in one."""
        return self._view.services.active_policy.current()

    def unused(self) -> str | None:
        """Return why the adopted policy is not used, such as rules that were given to `open`; None if it is."""
        return self._view.services.active_policy.notice()

    def history(self) -> list[Adoption]:
        """Return which policies were adopted and rolled back, in order."""
        return self._view.services.all_tenants.adoptions()

    def adopt(self, policy: PolicySource) -> Adoption:
        """Make a policy active for the whole store, in all processes that use it.

        It is kept in the store with everything that it extends, and its moves carry its hash. A policy with lint
        errors or failing tests is refused with all of them, and the one in force stays.
        """
        self._require_whole()
        loaded = _loaded(policy)
        require_adoptable(loaded, self.lint(loaded))
        cause = self._view.cause(Action.ADOPT)
        row = Adoption(
            at=cause.at,
            actor=cause.actor,
            action=Action.ADOPT,
            name=loaded.name,
            hash=loaded.digest,
            document=loaded.packed(),
        )
        return record_adoption(self._view.services.all_tenants, row)

    def rollback(self) -> Rollback:
        """Undo all moves of the active policy, and make the previous policy active.

        Memories that were moved since are skipped and listed.
        """
        self._require_whole()
        whole, cause = self._view.services.all_tenants, self._view.cause(Action.ROLLBACK)
        line = adopted_policies(whole)
        # The moves come first, so that an interrupted rollback can be repeated; and once more for what another
        # process has moved meanwhile.
        moves, _ = self._moves_back(line[-1], cause)
        before = line[-2] if len(line) > 1 else replace(line[-1], name="builtin", hash="", document="")
        row = replace(before, number=0, at=cause.at, actor=cause.actor, action=Action.ROLLBACK)
        adoption = record_adoption(whole, row)
        late, skipped = self._moves_back(line[-1], cause)
        return Rollback(
            name=line[-1].name, hash=line[-1].hash, adoption=adoption, moves=(*moves, *late), skipped=tuple(skipped)
        )

    def _moves_back(self, policy: Adoption, cause: Cause) -> tuple[list[Move], list[Skipped]]:
        moves: list[Move] = []
        skipped: list[Skipped] = []
        for part in self._view.services.all_tenants.parts(self._view.scope):
            moved, left = restored_moves(part, self._view.services.on(part).changes, policy, cause)
            moves += moved
            skipped += left
        return moves, skipped

    def _require_whole(self) -> None:
        if self._view.scope.items():
            raise InvalidInput(
                f"a policy applies to the whole store: adopt it or roll it back without a scope, not {self._view.scope}"
            )


def _paired(first: list[Decision], second: list[Decision]) -> Iterator[tuple[Memory, Move | None, Move | None]]:
    """Yield each memory that one of two runs moves, with both moves, in order of id."""
    sides = [{decision.memory.id: decision for decision in side} for side in (first, second)]
    for memory_id in sorted(sides[0].keys() | sides[1].keys()):
        ours, theirs = (side.get(memory_id) for side in sides)
        memory = (ours or theirs or first[0]).memory
        yield memory, ours and ours.move, theirs and theirs.move


def require_adoptable(policy: Policy, found: list[Finding]) -> None:
    """Raise `PolicyError` with every error and every failing test of a policy."""
    errors = [finding for finding in found if not finding.warning]
    failed = [
        Finding(code="P013", message=f"the test {result.name!r} fails: {result.detail}")
        for result in policy.test()
        if not result.passed
    ]
    if errors or failed:
        listed = "\n".join(f"  {policy.origin}: {finding}" for finding in (*errors, *failed))
        raise PolicyError(f"{policy.name} is not adopted, and the policy in force stays:\n{listed}", (*errors, *failed))


def _loaded(policy: PolicySource) -> Policy:
    return policy if isinstance(policy, Policy) else load(policy)
