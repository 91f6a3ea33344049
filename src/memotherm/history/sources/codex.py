"""Codex: one file of lines for each thread.

A file says everything twice, as items of the conversation and as events, and a fork or a subagent begins with a copy
of its parent's turns. So its lines are looked at twice: for what it has and which turns were taken back, and then for
the rest.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.history.lines import SMALL, lines, open_lines
from memotherm.history.listing import files, transcript
from memotherm.history.reader import Reader, Session, typed
from memotherm.history.records import Ranges, Reading, Record, Role, Transcript
from memotherm.history.sources.codex_calls import command_of, has_failed, joined, output_of, patched_files
from memotherm.history.values import blocks_of, items, mapping, parsed, text, text_of
from memotherm.hooks.hosts import CLIENTS
from memotherm.settings.paths import client_home

_HOST = CLIENTS["codex"]
_NAME = re.compile(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(.+?)\.jsonl(?:\.zst)?")
#: The types in the beginning of a line, which come in this order.
_TYPES = re.compile(rb'"type":"(\w{1,60})","payload":\{(?:"type":"(\w{1,60})")?')
_ITEM = re.compile(rb'"type":"(?:CommandExecution|FileChange)"')
_TURN = re.compile(rb'"turn_id":"([^"\\]{1,80})"')
_KNOWN = frozenset(
    (
        "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record",
        "state",
    )
)  # fmt: skip
_CALLS = frozenset(("function_call", "local_shell_call", "custom_tool_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
#: The types of the items in the oldest files.
_BARE = frozenset(("message", "reasoning", *_CALLS, *_OUTPUTS))
_NEEDED = frozenset(
    kind.encode()
    for kind in (
        *_CALLS, *_OUTPUTS, "session_meta", "turn_context", "message", "item_completed", "user_message",
        "agent_message", "exec_command_end", "patch_apply_end", "thread_rolled_back", "task_started",
    )
)  # fmt: skip
#: The beginning of a line in which its types stand.
_HEAD = 1024
_PREFIXES = (
    *_HOST.prefixes, "# AGENTS.md instructions", "<turn_aborted>", "<subagent_notification>", "<skill>",
    "<user_shell_command>", "<permissions", "<INSTRUCTIONS>", "<hook_context>", "<user_action>",
    "<recommended_plugins>",
)  # fmt: skip
#: Where the prompt begins behind what an editor adds.
_REQUEST = "## My request for Codex:"


class Codex(Reader):
    """The rollouts below ~/.codex."""

    name = _HOST.name
    verified = "0.166.0"

    def __init__(self) -> None:
        #: The listed files by the ids of their threads, to find the parents of forks.
        self._rollouts: dict[str, Path] = {}

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        base = client_home("CODEX_HOME", home / ".codex", environment)
        yield from (base / "sessions", base / "archived_sessions")

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the rollouts in a folder; of one that is also there in compressed form, the plain file."""
        paths = list(files(root, "**/rollout-*.jsonl", "**/rollout-*.jsonl.zst"))
        plain = set(paths)
        for path in paths:
            name = _NAME.fullmatch(path.name)
            if path.suffix == ".zst" and path.with_suffix("") in plain:
                continue
            found = transcript(self.name, path, name[1] if name else "")
            self._rollouts[found.session] = path
            yield found

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        scan = _Scan(transcript, reading)
        if scan.is_internal:
            return
        parent = self._rollouts.get(scan.copied_from)
        thread = _Thread(scan, transcript.session, _turns_of(parent, _stamp(parent)) if parent else frozenset())
        for number, line in enumerate(scan.lines()):
            if number in scan.taken_back or scan.is_said_elsewhere(line):
                continue
            entry = parsed(line.text)
            if entry is not None:
                yield from thread.records(*_normal(entry))
        yield from thread.unfinished()


class _Line(NamedTuple):
    """A line that may be needed."""

    #: The type of its payload, or else its own; empty for an old line, or one that is broken.
    kind: bytes
    text: bytes


def _lines(path: Path, reading: Reading | None = None) -> Iterator[_Line]:
    """Yield the lines of a file that may be needed; `reading` counts the types of all."""
    kind = b""

    def is_needed(head: bytes) -> bool:
        nonlocal kind
        types = _TYPES.search(head)
        if types is None:
            kind = b""
            return True
        if reading is not None:
            reading.count(name := types[1].decode(), name in _KNOWN)
        kind = types[2] or types[1]
        return kind in _NEEDED or types[1] in _NEEDED

    with open_lines(path) as file:
        yield from (_Line(kind, line) for line in lines(file, reading, is_needed))


def _stamp(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=8)
def _turns_of(path: Path, changed: int) -> frozenset[str]:  # noqa: ARG001 - a changed file is read again
    """Return the ids of the turns in a file. One thread may be the parent of many."""

    def begins_turn(head: bytes) -> bool:
        return b'"type":"turn_context"' in head

    try:
        with open_lines(path) as file:
            found = (_TURN.search(line) for line in lines(file, None, begins_turn))
            return frozenset(turn[1].decode() for turn in found if turn is not None)
    except OSError:
        return frozenset()


