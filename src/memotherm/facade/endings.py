"""Memories that end by a condition, and memories about files: set when they are stored, checked when they are read.

The project is read in the folder that the caller works in; a server works in none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memotherm.errors import InvalidInput, MemothermError
from memotherm.model import Hit, Memory, Priority, Tier
from memotherm.model.actions import Action
from memotherm.model.marks import ANCHORS, ENDS, FILE_MARKS, ON_BRANCH, ends_of
from memotherm.model.receipts import Reason
from memotherm.model.results import LARGEST_PAGE
from memotherm.recall.recaller import Found
from memotherm.remember.draft import LONGEST_TAG, Draft, is_by_user
from memotherm.text.conditions import Condition, parse_condition

if TYPE_CHECKING:
    from memotherm.facade.view import View
    from memotherm.storage.values import Record
    from memotherm.workspace.checks import Workspace

#: What is work in progress, and not a fact about the project.
_IN_PROGRESS = ("message", "task", "context")
#: What the tag of a package begins with, and how many places a hit of another package than the caller's comes later.
_PACKAGE, _PLACES = "package:", 3


def written_condition(until: object) -> Condition | None:
    """Return the condition that somebody has written as the end of a memory; None if it is a moment."""
    return parse_condition(until) if isinstance(until, str) else None


def condition_here(condition: Condition, folder: str | None) -> Mapping[str, str]:
    """Return what is stored of a condition that somebody has written, or raise `InvalidInput`."""
    if folder is None:
        raise InvalidInput(f"{condition}: it is checked in the folder of a project: name that with in_folder(...)")
    return _workspace(folder).set_condition(condition)


def with_checks(draft: Draft, folder: str | None) -> Draft:
    """Return a draft with its anchors, and with the condition that was given as its end, if that is one."""
    draft = replace(draft, metadata=with_anchors(draft.metadata, folder))
    condition = written_condition(draft.valid_until)
    if condition is None:
        return draft
    ends = condition_here(condition, folder)
    return replace(draft, valid_until=None, metadata={**(draft.metadata or {}), ENDS: ends})


def with_package(draft: Draft, folder: str) -> Draft:
    """Return a draft with a tag that names the package of the folder, if the project has several."""
    package = _workspace(folder).package
    tag = f"{_PACKAGE}{package}"
    named = isinstance(draft.tags, str) or any(str(each).startswith(_PACKAGE) for each in draft.tags)
    return draft if not package or named or len(tag) > LONGEST_TAG else replace(draft, tags=(*draft.tags, tag))


def with_branch(draft: Draft, folder: str) -> Draft:
    """Return a draft with the branch of the folder, if it is work in progress and no branch was given."""
    if draft.kind not in _IN_PROGRESS or ON_BRANCH in (draft.metadata or {}):
        return draft
    branch = _workspace(folder).branch()
    return replace(draft, metadata={**(draft.metadata or {}), ON_BRANCH: branch}) if branch else draft


def with_heard_condition(draft: Draft, text: str, folder: str) -> Draft:
    """Return a draft with the condition that its text states; what an assistant says is a guess."""
    # Its patterns take longer to import than most texts to store.
    from memotherm.text.ending_clauses import condition_in

    condition = condition_in(text)
    ends = _workspace(folder).heard_condition(condition, sure=is_by_user(draft.metadata)) if condition else {}
    return replace(draft, metadata={**(draft.metadata or {}), ENDS: ends}) if ends else draft


def with_anchors(metadata: Mapping[str, Any] | None, folder: str | None) -> Mapping[str, Any] | None:
    """Return metadata whose anchors, given as texts such as src/app.py:10-20, have what they are compared by."""
    # A list of texts is what somebody has written.
    named = metadata.get(ANCHORS) if isinstance(metadata, Mapping) else None
    if metadata is None or folder is None or not isinstance(named, list | tuple):
        return metadata
    from memotherm.workspace.anchors import anchor_at

    here = _workspace(folder)
    made = [anchor_at(each, here) if isinstance(each, str) else each for each in named]
    return {**metadata, ANCHORS: made}


def renewed_anchors(memory: Memory, folder: str | None) -> Mapping[str, Any]:
    """Return the entry of a memory's metadata about its files as they are now; empty if it is about none."""
    anchors = memory.metadata.get(ANCHORS)
    if folder is None or not isinstance(anchors, list):
        return {}
    from memotherm.workspace.anchors import renewed

    return {ANCHORS: renewed(anchors, _workspace(folder))}


