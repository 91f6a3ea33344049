"""Importing the memories of other programs: each entry becomes a memory, duplicates are skipped.

    openclaw      a workspace: MEMORY.md, USER.md, memory/**/*.md
    claude-code   a memory folder (or ~/.claude with all of them): *.md, MEMORY.md is their index
    codex         ~/.codex/memories: *.md
    mcp-memory    the JSON lines of the MCP reference memory server
    jsonl         the JSON lines that `memotherm export` writes

To index files and keep them as the source instead, open their folder with `mem.notes(...)`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memotherm.errors import InvalidInput, LimitReached, NoteUnavailable
from memotherm.model import Priority, Retention, Tier
from memotherm.model.value import Value
from memotherm.notes.day import local_day
from memotherm.notes.files import read_file
from memotherm.notes.placement import is_curated, note_date, note_tier
from memotherm.notes.values import Skipped
from memotherm.settings import Settings
from memotherm.text.markdown import ChunkSize, chunks, decode, items, split_lines
from memotherm.text.markdown.outline import outline
from memotherm.text.marker import without_blocks
from memotherm.text.quantity import pluralize
from memotherm.text.tokens import count_tokens

__all__ = ["KINDS", "Imported", "import_memories"]

Draft = dict[str, Any]
#: Stores drafts, and returns how many were new and how many had been purged.
Store = Callable[[Sequence[Draft]], tuple[int, int]]

_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_INDEX_LINE = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_CLAUDE_KINDS = {"user": "preference", "feedback": "preference", "project": "context", "reference": "fact"}
_BATCH = 200
#: The fields of an exported memory that are imported.
_EXPORTED = ("kind", "tags", "tier", "priority", "metadata", "source", "key", "index")


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Imported(Value):
    """The result of an import."""

    kind: str
    #: Files that were read.
    files: int = 0
    #: New memories, and entries that were stored already.
    stored: int = 0
    duplicates: int = 0
    #: Entries that are not stored because their content was purged; `remember` stores them again.
    purged: int = 0
    #: What was not imported, and why.
    skipped: tuple[Skipped, ...] = ()

    def __str__(self) -> str:
        details = [f"{self.duplicates} known already"]
        if self.purged:
            details.append(f"{self.purged} purged here before")
        if self.skipped:
            details.append(f"{len(self.skipped)} skipped")
        return f"{pluralize(self.stored, 'memory')} from {pluralize(self.files, 'file')} ({', '.join(details)})"


@dataclass(slots=True)
class _Import:
    """What has been read so far."""

    source: str
    now: datetime
    today: date
    settings: Settings
    #: What is to be stored, and where each was read.
    drafts: list[tuple[Draft, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0


def import_memories(
    kind: str,
    path: str | os.PathLike[str],
    now: datetime,
    settings: Settings,
    store: Store,
) -> Imported:
    """Read another program's memories; `store` stores drafts and returns how many were new and how many purged."""
    reader = _READERS.get(kind)
    if reader is None:
        raise InvalidInput(f"unknown kind {kind!r}: import one of {', '.join(_READERS)}")
    source = Path(path).expanduser()
    if not source.exists():
        raise NoteUnavailable(f"{source} does not exist: name the folder or file to import")
    reading = _Import(f"import:{kind}", now, local_day(now, settings), settings)
    reader(source, reading)
    read, refused = len(reading.drafts), len(reading.skipped)
    stored = purged = 0
    for start in range(0, read, _BATCH):
        new, gone = _store(reading.drafts[start : start + _BATCH], store, reading)
        stored, purged = stored + new, purged + gone
    refused = len(reading.skipped) - refused
    return Imported(
        kind=kind,
        files=reading.files,
        stored=stored,
        duplicates=read - stored - purged - refused,
        purged=purged,
        skipped=tuple(reading.skipped),
    )


def _store(drafts: Sequence[tuple[Draft, str]], store: Store, reading: _Import) -> tuple[int, int]:
    """Store drafts; one that is refused is added to `skipped`, and the others are stored."""
    try:
        return store([draft for draft, _ in drafts])
    except (InvalidInput, LimitReached) as error:
        if len(drafts) == 1:
            reading.skipped.append(Skipped(path=drafts[0][1], why=str(error)))
            return 0, 0
    middle = len(drafts) // 2
    first, second = _store(drafts[:middle], store, reading), _store(drafts[middle:], store, reading)
    return first[0] + second[0], first[1] + second[1]


