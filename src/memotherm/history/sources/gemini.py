"""Gemini CLI: a log of each session, in which a message is repeated when it changes and others are taken back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.lines import entries, read_object
from memotherm.history.listing import files, head_of, transcript
from memotherm.history.reader import Reader, Session, typed
from memotherm.history.records import Reading, Record, Transcript
from memotherm.history.values import blocks_of, items, mapping, parsed, text, text_of
from memotherm.hooks.hosts import CLIENTS
from memotherm.settings.paths import client_home

_HOST = CLIENTS["gemini"]
_NAMES = ("session-*.jsonl", "session-*.json", "*/*.jsonl")
#: The types of messages; those after the third are no part of the conversation.
_KNOWN = frozenset(("user", "gemini", "model", "info", "error", "warning", "about", "help", "quit"))
_ELEMENTS = ("session_context", "hook_context")
_PREFIXES = ("<session_context>", "<hook_context>")
#: Lines about the run around its output.
_FRAME = re.compile(
    r"^(?:Error: \(none\)|(?:Command|Directory|Signal|Background PIDs|Process Group PGID|Exit Code): .*)$", re.MULTILINE
)
_EXIT_CODE = re.compile(r"^Exit Code: (\d{1,6})", re.MULTILINE)


class Gemini(Reader):
    """The chats below ~/.gemini/tmp."""

    name = _HOST.name
    verified = "0.61.0"

    def __init__(self) -> None:
        #: The folders of projects by the names of their chats' folders, as far as the program lists them.
        self._projects: dict[str, str] = {}

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("GEMINI_CLI_HOME", home, environment) / ".gemini"

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the chats of all projects; of one that was converted, the newer file."""
        listed = mapping(parsed(head_of(root / "projects.json", 1_000_000)) or {}, "projects")
        self._projects |= {slug: path for path, slug in listed.items() if isinstance(slug, str)}
        found = list(files(root, *(f"{above}*/chats/{name}" for above in ("tmp/", "") for name in _NAMES)))
        newer = {path for path in found if path.suffix == ".jsonl"}
        for path in found:
            copied = path.suffix == ".json" and path.with_suffix(".jsonl") in newer
            if not (copied or ".unreadable-" in path.name or ".tmp-" in path.name):
                yield transcript(self.name, path)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        chats = next((parent for parent in transcript.path.parents if parent.name == "chats"), transcript.path.parent)
        chat = _Chat(
            reading,
            project=head_of(chats.parent / ".project_root").decode("utf-8", "replace").strip()
            or self._projects.get(chats.parent.name, ""),
            parent="" if transcript.path.parent == chats else transcript.path.parent.name,
        )
        if transcript.path.suffix == ".json":
            chat.take(read_object(transcript.path, reading) or {})
        else:
            for entry in entries(transcript.path, reading):
                chat.take(entry)
        yield from chat.records()


class _Chat(Session):
    """The messages of a chat as its log leaves them."""

    def __init__(self, reading: Reading, project: str, parent: str) -> None:
        super().__init__("", project, parent)
        self._reading = reading
        #: What is kept of each message, in the order in which they were first written.
        self._messages: dict[str, list[Record]] = {}
        #: A chat that is resumed writes all messages again, with the time of then and without the results of calls.
        self._times: dict[str, object] = {}
        self._actions: dict[str, list[Record]] = {}

    def take(self, entry: Mapping[str, Any]) -> None:
        """Apply an entry of the log."""
        if "$rewindTo" in entry:
            self._reading.count("$rewindTo")
            self._rewind(entry["$rewindTo"])
        elif "$set" in entry or text(entry, "sessionId"):
            self._reading.count("$set")
            state = mapping(entry, "$set") or entry
            self.name = text(state, "sessionId") or self.name
            directories = state.get("directories")
            if not self.project and isinstance(directories, list) and directories and isinstance(directories[0], str):
                self.project = directories[0]
            if isinstance(state.get("messages"), list):
                self._messages.clear()
                for message in items(state, "messages"):
                    self._add(message)
        else:
            self._add(entry)

    def records(self) -> Iterator[Record]:
        """Yield the records of the messages that are left."""
        for records in self._messages.values():
            yield from records

    def _rewind(self, target: object) -> None:
        """Drop a message and all later ones; without that message, all."""
        names = list(self._messages)
        place = names.index(target) if isinstance(target, str) and target in self._messages else 0
        for name in names[place:]:
            del self._messages[name]

    def _add(self, message: Mapping[str, Any]) -> None:
        kind, name = text(message, "type"), text(message, "id")
        self._reading.count(kind, bool(name) and kind in _KNOWN)
        time = self._times.setdefault(name, message.get("timestamp"))
        place, content, made = f"{self.name}:{name}", message.get("content"), list[Record]()
        if kind == "user":
            said = (typed(text(block, "text"), _PREFIXES, _ELEMENTS) for block in blocks_of(content))
            made = [self.record(place, time, "user", "\n".join(filter(None, said)))]
        elif kind in ("gemini", "model"):
            calls = enumerate(items(message, "toolCalls"))
            called = [record for number, call in calls for record in self._called(f"{place}:{number}", time, call)]
            self._actions[name] = called or self._actions.get(name, [])
            made = [self.record(place, time, "assistant", text_of(content)), *self._actions[name]]
        self._messages[name] = made

    def _called(self, name: str, time: object, call: Mapping[str, Any]) -> Iterator[Record]:
        status, output = text(call, "status"), _output_of(call)
        if status == "cancelled":
            return
        code = _EXIT_CODE.search(output)
        failed = status == "error" or (code is not None and code[1] != "0")
        for record in self.done(name, time, text(call, "name"), mapping(call, "args")):
            yield record.with_result(_FRAME.sub("", output), failed=failed)


def _output_of(call: Mapping[str, Any]) -> str:
    result = call.get("result")
    for part in result if isinstance(result, list) else [result]:
        response = mapping(mapping(part, "functionResponse"), "response") if isinstance(part, dict) else {}
        output = text(response, "output") or text(response, "error")
        if output:
            return output
    return text(call, "resultDisplay") or (result if isinstance(result, str) else "")
