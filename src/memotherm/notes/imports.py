"""Imports of the memories of other programs: each entry becomes a memory, duplicates are skipped.

Times, users, projects and ids are kept: as `created_at`, as the scope, and as `original_id` in the metadata.
To index files and keep them as the source instead, open their folder with `mem.notes(...)`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path

from memotherm.errors import InvalidInput, LimitReached, NotFound
from memotherm.model import Scope, Trust
from memotherm.model.value import Value
from memotherm.notes import import_folders, import_formats
from memotherm.notes.import_formats import Draft, Import
from memotherm.notes.values import Skipped
from memotherm.settings import Settings
from memotherm.text.content import pluralize

__all__ = ["KINDS", "Imported", "ImportedEntry", "Progress", "import_memories"]

ScopeFields = Mapping[str, str]
#: Stores drafts of one scope; returns "stored", "known", "forgotten", or why it was left out, for each.
Store = Callable[[Sequence[Draft], ScopeFields], Sequence[str]]
#: Called with (entries done, total entries).
Progress = Callable[[int, int], None]

_READERS = import_folders.READERS | import_formats.READERS
#: What can be imported, and what each of them is read from.
KINDS = {kind: reader.source for kind, reader in _READERS.items()}
_BATCH = 200
_OUTCOMES = ("stored", "known", "forgotten")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class ImportedEntry(Value):
    """A memory that an import has stored."""

    #: The file and the place in it.
    path: str
    kind: str
    content: str
    #: The part of the scope that the entry itself names.
    scope: Scope

    def __str__(self) -> str:
        place = "".join(f", {name} {value}" for name, value in self.scope.items())
        return f"+ {self.path} ({self.kind}{place}): {' '.join(self.content.split())}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Imported(Value):
    """The result of an import."""

    kind: str
    #: Files that were read.
    files: int = 0
    #: New memories, and entries that were stored already.
    stored: int = 0
    duplicates: int = 0
    #: Entries not stored because they were forgotten or corrected here; `remember` stores them again.
    forgotten: int = 0
    #: What was left out or changed, and why.
    skipped: tuple[Skipped, ...] = ()
    #: Credentials and private passages that were replaced by a mark.
    redacted: int = 0
    #: The new memories.
    entries: tuple[ImportedEntry, ...] = ()

    def __str__(self) -> str:
        details = [f"{self.duplicates} known already"]
        if self.forgotten:
            details.append(f"{self.forgotten} forgotten here before")
        if self.redacted:
            details.append(f"{self.redacted} redacted")
        if self.skipped:
            details.append(f"{len(self.skipped)} skipped")
        return f"{pluralize(self.stored, 'memory')} from {pluralize(self.files, 'file')} ({', '.join(details)})"


def import_memories(
    kind: str,
    path: str | os.PathLike[str],
    now: datetime,
    settings: Settings,
    store: Store,
    progress: Progress | None = None,
    by: Trust = Trust.PERSON,
) -> Imported:
    """Read another program's memories, and let `store` store them with the trust `by` at most."""
    reader = _READERS.get(kind)
    if reader is None:
        raise InvalidInput(f"unknown kind {kind!r}: import one of {', '.join(_READERS)}")
    source = Path(path).expanduser()
    if not source.exists():
        raise NotFound(f"{source} does not exist: name the folder or file to import")
    reading = Import(f"import:{kind}", now, settings, own=kind == "jsonl")
    reader.read(source, reading)
    outcomes: Counter[str] = Counter()
    entries: list[ImportedEntry] = []
    done = 0
    for scope, drafts in _batches(reading.drafts):
        stored = _store(drafts, scope, store, reading)
        outcomes.update(stored)
        for (draft, where), outcome in zip(drafts, stored, strict=True):
            if outcome == "stored":
                its_kind, content = str(draft.get("kind") or "fact"), draft["content"]
                entries.append(ImportedEntry(path=where, kind=its_kind, content=content, scope=Scope(**scope)))
                if lowered := _lowered(draft, by):
                    reading.skip(where, f"imported {lowered}: that needs the trust of a person")
        done += len(drafts)
        if progress is not None:
            progress(done, len(reading.drafts))
    return Imported(
        kind=kind,
        files=reading.files,
        stored=outcomes["stored"],
        duplicates=outcomes["known"],
        forgotten=outcomes["forgotten"],
        skipped=tuple(reading.skipped),
        redacted=reading.redacted,
        entries=tuple(entries),
    )


def _lowered(draft: Draft, by: Trust) -> str:
    """Return how an entry is stored that says more of itself than its import may; empty if it does not."""
    stated = draft.get("state", {}).get("trust")
    found = [f"with the trust {by}, not {stated}"] if stated is not None and stated.rank > by.rank else []
    if by.is_low and (draft.get("tier") == "hot" or draft.get("priority") == "pinned"):
        found.append("as neither hot nor pinned")
    return ", ".join(found)


def _batches(drafts: Sequence[tuple[Draft, str]]) -> Iterator[tuple[ScopeFields, Sequence[tuple[Draft, str]]]]:
    def scope_of(draft: tuple[Draft, str]) -> list[tuple[str, str]]:
        return sorted(draft[0].get("scope", {}).items())

    for scope, group in groupby(sorted(drafts, key=scope_of), scope_of):
        own = [({name: value for name, value in draft.items() if name != "scope"}, where) for draft, where in group]
        for start in range(0, len(own), _BATCH):
            yield dict(scope), own[start : start + _BATCH]


def _store(drafts: Sequence[tuple[Draft, str]], scope: ScopeFields, store: Store, reading: Import) -> list[str]:
    """Store drafts and return what became of each; those that were left out are added to `skipped`."""
    try:
        outcomes = store([draft for draft, _ in drafts], scope)
    except (InvalidInput, LimitReached) as error:
        if len(drafts) > 1:
            middle = len(drafts) // 2
            return [each for half in (drafts[:middle], drafts[middle:]) for each in _store(half, scope, store, reading)]
        outcomes = [str(error)]
    for (_, where), outcome in zip(drafts, outcomes, strict=True):
        if outcome not in _OUTCOMES:
            reading.skip(where, outcome)
    return list(outcomes)