def _normal(entry: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], object]:
    """Return the kind, the payload and the time of an entry, also of the oldest files, which have no envelope."""
    kind, payload = text(entry, "type"), mapping(entry, "payload")
    if "payload" in entry:
        return kind, payload, entry.get("timestamp")
    if not kind and text(entry, "id") and "timestamp" in entry:
        kind = "session_meta"
    elif not kind and "record_type" in entry:
        kind = "state"
    elif kind in _BARE:
        kind = "response_item"
    return kind, entry, entry.get("timestamp")


class _Scan:
    """What a file has: the first line about the thread, the forms of its records, and what was taken back."""

    def __init__(self, transcript: Transcript, reading: Reading) -> None:
        self.meta: Mapping[str, Any] = {}
        #: Whether the items of the conversation have messages; if not, events do.
        self.has_messages = False
        #: The forms in which commands and edits are there.
        self.forms: set[str] = set()
        #: The lines of the turns that were taken back.
        self.taken_back = Ranges()
        #: The lines of prompts, in items and in events.
        self._items, self._events = list[int](), list[int]()
        self._reading = reading
        self._path = transcript.path
        #: The lines of a file that is small; those of another one are read again.
        is_small = transcript.size <= SMALL and transcript.path.suffix != ".zst"
        self._kept: list[_Line] | None = [] if is_small else None
        rollbacks: list[tuple[int, int]] = []
        for number, line in enumerate(_lines(transcript.path, reading)):
            if self._kept is not None:
                self._kept.append(line)
            if line.kind and not self._must_decode(line):
                continue
            entry = parsed(line.text)
            if entry is None:
                reading.broken += 1
                continue
            kind, payload, _ = _normal(entry)
            if not line.kind:
                reading.count(kind, kind in _KNOWN)
            turns = self._take(number, kind, payload)
            if turns:
                rollbacks.append((number, turns))
        self._apply(rollbacks)

    def lines(self) -> Iterable[_Line]:
        """Return the lines that may be needed again."""
        return _lines(self._path) if self._kept is None else self._kept

    def _must_decode(self, line: _Line) -> bool:
        head, kind = line.text[:_HEAD], line.kind.decode()
        if kind == "message":
            self.has_messages = self.has_messages or b'"role":"assistant"' in head
            return b'"role":"assistant"' not in head and b'"role":"developer"' not in head
        if kind == "item_completed" and b'"type":"UserMessage"' not in head:
            self.forms.update(form for form in ("CommandExecution", "FileChange") if f'"{form}"'.encode() in head)
            return False
        if kind in ("exec_command_end", "patch_apply_end"):
            self.forms.add(kind)
        return kind in ("item_completed", "user_message", "thread_rolled_back") or (
            kind == "session_meta" and not self.meta
        )

    def _take(self, number: int, kind: str, payload: Mapping[str, Any]) -> int:
        """Take an entry, and return how many turns it takes back."""
        inner = text(payload, "type")
        if kind == "session_meta":
            self.meta = self.meta or payload
            self._reading.version = text(self.meta, "cli_version")
        elif inner == "message":
            self.has_messages = self.has_messages or text(payload, "role") == "assistant" or bool(_prompt_of(payload))
            if _prompt_of(payload):
                self._items.append(number)
        elif inner in ("user_message", "item_completed"):
            form = text(mapping(payload, "item"), "type") or inner
            self.forms.add(form)
            if form in ("user_message", "UserMessage"):
                self._events.append(number)
        elif inner == "thread_rolled_back":
            turns = payload.get("num_turns")
            return turns if isinstance(turns, int) and turns > 0 else 0
        return 0

    def _apply(self, rollbacks: list[tuple[int, int]]) -> None:
        """Find out which lines the rollbacks take back: the last prompts before each, and everything after them."""
        prompts = self._items or self._events
        live: list[int] = []
        place = 0
        for number, turns in rollbacks:
            while place < len(prompts) and prompts[place] < number:
                live.append(prompts[place])
                place += 1
            if live:
                kept = max(0, len(live) - turns)
                self.taken_back.add(live[kept], number)
                del live[kept:]

    def is_said_elsewhere(self, line: _Line) -> bool:
        """Return whether a line says what another form of the same record says; calls and messages are the longest."""
        kind, head = line.kind, line.text[:_HEAD]
        if kind == b"item_completed":
            return self.has_messages and _ITEM.search(head) is None
        ran = "CommandExecution" in self.forms or "exec_command_end" in self.forms
        return ran and (kind == b"function_call_output" or (kind == b"function_call" and b"patch" not in head))

    @property
    def is_internal(self) -> bool:
        """Whether the thread served the program itself, such as for a review of its own work."""
        started_by = mapping(self.meta, "source").get("subagent")
        return isinstance(started_by, str)

    @property
    def spawned_by(self) -> str:
        """The thread that started this one as a subagent."""
        spawn = mapping(mapping(mapping(self.meta, "source"), "subagent"), "thread_spawn")
        return text(spawn, "parent_thread_id")

    @property
    def copied_from(self) -> str:
        """The thread whose turns may be repeated at the beginning of this one."""
        return text(self.meta, "forked_from_id") or self.spawned_by