class Endings:
    """Checks the memories that one call reads: ends those whose condition has come true, and compares their files."""

    def __init__(self, view: View) -> None:
        self._view = view

    def ended_by(self, memory: Memory) -> str:
        """Return the condition that has come true, and end the memory; empty if it holds."""
        ends = ends_of(memory)
        if "when" not in ends or memory.valid_until is not None or not self._here.has_come_true(ends):
            return ""
        view = self._view
        # Of a caller who may only read it, it holds no longer either.
        with suppress(MemothermError):
            view.services.changes.end(view.scope, memory.id, view.cause(Action.UPDATE))
        return str(ends["when"])

    def unfit(self, memory: Memory) -> Reason | None:
        """Return why a memory is left out of contexts: a condition has ended it, or it is about another branch."""
        if condition := self.ended_by(memory):
            return Reason(code="condition", details=(condition,))
        branch = self._other_branch(memory)
        return Reason(code="branch", details=(branch,)) if branch else None

    def _other_branch(self, memory: Memory) -> str:
        """Return the branch that a memory is about, if that is another one and the settings keep branches apart."""
        branch = memory.metadata.get(ON_BRANCH)
        if not isinstance(branch, Mapping) or not self._view.services.settings.branches_apart:
            return ""
        return str(branch.get("name", "")) if self._here.is_apart(branch) else ""

    def places_behind(self, memory: Memory) -> int:
        """Return how many places later a hit comes, because it is about another package than the folder."""
        packages = [tag for tag in memory.tags if tag.startswith(_PACKAGE)]
        here = f"{_PACKAGE}{self._here.package}" if packages else ""
        return 0 if here in (*packages, "", _PACKAGE) else _PLACES

    def files_of(self, memory: Memory) -> str:
        """Return whether the files that a memory is about are fresh, moved, changed, gone or unknown; empty if none."""
        anchors = memory.metadata.get(ANCHORS)
        if not anchors or self._view.folder is None:
            return ""
        from memotherm.workspace.anchors import state_of

        return state_of(anchors, self._here)

    def changed_since(self, memory: Memory) -> str:
        """Return the mark of a memory whose files have changed; empty if they have not.

        It leaves hot when they have changed in the main branch.
        """
        state = self.files_of(memory)
        if state not in FILE_MARKS:
            return ""
        if memory.tier is Tier.HOT and memory.priority is not Priority.PINNED and self._has_changed_for_good(memory):
            view = self._view
            cause = replace(view.cause(Action.MOVE), rule="anchors", why=FILE_MARKS[state])
            with suppress(MemothermError):
                view.services.changes.move(view.scope, memory.id, Tier.WARM, cause)
        return FILE_MARKS[state]

    def _has_changed_for_good(self, memory: Memory) -> bool:
        """Return whether the files of a memory have changed in the last commit of the main branch, checked out here.

        What is not committed, and another branch, may be what somebody tries.
        """
        from memotherm.workspace.anchors import state_of

        repository = self._here.repository
        commit = repository.settled() if repository else None
        if repository is None or commit is None:
            return False
        return state_of(memory.metadata[ANCHORS], self._here, repository.committed(commit)) in FILE_MARKS

    def anchored(self, paths: Sequence[str]) -> list[tuple[Record, str]]:
        """Return the memories that are about one of some files of the project, each with the place in it."""
        if not paths:
            return []
        from memotherm.workspace.anchors import place_in

        store, search = self._view.listing(include_narrower=False, where={ANCHORS: {"$exists": True}})
        found = store.find(replace(search, tiers=(Tier.HOT, Tier.WARM), limit=LARGEST_PAGE))
        places = ((record, place_in(record.memory.metadata[ANCHORS], paths, self._here)) for record in found)
        return [(record, place) for record, place in places if place]

    def checked(self, found: Found) -> Found:
        """Return what was found as it is after the check: what has ended, and hits whose files have changed last."""
        pinned, looked = map(self._look, found.pinned), list(map(self._look, found.hits))
        places = [(self._is_less_fit(hit), no + self.places_behind(hit.memory)) for no, hit in enumerate(looked)]
        hits = (looked[no] for no in sorted(range(len(looked)), key=places.__getitem__))
        return replace(found, pinned=tuple(pinned), hits=tuple(hits))

    def _look(self, hit: Hit) -> Hit:
        ended = self.ended_by(hit.memory)
        if not ended and ANCHORS not in hit.memory.metadata:
            return hit
        memory = self._view.record(hit.memory.id).memory if ended else hit.memory
        return replace(hit, memory=memory, files=self.files_of(memory))

    def _is_less_fit(self, hit: Hit) -> bool:
        return hit.files in FILE_MARKS or bool(self._other_branch(hit.memory))

    @functools.cached_property
    def _here(self) -> Workspace:
        return _workspace(self._view.folder or ".")


def _workspace(folder: str) -> Workspace:
    # Only a memory with a condition needs it.
    from memotherm.workspace.checks import Workspace

    return Workspace(folder)
