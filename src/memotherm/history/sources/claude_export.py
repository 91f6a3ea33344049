"""Exports of Claude: conversations with all their branches, of which the one up to the newest message counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.archives import conversations, export_files, has_field
from memotherm.history.listing import transcript
from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.values import items, moment, text, text_of

_ROLES: Mapping[str, Role] = {"human": "user", "assistant": "assistant"}


class ClaudeExport(Reader):
    """Exports, which the user names."""

    name = "claude-export"
    verified = "an export of September 2026"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:  # noqa: ARG002 - nowhere
        yield from ()

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the files of an export."""
        for path in export_files(root):
            if has_field(path, "chat_messages"):
                yield transcript(self.name, path)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        for conversation in conversations(transcript.path, reading):
            known = isinstance(conversation.get("chat_messages"), list)
            reading.count("conversation without messages", known)
            if known:
                yield from _conversation(conversation)


def _conversation(conversation: Mapping[str, Any]) -> Iterator[Record]:
    session = text(conversation, "uuid")
    for message in _branch(items(conversation, "chat_messages")):
        role = _ROLES.get(text(message, "sender"))
        if role is not None:
            said = text_of(message.get("content"), ("text",)) or text(message, "text")
            yield _record(session, text(message, "uuid"), message.get("created_at"), role, said.strip())
    yield _record(session, f"{session}:title", conversation.get("created_at"), "title", text(conversation, "name"))


def _branch(messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages from the root to the newest leaf; all of them if they do not name their parents."""
    known = {text(message, "uuid"): message for message in messages}
    parents = {text(message, "parent_message_uuid") for message in messages}
    if not parents - {""}:
        return messages
    leaves = [message for message in messages if text(message, "uuid") not in parents]
    at = text(max(leaves, key=lambda message: text(message, "created_at"), default={}), "uuid")
    path: dict[str, Mapping[str, Any]] = {}
    while at in known and at not in path:
        path[at] = known[at]
        at = text(known[at], "parent_message_uuid")
    return list(reversed(path.values()))


def _record(session: str, name: str, time: object, role: Role, said: str) -> Record:
    return Record(name, session, "", moment(time), role, said, project="", branch="")
