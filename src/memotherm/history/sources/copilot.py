"""GitHub Copilot: the events of the command line's sessions, and the chats of VS Code."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.editors import VS_CODE, user_folders, workspace_of
from memotherm.history.lines import entries
from memotherm.history.listing import files, transcript
from memotherm.history.output import error_lines
from memotherm.history.ranges import Ranges
from memotherm.history.reader import Reader, folder
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.sources.vscode_chats import chat_records
from memotherm.history.values import mapping, moment, text

_EVENTS = ("session-state/*/events.jsonl", "workspaceStorage/*/GitHub.copilot-chat/transcripts/*.jsonl")
_CHATS = tuple(
    f"{folder}/*.{suffix}"
    for folder in ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    for suffix in ("jsonl", "json")
)
#: How the output of a command ends.
_EXIT_CODE, _VERDICT = re.compile(r"with exit code (\d{1,9})>"), 200
_COMMANDS = frozenset(("bash", "shell", "powershell", "run_in_terminal"))
_EDITS = frozenset(("edit", "create", "str_replace", "insert", "write", "apply_patch", "replace_string_in_file"))
#: The first words of the names of events.
_FAMILIES = frozenset(
    ("session", "user", "assistant", "tool", "subagent", "skill", "hook", "system", "permission", "abort", "command")
)


class Copilot(Reader):
    """The sessions below ~/.copilot, and the chats in the data of VS Code."""

    name = "copilot"
    verified = "1.0.102"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield folder(environment, "COPILOT_HOME", home / ".copilot")
        yield from user_folders(environment, home, VS_CODE)

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions and chats; of a chat that is there in two forms, the one that VS Code shows."""
        chats = list(files(root, *_CHATS))
        newer = {path for path in chats if path.suffix == ".jsonl"}
        names = {path.stem for path in chats}
        for path in files(root, *_EVENTS):
            name = path.parent.name if path.name == "events.jsonl" else path.stem
            if name not in names:
                yield transcript(self.name, path, name)
        for path in chats:
            if path.suffix != ".json" or path.with_suffix(".jsonl") not in newer:
                yield transcript(self.name, path, path.stem)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.parent.name in ("chatSessions", "emptyWindowChatSessions"):
            yield from chat_records(transcript, reading)
            return
        taken_back = _rewound(transcript.path)
        storage = transcript.path.parents[2]
        session = _Session(transcript.session, workspace_of(storage) if storage.name != ".copilot" else "")
        for number, entry in enumerate(entries(transcript.path, reading)):
            kind = text(entry, "type")
            reading.version = text(mapping(entry, "data"), "copilotVersion") or reading.version
            reading.count(kind, kind.partition(".")[0] in _FAMILIES)
            if number not in taken_back:
                yield from session.records(kind, entry, mapping(entry, "data"))
        yield from session.unfinished()


def _rewound(path: Path) -> Ranges:
    """Return the entries that rewinds have taken back."""

    def matters(head: bytes) -> bool:
        return b"session.snapshot_rewind" in head

    taken_back = Ranges()
    if not any(True for _ in entries(path, Reading(), matters)):
        return taken_back
    places: dict[str, int] = {}
    for number, entry in enumerate(entries(path, Reading())):
        if text(entry, "type") == "session.snapshot_rewind":
            place = places.get(text(mapping(entry, "data"), "upToEventId"))
            if place is not None:
                taken_back.add(place + 1, number)
        places[text(entry, "id")] = number
    return taken_back


def _has_failed(data: Mapping[str, Any], output: str) -> bool:
    """Return whether a call failed; a command that ran is a success, whatever its exit code."""
    code = mapping(data, "shellExecution").get("exitCode")
    if not isinstance(code, int):
        said = _EXIT_CODE.search(output, max(0, len(output) - _VERDICT))
        code = int(said[1]) if said else 0
    return data.get("success") is False or code != 0


class _Session:
    """Makes records of events."""

    def __init__(self, name: str, project: str) -> None:
        self._name = name
        self._project = project
        self._branch = ""
        #: The calls that are not completed yet.
        self._calls: dict[str, Record] = {}

    def records(self, kind: str, entry: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the records of an event."""
        if kind in ("session.start", "session.resume", "session.context_changed"):
            self._name = text(data, "sessionId") or self._name
            context = mapping(data, "context") or data
            self._project = text(context, "cwd") or text(context, "gitRoot") or self._project
            self._branch = text(context, "branch") or self._branch
        elif kind == "user.message":
            if not data.get("isAutopilotContinuation"):
                yield from self.unfinished()
                yield self._record(entry, data, "user", text(data, "content").strip())
        elif kind == "assistant.message":
            yield self._record(entry, data, "assistant", text(data, "content").strip())
        elif kind == "session.compaction_complete":
            yield self._record(entry, data, "summary", text(data, "summaryContent"))
        elif kind == "session.title_changed":
            yield self._record(entry, data, "title", text(data, "title"))
        else:
            yield from self._tool(kind, entry, data)

    def unfinished(self) -> Iterator[Record]:
        """Yield the calls that were never completed."""
        yield from self._calls.values()
        self._calls.clear()

    def _tool(self, kind: str, entry: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Record]:
        name = text(data, "toolCallId")
        if kind == "tool.execution_start":
            tool, arguments = text(data, "toolName"), mapping(data, "arguments")
            if tool in _COMMANDS:
                self._calls[name] = self._record(entry, data, "command", text(arguments, "command").strip())
            elif tool in _EDITS:
                path = text(arguments, "path") or text(arguments, "filePath") or text(arguments, "file_path")
                self._calls[name] = self._record(entry, data, "edit", path)
        elif kind == "tool.execution_complete":
            call = self._calls.pop(name, None)
            if call is not None:
                output = text(mapping(data, "result"), "content") or text(mapping(data, "error"), "message")
                yield call.as_failed(error_lines(output)) if _has_failed(data, output) else call

    def _record(self, entry: Mapping[str, Any], data: Mapping[str, Any], role: Role, said: str) -> Record:
        # The work of a subagent names the call that started it.
        call = text(data, "parentToolCallId")
        return Record(
            id=f"{self._name}:{text(entry, 'id')}",
            session=f"{self._name}:{call}" if call else self._name,
            parent=self._name if call else "",
            time=moment(entry.get("timestamp")),
            role=role,
            text=said,
            project=self._project,
            branch=self._branch,
        )
