"""Memories that end by a condition: set when they are stored, checked when they are read.

The project is read in the folder that the caller works in; a server works in none.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from memotherm.errors import InvalidInput, MemothermError
from memotherm.model import Hit
from memotherm.model.actions import Action
from memotherm.model.memory import ENDS, MemoryFields, ends_of
from memotherm.recall.recaller import Found
from memotherm.remember.capture import is_by_user
from memotherm.remember.draft import Draft
from memotherm.text.conditions import Condition, parse_condition

if TYPE_CHECKING:
    from memotherm.facade.view import View
    from memotherm.workspace.checks import Workspace


def written_condition(until: object) -> Condition | None:
    """Return the condition that somebody has written as the end of a memory; None if it is a moment."""
    return parse_condition(until) if isinstance(until, str) else None


def condition_here(condition: Condition, folder: str | None) -> Mapping[str, str]:
    """Return what is stored of a condition that somebody has written, or raise `InvalidInput`."""
    if folder is None:
        raise InvalidInput(f"{condition}: it is checked in the folder of a project: name that with in_folder(...)")
    return _workspace(folder).set_condition(condition)


def with_written_condition(draft: Draft, folder: str | None) -> Draft:
    """Return a draft with the condition that was given as its end, if that is one."""
    condition = written_condition(draft.valid_until)
    if condition is None:
        return draft
    ends = condition_here(condition, folder)
    return replace(draft, valid_until=None, metadata={**(draft.metadata or {}), ENDS: ends})


def with_heard_condition(draft: Draft, text: str, folder: str) -> Draft:
    """Return a draft with the condition that its text states; what an assistant says is a guess."""
    # Its patterns take longer to import than most texts to store.
    from memotherm.text.ending_clauses import condition_in

    condition = condition_in(text)
    ends = _workspace(folder).heard_condition(condition, sure=is_by_user(draft.metadata)) if condition else {}
    return replace(draft, metadata={**(draft.metadata or {}), ENDS: ends}) if ends else draft


class Endings:
    """Checks the conditions of the memories that one call reads, and ends those whose condition has come true."""

    def __init__(self, view: View) -> None:
        self._view = view

    def ended_by(self, memory: MemoryFields) -> str:
        """Return the condition that has come true, and end the memory; empty if it holds."""
        ends = ends_of(memory)
        if "when" not in ends or memory.valid_until is not None or not self._here.has_come_true(ends):
            return ""
        view = self._view
        # Of a caller who may only read it, it holds no longer either.
        with suppress(MemothermError):
            view.services.changes.end(view.scope, memory.id, view.cause(Action.UPDATE))
        return str(ends["when"])

    def checked(self, found: Found) -> Found:
        """Return what was found with the memories as they are after the check; an ended one is still found."""
        hits = (*found.pinned, *found.hits)
        ended = {hit.memory.id for hit in hits if self._view.folder is not None and self.ended_by(hit.memory)}
        if not ended:
            return found
        pinned, best = (
            tuple(self._read(hit) if hit.memory.id in ended else hit for hit in each)
            for each in (found.pinned, found.hits)
        )
        return replace(found, pinned=pinned, hits=best)

    def _read(self, hit: Hit) -> Hit:
        return replace(hit, memory=self._view.record(hit.memory.id).memory)

    @functools.cached_property
    def _here(self) -> Workspace:
        return _workspace(self._view.folder or ".")


def _workspace(folder: str) -> Workspace:
    # Only a memory with a condition needs it.
    from memotherm.workspace.checks import Workspace

    return Workspace(folder)
