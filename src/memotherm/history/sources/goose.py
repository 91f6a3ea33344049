"""Goose: sessions in a database, and before that in files of lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from memotherm.history.lines import entries
from memotherm.history.listing import files, stored, transcript
from memotherm.history.output import error_lines
from memotherm.history.reader import Reader, folder
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.sqlite import Database, data_of, is_database
from memotherm.history.values import blocks_of, mapping, moment, text, text_of

_ROLES = frozenset(("user", "assistant", "tool", "system"))
_COMMANDS = frozenset(("developer__shell", "shell"))
_EDITS = frozenset(("developer__text_editor", "text_editor", "developer__write", "developer__edit"))


class Goose(Reader):
    """The sessions below ~/.local/share/goose."""

    name = "goose"
    verified = "1.x"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield folder(environment, "XDG_DATA_HOME", home / ".local" / "share") / "goose" / "sessions"
        yield folder(environment, "APPDATA", home / "AppData" / "Roaming") / "Block" / "goose" / "data" / "sessions"

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions in the database, and those in files that it does not have."""
        known: set[str] = set()
        for path in filter(is_database, files(root, "sessions.db")):
            for found in self._stored(path):
                known.add(found.session)
                yield found
        for path in files(root, "*.jsonl"):
            if path.stem not in known:
                yield transcript(self.name, path, path.stem)

    def _stored(self, path: Path) -> Iterator[Transcript]:
        states: dict[str, str] | None = None
        with suppress(OSError), Database(path) as database:
            if database.has("sessions", "id") and database.has("messages", "session_id", "content_json"):
                counts = dict(database.rows("messages", ("session_id", "count(*)"), group="session_id"))
                rows = database.rows("sessions", ("id", "updated_at"), order="id")
                states = {str(name): f"{counts.get(name, 0)}:{updated}" for name, updated in rows}
        yield from stored(self.name, path, states)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.suffix == ".jsonl":
            yield from _from_file(transcript, reading)
            return
        with Database(transcript.path) as database:
            if not (database.has("sessions", "id") and database.has("messages", "session_id", "content_json")):
                reading.problem = "it has none of the known tables"
                return
            reading.known += 1
            columns = ("working_dir", "name", "description", "created_at")
            row = next(database.rows("sessions", columns, "id = ?", (transcript.session,)), None)
            if row is None:
                return
            session = _Session(transcript.session, row[0] or "")
            wanted = ("message_id", "role", "created_timestamp", data_of("content_json"))
            rows = database.rows("messages", wanted, "session_id = ?", (transcript.session,), order="rowid")
            for place, (name, role, time, data) in enumerate(rows):
                yield from session.records(str(name or place), str(role), time, _content(data, reading))
            title = row[1] or row[2]
            yield session.record("title", row[3], "title", title if isinstance(title, str) else "")


def _content(data: object, reading: Reading) -> object:
    try:
        return json.loads(data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data))
    except (ValueError, RecursionError):
        reading.broken += 1
        return None


def _from_file(transcript: Transcript, reading: Reading) -> Iterator[Record]:
    session = _Session(transcript.session, "")
    for number, entry in enumerate(entries(transcript.path, reading)):
        role = text(entry, "role")
        reading.count(role, role in _ROLES or "working_dir" in entry)
        if role:
            name = text(entry, "id") or str(number)
            yield from session.records(name, role, entry.get("created"), entry.get("content"))
        elif "working_dir" in entry:
            session = _Session(transcript.session, text(entry, "working_dir"))
            yield session.record("title", None, "title", text(entry, "description"))


class _Session:
    def __init__(self, name: str, project: str) -> None:
        self._name = name
        self._project = project
        self._calls: dict[str, Record] = {}

    def records(self, name: str, role: str, time: object, content: object) -> Iterator[Record]:
        """Yield the records of a message, and the calls that it has the results of."""
        blocks = list(blocks_of(content))
        said = text_of(content, ("text",)).strip()
        for place, block in enumerate(blocks):
            kind, call = text(block, "type"), text(block, "id")
            if kind == "toolRequest":
                self._call(f"{name}:{place}", time, call, mapping(mapping(block, "toolCall"), "value"))
            elif kind == "toolResponse" and call in self._calls:
                result = mapping(block, "toolResult")
                failed = text(result, "status") == "error" or mapping(result, "value").get("isError") is True
                output = text_of(mapping(result, "value").get("content") or result.get("value")) or text(
                    result, "error"
                )
                record = self._calls.pop(call)
                yield record.as_failed(error_lines(output)) if failed else record
        if role in ("user", "assistant"):
            yield self.record(name, time, "user" if role == "user" else "assistant", said)

    def record(self, name: str, time: object, role: Role, said: str) -> Record:
        return Record(f"{self._name}:{name}", self._name, "", moment(time), role, said, self._project, "")

    def _call(self, name: str, time: object, call: str, value: Mapping[str, Any]) -> None:
        tool, arguments = text(value, "name"), mapping(value, "arguments")
        if tool in _COMMANDS:
            self._calls[call] = self.record(name, time, "command", text(arguments, "command"))
        elif tool in _EDITS and text(arguments, "command") != "view":
            self._calls[call] = self.record(name, time, "edit", text(arguments, "path"))
