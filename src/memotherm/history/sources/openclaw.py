"""OpenClaw, and pi, whose format it uses: a tree of entries for each session, in a file or in a database."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from memotherm.history.lines import entries
from memotherm.history.listing import files, transcript
from memotherm.history.reader import Reader, Session, typed
from memotherm.history.records import Reading, Record, Transcript, branch_to
from memotherm.history.sqlite import Data, Database, sessions_in
from memotherm.history.values import blocks_of, mapping, parsed, text, text_of
from memotherm.hooks.hosts import CLIENTS
from memotherm.settings.paths import client_home

_HOST = CLIENTS["openclaw"]
_TABLE, _COLUMNS = "transcript_events", ("session_id", "seq", "event_json")
_DATABASE = "openclaw-agent.sqlite"
#: Copies that the program keeps of a file.
_COPIES = (".checkpoint.", ".deleted", ".reset", ".bak")
_KNOWN = frozenset(
    """
    session message compaction branch_summary model_change thinking_level_change custom custom_message label
    session_info
    """.split()  # noqa: SIM905 - names of types
)
#: Prompts that nobody typed.
_PREFIXES = ("Read HEARTBEAT.md", "[cron:", "System: [")

Entry = Mapping[str, Any]


class OpenClaw(Reader):
    """The sessions of all agents below ~/.openclaw, and those of pi."""

    name = _HOST.name
    verified = "2026.8"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("OPENCLAW_STATE_DIR", home / ".openclaw", environment)
        yield client_home("PI_CODING_AGENT_DIR", home / ".pi" / "agent", environment)

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions; one that is in a database and in a file is one transcript."""
        written = {
            path: transcript(self.name, path, path.stem)
            for path in files(root, "agents/*/sessions/*.jsonl", "sessions/*/*.jsonl")
            if not any(mark in path.name for mark in _COPIES)
        }
        for path in files(root, f"agents/*/agent/{_DATABASE}"):
            for found in sessions_in(self.name, path, _states):
                file = written.pop(_file_of(path, found.session), None)
                yield replace(found, changed=f"{found.changed};{file.changed}") if file else found
        yield from written.values()

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        if transcript.path.name != _DATABASE:
            yield from _session(lambda counted: entries(transcript.path, counted), transcript.session, reading)
            return
        with Database(transcript.path) as database:
            database.require(_TABLE, *_COLUMNS)
            yield from _session(lambda counted: _merged(database, transcript, counted), transcript.session, reading)


def _states(database: Database) -> dict[str, str] | None:
    if not database.has(_TABLE, *_COLUMNS):
        return None
    rows = database.rows(_TABLE, ("session_id", "count(*)", "max(seq)"), group="session_id", order="session_id")
    return {str(name): f"{count}:{last}" for name, count, last in rows}


def _file_of(database: Path, session: str) -> Path:
    return database.parents[1] / "sessions" / f"{session}.jsonl"


def _merged(database: Database, transcript: Transcript, reading: Reading) -> Iterator[Entry]:
    """Yield the entries of a file from before the database, then those of the database that are not in it."""
    seen: set[str] = set()
    file = _file_of(transcript.path, transcript.session)
    if file.is_file() and not file.is_symlink():
        for entry in entries(file, reading):
            seen.add(_key(entry))
            yield entry
    rows = database.rows(_TABLE, (Data("event_json"),), "session_id = ?", (transcript.session,), order="seq")
    for (data,) in rows:
        stored = parsed(data or b"")
        if stored is None:
            reading.broken += 1
        elif _key(stored) not in seen:
            yield stored


def _key(entry: Entry) -> str:
    """Return the key of an entry. Ids are short; with the time they are the same in copies, and in nothing else."""
    return f"{entry.get('timestamp')}:{text(entry, 'id')}"


def _session(read: Callable[[Reading], Iterator[Entry]], name: str, reading: Reading) -> Iterator[Record]:
    """Yield the records of the branch up to the last entry."""
    parents: dict[str, str] = {}
    last = ""
    for entry in read(reading):
        kind = text(entry, "type")
        reading.count(kind, kind in _KNOWN)
        if text(entry, "id") and kind != "session":
            last = text(entry, "id")
            parents.setdefault(last, text(entry, "parentId"))
    live = branch_to(last, parents, reading)
    # Older entries name no parents.
    is_tree = any(parents.values())
    session = Session(name)
    for entry in read(Reading()):
        if not is_tree or text(entry, "type") == "session" or text(entry, "id") in live:
            yield from _records_of(session, entry)
    yield from session.unfinished()


def _records_of(session: Session, entry: Entry) -> Iterator[Record]:
    """Yield the records of an entry."""
    kind, message, time = text(entry, "type"), mapping(entry, "message"), entry.get("timestamp")
    role, content = text(message, "role"), message.get("content")
    if kind == "session":
        session.name, session.project = text(entry, "id") or session.name, text(entry, "cwd") or session.project
    elif kind == "message" and role == "user":
        yield from session.unfinished()
        yield session.record(_key(entry), time, "user", typed(text_of(content), _PREFIXES))
    elif kind == "message" and role == "assistant":
        yield session.record(_key(entry), time, "assistant", text_of(content))
        for place, block in enumerate(blocks_of(content)):
            if text(block, "type") == "toolCall":
                done = session.done(f"{_key(entry)}:{place}", time, text(block, "name"), mapping(block, "arguments"))
                session.wait_for(text(block, "id"), done)
    elif kind == "message" and role == "toolResult":
        call, failed = text(message, "toolCallId"), message.get("isError") is True
        yield from session.finished(call, text_of(content), failed=failed)
