"""Cursor: conversations in the database of the editor, and files of lines of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.lines import entries
from memotherm.history.listing import files, transcript, user_folders, workspace_of
from memotherm.history.reader import Reader, Session, element
from memotherm.history.records import Reading, Record, Transcript
from memotherm.history.sqlite import Data, Database, sessions_in
from memotherm.history.values import blocks_of, items, mapping, moment, parsed, text
from memotherm.hooks.hosts import CLIENTS
from memotherm.settings.paths import client_home

_HOST = CLIENTS["cursor"]
_TABLE, _WORKSPACE_TABLE = "cursorDiskKV", "ItemTable"
#: Keys that begin with a word and a colon; the semicolon follows it in the order of characters.
_COMPOSERS = ("key >= ? AND key < ?", ("composerData:", "composerData;"))
_UPDATED = "CASE WHEN json_valid(CAST(value AS TEXT)) THEN json_extract(CAST(value AS TEXT), '$.lastUpdatedAt') END"
_USER, _ASSISTANT = 1, 2


class Cursor(Reader):
    """The data of the editor, and the sessions of the command line below ~/.cursor."""

    name = _HOST.name
    verified = "3.x"

    def __init__(self) -> None:
        #: The folders of conversations that do not name one, from the data of workspaces.
        self._folders: dict[str, str] = {}

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield from user_folders(environment, home, ("Cursor",))
        yield client_home("CURSOR_CONFIG_DIR", home / ".cursor", environment)

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the conversations of the editor, and the files of the command line."""
        for path in files(root, "workspaceStorage/*/state.vscdb"):
            self._folders |= dict.fromkeys(_listed_composers(path), workspace_of(path.parent))
        for path in files(root, "globalStorage/state.vscdb"):
            yield from sessions_in(self.name, path, _states)
        for path in files(root, "projects/*/agent-transcripts/*/*.jsonl", "projects/*/agent-transcripts/*.jsonl"):
            yield transcript(self.name, path, path.stem)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.suffix == ".jsonl":
            yield from _session(transcript, reading)
            return
        with Database(transcript.path) as database:
            database.require(_TABLE, "key", "value")
            composer = _value(database, f"composerData:{transcript.session}", reading)
            if composer is not None:
                reading.known += 1
                project = text(mapping(mapping(composer, "workspaceIdentifier"), "uri"), "fsPath")
                project = project or self._folders.get(transcript.session, "")
                yield from _Conversation(transcript.session, project, composer).records(database, reading)


def _states(database: Database) -> dict[str, str] | None:
    if not database.has(_TABLE, "key", "value"):
        return None
    rows = database.rows(_TABLE, ("key", "length(value)", _UPDATED), *_COMPOSERS)
    return {str(key).partition(":")[2]: f"{size}:{updated}" for key, size, updated in rows if size}


def _listed_composers(path: Path) -> list[str]:
    """Return the conversations of a workspace."""
    try:
        with Database(path) as database:
            if not database.has(_WORKSPACE_TABLE, "key", "value"):
                return []
            rows = database.rows(_WORKSPACE_TABLE, (Data("value"),), "key = ?", ("composer.composerData",))
            listed = parsed(next(rows, (None,))[0] or b"") or {}
    except OSError:
        return []
    return [text(each, "composerId") for each in items(listed, "allComposers")]


def _value(database: Database, key: str, reading: Reading) -> Mapping[str, Any] | None:
    (value,) = next(database.rows(_TABLE, (Data("value"),), "key = ?", (key,)), (None,))
    if value is None:
        return None
    found = parsed(value)
    reading.broken += found is None
    return found


class _Conversation(Session):
    def __init__(self, name: str, project: str, composer: Mapping[str, Any]) -> None:
        super().__init__(name, project)
        self._composer = composer
        #: Prompts have no time; they are said after what is before them.
        self._time = composer.get("createdAt")

    def records(self, database: Database, reading: Reading) -> Iterator[Record]:
        """Yield the records of the messages that the conversation lists; others were discarded."""
        for header in items(self._composer, "fullConversationHeadersOnly"):
            name = text(header, "bubbleId")
            bubble = _value(database, f"bubbleId:{self.name}:{name}", reading)
            if bubble is not None:
                yield from self._bubble(name, bubble)
        for place, bubble in enumerate(items(self._composer, "conversation")):
            yield from self._bubble(text(bubble, "bubbleId") or str(place), bubble)

    def _bubble(self, name: str, bubble: Mapping[str, Any]) -> Iterator[Record]:
        name, time = f"{self.name}:{name}", bubble.get("createdAt")
        self._time = time if moment(time) else self._time
        if bubble.get("type") == _USER:
            yield self.record(name, self._time, "user", text(bubble, "text"))
        elif bubble.get("type") == _ASSISTANT:
            yield self.record(name, self._time, "assistant", text(bubble, "text"))
            yield from self._called(f"{name}:tool", mapping(bubble, "toolFormerData"))

    def _called(self, name: str, call: Mapping[str, Any]) -> Iterator[Record]:
        status = text(call, "status")
        if status in ("cancelled", "rejected"):
            return
        arguments = parsed(text(call, "rawArgs")) or parsed(text(call, "params")) or {}
        result = parsed(text(call, "result")) or {}
        codes = (result.get(field) for field in ("exitCodeV2", "exitCode"))
        code = next((code for code in codes if isinstance(code, int)), 0)
        failed = status == "error" or code != 0
        for record in self.done(name, self._time, text(call, "name"), arguments):
            yield record.with_result(text(result, "output") or text(result, "error"), failed=failed)


def _session(transcript: Transcript, reading: Reading) -> Iterator[Record]:
    """Yield the records of a file of the command line, which has no times but that of its last change."""
    changed = transcript.changed.partition(":")[2]
    time, session = int(changed) if changed.isdigit() else None, Session(transcript.session)
    for number, entry in enumerate(entries(transcript.path, reading)):
        role = text(entry, "role")
        reading.known += role in ("user", "assistant")
        for place, block in enumerate(blocks_of(mapping(entry, "message").get("content"))):
            name, kind, said = f"{session.name}:{number}:{place}", text(block, "type"), text(block, "text")
            if kind == "text" and role == "user":
                yield session.record(name, time, "user", element(said, "user_query") or said)
            elif kind == "text" and role == "assistant":
                yield session.record(name, time, "assistant", said)
            elif kind == "tool_use":
                yield from session.done(name, time, text(block, "name"), mapping(block, "input"))
