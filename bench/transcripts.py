"""`python -m bench.transcripts --sessions 1000`: write made sessions of Claude Code and Codex, and backfill a store.

A session has about 40 turns and 200 kB, most of it output of tools and copies of messages; nearly every prompt is
another one. The printed tables have the CPU time to list and to read all of them, and of a whole backfill, by process,
with the most memory that each had.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import tempfile
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import memotherm
from memotherm.history.backfill import Backfill
from memotherm.history.records import Reading
from memotherm.history.sources import SOURCES

__all__ = ["main", "write_sessions"]

Json = dict[str, Any]
_BEGIN = datetime(2026, 1, 1, 9, tzinfo=UTC)
_TURNS = (30, 50)
_PARTS = ("parser", "cache", "login", "scheduler", "invoice", "search", "export", "importer", "router", "queue")
_SERVICES = ("billing", "gateway", "mailer", "catalogue", "reporting", "accounts", "stock", "webhooks")
_VERBS = ("fix", "speed up", "test", "rename", "document", "move", "split", "review", "port", "remove")
_REASONS = (
    "it fails with an empty list", "the port is taken", "two users share one file", "the clock goes backwards",
    "the index is never rebuilt", "a name has a space", "the answer comes twice", "Windows has other line ends",
)  # fmt: skip
#: What people type, by how often; the fields make nearly every sentence another one.
_PROMPTS = {
    "Please {verb} the {part} in src/{service}/{part}_{n}.py, because {why}.": 12,
    "{Verb} {part}_{n} of the {service} service and run its tests.": 10,
    "The {part} of {service} fails in build {n}: {why}. Find the cause and mend it.": 10,
    "Have a look at ticket {n}, {why} since yesterday's change of the {part}.": 8,
    "Why does test_{part}_{n} take {m} seconds on the {service} branch?": 8,
    "Which module of {service} calls {part}_{n}?": 7,
    "continue": 6,
    "yes, do that": 4,
    "ok, thanks": 4,
    "run the tests again": 3,
    "Add a test for {part}_{n}. It has to cover that {why}.": 8,
    "The {service} database of team {n} listens on port {m}.": 6,
    "We decided to keep the {part} of {service} in region {n}, because {why}.": 3,
    "Always run make check{n} before you touch the {part} of {service}.": 2,
    "No, the {service} database of team {n} listens on port {m} now.": 3,
    "I prefer short answers about the {part}, with at most {m} lines.": 1,
    "I still have to write to {service} about invoice {n}.": 2,
}
_ANSWERS = (
    "The {part} is done: {why}, so I changed src/{service}/{part}_{n}.py and tests/test_{part}.py.",
    "The cause was in {part}_{n}: {why}.", "All {n} tests of {service} pass now.",
    "I left the {part} of {service} as it was, since nothing else calls it.",
    "The timeout of {service} is {m} seconds, which is too short for the {part}.",
    "Next I would {verb} the {part} in src/{service}, if you agree.",
)  # fmt: skip
_COMMANDS = (
    "pytest -q tests/{0}",
    "make {0}",
    "ruff check src/{0}",
    "git diff src/{0}",
    "rg -n {0} src",
    "npm test {0}",
)
_ERRORS = (
    "ModuleNotFoundError: No module named '{0}'", "AssertionError: {0} returned 3 of 4 rows",
    "error TS2304: Cannot find name '{0}'", "make: *** [Makefile:12: {0}] Error 2",
)  # fmt: skip


class _Session:
    """One made session; the same number makes the same session."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)
        self._time = _BEGIN + timedelta(hours=6 * number)
        self.id = str(uuid.UUID(int=self._random.getrandbits(128)))
        self.folder = f"/home/ana/{self._random.choice(_PARTS)}-{number % 25}"

    def name(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128)))

    def moment(self) -> str:
        self._time += timedelta(seconds=self._random.randint(2, 90))
        return self._time.isoformat().replace("+00:00", "Z")

    def begun(self) -> datetime:
        return self._time

    def turns(self) -> Iterator[tuple[str, list[tuple[str, str, bool]], str]]:
        """Yield prompts, commands with their outputs and whether they fail, and answers."""
        pick = self._random.choice
        for _ in range(self._random.randint(*_TURNS)):
            part, calls = pick(_PARTS), []
            for _ in range(self._random.randint(1, 3)):
                failed = self._random.random() < 0.2
                output = self._output(part) + (pick(_ERRORS).format(part) if failed else "ok")
                calls.append((pick(_COMMANDS).format(part), output, failed))
            (prompt,) = self._random.choices(list(_PROMPTS), list(_PROMPTS.values()))
            answers = self._random.sample(_ANSWERS, self._random.randint(1, 4))
            yield self._said(prompt, part), calls, " ".join(self._said(answer, part) for answer in answers)

    def _said(self, text: str, part: str) -> str:
        """Return a sentence with other names and numbers in its fields."""
        pick, verb = self._random.choice, self._random.choice(_VERBS)
        return text.format(
            verb=verb, Verb=verb.capitalize(), part=part, service=pick(_SERVICES), why=pick(_REASONS),
            n=self._random.randint(1, 999), m=self._random.randint(10, 9999),
        )  # fmt: skip

    def _output(self, part: str) -> str:
        words = (*_PARTS, *_VERBS, *_REASONS)
        lines = self._random.randint(4, 18)
        return "".join(
            f"src/{part}.py:{self._random.randint(1, 900)}: {self._random.choice(words)} {self._random.random()}\n"
            for _ in range(lines)
        )


