"""The notes of a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from memotherm.model import Tier, Why
from memotherm.notes import Curated, NoteHit, NoteResults, Notes, NoteText
from memotherm.remote.jobs import Remote
from memotherm.remote.verbs import refusal, refused, sent

__all__ = ["RemoteNotes"]

Json = dict[str, Any]

#: Fields whose names are those of the tools.
_LINES = {"start_line": "startLine", "end_line": "endLine", "total_lines": "totalLines", "next_line": "nextLine"}


def _results_of(found: Json) -> NoteResults:
    return NoteResults(
        query=found["query"],
        hits=tuple(map(_hit_of, found["results"])),
        citations=found["citations"],
        tiers=tuple(map(Tier, found["tiers"])),
        stale=found["stale"],
        degraded=tuple(found["degraded"]),
    )


def _hit_of(found: Json) -> NoteHit:
    plain = ("path", "score", "snippet", "heading", "memory_id", "source")
    return NoteHit(
        **{name: found[name] for name in plain},
        start_line=found["startLine"],
        end_line=found["endLine"],
        tier=Tier(found["tier"]),
        why=Why(**found["parts"]),
    )


def _text_of(found: Json) -> NoteText:
    lines = {name: found[theirs] for name, theirs in _LINES.items()}
    return NoteText(path=found["path"], text=found["text"], hint=found["hint"], **lines)


class RemoteNotes(Notes):
    """The notes of the folder that a server has in `notes_root`, to search, read and curate; the rest is refused."""

    def __init__(self, memory: Remote) -> None:
        self._memory = memory

    def __repr__(self) -> str:
        return repr(self._memory)

    def _call(self, operation: str, arguments: Json) -> Json:
        """Carry out an operation."""
        if operation == "search_notes":
            found = self._memory._call(operation, arguments)
            return {**found, "query": arguments["query"], "tiers": arguments["tiers"]}
        return self._memory._call(operation, {**arguments, "path": os.fspath(arguments["path"])})

    search = sent(Notes.search, "search_notes", _results_of)
    get = sent(Notes.get, "read_note", _text_of)
    curate = sent(Notes.curate, "curate", lambda found: Curated(**{**found, "lines": tuple(found["lines"])}))

    sync = refused(Notes.sync)
    refresh = refused(Notes.refresh)
    watch = refused(Notes.watch)
    clear = refused(Notes.clear)
    paths = refused(Notes.paths)
    stale = refused(Notes.stale)
    append = refused(Notes.append)
    today = refused(Notes.today)
    export = refused(Notes.export)
    adopt = refused(Notes.adopt)
    conflicts = refused(Notes.conflicts)
    resolve = refused(Notes.resolve)

    @property
    def root(self) -> Path:
        """Refused: the folder is on the machine of the server."""
        raise refusal("root", self)

    @property
    def writable(self) -> bool:
        """Refused: the folder is on the machine of the server."""
        raise refusal("writable", self)
