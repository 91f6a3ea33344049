"""Hermes: messages in one database for each profile, without the folders in which they were said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from memotherm.history.listing import files
from memotherm.history.reader import Reader, Session
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.sqlite import Data, Database, sessions_in
from memotherm.settings.paths import client_home

_TABLE = "messages"
_COLUMNS = ("session_id", "role", "content", "timestamp")
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}


class Hermes(Reader):
    """The databases below ~/.hermes."""

    name = "hermes"
    verified = "state.db of 2026"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("HERMES_HOME", home / ".hermes", environment)

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions of all profiles."""
        for path in files(root, "state.db", "profiles/*/state.db"):
            yield from sessions_in(self.name, path, _states)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        with Database(transcript.path) as database:
            database.require(_TABLE, *_COLUMNS)
            session = Session(transcript.session)
            columns = ("role", Data("content"), "timestamp")
            rows = database.rows(_TABLE, columns, "session_id = ?", (session.name,), order="timestamp, rowid")
            for place, (role, content, time) in enumerate(rows):
                reading.known += 1
                if role in _ROLES and isinstance(content, str | bytes):
                    said = content if isinstance(content, str) else content.decode("utf-8", "replace")
                    yield session.record(f"{session.name}:{place}", time, _ROLES[role], said)


def _states(database: Database) -> dict[str, str] | None:
    if not database.has(_TABLE, *_COLUMNS):
        return None
    columns = ("session_id", "count(*)", "max(timestamp)")
    rows = database.rows(_TABLE, columns, group="session_id", order="session_id")
    return {str(name): f"{count}:{last}" for name, count, last in rows}
