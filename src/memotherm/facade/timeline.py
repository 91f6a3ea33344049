"""What happened when: memories by day, project and session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from memotherm.model import Memory
from memotherm.model.reports import Activity
from memotherm.notes.placement import local_day
from memotherm.settings import Settings
from memotherm.text.phrases import sentences

_TITLE_CHARS = 90


def activities(memories: Iterable[Memory], settings: Settings) -> list[Activity]:
    """Return what happened, newest day first, and in each day by project and time."""
    found: dict[tuple[str, str, str], Activity] = {}
    files: dict[tuple[str, str, str], dict[str, None]] = {}
    for memory in sorted(memories, key=lambda memory: (memory.created_at, memory.id)):
        said, session = memory.created_at, str(memory.metadata.get("session") or memory.scope.session or "")
        key = local_day(said, settings).isoformat(), memory.scope.project or "", session
        day, project, _ = key
        before = found.get(key) or Activity(day=day, project=project, session=session, first=said, last=said)
        title = before.title or _title(memory.content)
        found[key] = replace(before, last=said, memories=before.memories + 1, title=title)
        edited = memory.metadata.get("files")
        files.setdefault(key, {}).update(dict.fromkeys(map(str, edited if isinstance(edited, list) else ())))
    listed = [replace(activity, files=tuple(files[key])) for key, activity in found.items()]
    listed.sort(key=lambda each: (each.project, each.first))
    return sorted(listed, key=lambda each: each.day, reverse=True)


def _title(content: str) -> str:
    text = next((" ".join(sentence.split()) for sentence in sentences(content) if sentence.strip()), "")
    return text if len(text) <= _TITLE_CHARS else f"{text[: _TITLE_CHARS - 1]}…"
