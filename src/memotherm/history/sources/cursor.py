"""Cursor: conversations in the database of the editor, and files of lines of the command line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memotherm.history.editors import user_folders, workspace_of
from memotherm.history.lines import entries
from memotherm.history.listing import files, stored, transcript
from memotherm.history.output import error_lines
from memotherm.history.prompts import element
from memotherm.history.reader import Reader, folder
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.sqlite import Database, data_of, is_database
from memotherm.history.values import blocks_of, items, mapping, moment, parsed, text
from memotherm.hooks.hosts import CLIENTS

_HOST = CLIENTS["cursor"]
_TABLE, _WORKSPACE_TABLE = "cursorDiskKV", "ItemTable"
#: Keys that begin with a word and a colon; the semicolon follows it in the order of characters.
_COMPOSERS = ("key >= ? AND key < ?", ("composerData:", "composerData;"))
_UPDATED = "CASE WHEN json_valid(CAST(value AS TEXT)) THEN json_extract(CAST(value AS TEXT), '$.lastUpdatedAt') END"
_USER, _ASSISTANT = 1, 2
_COMMANDS = frozenset(("run_terminal_cmd", "run_terminal_command", "run_terminal_command_v2", "Shell"))
_EDITS = frozenset(
    ("edit_file", "edit_file_v2", "search_replace", "write", "apply_patch", "multi_edit", "Write", "StrReplace")
)
_PATHS = ("target_file", "file_path", "relativeWorkspacePath", "path")


class Cursor(Reader):
    """The data of the editor, and the sessions of the command line below ~/.cursor."""

    name = _HOST.name
    verified = "3.x"

    def __init__(self) -> None:
        #: The folders of conversations that do not name one, from the data of workspaces.
        self._folders: dict[str, str] = {}

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield from user_folders(environment, home, ("Cursor",))
        yield folder(environment, "CURSOR_CONFIG_DIR", home / ".cursor")

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the conversations of the editor, and the files of the command line."""
        for path in files(root, "workspaceStorage/*/state.vscdb"):
            self._folders |= dict.fromkeys(_listed_composers(path), workspace_of(path.parent))
        for path in files(root, "globalStorage/state.vscdb"):
            if is_database(path):
                yield from self._conversations(path)
        for path in files(root, "projects/*/agent-transcripts/*/*.jsonl", "projects/*/agent-transcripts/*.jsonl"):
            yield transcript(self.name, path, path.stem)

    def _conversations(self, path: Path) -> Iterator[Transcript]:
        states: dict[str, str] | None = None
        with suppress(OSError), Database(path) as database:
            if database.has(_TABLE, "key", "value"):
                rows = database.rows(_TABLE, ("key", "length(value)", _UPDATED), *_COMPOSERS)
                states = {str(key).partition(":")[2]: f"{size}:{updated}" for key, size, updated in rows if size}
        yield from stored(self.name, path, states)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.suffix == ".jsonl":
            yield from _session(transcript, reading)
            return
        with Database(transcript.path) as database:
            if not database.has(_TABLE, "key", "value"):
                reading.problem = "it has none of the known tables"
                return
            composer = _value(database, f"composerData:{transcript.session}", reading)
            if composer is not None:
                reading.known += 1
                project = text(mapping(mapping(composer, "workspaceIdentifier"), "uri"), "fsPath")
                project = project or self._folders.get(transcript.session, "")
                yield from _Conversation(transcript.session, project, composer).records(database, reading)


def _listed_composers(path: Path) -> list[str]:
    """Return the conversations of a workspace."""
    try:
        with Database(path) as database:
            if not database.has(_WORKSPACE_TABLE, "key", "value"):
                return []
            rows = database.rows(_WORKSPACE_TABLE, (data_of("value"),), "key = ?", ("composer.composerData",))
            listed = parsed(next(rows, (None,))[0] or b"") or {}
    except OSError:
        return []
    return [text(each, "composerId") for each in items(listed, "allComposers")]


