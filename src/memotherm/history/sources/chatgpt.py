"""Exports of ChatGPT: conversations as trees of messages, of which the branch up to the current one counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memotherm.history.archives import conversations, export_files, has_field
from memotherm.history.listing import transcript
from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.values import mapping, moment, text

#: Marks of citations, in the area for private use.
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,2000}\ue201|[\ue000-\uf8ff]")


class ChatGPT(Reader):
    """Exports, which the user names."""

    name = "chatgpt"
    verified = "an export of 2026"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:  # noqa: ARG002 - nowhere
        yield from ()

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the files of an export."""
        for path in export_files(root):
            if has_field(path, "mapping"):
                yield transcript(self.name, path)

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        for conversation in conversations(transcript.path, reading):
            known = isinstance(conversation.get("mapping"), dict)
            reading.count("conversation without a mapping", known)
            if known:
                yield from _conversation(conversation)


def _conversation(conversation: Mapping[str, Any]) -> Iterator[Record]:
    nodes = mapping(conversation, "mapping")
    session = text(conversation, "conversation_id") or text(conversation, "id")
    for name in reversed(_branch(nodes, text(conversation, "current_node"))):
        message = mapping(mapping(nodes, name), "message")
        role = text(mapping(message, "author"), "role")
        if role in ("user", "assistant") and not _is_hidden(message):
            spoken: Role = "user" if role == "user" else "assistant"
            yield _record(session, f"{session}:{name}", message.get("create_time"), spoken, _said(message))
    yield _record(session, f"{session}:title", conversation.get("create_time"), "title", text(conversation, "title"))


def _branch(nodes: Mapping[str, Any], leaf: str) -> list[str]:
    """Return the messages from a leaf up to the root; without a known leaf, from the last one in the file."""
    at, path = leaf if leaf in nodes else next(reversed(list(nodes)), ""), dict[str, None]()
    while at in nodes and at not in path:
        path[at] = None
        at = text(mapping(nodes, at), "parent")
    return list(path)


def _is_hidden(message: Mapping[str, Any]) -> bool:
    hidden = mapping(message, "metadata").get("is_visually_hidden_from_conversation")
    return bool(hidden) or message.get("recipient", "all") not in ("all", None)


def _said(message: Mapping[str, Any]) -> str:
    content = mapping(message, "content")
    parts = content.get("parts")
    if text(content, "content_type") not in ("text", "multimodal_text") or not isinstance(parts, list):
        return ""
    return _CITATION.sub("", "\n".join(part for part in parts if isinstance(part, str))).strip()


def _record(session: str, name: str, time: object, role: Role, said: str) -> Record:
    return Record(name, session, "", moment(time), role, said, project="", branch="")