def _claude_code(session: _Session) -> Iterator[Json]:
    parent: str | None = None

    def entry(kind: str, **fields: object) -> Json:
        nonlocal parent
        above, parent = parent, session.name()
        return {"parentUuid": above, "isSidechain": False, "type": kind, **fields, "uuid": parent,
                "timestamp": session.moment(), "userType": "external", "cwd": session.folder, "sessionId": session.id,
                "version": "2.1.325", "gitBranch": "main"}  # fmt: skip

    def answer(*content: Json) -> Json:
        usage = {"input_tokens": 10, "cache_read_input_tokens": 9000, "output_tokens": 5}
        message = {"id": f"msg_{session.name()}", "type": "message", "role": "assistant", "usage": usage}
        return entry("assistant", message={**message, "model": "claude-sonnet-4-5", "content": list(content)})

    for prompt, calls, said in session.turns():
        yield entry("user", message={"role": "user", "content": prompt}, promptSource="typed")
        reminder = entry("attachment", attachment={"type": "total_tokens_reminder", "text": "15000000 tokens left"})
        yield {"parentUuid": reminder.pop("parentUuid"), "attachment": reminder.pop("attachment"), **reminder}
        yield {"type": "api-request-blob", "sessionId": session.id, "message": {"role": "user", "content": prompt}}
        for command, output, failed in calls:
            name = f"toolu_{session.name()}"
            yield answer({"type": "tool_use", "id": name, "name": "Bash", "input": {"command": command}})
            source = parent
            block = {"type": "tool_result", "tool_use_id": name, "content": output, "is_error": failed}
            yield entry("user", message={"role": "user", "content": [block]}, sourceToolAssistantUUID=source,
                        toolUseResult=f"Error: {output}" if failed else {"stdout": output, "stderr": ""})  # fmt: skip
        yield answer({"type": "text", "text": said})
        yield {"type": "last-prompt", "lastPrompt": prompt, "leafUuid": parent, "sessionId": session.id}


