"""The results of the methods of `Notes`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from memotherm.model import Move, Tier, Why
from memotherm.model.value import Value

__all__ = ["Appended", "Curated", "NoteHit", "NoteResults", "NoteText", "Skipped", "Sync", "citation"]


def citation(path: str, start: int, end: int) -> str:
    """Return the citation of a range of lines: `path#L10-L15`, or `path#L10` for one line."""
    return f"{path}#L{start}" if start == end else f"{path}#L{start}-L{end}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Skipped(Value):
    """A file that is not indexed, and why."""

    path: str
    why: str

    def __str__(self) -> str:
        return f"{self.path}: {self.why}"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Sync(Value):
    """The changes of one sync."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    #: (old path, new path)
    renamed: tuple[tuple[str, str], ...] = ()
    #: Number of unchanged files.
    unchanged: int = 0
    #: New chunks, and unchanged chunks of changed files.
    chunks_new: int = 0
    chunks_kept: int = 0
    #: Moves by the rules for notes.
    moves: tuple[Move, ...] = ()
    #: Files that are not indexed.
    skipped: tuple[Skipped, ...] = ()
    #: Transcripts with new messages that have not grown enough to be read again.
    waiting: tuple[str, ...] = ()
    #: What did not work, in plain words.
    degraded: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [("added", len(self.added)), ("changed", len(self.changed)), ("removed", len(self.removed))]
        parts += [("renamed", len(self.renamed)), ("skipped", len(self.skipped))]
        counts = [f"{count} {name}" for name, count in parts if count]
        return ", ".join([*counts, f"{self.unchanged} unchanged"])


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NoteHit(Value):
    """Lines found by a search of notes: those of the snippet."""

    path: str
    start_line: int
    end_line: int
    #: Relevance from 0 to 1, reduced by age if `decay` is on.
    score: float
    #: The day of the note, or on which its lines were last changed: `2026-01-26`.
    date: str
    #: At most 700 characters of the lines, around the words of the query.
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
        """The citation: `path#L10-L15`."""
        return citation(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NoteResults(Value):
    """The result of a search of notes, best first."""

    query: str
    hits: tuple[NoteHit, ...] = ()
    #: Whether `text` has citations; the hits always have them.
    citations: bool = True
    tiers: tuple[Tier, ...] = ()
    #: Whether files have changed that are not searched yet.
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
        """Return the snippets as text for a chat, with their citations if `citations` is true."""
        snippets = (f"{hit.snippet}\n\nSource: {hit.citation}" if self.citations else hit.snippet for hit in self.hits)
        return "\n\n---\n\n".join(snippets)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class NoteText(Value):
    """Lines of a note, exactly as in the file."""

    path: str
    #: The lines, joined by line feeds; empty when the file or the range does not exist.
    text: str
    #: The first and last line of `text`, from 1; 0 when it is empty.
    start_line: int = 0
    end_line: int = 0
    #: The number of lines of the file.
    total_lines: int = 0
    #: The line after `text`; None at the end of the file.
    next_line: int | None = None
    #: What is missing and how to get it, in plain words; empty when nothing is missing.
    hint: str = ""

    @property
    def citation(self) -> str:
        """The citation of the text."""
        return citation(self.path, self.start_line, self.end_line) if self.end_line else self.path


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Appended(Value):
    """The lines that were appended to a note."""

    path: str
    start_line: int
    end_line: int
    #: False when the note already ended with the same text.
    written: bool = True

    @property
    def citation(self) -> str:
        """The citation of the lines."""
        return citation(self.path, self.start_line, self.end_line)


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Curated(Value):
    """The lines of a note that were copied to the curated note."""

    #: The citation of the lines in their note.
    source: str
    #: The curated note.
    path: str
    #: The lines that it did not have yet.
    lines: tuple[str, ...] = ()
    #: The first and last of them in the curated note; 0 when there are none, or nothing was written.
    start_line: int = 0
    end_line: int = 0
    #: Whether nothing was written because of a dry run.
    dry_run: bool = False
