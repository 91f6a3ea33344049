"""opencode: sessions in a database, in tables of version 1 or 2, and before that in files of JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.lines import read_object
from memotherm.history.listing import children, files, transcript
from memotherm.history.reader import Reader, Session
from memotherm.history.records import Reading, Record, Transcript
from memotherm.history.sqlite import Data, Database, sessions_in
from memotherm.history.values import items, mapping, parsed, text, text_of
from memotherm.hooks.hosts import HOSTS
from memotherm.settings.paths import client_home

_HOST = HOSTS["opencode"]
#: The tables of sessions and of messages, newer ones first.
_TABLES = (("session_v2", "session_message"), ("session", "message"))
#: Parts of messages that are never kept, by how their data begin.
_NOISE_KINDS = ("reasoning", "step-start", "step-finish", "snapshot", "patch", "file", "agent", "retry", "subtask")
_NOISE = tuple(f'{{"type":"{kind}",' for kind in _NOISE_KINDS)
_NOISE_BYTES = tuple(each.encode() for each in _NOISE)
#: Types of messages that are not kept.
_SILENT = ("system", "synthetic", "compaction", "model-switched", "agent-switched", "location-switched")


class OpenCode(Reader):
    """The sessions below ~/.local/share/opencode."""

    name = _HOST.name
    verified = "1.18.33"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("XDG_DATA_HOME", home / ".local" / "share", environment) / "opencode"

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions in the databases, and those in files that no database has."""
        known: set[str] = set()
        for path in files(root, "opencode*.db"):
            for found in sessions_in(self.name, path, _states):
                known.add(found.session)
                yield found
        for path in files(root, "storage/session/*/*.json"):
            if path.stem not in known:
                yield transcript(self.name, path, path.stem)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.suffix == ".json":
            yield from _from_files(transcript.path, reading)
            return
        with Database(transcript.path) as database:
            tables = next((pair for pair in _TABLES if _has_session(database, pair, transcript.session)), None)
            if tables is None and not any(database.has(name, "id") for name, _ in _TABLES):
                reading.problem = "it has none of the known tables"
            elif tables == _TABLES[0]:
                yield from _from_version_2(database, transcript.session, reading)
            elif tables is not None:
                yield from _from_version_1(database, transcript.session, reading)


def _states(database: Database) -> dict[str, str] | None:
    states: dict[str, str] | None = None
    for sessions, messages in _TABLES:
        if database.has(sessions, "id") and database.has(messages, "session_id"):
            states = states or {}
            for name, updated in database.rows(sessions, ("id", "time_updated"), order="time_updated, id"):
                states[name] = f"{states.get(name, '')}{sessions}:{updated};"
    return states


def _has_session(database: Database, tables: tuple[str, str], name: str) -> bool:
    """Return whether tables have a session and messages of it."""
    sessions, messages = tables
    if not (database.has(sessions, "id") and database.has(messages, "session_id")):
        return False
    found = next(database.rows(sessions, ("id",), "id = ?", (name,)), None)
    newest = tables == _TABLES[0]
    return found is not None and (not newest or any(database.rows(messages, ("1",), "session_id = ?", (name,))))


class _Session(Session):
    """A session, with the message from which on the user took everything back."""

    def __init__(self, name: str, parent: str, project: str, reverted: str) -> None:
        super().__init__(name, project, parent)
        self.reverted = reverted

    def message(self, name: str, role: str, time: object, parts: list[Mapping[str, Any]]) -> Iterator[Record]:
        """Yield the records of a message: its text, then its commands and edits."""
        said = "\n".join(text(part, "text").strip() for part in parts if _is_said(part))
        if role in ("user", "assistant"):
            yield self.record(name, time, "user" if role == "user" else "assistant", said)
        for place, part in enumerate(part for part in parts if text(part, "type") == "tool"):
            yield from self._called(f"{name}:{place}", time, part)

    def _called(self, name: str, time: object, part: Mapping[str, Any]) -> Iterator[Record]:
        tool, state = text(part, "tool") or text(part, "name"), mapping(part, "state")
        # A command that fails is completed, with its exit code.
        code = mapping(state, "metadata").get("exit")
        failed = text(state, "status") == "error" or (isinstance(code, int) and code != 0)
        output = text(state, "output") or text_of(state.get("content"))
        told = text(state, "error") or text(mapping(state, "error"), "message")
        for record in self.done(name, time, tool, mapping(state, "input")):
            yield record.with_result(f"{output}\n{told}", failed=failed)