def _codex(session: _Session) -> Iterator[Json]:
    ordinal = -1

    def line(kind: str, **payload: object) -> Json:
        nonlocal ordinal
        ordinal += 1
        return {"timestamp": session.moment(), "ordinal": ordinal, "type": kind, "payload": payload}

    def message(role: str, kind: str, said: str) -> Json:
        return line("response_item", type="message", role=role, content=[{"type": kind, "text": said}])

    yield line("session_meta", id=session.id, session_id=session.id, cwd=session.folder, cli_version="0.166.0",
               git={"branch": "main"}, base_instructions={"text": "You are a coding agent. " * 800})  # fmt: skip
    for prompt, calls, said in session.turns():
        turn = session.name()
        yield line("turn_context", turn_id=turn, cwd=session.folder, model="gpt-5")
        yield message("user", "input_text", prompt)
        said_again = {"type": "UserMessage", "id": session.name(), "content": [{"type": "text", "text": prompt}]}
        yield line("event_msg", type="item_completed", turn_id=turn, item=said_again)
        for command, output, failed in calls:
            name = f"call_{session.name()}"
            code = 1 if failed else 0
            yield line("response_item", type="function_call", name="exec_command", call_id=name,
                       arguments=json.dumps({"cmd": command}))  # fmt: skip
            item = {"type": "CommandExecution", "id": name, "command": ["/bin/bash", "-lc", command],
                    "exit_code": code, "aggregated_output": output}  # fmt: skip
            yield line("event_msg", type="item_completed", turn_id=turn, item=item)
            yield line("response_item", type="function_call_output", call_id=name,
                       output=f"Process exited with code {code}\nOutput:\n{output}")  # fmt: skip
            yield line("event_msg", type="token_count", info={"total_token_usage": {"total_tokens": 15}})
        yield message("assistant", "output_text", said)


def write_sessions(home: Path, count: int) -> int:
    """Write sessions below a home folder, half of them of each program, and return their size in bytes."""
    written = 0
    for number in range(count):
        session = _Session(number)
        day = session.begun()
        if number % 2:
            key = session.folder.replace("/", "-")
            path, lines = home / ".claude" / "projects" / key / f"{session.id}.jsonl", _claude_code(session)
        else:
            name = f"rollout-{day:%Y-%m-%dT%H-%M-%S}-{session.id}.jsonl"
            path, lines = home / ".codex" / "sessions" / f"{day:%Y/%m/%d}" / name, _codex(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
        written += path.write_bytes(data.encode())
    return written


def main() -> None:
    """Write sessions to a temporary folder, read them, backfill a store with them, and print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.transcripts", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1000, help="how many, half of each program")
    count = parser.parse_args().sessions
    table = Table("program", "sessions", "list", "read", "records", title_justify="left")
    with tempfile.TemporaryDirectory(prefix="memotherm-transcripts-") as folder:
        home = Path(folder)
        size = write_sessions(home, count)
        for source in (SOURCES["claude-code"], SOURCES["codex"]):
            start = time.process_time()
            found = [each for root in source.roots({}, home) for each in source.transcripts(root)]
            listed = time.process_time()
            records = sum(1 for transcript in found for _ in source.read(transcript, Reading()))
            read = time.process_time()
            table.add_row(
                source.name, str(len(found)), f"{listed - start:.2f} s", f"{read - listed:.2f} s", str(records)
            )
        table.title = f"{count} sessions of {size // count:,} bytes"
        Console().print(table)
        Console().print(_backfilled(home))


def _backfilled(home: Path) -> Table:
    """Backfill a store from the sessions below a home folder."""
    table = Table("process", "read", "store words", "store statements", "most memory", title_justify="left")
    before = time.process_time()
    with memotherm.open(home / "memory.db") as mem, Backfill(mem, SOURCES, environ={}, home=home) as run:
        run.read()
        read = time.process_time()
        run.store_words()
        found = time.process_time()
        table.title = str(run.store_statements())
        stored = time.process_time()
    own, other = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    times = (f"{end - begin:.2f} s" for begin, end in ((before, read), (read, found), (found, stored)))
    table.add_row("first", *times, f"{own.ru_maxrss // 1024} MB")
    all_of_it = f"{other.ru_utime + other.ru_stime:.2f} s for all"
    table.add_row("second", all_of_it, "", "", f"{other.ru_maxrss // 1024} MB")
    return table


if __name__ == "__main__":
    main()