# One reader per program


def _openclaw(source: Path, reading: _Import) -> None:
    names = ("MEMORY.md", "memory.md", "USER.md", "DREAMS.md")
    curated = {file.resolve(): file for name in names if (file := source / name).is_file()}
    for file in [*curated.values(), *_markdown(source / "memory")]:
        extra = {"kind": "preference"} if file.name == "USER.md" else {}
        _entries(file, source, reading, extra)


def _claude_code(source: Path, reading: _Import) -> None:
    folders = sorted(source.glob("projects/*/memory")) or [source]
    for folder in folders:
        for file in _markdown(folder):
            if is_curated(file.name):
                _index(file, folder, source, reading)
            else:
                _whole(file, source, reading)


def _codex(source: Path, reading: _Import) -> None:
    folder = source / "memories" if (source / "memories").is_dir() else source
    for file in _markdown(folder):
        _entries(file, folder, reading, {})


def _mcp_memory(source: Path, reading: _Import) -> None:
    file = source / "memory.jsonl" if source.is_dir() else source
    _json_lines(file, reading, _graph, "not an entity or relation")


def _jsonl(source: Path, reading: _Import) -> None:
    _json_lines(source, reading, _exported, "not an exported memory")


def _json_lines(
    file: Path, reading: _Import, drafts_of: Callable[[Mapping[str, Any], datetime], Iterator[Draft]], otherwise: str
) -> None:
    """Read a file with one JSON object per line; any other line is added to `skipped`."""
    text = _text(file, reading)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            drafts = list(drafts_of(json.loads(line), reading.now))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
            reading.skipped.append(Skipped(path=f"{file.name}#L{number}", why=f"{otherwise}: {exc}"))
            continue
        for draft in drafts:
            _add(reading, draft, f"{file.name}#L{number}")


_READERS: dict[str, Callable[[Path, _Import], None]] = {
    "openclaw": _openclaw,
    "claude-code": _claude_code,
    "codex": _codex,
    "mcp-memory": _mcp_memory,
    "jsonl": _jsonl,
}
#: What can be imported.
KINDS = tuple(_READERS)


# Formats


