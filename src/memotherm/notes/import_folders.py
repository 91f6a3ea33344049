"""Readers of the memory folders of OpenClaw, Claude Code and Codex: Markdown files, as one memory or many."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from memotherm.hooks.project import name_of, project_at
from memotherm.model import Tier
from memotherm.notes.import_formats import Draft, Import, Reader, moment, pieces
from memotherm.notes.placement import is_curated, local_day, note_date, note_placement
from memotherm.settings.paths import read_regular
from memotherm.text.markdown import entries, outline, split_lines

_FRONT = re.compile(r"\A---\n(.*?)\n---(?:\n|\Z)", re.DOTALL)
_INDEX_LINE = re.compile(r"\[[^\]]*\]\(([^)\s]+\.md)\)")
_CLAUDE_KINDS = {"user": "preference", "feedback": "preference", "project": "context", "reference": "fact"}
_FRONT_BYTES = 1_000_000
#: The file of a skill, other files with instructions, and the fields that only prompts, agents and skills have.
_SKILL = "SKILL.md"
_INSTRUCTIONS = {"AGENTS.md", "CLAUDE.md", "GEMINI.md"}
_OF_PROMPTS = {"allowed-tools", "argument-hint", "disable-model-invocation", "model", "tools"}
#: The characters that Claude Code replaces by dashes.
_OTHER = re.compile(r"[^A-Za-z0-9]")
#: How much of a transcript is searched for the folder of its project.
_TRANSCRIPT_BYTES = 1_000_000


def _read_openclaw(source: Path, reading: Import) -> None:
    """Read a workspace: MEMORY.md, USER.md, memory/**/*.md."""
    names = ("MEMORY.md", "memory.md", "USER.md", "DREAMS.md")
    curated = {file.resolve(): file for name in names if (file := source / name).is_file()}
    for file in [*curated.values(), *_memories(source / "memory", source, reading)]:
        extra = {"kind": "preference"} if file.name == "USER.md" else {}
        _entries(file, source, reading, extra)


def _read_claude_code(source: Path, reading: Import) -> None:
    """Read a memory folder, or all of them below ~/.claude; each belongs to the project of its folder."""
    patterns = ("*/memory" if source.name == "projects" else "projects/*/memory", "memory")
    below = next(filter(None, (sorted(source.glob(pattern)) for pattern in patterns)), [])
    for folder in below or [source] * _holds_memories(source):
        name = _project(folder.parent) if folder.name == "memory" else None
        scope = {"project": name} if name else {}
        for file in _memories(folder, source, reading):
            if is_curated(file.name):
                _entries(file, source, reading, {"scope": scope}, index_of=folder)
            else:
                _whole(file, source, reading, scope)


def _read_codex(source: Path, reading: Import) -> None:
    """Read ~/.codex/memories."""
    folder = source / "memories" if (source / "memories").is_dir() else source
    if folder.name == "memories" or _holds_memories(folder):
        for file in _memories(folder, folder, reading):
            _entries(file, folder, reading, {})


def _holds_memories(folder: Path) -> bool:
    """Return whether a folder is one of memories: by its name, its index, or the front matter of its files."""
    files = [file for file in folder.glob("*.md") if file.is_file()] if folder.is_dir() else []
    return folder.name == "memory" or any(
        is_curated(file.name) or _front(file).get("type") in _CLAUDE_KINDS for file in files
    )


def _memories(folder: Path, root: Path, reading: Import) -> Iterator[Path]:
    """Yield the Markdown files of a folder, except those that tell an agent what to do; these are skipped."""
    files = _markdown(folder)
    skills = {file.parent for file in files if file.name == _SKILL}
    for file in files:
        front = _front(file)
        if skills & {*file.parents} or file.name in _INSTRUCTIONS or (front.keys() & _OF_PROMPTS):
            reading.skip(file.relative_to(root).as_posix(), "a skill, prompt or agent, and not a memory")
        else:
            yield file


def _front(file: Path) -> dict[str, str]:
    """Return the fields of a file's front matter; none if it cannot be read."""
    with suppress(OSError):
        return _fields(read_regular(file, _FRONT_BYTES).decode(errors="replace").replace("\r\n", "\n"))
    return {}


