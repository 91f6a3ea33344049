"""What the verbs of notes return: frozen, printable, free of I/O."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memotherm.model import Move, Tier, Why
from memotherm.model.value import Value

__all__ = ["Appended", "Conflict", "NoteHit", "NoteResults", "NoteText", "Skipped", "Sync", "citation"]


def citation(path: str, start: int, end: int) -> str:
    """Return how a range of lines is cited: `path#L10-L15`, or `path#L10` for one line."""
    return f"{path}#L{start}" if start == end else f"{path}#L{start}-L{end}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Skipped(Value):
    """A file that is not indexed, and why."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Conflict(Value):
    """A list item and the memory that it is, when they do not say the same."""

    memory_id: str
    path: str
    #: The line that the item begins at.
    line: int
    in_file: str
    in_memory: str
    #: What happened, in plain words.
    why: str

    def __str__(self) -> str:
        return f"{citation(self.path, self.line, self.line)} and {self.memory_id} differ: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Sync(Value):
    """What bringing the index in line with the files came to."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: (old path, new path)
    renamed: tuple[tuple[str, str], ...] = ()
    #: Files that were as the index knew them.
    unchanged: int = 0
    #: Chunks that are new, and chunks of changed files that stayed as they were.
    chunks_new: int = 0
    chunks_kept: int = 0
    #: Tier moves that the rules for notes asked for.
    moves: tuple[Move, ...] = ()
    #: Files that are not indexed.
    skipped: tuple[Skipped, ...] = ()
    #: Transcripts that have grown, but not enough to be read again.
    waiting: tuple[str, ...] = ()
    #: Ids of memories whose list item is gone; they live on without a file.
    unlinked: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()

    @property
    def touched(self) -> int:
        """How many files made work."""
        return len(self.added) + len(self.changed) + len(self.removed) + len(self.renamed)

    def __str__(self) -> str:
        parts = [("added", len(self.added)), ("changed", len(self.changed)), ("removed", len(self.removed))]
        parts += [("renamed", len(self.renamed)), ("skipped", len(self.skipped)), ("conflicts", len(self.conflicts))]
        told = [f"{count} {name}" for name, count in parts if count]
        return ", ".join([*told, f"{self.unchanged} unchanged"])


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NoteHit(Value):
    """A range of lines that answers a query."""

    path: str
    start_line: int
    end_line: int
    #: Relevance from 0 to 1, weighed by age where that is asked for.
    score: float
    #: At most 700 characters of the lines, around what was asked.
    snippet: str
    #: The headings above the first line.
    heading: str
    memory_id: str
    tier: Tier
    #: memory (a note) or sessions (a transcript).
    source: str
    why: Why

    @property
    def citation(self) -> str:
        """Where it stands: `path#L10-L15`."""
        return citation(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NoteResults(Value):
    """The answer to a search in notes, best first."""

    query: str
    hits: tuple[NoteHit, ...] = ()
    #: Whether citations are to be shown to people; they are in the hits either way.
    citations: bool = True
    tiers: tuple[Tier, ...] = ()
    #: Whether files have changed that this answer does not know of.
    stale: bool = False
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[NoteHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, index: int) -> NoteHit:
        return self.hits[index]

    def text(self) -> str:
        """Return the snippets as a chat would show them, with their sources where those are shown."""
        shown = (f"{hit.snippet}\n\nSource: {hit.citation}" if self.citations else hit.snippet for hit in self.hits)
        return "\n\n---\n\n".join(shown)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NoteText(Value):
    """Lines of a note, exactly as they are in the file."""

    path: str
    #: The lines, joined by line feeds; empty when the file or the range does not exist.
    text: str
    #: The range that `text` is, from 1, both ends included; (0, 0) when it is empty.
    start_line: int = 0
    end_line: int = 0
    #: How many lines the file has.
    total_lines: int = 0
    #: Where to go on reading; None at the end, or when the asked range is complete.
    next_line: int | None = None
    #: What is missing and how to get it, in plain words; empty when nothing is.
    hint: str = ""

    @property
    def citation(self) -> str:
        """Where the text stands."""
        return citation(self.path, self.start_line, self.end_line) if self.end_line else self.path


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Appended(Value):
    """What was added to a note, and where."""

    path: str
    start_line: int
    end_line: int
    #: False when the note already ended with the same text.
    written: bool = True

    @property
    def citation(self) -> str:
        """Where it stands."""
        return citation(self.path, self.start_line, self.end_line)
