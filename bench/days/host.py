"""A host such as Claude Code: sends the events of a week to the hooks, at the times of the week.

Sessions whose times overlap take turns, as two terminals do. The worker runs whenever the hooks start one.
"""

from __future__ import annotations

import contextlib
import heapq
import io
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any
from unittest.mock import patch

import anyio
import time_machine

import memotherm
from memotherm import Memory, Scope
from memotherm.hooks import jobs
from memotherm.hooks.capture import process_spool
from memotherm.hooks.entry import answer_event
from memotherm.hooks.project import HOOKS, scope_of
from memotherm.hooks.spool import user_spool
from memotherm.mcp.server import build
from memotherm.operations.codec import to_json
from memotherm.settings import default_store, load

Week = dict[str, Any]
#: A hit of a recall as JSON.
Hit = dict[str, Any]

#: The options that `memotherm install` writes. A minute for each event, so that the load of the machine does not decide
#: what is injected.
_OPTIONS = ["--client", "claude", "--project", "auto", "--user", "auto", "--deadline", "60"]
_TURN = timedelta(minutes=4)
_REPLY = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Start:
    """What was injected at the start of a session."""

    moment: datetime
    folder: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a question got: at the start of its session, with its prompt, from `recall` and from `memory_recall`."""

    question: Mapping[str, Any]
    start: Start
    prompt: str
    recall: Sequence[Hit]
    tool: Sequence[Hit]


@dataclass(kw_only=True)
class Held:
    """What a week left behind."""

    #: The starts of the sessions of work, in order.
    starts: list[Start] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    #: All memories after the last session of work.
    memories: list[Memory] = field(default_factory=list)
    #: After each session of work: the contents of the hot memories, each with the rule that made it hot.
    hot: list[list[tuple[str, str]]] = field(default_factory=list)


def hold(week: Week, home: Path) -> Held:
    """Hold the sessions and ask the questions of a week, in the order of their times; the data goes to `home`."""
    os.environ.update(MEMOTHERM_HOME=str(home / "data"), MEMOTHERM_DAEMON="off")
    held, moments = Held(), _moments(week)
    with time_machine.travel(moments[0][0], tick=True) as clock:
        waiting: list[tuple[datetime, int, Iterator[timedelta]]] = []
        for number, (moment, entry, is_question) in enumerate(moments):
            folder = home / folder_of(week, entry)
            folder.mkdir(parents=True, exist_ok=True)
            host = _Host(f"session-{number}", folder)
            waiting.append((moment, number, (host.ask if is_question else host.work)(entry, held)))
        heapq.heapify(waiting)
        while waiting:
            moment, number, session = heapq.heappop(waiting)
            clock.move_to(moment)
            pause = next(session, None)
            if pause is not None:
                heapq.heappush(waiting, (moment + pause, number, session))
    return held


def folder_of(week: Week, entry: Mapping[str, Any]) -> str:
    """Return the folder of a session or question: its own, or that of the last session."""
    return str(entry.get("folder") or week["sessions"][-1]["folder"])


def time_of(week: Week, entry: Mapping[str, Any]) -> datetime:
    """Return when a session or question begins."""
    begins = datetime.fromisoformat(week["begins"]).replace(tzinfo=UTC)
    return begins + timedelta(days=entry["day"] - 1, hours=entry["hour"])


def end_of(week: Week, session: Mapping[str, Any]) -> datetime:
    """Return when a session ends."""
    return time_of(week, session) + len(session["turns"]) * (_TURN + _REPLY) + _TURN


def _moments(week: Week) -> list[tuple[datetime, Mapping[str, Any], bool]]:
    """Return the sessions and questions with their times, in order, and whether each is a question."""
    moments = [(time_of(week, session), session, False) for session in week["sessions"]]
    after = max(moment for moment, _, _ in moments) + timedelta(hours=6)
    for number, question in enumerate(week["questions"]):
        moment = time_of(week, question) if "day" in question else after + timedelta(minutes=10 * number)
        moments.append((moment, question, True))
    return sorted(moments, key=lambda each: each[0])


class _Host:
    """One session of a host. Its methods yield how long the user or the model takes before the next event."""

    def __init__(self, session: str, folder: Path) -> None:
        self._common = {
            "session_id": session, "cwd": str(folder), "transcript_path": str(folder.parent / f"{session}.jsonl"),
        }  # fmt: skip
        self._folder = folder

    def work(self, session: Mapping[str, Any], held: Held) -> Iterator[timedelta]:
        """Hold a session."""
        held.starts.append(self._start())
        for turn in session["turns"]:
            yield _TURN
            self._send("UserPromptSubmit", prompt=turn["prompt"], permission_mode="default")
            yield _REPLY
            self._send("Stop", stop_hook_active=False, last_assistant_message=turn["reply"])
        if session.get("ended", True):
            yield _TURN
            self._send("SessionEnd", reason="prompt_input_exit")
        held.memories, hot = _stored()
        held.hot.append(hot)

    def ask(self, question: Mapping[str, Any], held: Held) -> Iterator[timedelta]:
        """Ask a question in a new session, without storing it, so that the next ones find the same memories."""
        start = self._start("--no-capture")
        yield _REPLY
        prompt = self._send("UserPromptSubmit", "--no-capture", prompt=question["prompt"], permission_mode="default")
        recall, tool = self._recalled(question["prompt"]) if question.get("answer") else ([], [])
        held.asked.append(Asked(question=question, start=start, prompt=prompt, recall=recall, tool=tool))

    def _recalled(self, query: str) -> tuple[list[Hit], list[Hit]]:
        """Return the hits of `recall` and of the MCP tool, from a copy of the store, in which they count as uses."""
        scope = Scope(**scope_of(HOOKS, str(self._folder)))
        store = Path(default_store(load()))
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as copy:
            for file in store.parent.glob(f"{store.name}*"):
                if file.is_file():
                    shutil.copy(file, copy)
            with memotherm.open(Path(copy) / store.name, scope=scope) as mem:
                recall = [to_json(hit) for hit in mem.recall(query, track=False)]
                answer: Any = anyio.run(build(mem).call_tool, "memory_recall", {"query": query})
        return recall, answer.structured_content["items"]

    def _start(self, *options: str) -> Start:
        text = self._send("SessionStart", *options, source="startup")
        return Start(moment=datetime.now(UTC), folder=self._folder.name, text=text)

    def _send(self, name: str, *options: str, **payload: Any) -> str:  # noqa: ANN401 - JSON values
        """Send an event to the hook, and return the text that it injects."""
        event = json.dumps({"hook_event_name": name, **self._common, **payload}).encode()
        # The worker has this process's clock and runs after the hook instead of beside it.
        with (
            tempfile.TemporaryFile() as output,
            tempfile.TemporaryFile() as errors,
            patch.object(jobs, "start_command") as worker,
        ):
            with contextlib.chdir(self._folder), _redirected(event, output, errors):
                answer_event([*_OPTIONS, *options], time.monotonic())
            answer, failure = _read(output), _read(errors)
        if failure:
            raise RuntimeError(f"{name}: {failure}")
        if worker.called:
            _run_worker()
        return str(json.loads(answer)["hookSpecificOutput"]["additionalContext"]) if answer else ""


@contextlib.contextmanager
def _redirected(given: bytes, *files: IO[bytes]) -> Iterator[None]:
    """Give bytes to standard input, and let standard output and standard error go to two files."""
    before, saved = sys.stdin, [os.dup(1), os.dup(2)]
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))
    try:
        for descriptor, file in enumerate(files, 1):
            os.dup2(file.fileno(), descriptor)
        yield
    finally:
        sys.stdin = before
        for descriptor, kept in enumerate(saved, 1):
            os.dup2(kept, descriptor)
            os.close(kept)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode().strip()


def _run_worker() -> None:
    result = process_spool(user_spool())
    if result.failed:
        raise RuntimeError("; ".join(result.failed))


def _stored() -> tuple[list[Memory], list[tuple[str, str]]]:
    """Return all memories, and the contents of the hot ones, each with the rule that made it hot."""
    rules: dict[str, str] = {}
    with memotherm.open(default_store(load())) as mem:
        memories = list(mem.find(limit=1000, include_narrower=True))
        cursor: str | None = None
        while True:
            page = mem.events(limit=1000, cursor=cursor, oldest_first=True, include_narrower=True)
            rules.update((event.memory_id, event.rule) for event in page if "tier" in event.changes)
            cursor = page.cursor
            if cursor is None:
                break
    hot = [(memory.content, rules.get(memory.id, "remember")) for memory in memories if memory.tier == "hot"]
    return memories, hot
