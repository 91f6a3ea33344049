"""Shared parts of the import readers: files, drafts, times, and skipped entries."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.model.clock import any_moment
from memotherm.notes.files import read_file
from memotherm.notes.values import Skipped
from memotherm.settings import Settings
from memotherm.text.chunks import ChunkSize, chunks
from memotherm.text.content import without_blocks
from memotherm.text.markdown import decode, split_lines
from memotherm.text.redaction import redactor
from memotherm.text.tokens import count_tokens

#: The arguments of a memory, `created_at`, `scope`, `state` (other fields) and `remark` (what is not as it was).
Draft = dict[str, Any]
#: Returns the drafts of an entry, given the time of the import.
DraftsOf = Callable[[Any, datetime], Iterable[Draft]]
#: The exceptions of a reader for an invalid entry.
_BAD_ENTRY = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)

_MAX_CHARS = 4000


@dataclass(slots=True)
class Import:
    """The state of an import."""

    source: str
    now: datetime
    today: date
    settings: Settings
    #: The drafts to store, each with its origin.
    drafts: list[tuple[Draft, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    #: How many credentials and private passages were replaced.
    redacted: int = 0
    #: Whether it is our own export, which contains only what was stored on purpose.
    own: bool = False

    def add(self, draft: Draft, where: str) -> None:
        """Add a draft; one of another program is redacted, and left out if its content is too short."""
        if not self.own:
            draft = self._redacted(draft)
        if not self.own and len(draft["content"].strip()) < 3:
            self.skip(where, "too short to mean something")
            return
        if remark := draft.pop("remark", ""):
            self.skip(where, remark)
        self.drafts.append(({"source": self.source, **draft}, where))

    def read(self, entry: Any, drafts_of: DraftsOf, where: str, problem: str) -> None:  # noqa: ANN401
        """Add the drafts of an entry; skip it if it is invalid."""
        try:
            drafts = list(drafts_of(entry, self.now))
        except _BAD_ENTRY as exc:
            self.skip(where, f"{problem}: {exc}")
            return
        for draft in drafts:
            self.add(draft, where)

    def _redacted(self, draft: Draft) -> Draft:
        values = {name: draft[name] for name in ("content", "metadata") if name in draft}
        values, count = redactor(self.settings).redact_values(values)
        self.redacted += count
        return {**draft, **values}

    def skip(self, where: str, why: str) -> None:
        """Record an entry that is not imported."""
        self.skipped.append(Skipped(path=where, why=why))

    def text(self, file: Path) -> str:
        """Return the text of a file; empty, with a record in `skipped`, if it cannot be read."""
        try:
            content = read_file(file)
        except OSError as exc:
            self.skip(file.name, f"cannot be read: {exc.strerror or exc}")
            return ""
        if content is None:
            return ""
        self.files += 1
        return "\n".join(split_lines(decode(content.data)))


class Reader(NamedTuple):
    """A reader of the memories of another program, and what it reads."""

    read: Callable[[Path, Import], None]
    source: str


def json_value(file: Path, reading: Import) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value of a file, or the list of its JSON lines; None if it has neither."""
    text = reading.text(file)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError) as exc:
                reading.skip(f"{file.name}#L{number}", f"not JSON: {exc}")
    return values


def json_lines(file: Path, reading: Import, drafts_of: DraftsOf, problem: str) -> None:
    """Read a file with one JSON object per line; any other line is added to `skipped`."""

    def drafts_of_line(line: str, now: datetime) -> Iterable[Draft]:
        return drafts_of(json.loads(line), now)

    for number, line in enumerate(reading.text(file).split("\n"), 1):
        if line.strip():
            reading.read(line, drafts_of_line, f"{file.name}#L{number}", problem)


def read_entries(entries: Iterable[Any], reading: Import, drafts_of: DraftsOf, where: str) -> None:
    """Read the entries of a list; invalid ones are added to `skipped` with their number."""
    for number, entry in enumerate(entries, 1):
        reading.read(entry, drafts_of, f"{where}[{number}]", "cannot be read")


def moment(value: object, now: datetime) -> dict[str, datetime]:
    """Return {"created_at": ...} for a time as text or a number; empty for anything else or the future."""
    at = any_moment(value)
    return {} if at is None or at > now else {"created_at": at}


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """Return a field that must be text."""
    value = entry[name]
    if not isinstance(value, str):
        raise TypeError(f"its `{name}` is not text")
    return value


def tags_of(value: object) -> list[str]:
    """Return a list of tags, or one tag, as texts."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(tag) for tag in value] if isinstance(value, list) else []


def pieces(text: str, **fields: Any) -> Iterator[Draft]:  # noqa: ANN401 - the fields of a draft
    """Yield drafts of a text without recalled blocks, split where it is too long for one memory."""
    clean = without_blocks(text).strip()
    contents = [clean] if clean else []
    if len(clean) > _MAX_CHARS:
        contents = [chunk.text for chunk in chunks(clean, count_tokens, ChunkSize(size=800, overlap=0))]
    for content in contents:
        yield {"content": content, **fields}