def _is_said(part: Mapping[str, Any]) -> bool:
    return text(part, "type") == "text" and not part.get("synthetic") and not part.get("ignored")


def _reverted(value: object) -> str:
    """Return the message from which on a session is reverted; the field is an object, also in form of a text."""
    found = parsed(value) if isinstance(value, str) else value
    return text(found, "messageID") if isinstance(found, dict) else ""


_SESSION_FIELDS = ("directory", "parent_id", "revert", "version")


def _session_of(database: Database, table: str, name: str, reading: Reading) -> _Session:
    """Return a session."""
    row = next(database.rows(table, _SESSION_FIELDS, "id = ?", (name,)), (None,) * len(_SESSION_FIELDS))
    project, parent, revert, version = row
    reading.version = version if isinstance(version, str) else reading.version
    reading.known += 1
    return _Session(name, parent or "", project or "", _reverted(revert))


def _from_version_1(database: Database, name: str, reading: Reading) -> Iterator[Record]:
    session = _session_of(database, "session", name, reading)
    rows = database.rows("message", ("id", Data("data")), "session_id = ?", (name,), order="id")
    # The rows are few and short; one open cursor at a time.
    for message, data in list(rows):
        if session.reverted and message >= session.reverted:
            break
        info = _decoded(data, reading)
        kept = [_without_output(_decoded(part, reading)) for part in _parts(database, message)]
        time = mapping(info, "time").get("created")
        if info.get("summary") is not True:
            yield from session.message(message, text(info, "role"), time, kept)


def _parts(database: Database, message: str) -> Iterator[object]:
    """Yield the data of the parts of a message, without those that are never kept."""
    for (data,) in database.rows("part", (Data("data"),), "message_id = ?", (message,), order="id"):
        noise = data.startswith(_NOISE) if isinstance(data, str) else (data or b"").startswith(_NOISE_BYTES)
        if not noise:
            yield data


def _from_version_2(database: Database, name: str, reading: Reading) -> Iterator[Record]:
    session = _session_of(database, "session_v2", name, reading)
    columns = ("id", "type", "time_created", Data("data"))
    for message, kind, time, data in database.rows("session_message", columns, "session_id = ?", (name,), order="seq"):
        if message == session.reverted:
            break
        info = _decoded(data, reading)
        if kind in ("user", "assistant"):
            content = items(info, "content") or [{"type": "text", "text": text(info, "text")}]
            yield from session.message(message, kind, time, content)
        elif kind == "shell":
            yield session.record(message, time, "command", text(info, "command"))
        elif kind not in _SILENT:
            reading.unknown[str(kind)] += 1


def _decoded(data: object, reading: Reading) -> Mapping[str, Any]:
    found = parsed(data) if isinstance(data, bytes | str) else None
    if found is None:
        reading.broken += 1
    return found or {}


def _without_output(part: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a part without the output of a successful call, which may be long."""
    state = mapping(part, "state")
    code = mapping(state, "metadata").get("exit")
    if text(state, "status") == "completed" and not code:
        return {**part, "state": {"status": "completed", "input": state.get("input")}}
    return part


def _from_files(path: Path, reading: Reading) -> Iterator[Record]:
    """Yield the records of a session in the files session/PROJECT/ID.json, message/ID/* and part/MESSAGE/*."""
    info = read_object(path, reading)
    if info is None or text(info, "id") != path.stem:
        return
    reading.known += 1
    reading.version = text(info, "version")
    storage, name = path.parents[2], path.stem
    session = _Session(name, text(info, "parentID"), text(info, "directory"), _reverted(info.get("revert")))
    for file in children(storage / "message" / name, ".json"):
        message = read_object(file, reading) or {}
        if session.reverted and file.stem >= session.reverted:
            break
        parts = [read_object(part, reading) or {} for part in children(storage / "part" / file.stem, ".json")]
        time = mapping(message, "time").get("created")
        if message.get("summary") is not True:
            yield from session.message(file.stem, text(message, "role"), time, parts)
