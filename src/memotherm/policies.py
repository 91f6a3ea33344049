"""Tier policies of a store: what they would do to its memories."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from memotherm.errors import InvalidInput
from memotherm.model import Memory
from memotherm.model.clock import as_moment
from memotherm.policy import Finding, Policy, load
from memotherm.policy.compare import Difference, differences
from memotherm.policy.replay import Replay, replay_timeline
from memotherm.services import View, require_limit
from memotherm.tiers.history import read_timeline
from memotherm.vectors.vectorizer import Progress

__all__ = ["Policies", "PolicySource"]

_PAGE = 1000

#: A policy, the path of its file, or the name of one that comes with the package.
PolicySource = Policy | str | os.PathLike[str]


class Policies:
    """The policies of a store, as seen from one scope: `mem.policies`."""

    def __init__(self, view: View) -> None:
        self._view = view

    def lint(self, policy: PolicySource) -> list[Finding]:
        """Return errors and warnings of a policy, also about what it would do to these memories."""
        return _loaded(policy).lint(self._memories(), self._view.now())

    def diff(self, first: PolicySource, second: PolicySource) -> list[Difference]:
        """Return the memories whose next move differs between two policies."""
        sides = (_loaded(first), _loaded(second))
        return list(differences(*sides, self._memories(), self._view.now(), self._view.services.settings))

    def replay(
        self,
        policies: Sequence[PolicySource],
        since: datetime | str | None = None,
        limit: int = 10,
        progress: Progress | None = None,
    ) -> Replay:
        """Return what policies would have done with the past of these memories; nothing is changed.

        Beside them stand everything live, what was recorded, and for each policy an LRU and an oracle of its size.

        Args:
            policies: Policies, paths of their files, or names of those that come with the package.
            since: When the period begins, or how long ago, such as "90d"; None for the beginning of the recall log.
            limit: How many of the best hits of a question it demands at most.
            progress: Called with (done, total) for the questions and then for the steps of all policies.
        """
        loaded = [_loaded(policy) for policy in policies]
        if not loaded:
            raise InvalidInput("name at least one policy to replay, such as builtin")
        if len({policy.name for policy in loaded}) < len(loaded):
            raise InvalidInput("two of the policies have the same name: give each its own [policy] name")
        require_limit(limit, self._view.services.settings.pool_size)
        view, now = self._view.at_and_below(), self._view.now()
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
        return replay_timeline(timeline, loaded, settings, progress)

    def _memories(self) -> Iterator[Memory]:
        """Yield the active memories at and below the scope."""
        store = self._view.inside
        spaces, find = store.spaces_within(self._view.scope), replace(self._view.listing(), limit=_PAGE)
        while page := store.find(spaces, find):
            yield from (record.memory for record in page)
            find = replace(find, before=page[-1].no)


def _loaded(policy: PolicySource) -> Policy:
    return policy if isinstance(policy, Policy) else load(policy)
