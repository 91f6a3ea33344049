"""What happened when: memories by day, project and session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from memotherm.model import Memory
from memotherm.notes.placement import local_day
from memotherm.settings import Settings
from memotherm.text.phrases import sentences

_TITLE_CHARS = 90
_MOST_FILES = 5


@dataclass(slots=True)
class Activity:
    """What one session, or all that was stored outside of sessions, said in a project on a day."""

    day: date
    project: str
    session: str
    first: datetime
    last: datetime
    memories: int = 0
    #: The first sentence that was said, and the files that were edited.
    title: str = ""
    files: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        span = f"{self.first:%H:%M}" if self.first == self.last else f"{self.first:%H:%M}-{self.last:%H:%M}"
        files = f" [{', '.join(self.files[:_MOST_FILES])}]" if self.files else ""
        return f"{span} {self.title} ({self.memories}){files}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "day": self.day.isoformat(), "project": self.project, "session": self.session,
            "first": self.first.isoformat(), "last": self.last.isoformat(), "memories": self.memories,
            "title": self.title, "files": self.files,
        }  # fmt: skip


def activities(memories: Iterable[Memory], settings: Settings) -> list[Activity]:
    """Return what happened, newest day first, and in each day by project and time."""
    found: dict[tuple[date, str, str], Activity] = {}
    for memory in sorted(memories, key=lambda memory: (memory.created_at, memory.id)):
        day, project = local_day(memory.created_at, settings), memory.scope.project or ""
        session = str(memory.metadata.get("session") or memory.scope.session or "")
        said = memory.created_at
        activity = found.setdefault((day, project, session), Activity(day, project, session, said, said))
        activity.last, activity.memories = said, activity.memories + 1
        activity.title = activity.title or _title(memory.content)
        files = memory.metadata.get("files")
        for file in files if isinstance(files, list) else ():
            if file not in activity.files:
                activity.files.append(str(file))
    return sorted(found.values(), key=lambda each: (-each.day.toordinal(), each.project, each.first))


def lines(found: Iterable[Activity]) -> Iterator[str]:
    """Yield the lines of a timeline: each day once, each project of a day once."""
    day = project = None
    for activity in found:
        if activity.day != day:
            day, project = activity.day, None
            yield f"{day:%Y-%m-%d %A}"
        if activity.project != project:
            project = activity.project
            yield f"  {project or 'no project'}"
        yield f"    {activity}"


def _title(content: str) -> str:
    text = next((" ".join(sentence.split()) for sentence in sentences(content) if sentence.strip()), "")
    return text if len(text) <= _TITLE_CHARS else f"{text[: _TITLE_CHARS - 1]}…"
