"""GitHub Copilot: the events of the command line's sessions, and the chats of VS Code.

A chat is the state of it as JSON, or a log of the changes that make it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.lines import entries, read_object
from memotherm.history.listing import VS_CODE, files, transcript, user_folders, workspace_of
from memotherm.history.reader import Reader, Session, actions
from memotherm.history.records import Ranges, Reading, Record, Role, Transcript
from memotherm.history.values import items, mapping, text
from memotherm.settings.paths import client_home

_EVENTS = ("session-state/*/events.jsonl", "workspaceStorage/*/GitHub.copilot-chat/transcripts/*.jsonl")
_CHATS = tuple(
    f"{folder}/*.{suffix}"
    for folder in ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    for suffix in ("jsonl", "json")
)
#: The kinds of changes in the log of a chat.
_WHOLE, _SET, _PUSH, _DELETE = range(4)
#: How the output of a command ends.
_EXIT_CODE, _VERDICT = re.compile(r"with exit code (\d{1,9})>"), 200
#: The first words of the names of events.
_FAMILIES = frozenset(
    ("session", "user", "assistant", "tool", "subagent", "skill", "hook", "system", "permission", "abort", "command")
)


class Copilot(Reader):
    """The sessions below ~/.copilot, and the chats in the data of VS Code."""

    name = "copilot"
    verified = "1.0.102"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("COPILOT_HOME", home / ".copilot", environment)
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
            yield from _chat_records(transcript, reading)
            return
        taken_back = _rewound(transcript.path)
        storage = transcript.path.parents[2]
        session = _Events(transcript.session, workspace_of(storage) if storage.name != ".copilot" else "")
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


class _Events(Session):
    """Makes records of events."""

    def records(self, kind: str, entry: Mapping[str, Any], data: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the records of an event."""
        if kind in ("session.start", "session.resume", "session.context_changed"):
            self.name = text(data, "sessionId") or self.name
            context = mapping(data, "context") or data
            self.project = text(context, "cwd") or text(context, "gitRoot") or self.project
            self.branch = text(context, "branch") or self.branch
        elif kind == "user.message":
            if not data.get("isAutopilotContinuation"):
                yield from self.unfinished()
                yield self._own(entry, data, "user", text(data, "content"))
        elif kind == "assistant.message":
            yield self._own(entry, data, "assistant", text(data, "content"))
        elif kind == "tool.execution_start":
            done = actions(text(data, "toolName"), mapping(data, "arguments"))
            self.wait_for(text(data, "toolCallId"), [self._own(entry, data, *each) for each in done])
        elif kind == "tool.execution_complete":
            output = text(mapping(data, "result"), "content") or text(mapping(data, "error"), "message")
            yield from self.finished(text(data, "toolCallId"), output, failed=_has_failed(data, output))

    def _own(self, entry: Mapping[str, Any], data: Mapping[str, Any], role: Role, said: str) -> Record:
        record = self.record(f"{self.name}:{text(entry, 'id')}", entry.get("timestamp"), role, said)
        # The work of a subagent names the call that started it.
        call = text(data, "parentToolCallId")
        return record._replace(session=f"{self.name}:{call}", parent=self.name) if call else record


def _chat_records(transcript: Transcript, reading: Reading) -> Iterator[Record]:
    """Yield the records of a chat."""
    if transcript.path.suffix == ".json":
        state = read_object(transcript.path, reading) or {}
    else:
        state = _replayed(transcript.path, reading)
    if isinstance(state.get("requests"), list):
        reading.known += 1
        chat = _Chat(text(state, "sessionId") or transcript.session, workspace_of(transcript.path.parents[1]))
        for place, request in enumerate(items(state, "requests")):
            yield from chat.records(request, text(request, "requestId") or str(place))


class _Chat(Session):
    def records(self, request: Mapping[str, Any], name: str) -> Iterator[Record]:
        """Yield a prompt, the commands and edits for it, and the answer."""
        name, time, parts = f"{self.name}:{name}", request.get("timestamp"), items(request, "response")
        yield self.record(name, time, "user", text(mapping(request, "message"), "text"))
        for place, part in enumerate(parts):
            yield from self._action(f"{name}:{place}", time, part)
        yield self.record(f"{name}:answer", time, "assistant", "".join(map(_said, parts)))

    def _action(self, name: str, time: object, part: Mapping[str, Any]) -> Iterator[Record]:
        kind, details = text(part, "kind"), mapping(part, "toolSpecificData")
        if kind == "textEditGroup":
            uri = mapping(part, "uri")
            yield self.record(name, time, "edit", text(uri, "fsPath") or text(uri, "path"))
        elif kind == "toolInvocationSerialized" and text(details, "kind") == "terminal":
            line = mapping(details, "commandLine")
            command = text(line, "userEdited") or text(line, "toolEdited") or text(line, "original")
            record = self.record(name, time, "command", command or text(details, "command"))
            code = mapping(details, "terminalCommandState").get("exitCode")
            output = text(mapping(details, "terminalCommandOutput"), "text")
            yield record.with_result(output, failed=isinstance(code, int) and code != 0)


def _said(part: Mapping[str, Any]) -> str:
    """Return the text of a part of an answer; "" for thoughts, calls and references."""
    kind = text(part, "kind")
    if not kind:
        return text(part, "value")
    return text(mapping(part, "content"), "value") if kind == "markdownContent" else ""


def _replayed(path: Path, reading: Reading) -> Mapping[str, Any]:
    """Return the state that a log of changes leaves."""
    state: object = {}
    for entry in entries(path, reading):
        kind, value, keys = entry.get("kind"), entry.get("v"), entry.get("k")
        if kind == _WHOLE:
            state = value
        elif kind in (_SET, _PUSH, _DELETE) and isinstance(keys, list) and keys:
            holder = _at(state, keys[:-1])
            if holder is not None:
                _change(holder, keys[-1], kind, value, entry.get("i"))
        else:
            reading.unknown[f"kind {kind}"] += 1
            continue
        reading.known += 1
    return state if isinstance(state, dict) else {}


def _at(state: object, keys: list[object]) -> object:
    """Return the value that a path of keys leads to; None if it leads nowhere."""
    for key in keys:
        if isinstance(state, dict) and isinstance(key, str):
            state = state.get(key)
        elif isinstance(state, list) and isinstance(key, int) and 0 <= key < len(state):
            state = state[key]
        else:
            return None
    return state


def _change(holder: object, key: object, kind: int, value: object, cut: object) -> None:
    old = _at(holder, [key])
    if kind == _PUSH:
        kept = old if isinstance(old, list) else []
        if isinstance(cut, int) and cut >= 0:
            del kept[cut:]
        kept.extend(value if isinstance(value, list) else [value])
        value = kept
    if isinstance(holder, dict) and isinstance(key, str):
        if kind == _DELETE:
            holder.pop(key, None)
        else:
            holder[key] = value
    elif isinstance(holder, list) and isinstance(key, int) and 0 <= key <= len(holder):
        holder[key : key + 1] = [] if kind == _DELETE else [value]
