"""Tier policies of a store: what they would do to its memories."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from memotherm.model import Memory
from memotherm.policy import Finding, Policy, load
from memotherm.policy.compare import Difference, differences
from memotherm.services import View

__all__ = ["Policies"]

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

    def _memories(self) -> Iterator[Memory]:
        """Yield the active memories at and below the scope."""
        store = self._view.inside
        spaces, find = store.spaces_within(self._view.scope), replace(self._view.listing(), limit=_PAGE)
        while page := store.find(spaces, find):
            yield from (record.memory for record in page)
            find = replace(find, before=page[-1].no)


def _loaded(policy: PolicySource) -> Policy:
    return policy if isinstance(policy, Policy) else load(policy)