def _fields(text: str) -> dict[str, str]:
    """Return the names in the front matter of a text, with the values that stand in the same line."""
    front = _FRONT.match(text)
    lines = (line.partition(":") for line in front[1].split("\n")) if front else ()
    return {name.strip(): value.strip().strip("\"'") for name, colon, value in lines if colon}


def _project(folder: Path) -> str | None:
    """Return the project whose sessions are in a folder of Claude Code; only a name if it is not on this machine.

    Transcripts contain the path of the project; the name of the folder has it with dashes for other characters, which
    is decoded if the project still exists.
    """
    for transcript in sorted(folder.glob("*.jsonl")):
        if name := _transcript_project(transcript):
            return name
    if not folder.name.startswith("-"):
        return None
    encoded = folder.name[1:]
    existing = _existing(Path(folder.anchor), encoded)
    return encoded if existing is None else name_of(project_at(existing))


def _existing(parent: Path, encoded: str) -> Path | None:
    """Return the folder below another one whose path has a name of Claude Code."""
    try:
        children = [child for child in parent.iterdir() if child.is_dir()]
    except OSError:
        return None
    for child in children:
        name = _OTHER.sub("-", child.name)
        if name == encoded:
            return child
        if encoded.startswith(f"{name}-") and (found := _existing(child, encoded[len(name) + 1 :])):
            return found
    return None


def _transcript_project(transcript: Path) -> str | None:
    with suppress(OSError, ValueError, RecursionError):
        for line in read_regular(transcript, _TRANSCRIPT_BYTES).split(b"\n"):
            entry = json.loads(line)
            if isinstance(entry, dict) and isinstance(entry.get("cwd"), str):
                path = Path(entry["cwd"].replace("\\", "/"))
                return name_of(project_at(path)) if path.is_dir() else path.name or None
    return None


def _whole(file: Path, root: Path, reading: Import, scope: dict[str, str]) -> None:
    """Read a file that is one memory, with the name, description and type of its front matter.

    Memories about the user belong to no project.
    """
    text = reading.text(file)
    about, body = _fields(text), _FRONT.sub("", text, count=1)
    description = about.get("description", "")
    kind = _CLAUDE_KINDS.get(about.get("type", ""), "fact")
    metadata = {"path": file.relative_to(root).as_posix(), "name": about.get("name") or file.stem}
    content = f"{description}\n\n{body.strip()}" if description and description not in body else body.strip()
    written = moment(file.stat().st_mtime, reading.now) if text else {}
    for draft in pieces(content, kind=kind, metadata=metadata, scope={} if kind == "preference" else scope, **written):
        reading.add(draft, metadata["path"])


def _entries(file: Path, root: Path, reading: Import, extra: Draft, index_of: Path | None = None) -> None:
    """Read each list item and each other block as a memory, except lines of an index that link to a file in it."""
    text, path = reading.text(file), file.relative_to(root).as_posix()
    if front := _FRONT.match(text):
        # Empty lines in place of the front matter keep the line numbers.
        text = "\n" * front[0].count("\n") + text[front.end() :]
    lines = split_lines(text)
    if index_of is not None:
        linked = [any((index_of / name).is_file() for name in _INDEX_LINE.findall(line)) for line in lines]
        lines = ["" if link else line for line, link in zip(lines, linked, strict=True)]
    headings_above = outline(lines).headings_above
    day = note_date(path)
    written = {} if day is None else moment(day.isoformat(), reading.now)
    old = note_placement(path, local_day(reading.now, reading.settings)).tier is Tier.COLD
    for first, end, span_text in entries(lines):
        heading = " > ".join(headings_above[first])
        metadata = {"path": path, "start": first + 1, "end": end, "heading": heading}
        if day is not None:
            metadata["date"] = day.isoformat()
        for draft in pieces(span_text, metadata=metadata, **({"tier": "cold"} if old else {}), **written, **extra):
            reading.add(draft, f"{path}#L{first + 1}")


def _markdown(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    files = [file for file in sorted(folder.rglob("*.md")) if file.is_file() and not file.is_symlink()]
    return [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]


READERS = {
    "openclaw": Reader(_read_openclaw, "a workspace with MEMORY.md, USER.md and memory/**/*.md"),
    "claude-code": Reader(
        _read_claude_code,
        "~/.claude with projects/*/memory/*.md, or one such memory folder, and neither skills nor prompts",
    ),
    "codex": Reader(_read_codex, "~/.codex/memories with *.md"),
}
