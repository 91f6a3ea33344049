"""Prompts of sessions whose transcript Claude Code has deleted, from the list of prompts that it keeps.

`history.jsonl` has the prompts of interactive sessions, without answers, and stays when transcripts are deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from memotherm.history.lines import entries
from memotherm.history.listing import transcript
from memotherm.history.reader import Reader, folder
from memotherm.history.records import Reading, Record, Transcript
from memotherm.history.sources.claude_code import ClaudeCode
from memotherm.history.values import moment, text
from memotherm.text.content import digest

_FILE = "history.jsonl"


class DeletedSessions(Reader):
    """The prompts in ~/.claude/history.jsonl of sessions that have no transcript and were not read from one."""

    name = "claude-code-prompts"
    verified = ClaudeCode.verified

    def __init__(self, read: Collection[str] = ()) -> None:
        self._read = frozenset(read)

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield folder(environment, "CLAUDE_CONFIG_DIR", home / ".claude") / _FILE

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the one file."""
        if root.name == _FILE and root.is_file() and not root.is_symlink():
            yield transcript(ClaudeCode.name, root)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        projects = transcript.path.parent / "projects"
        there = {each.session for each in ClaudeCode().transcripts(projects)} if projects.is_dir() else set()
        for entry in entries(transcript.path, reading):
            prompt, session, time = text(entry, "display"), text(entry, "sessionId"), moment(entry.get("timestamp"))
            reading.count("prompt", bool(prompt) and time is not None)
            if prompt and time is not None and session and session not in there and session not in self._read:
                key = digest(f"{session} {time.isoformat()} {prompt}")
                yield Record(key, session, "", time, "user", prompt, text(entry, "project"), "")