class _Thread(Session):
    """Makes records of the entries of a thread."""

    def __init__(self, scan: _Scan, name: str, copied: frozenset[str]) -> None:
        meta = scan.meta
        branch = text(mapping(meta, "git"), "branch")
        super().__init__(text(meta, "id") or name, text(meta, "cwd"), scan.spawned_by, branch)
        self._scan = scan
        self._copied = copied
        self._turn = ""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._time: object = None

    def records(self, kind: str, payload: Mapping[str, Any], time: object) -> Iterator[Record]:
        """Yield the records of an entry."""
        inner = text(payload, "type")
        if kind == "turn_context" or inner == "task_started":
            self._turn = text(payload, "turn_id") or self._turn
            self.project = text(payload, "cwd") or self.project
            return
        passed_on = mapping(payload, "internal_chat_message_metadata_passthrough")
        turn = text(passed_on, "turn_id") or text(payload, "turn_id") or self._turn
        if turn in self._copied:
            return
        self._turn, self._time = turn, time
        if kind == "response_item":
            yield from self._item(inner, payload)
        elif kind == "event_msg":
            yield from self._event(inner, payload)

    def _item(self, kind: str, payload: Mapping[str, Any]) -> Iterator[Record]:
        if kind == "message":
            if text(payload, "role") == "assistant":
                yield self._record("assistant", text_of(payload.get("content")))
            elif prompt := _prompt_of(payload):
                yield from self.unfinished()
                yield self._record("user", prompt)
        elif kind in _CALLS:
            self.wait_for(text(payload, "call_id"), list(self._called(kind, payload)))
        elif kind in _OUTPUTS:
            yield from self._finished(payload)

    def _called(self, kind: str, payload: Mapping[str, Any]) -> Iterator[Record]:
        command = command_of(kind, payload)
        paths = patched_files(command)
        if paths:
            if not self._scan.forms & {"FileChange", "patch_apply_end"}:
                yield from (self._record("edit", path) for path in paths)
        elif command and not self._scan.forms & {"CommandExecution", "exec_command_end"}:
            yield self._record("command", command)

    def _finished(self, payload: Mapping[str, Any]) -> Iterator[Record]:
        output = payload.get("output")
        told = output if isinstance(output, str) else text_of(mapping(payload, "output").get("content") or output)
        for record in self.taken(text(payload, "call_id")):
            yield record.with_result(output_of(told), failed=has_failed(told, record.role == "edit"))

    def _event(self, kind: str, payload: Mapping[str, Any]) -> Iterator[Record]:
        item = mapping(payload, "item")
        form = text(item, "type") if kind == "item_completed" else kind
        if form in ("CommandExecution", "exec_command_end"):
            if form == "CommandExecution" or "CommandExecution" not in self._scan.forms:
                yield from self._command(item or payload)
        elif form in ("FileChange", "patch_apply_end"):
            if form == "FileChange" or "FileChange" not in self._scan.forms:
                changes = (item or payload).get("changes")
                for path in (
                    changes if isinstance(changes, dict) else [text(each, "path") for each in items(item, "changes")]
                ):
                    yield self._record("edit", path)
        elif not self._scan.has_messages:
            said = text_of(item.get("content"), ("text", "Text")) or text(payload, "message")
            if form in ("UserMessage", "user_message"):
                yield self._record("user", typed(said, _PREFIXES))
            elif form in ("AgentMessage", "agent_message"):
                yield self._record("assistant", said)

    def _command(self, item: Mapping[str, Any]) -> Iterator[Record]:
        code = item.get("exit_code")
        if text(item, "status") == "declined":
            return
        failed = code != 0 if isinstance(code, int) else text(item, "status") == "failed"
        record = self._record("command", joined(item.get("command")))
        output = text(item, "aggregated_output") or f"{text(item, 'stdout')}\n{text(item, 'stderr')}"
        yield record.with_result(output, failed=failed)

    def _record(self, role: Role, said: str) -> Record:
        # Copies of a turn have new times and numbers of lines; its id and the order in it stay.
        turn = self._turn or self.name
        self._counts[turn, role] += 1
        return self.record(f"{turn}:{role}{self._counts[turn, role]}", self._time, role, said)


def _prompt_of(message: Mapping[str, Any]) -> str:
    """Return what the user typed in a message, without what the program says in the user's name."""
    if text(message, "role") != "user":
        return ""
    kinds = mapping(message, "internal_chat_message_metadata_passthrough").get("content_item_kinds")
    kinds = kinds if isinstance(kinds, list) else []
    said = []
    for place, block in enumerate(blocks_of(message.get("content"))):
        kind = kinds[place] if place < len(kinds) and isinstance(kinds[place], str) else "unknown"
        if kind == "unknown" or kind.startswith("user."):
            said.append(typed(text(block, "text").rpartition(_REQUEST)[2], _PREFIXES))
    return "\n".join(filter(None, said))
