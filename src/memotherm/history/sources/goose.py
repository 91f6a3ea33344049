"""Goose: sessions in a database, and before that in files of lines."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from memotherm.history.lines import entries
from memotherm.history.listing import files, transcript
from memotherm.history.reader import Reader, Session
from memotherm.history.records import Reading, Record, Transcript
from memotherm.history.sqlite import Data, Database, sessions_in
from memotherm.history.values import blocks_of, mapping, text, text_of
from memotherm.settings.paths import client_home

_ROLES = frozenset(("user", "assistant", "tool", "system"))
_TABLES = (("sessions", "id"), ("messages", "session_id", "content_json"))


class Goose(Reader):
    """The sessions below ~/.local/share/goose."""

    name = "goose"
    verified = "1.x"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("XDG_DATA_HOME", home / ".local" / "share", environment) / "goose" / "sessions"
        yield (
            client_home("APPDATA", home / "AppData" / "Roaming", environment) / "Block" / "goose" / "data" / "sessions"
        )

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions in the database, and those in files that it does not have."""
        known: set[str] = set()
        for path in files(root, "sessions.db"):
            for found in sessions_in(self.name, path, _states):
                known.add(found.session)
                yield found
        for path in files(root, "*.jsonl"):
            if path.stem not in known:
                yield transcript(self.name, path, path.stem)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.suffix == ".jsonl":
            yield from _from_file(transcript, reading)
            return
        with Database(transcript.path) as database:
            for table in _TABLES:
                database.require(*table)
            reading.known += 1
            row = next(database.rows("sessions", ("working_dir",), "id = ?", (transcript.session,)), None)
            if row is None:
                return
            session = Session(transcript.session, row[0] or "")
            wanted = ("message_id", "role", "created_timestamp", Data("content_json"))
            rows = database.rows("messages", wanted, "session_id = ?", (transcript.session,), order="rowid")
            for place, (name, role, time, data) in enumerate(rows):
                yield from _records_of(session, str(name or place), str(role), time, _content(data, reading))


def _states(database: Database) -> dict[str, str] | None:
    if not all(database.has(*table) for table in _TABLES):
        return None
    counts = dict(database.rows("messages", ("session_id", "count(*)"), group="session_id"))
    rows = database.rows("sessions", ("id", "updated_at"), order="id")
    return {str(name): f"{counts.get(name, 0)}:{updated}" for name, updated in rows}


def _content(data: object, reading: Reading) -> object:
    try:
        return json.loads(data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data))
    except (ValueError, RecursionError):
        reading.broken += 1
        return None


def _from_file(transcript: Transcript, reading: Reading) -> Iterator[Record]:
    session = Session(transcript.session)
    for number, entry in enumerate(entries(transcript.path, reading)):
        role = text(entry, "role")
        reading.count(role, role in _ROLES or "working_dir" in entry)
        if role:
            name = text(entry, "id") or str(number)
            yield from _records_of(session, name, role, entry.get("created"), entry.get("content"))
        elif "working_dir" in entry:
            session = Session(transcript.session, text(entry, "working_dir"))


def _records_of(session: Session, name: str, role: str, time: object, content: object) -> Iterator[Record]:
    """Yield the records of a message, and the calls that it has the results of."""
    name = f"{session.name}:{name}"
    for place, block in enumerate(blocks_of(content)):
        kind, call = text(block, "type"), text(block, "id")
        if kind == "toolRequest":
            value = mapping(mapping(block, "toolCall"), "value")
            done = session.done(f"{name}:{place}", time, text(value, "name"), mapping(value, "arguments"))
            session.wait_for(call, done)
        elif kind == "toolResponse":
            result = mapping(block, "toolResult")
            failed = text(result, "status") == "error" or mapping(result, "value").get("isError") is True
            output = text_of(mapping(result, "value").get("content") or result.get("value"))
            yield from session.finished(call, output or text(result, "error"), failed=failed)
    if role in ("user", "assistant"):
        yield session.record(name, time, "user" if role == "user" else "assistant", text_of(content, ("text",)))
