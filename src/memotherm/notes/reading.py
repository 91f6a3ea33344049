"""Reading lines of notes and transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memotherm.errors import NoteUnavailable
from memotherm.notes.files import read_file
from memotherm.notes.layout import transcript_name
from memotherm.notes.placement import is_transcript
from memotherm.notes.transcript import transcript
from memotherm.notes.values import NoteText
from memotherm.settings import Settings
from memotherm.text.markdown import decode, split_lines
from memotherm.text.redaction import redactor

__all__ = ["excerpt", "read_lines"]

#: The most characters of one excerpt.
_MOST_CHARS = 20_000


def read_lines(root: Path, path: str, transcripts: Sequence[Path], settings: Settings) -> list[str]:
    """Return the lines of a note, or of a transcript without its secrets; no lines when the file does not exist."""
    file = _transcript_file(path, transcripts) if is_transcript(path) else root / path
    try:
        content = read_file(file) if file is not None else None
    except OSError as exc:
        raise NoteUnavailable(f"cannot read {path}: {exc.strerror or exc}") from exc
    if content is None:
        return []
    if is_transcript(path):
        return transcript(content.data, redactor(settings).text).lines
    return split_lines(decode(content.data))


def _transcript_file(path: str, transcripts: Sequence[Path]) -> Path | None:
    for folder in transcripts:
        for file in folder.rglob("*.jsonl") if folder.is_dir() else [folder]:
            if transcript_name(folder, file) == path:
                return file
    return None


def excerpt(path: str, lines: Sequence[str], first: int, count: int | None) -> NoteText:
    """Return `count` lines from line `first`, or fewer if they are too long."""
    total = len(lines)
    requested = lines[first - 1 : None if count is None else first - 1 + count]
    if not requested:
        hint = f"{path} has {total} lines" if total else ""
        return NoteText(path=path, text="", total_lines=total, hint=hint)
    returned, size = 0, 0
    for line in requested:
        size += len(line) + 1
        if size > _MOST_CHARS and returned:
            break
        returned += 1
    text = "\n".join(requested[:returned])
    last = first + returned - 1
    hints = []
    if len(text) > _MOST_CHARS:
        hints.append(f"line {last} has {len(text):,} characters and was cut after {_MOST_CHARS:,}")
        text = text[:_MOST_CHARS]
    if returned < len(requested) or (count is not None and last < total):
        hints.append(f"{total - last} more lines: go on with get({path!r}, {last + 1})")
    return NoteText(
        path=path,
        text=text,
        start_line=first,
        end_line=last,
        total_lines=total,
        next_line=last + 1 if last < total else None,
        hint="; ".join(hints),
    )