def _graph(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:  # noqa: ARG001
    """Yield the observations of an entity, or a relation, as sentences."""
    if entry.get("type") == "entity":
        name, sort = str(entry["name"]), str(entry.get("entityType", ""))
        metadata = {"entity": name, "entity_type": sort}
        for observation in entry.get("observations") or []:
            yield {"content": f"{name}: {observation}", "kind": "entity", "metadata": metadata}
        if not entry.get("observations"):
            yield {"content": f"{name} is a {sort}" if sort else name, "kind": "entity", "metadata": metadata}
    elif entry.get("type") == "relation":
        subject, verb, target = (str(entry[key]) for key in ("from", "relationType", "to"))
        metadata = {"from": subject, "relation": verb, "to": target}
        yield {"content": f"{subject} {verb.replace('_', ' ')} {target}", "kind": "entity", "metadata": metadata}
    else:
        raise ValueError(f"type {entry.get('type')!r}")


def _exported(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    """Yield a memory that `export` wrote, with its tier, priority, retention and time of expiry."""
    draft: Draft = {name: entry[name] for name in _EXPORTED if entry.get(name) is not None}
    content = entry["content"]
    if not isinstance(content, str) or not content.strip():
        raise ValueError("its content is empty, or no text")
    draft["content"] = content
    Tier.of(draft.get("tier", "warm"))
    Priority.of(draft.get("priority", "normal"))
    if Retention.of(entry.get("retention") or "active") is Retention.ARCHIVED:
        draft["retention"] = "archived"
    expires = entry.get("expires_at")
    if expires:
        left = (datetime.fromisoformat(str(expires)) - now).total_seconds()
        if left > 0:
            draft["ttl"] = left
        elif "retention" not in draft:
            raise ValueError(f"it expired on {expires}")
    yield draft


def _whole(file: Path, root: Path, reading: _Import) -> None:
    """Read a file that is one memory, with the name, description and type of its front matter."""
    text = _text(file, reading)
    front = _FRONT.match(text)
    about = dict(_fields(front[1])) if front else {}
    body = text[front.end() :] if front else text
    description = about.get("description", "")
    kind = _CLAUDE_KINDS.get(about.get("type", ""), "fact")
    metadata = {"path": file.relative_to(root).as_posix(), "name": about.get("name", file.stem)}
    content = f"{description}\n\n{body.strip()}" if description and description not in body else body.strip()
    for piece in _pieces(content):
        _add(reading, {"content": piece, "kind": kind, "metadata": metadata}, metadata["path"])


def _fields(front_matter: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values of front matter that stand in one line."""
    for line in front_matter.split("\n"):
        name, colon, value = line.partition(":")
        if colon and name.replace("_", "a").isalnum() and value.strip():
            yield name, value.strip()


def _index(file: Path, folder: Path, root: Path, reading: _Import) -> None:
    """Read an index file, without the lines that link to files which are read anyway."""
    text = _text(file, reading)
    lines = split_lines(text)
    own_lines = [line for line in lines if not any((folder / name).is_file() for name in _INDEX_LINE.findall(line))]
    _entries_of("\n".join(own_lines), file.relative_to(root).as_posix(), reading, {})


def _entries(file: Path, root: Path, reading: _Import, extra: Draft) -> None:
    _entries_of(_text(file, reading), file.relative_to(root).as_posix(), reading, extra)


def _entries_of(text: str, path: str, reading: _Import, extra: Draft) -> None:
    """Read each list item and each other block as a memory."""
    lines = split_lines(text)
    headings_above = outline(lines).headings_above
    start = 0
    spans: list[tuple[int, int, str]] = []
    for item in items(lines):
        spans += _blocks(lines, start, item.start)
        spans.append((item.start, item.end, item.text))
        start = item.end
    spans += _blocks(lines, start, len(lines))
    day = note_date(path)
    old = note_tier(path, reading.today, reading.settings) is Tier.COLD
    for first, end, span_text in spans:
        heading = " > ".join(headings_above[first])
        metadata = {"path": path, "start": first + 1, "end": end, "heading": heading}
        if day is not None:
            metadata["date"] = day.isoformat()
        for piece in _pieces(span_text):
            draft = {"content": piece, "metadata": metadata, **({"tier": "cold"} if old else {}), **extra}
            _add(reading, draft, f"{path}#L{first + 1}")


def _blocks(lines: Sequence[str], start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield the start, the end and the text of the paragraphs between list items, without headings."""
    block: list[int] = []
    fence = False
    for number in [*range(start, end), end]:
        line = lines[number] if number < end else ""
        if number < end and line.lstrip().startswith(("```", "~~~")):
            fence = not fence
        over = number == end or (not fence and (not line.strip() or line.lstrip().startswith("#")))
        if not over:
            block.append(number)
        elif block:
            text = "\n".join(lines[line_number] for line_number in block).strip()
            if text.strip("-=*_ \n"):
                yield block[0], block[-1] + 1, text
            block = []


def _pieces(text: str) -> Iterator[str]:
    """Yield a text, split where it is too long for one memory."""
    clean = without_blocks(text).strip()
    if not clean:
        return
    if len(clean) <= 4000:
        yield clean
        return
    yield from (chunk.text for chunk in chunks(clean, count_tokens, ChunkSize(size=800, overlap=0)))


# Files


def _markdown(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    files = [file for file in sorted(folder.rglob("*.md")) if file.is_file() and not file.is_symlink()]
    return [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]


def _text(file: Path, reading: _Import) -> str:
    try:
        content = read_file(file)
    except OSError as exc:
        reading.skipped.append(Skipped(path=file.name, why=f"cannot be read: {exc.strerror or exc}"))
        return ""
    if content is None:
        return ""
    reading.files += 1
    return "\n".join(split_lines(decode(content.data)))


def _add(reading: _Import, draft: Draft, where: str) -> None:
    if len(draft["content"].strip()) < 3:
        reading.skipped.append(Skipped(path=where, why="too short to mean something"))
        return
    reading.drafts.append(({"source": reading.source, **draft}, where))
