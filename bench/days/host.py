"""A host such as Claude Code: sends the events of a week to the hooks, at the times of the week."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import time_machine

import memotherm
from memotherm import Memory
from memotherm.hooks.capture import process_spool
from memotherm.hooks.entry import answer_event
from memotherm.hooks.spool import user_spool
from memotherm.settings import default_store, load

Week = dict[str, Any]

#: The options that `memotherm install` writes. A minute for each event, so that the load of the machine does not decide
#: what is injected; the host runs the worker itself, so that it has the same clock.
_OPTIONS = ["--client", "claude", "--project", "auto", "--user", "auto", "--deadline", "60", "--no-worker"]
_TURN = timedelta(minutes=4)
_REPLY = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What was injected for a question: at the start of its session, and with its prompt."""

    question: Mapping[str, Any]
    start: str
    prompt: str


@dataclass(kw_only=True)
class Held:
    """What a week left behind."""

    #: The texts injected at the starts of the sessions of work, in order.
    starts: list[str] = field(default_factory=list)
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
        for number, (moment, entry, is_question) in enumerate(moments):
            folder = home / (entry.get("folder") or week["sessions"][-1]["folder"])
            folder.mkdir(parents=True, exist_ok=True)
            host = _Host(f"session-{number}", folder, clock, moment)
            if is_question:
                held.asked.append(host.ask(entry))
            else:
                held.starts.append(host.work(entry))
                held.memories, hot = _stored()
                held.hot.append(hot)
    return held


def _moments(week: Week) -> list[tuple[datetime, Mapping[str, Any], bool]]:
    """Return the sessions and questions with their times, in order, and whether each is a question."""
    begins = datetime.fromisoformat(week["begins"]).replace(tzinfo=UTC)

    def time_of(entry: Mapping[str, Any]) -> datetime:
        return begins + timedelta(days=entry["day"] - 1, hours=entry["hour"])

    moments = [(time_of(session), session, False) for session in week["sessions"]]
    after = max(moment for moment, _, _ in moments) + timedelta(hours=6)
    for number, question in enumerate(week["questions"]):
        moment = time_of(question) if "day" in question else after + timedelta(minutes=10 * number)
        moments.append((moment, question, True))
    return sorted(moments, key=lambda each: each[0])


class _Host:
    """One session of a host."""

    def __init__(self, session: str, folder: Path, clock: time_machine.Traveller, moment: datetime) -> None:
        self._common = {
            "session_id": session, "cwd": str(folder), "transcript_path": str(folder.parent / f"{session}.jsonl"),
        }  # fmt: skip
        self._folder, self._clock, self._now = folder, clock, moment
        clock.move_to(moment)

    def work(self, session: Mapping[str, Any]) -> str:
        """Hold a session, and return what was injected at its start."""
        start = self._send("SessionStart", source="startup")
        _run_worker()
        for turn in session["turns"]:
            self._wait(_TURN)
            self._send("UserPromptSubmit", prompt=turn["prompt"], permission_mode="default")
            self._wait(_REPLY)
            self._send("Stop", stop_hook_active=False, last_assistant_message=turn["reply"])
        if session.get("ended", True):
            self._wait(_TURN)
            self._send("SessionEnd", reason="prompt_input_exit")
            _run_worker()
        return start

    def ask(self, question: Mapping[str, Any]) -> Asked:
        """Ask a question in a new session, without storing it, so that the next ones find the same memories."""
        start = self._send("SessionStart", "--no-capture", source="startup")
        self._wait(_REPLY)
        prompt = self._send("UserPromptSubmit", "--no-capture", prompt=question["prompt"], permission_mode="default")
        return Asked(question=question, start=start, prompt=prompt)

    def _wait(self, time_passed: timedelta) -> None:
        self._now += time_passed
        self._clock.move_to(self._now)

    def _send(self, name: str, *options: str, **payload: Any) -> str:  # noqa: ANN401 - JSON values
        """Send an event to the hook, and return the text that it injects."""
        event = json.dumps({"hook_event_name": name, **self._common, **payload}).encode()
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            with contextlib.chdir(self._folder), _redirected(event, output, errors):
                answer_event([*_OPTIONS, *options], time.monotonic())
            answer, failure = _read(output), _read(errors)
        if failure:
            raise RuntimeError(f"{name}: {failure}")
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