def _value(database: Database, key: str, reading: Reading) -> Mapping[str, Any] | None:
    (value,) = next(database.rows(_TABLE, (data_of("value"),), "key = ?", (key,)), (None,))
    if value is None:
        return None
    found = parsed(value)
    reading.broken += found is None
    return found


class _Conversation:
    def __init__(self, session: str, project: str, composer: Mapping[str, Any]) -> None:
        self._session = session
        self._project = project
        self._composer = composer
        #: Prompts have no time; they are said after what is before them.
        self._time = moment(composer.get("createdAt"))

    def records(self, database: Database, reading: Reading) -> Iterator[Record]:
        """Yield the records of the messages that the conversation lists; others were discarded."""
        for header in items(self._composer, "fullConversationHeadersOnly"):
            name = text(header, "bubbleId")
            bubble = _value(database, f"bubbleId:{self._session}:{name}", reading)
            if bubble is not None:
                yield from self._bubble(name, bubble)
        for place, bubble in enumerate(items(self._composer, "conversation")):
            yield from self._bubble(text(bubble, "bubbleId") or str(place), bubble)
        yield self._record("title", "title", text(self._composer, "name"))

    def _bubble(self, name: str, bubble: Mapping[str, Any]) -> Iterator[Record]:
        self._time = moment(bubble.get("createdAt")) or self._time
        kind, said = bubble.get("type"), text(bubble, "text").strip()
        if kind == _USER:
            yield self._record(name, "user", said)
        elif kind == _ASSISTANT:
            yield self._record(name, "assistant", said)
            yield from self._called(f"{name}:tool", mapping(bubble, "toolFormerData"))

    def _called(self, name: str, call: Mapping[str, Any]) -> Iterator[Record]:
        tool, status = text(call, "name"), text(call, "status")
        arguments = parsed(text(call, "rawArgs")) or parsed(text(call, "params")) or {}
        if status in ("cancelled", "rejected"):
            return
        if tool in _COMMANDS:
            record = self._record(name, "command", text(arguments, "command").strip())
        elif tool in _EDITS:
            record = self._record(name, "edit", _path_of(arguments))
        else:
            return
        result = parsed(text(call, "result")) or {}
        codes = (result.get(field) for field in ("exitCodeV2", "exitCode"))
        code = next((code for code in codes if isinstance(code, int)), 0)
        failed = status == "error" or code != 0
        yield record.as_failed(error_lines(text(result, "output") or text(result, "error"))) if failed else record

    def _record(self, name: str, role: Role, said: str) -> Record:
        return Record(f"{self._session}:{name}", self._session, "", self._time, role, said, self._project, "")


def _path_of(arguments: Mapping[str, Any]) -> str:
    return next(filter(None, (text(arguments, field) for field in _PATHS)), "")


def _session(transcript: Transcript, reading: Reading) -> Iterator[Record]:
    """Yield the records of a file of the command line, which has no times but that of its last change."""
    changed = transcript.changed.partition(":")[2]
    time = datetime.fromtimestamp(int(changed) / 1e9, UTC) if changed.isdigit() else None
    session = transcript.session
    for number, entry in enumerate(entries(transcript.path, reading)):
        role = text(entry, "role")
        reading.known += role in ("user", "assistant")
        for place, block in enumerate(blocks_of(mapping(entry, "message").get("content"))):
            name, said = f"{session}:{number}:{place}", text(block, "text").strip()
            if text(block, "type") == "text" and role == "user":
                yield Record(name, session, "", time, "user", element(said, "user_query") or said, "", "")
            elif text(block, "type") == "text" and role == "assistant":
                yield Record(name, session, "", time, "assistant", said, "", "")
            elif text(block, "type") == "tool_use" and text(block, "name") in _COMMANDS | _EDITS:
                used = mapping(block, "input")
                command = text(used, "command")
                yield Record(
                    name, session, "", time, "command" if command else "edit", command or _path_of(used), "", ""
                )
