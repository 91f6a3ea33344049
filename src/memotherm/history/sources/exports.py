"""Exports of ChatGPT and of Claude: conversations as trees of messages, of which one branch counts.

They are in files conversations*.json in a folder, in a zip file, or named in a manifest.
"""

from __future__ import annotations

import re
import zipfile
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from memotherm.history.lines import elements, open_regular
from memotherm.history.listing import files, head_of, transcript
from memotherm.history.reader import Reader, Session
from memotherm.history.records import Reading, Record, Role, Transcript, branch_to
from memotherm.history.values import items, mapping, text, text_of

_ROLES: Mapping[str, Role] = {"user": "user", "human": "user", "assistant": "assistant"}
#: Marks of citations, in the area for private use.
_CITATION = re.compile("\ue200[^\ue200\ue201]{0,2000}\ue201|[\ue000-\uf8ff]")
_CONVERSATIONS = "conversations*.json"
#: A file that grows more than this when it is unpacked, and is larger than that, is no export.
_MOST_GROWTH, _SUSPICIOUS = 200, 256 * 1024 * 1024
_HEAD = 64 * 1024
_NAMED = re.compile(rb'"([\w. -]{1,200}\.(?:zip|json))"')


def export_files(root: Path) -> Iterator[Path]:
    """Yield the files of an export: the root itself, those in it, or those beside a manifest that it names."""
    if root.is_file() and fnmatchcase(root.name, "manifest*.json"):
        named = set(_NAMED.findall(head_of(root, 1_000_000)))
        yield from (path for path in files(root.parent, "*.zip", _CONVERSATIONS) if path.name.encode() in named)
    else:
        yield from files(root, "*.zip", _CONVERSATIONS, f"*/{_CONVERSATIONS}")


def has_field(path: Path, field: str) -> bool:
    """Return whether the first conversations of an export have a field, which tells the program."""
    try:
        with open_regular(path) as file:
            for stream in _streams(path, file, None):
                return f'"{field}"'.encode() in stream.read(_HEAD)
    except (OSError, ValueError, RuntimeError, NotImplementedError, zipfile.BadZipFile):
        pass
    return False


def conversations(path: Path, reading: Reading) -> Iterator[Mapping[str, Any]]:
    """Yield the conversations of a file of an export."""
    try:
        with open_regular(path) as file:
            for stream in _streams(path, file, _MOST_GROWTH):
                yield from elements(stream, reading)
    except zipfile.BadZipFile as exc:
        raise OSError(f"it is not a readable zip file: {exc}") from exc


def _streams(path: Path, file: IO[bytes], most_growth: int | None) -> Iterator[IO[bytes]]:
    if path.suffix != ".zip":
        yield file
        return
    with zipfile.ZipFile(file) as archive:
        for member in sorted(archive.infolist(), key=lambda info: info.filename):
            folders, _, name = member.filename.rpartition("/")
            if fnmatchcase(name, _CONVERSATIONS) and "__MACOSX" not in folders:
                if most_growth and member.file_size > max(_SUSPICIOUS, most_growth * member.compress_size):
                    raise OSError(f"{name} in it is much larger than what an export contains")
                with archive.open(member) as stream:
                    yield stream


class _Export(Reader):
    """The conversations in exports, which the user names."""

    #: The field of a conversation that has its messages, which tells the program.
    _field: str

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the files of an export."""
        yield from (transcript(self.name, path) for path in export_files(root) if has_field(path, self._field))

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        for conversation in conversations(transcript.path, reading):
            known = isinstance(conversation.get(self._field), dict | list)
            reading.count(f"conversation without {self._field}", known)
            if known:
                yield from self._conversation(conversation, reading)

    @abstractmethod
    def _conversation(self, conversation: Mapping[str, Any], reading: Reading) -> Iterator[Record]:
        """Yield the records of a conversation."""


class ChatGPT(_Export):
    """Exports of ChatGPT, in which the branch up to the current message counts."""

    name = "chatgpt"
    verified = "an export of 2026"
    _field = "mapping"

    def _conversation(self, conversation: Mapping[str, Any], reading: Reading) -> Iterator[Record]:
        nodes = mapping(conversation, "mapping")
        session = Session(text(conversation, "conversation_id") or text(conversation, "id"))
        for name in reversed(_branch_of(nodes, text(conversation, "current_node"), reading)):
            message = mapping(mapping(nodes, name), "message")
            role = _ROLES.get(text(mapping(message, "author"), "role"))
            if role is not None and not _is_hidden(message):
                yield session.record(f"{session.name}:{name}", message.get("create_time"), role, _said(message))


class ClaudeExport(_Export):
    """Exports of Claude, in which the branch up to the newest message counts."""

    name = "claude-export"
    verified = "an export of September 2026"
    _field = "chat_messages"

    def _conversation(self, conversation: Mapping[str, Any], reading: Reading) -> Iterator[Record]:
        session = Session(text(conversation, "uuid"))
        for message in _newest_branch(items(conversation, "chat_messages"), reading):
            role = _ROLES.get(text(message, "sender"))
            if role is not None:
                said = text_of(message.get("content"), ("text",)) or text(message, "text")
                yield session.record(text(message, "uuid"), message.get("created_at"), role, said)


def _branch_of(nodes: Mapping[str, Any], leaf: str, reading: Reading) -> dict[str, None]:
    """Return the messages from a leaf up to the root; without a known leaf, from the last one in the file."""
    last = leaf if leaf in nodes else next(reversed(list(nodes)), "")
    return branch_to(last, {name: text(mapping(nodes, name), "parent") for name in nodes}, reading)


def _is_hidden(message: Mapping[str, Any]) -> bool:
    hidden = mapping(message, "metadata").get("is_visually_hidden_from_conversation")
    return bool(hidden) or message.get("recipient", "all") not in ("all", None)


def _said(message: Mapping[str, Any]) -> str:
    content = mapping(message, "content")
    parts = content.get("parts")
    if text(content, "content_type") not in ("text", "multimodal_text") or not isinstance(parts, list):
        return ""
    return _CITATION.sub("", "\n".join(part for part in parts if isinstance(part, str))).strip()


def _newest_branch(messages: list[Mapping[str, Any]], reading: Reading) -> list[Mapping[str, Any]]:
    """Return the messages from the root to the newest leaf; all of them if they do not name their parents."""
    known = {text(message, "uuid"): message for message in messages}
    parents = {name: text(message, "parent_message_uuid") for name, message in known.items()}
    above = set(parents.values())
    if not above - {""}:
        return messages
    # In a cycle of parents, no message is a leaf.
    leaves = [message for message in messages if text(message, "uuid") not in above] or messages
    last = text(max(leaves, key=lambda message: text(message, "created_at"), default={}), "uuid")
    return [known[name] for name in reversed(branch_to(last, parents, reading))]
