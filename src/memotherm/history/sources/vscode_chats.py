"""Chats of VS Code: the state of a chat as JSON, or a log of the changes that make it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.editors import workspace_of
from memotherm.history.lines import entries, read_object
from memotherm.history.output import error_lines
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.values import items, mapping, moment, text

_WHOLE, _SET, _PUSH, _DELETE = 0, 1, 2, 3


def chat_records(transcript: Transcript, reading: Reading) -> Iterator[Record]:
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
        yield chat.record("title", state.get("creationDate"), "title", text(state, "customTitle"))


class _Chat:
    def __init__(self, session: str, project: str) -> None:
        self._session = session
        self._project = project

    def records(self, request: Mapping[str, Any], name: str) -> Iterator[Record]:
        """Yield a prompt, the commands and edits for it, and the answer."""
        time, parts = request.get("timestamp"), items(request, "response")
        yield self.record(name, time, "user", text(mapping(request, "message"), "text").strip())
        for place, part in enumerate(parts):
            yield from self._action(f"{name}:{place}", time, part)
        yield self.record(f"{name}:answer", time, "assistant", "".join(map(_said, parts)).strip())

    def record(self, name: str, time: object, role: Role, said: str) -> Record:
        return Record(f"{self._session}:{name}", self._session, "", moment(time), role, said, self._project, "")

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
            yield record.as_failed(error_lines(output)) if isinstance(code, int) and code != 0 else record


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
