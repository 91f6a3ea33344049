"""Hermes: messages in one database for each profile, without the folders in which they were said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from memotherm.history.listing import files, stored
from memotherm.history.reader import Reader, folder
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.sqlite import Database, data_of, is_database
from memotherm.history.values import moment

_TABLE = "messages"
_COLUMNS = ("session_id", "role", "content", "timestamp")
_ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant"}


class Hermes(Reader):
    """The databases below ~/.hermes."""

    name = "hermes"
    verified = "state.db of 2026"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield folder(environment, "HERMES_HOME", home / ".hermes")

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions of all profiles."""
        for path in files(root, "state.db", "profiles/*/state.db"):
            if is_database(path):
                yield from self._stored(path)

    def _stored(self, path: Path) -> Iterator[Transcript]:
        states: dict[str, str] | None = None
        with suppress(OSError), Database(path) as database:
            if database.has(_TABLE, *_COLUMNS):
                columns = ("session_id", "count(*)", "max(timestamp)")
                rows = database.rows(_TABLE, columns, group="session_id", order="session_id")
                states = {str(name): f"{count}:{last}" for name, count, last in rows}
        yield from stored(self.name, path, states)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        with Database(transcript.path) as database:
            if not database.has(_TABLE, *_COLUMNS):
                reading.problem = "it has none of the known tables"
                return
            session = transcript.session
            columns = ("role", data_of("content"), "timestamp")
            rows = database.rows(_TABLE, columns, "session_id = ?", (session,), order="timestamp, rowid")
            for place, (role, content, time) in enumerate(rows):
                reading.known += 1
                if role in _ROLES and isinstance(content, str | bytes):
                    said = content if isinstance(content, str) else content.decode("utf-8", "replace")
                    yield Record(f"{session}:{place}", session, "", moment(time), _ROLES[role], said.strip(), "", "")
