"""Claude Code: one file of lines for each session, in which every entry names its parent.

An edited prompt or a rewind starts a new branch of this tree, so a file is read twice: once for the tree, of which the
branch up to the last entry counts, and once for the entries of that branch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.history.lines import SMALL, entries, lines, open_regular
from memotherm.history.listing import files, head_of, transcript
from memotherm.history.reader import INTERRUPTED, Reader, Session, actions, element, typed
from memotherm.history.records import Reading, Record, Role, Transcript
from memotherm.history.values import blocks_of, mapping, moment, parsed, text, text_of
from memotherm.hooks.hosts import CLIENTS
from memotherm.settings.paths import client_home
from memotherm.text.content import digest

_HOST = CLIENTS["claude"]
_TREE = frozenset(("user", "assistant", "system", "attachment", "progress"))
#: Entries without anything to keep. Some hold a second copy of every message.
_IGNORED = frozenset(
    """
    agent-color agent-name agent-setting ai-title api-request api-request-blob api-request-shape
    artifact-autoreact-ledger atis-latch attribution-snapshot bridge-session content-replacement cost-state custom-title
    file-history-delta file-history-snapshot frame-link history-suppression mode permission-mode pr-link queue-operation
    repl-mode resume-head-vouch saved-hook-context speculation-accept summary tag tools-used worktree-state
    """.split()  # noqa: SIM905 - a list would take thirty lines
)
_FIRST_TYPE = re.compile(rb'\{"type":"([a-z-]{1,60})"')
_PARENT = re.compile(rb'\{"parentUuid":(?:"([^"\\]{1,80})"|null)')
_ATTACHMENT = re.compile(rb'"type":"attachment","uuid":"([^"\\]{1,80})"')
_QUEUED = b'"attachment":{"type":"queued_command"'
_PREFIXES = (
    *_HOST.prefixes,
    *(
        f"<{name}"
        for name in (
            "command-", "bash-", "teammate-message", "agent-message", "cross-session-message", "channel", "tick",
            "fork-boilerplate", "ide_",
        )
    ),
)  # fmt: skip
_ELEMENTS = (r"ide_\w{1,40}", "system-reminder")
#: What stands in for the output of a tool that the user did not allow.
_REFUSED = ("The user doesn't want to", INTERRUPTED)
#: Fields of an entry that the user did not type.
_RESULT_FIELDS = ("toolUseResult", "sourceToolAssistantUUID", "sourceToolUseID")


class ClaudeCode(Reader):
    """The transcripts below ~/.claude/projects, with those of subagents."""

    name = _HOST.name
    verified = "2.1.325"

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("CLAUDE_CONFIG_DIR", home / ".claude", environment) / "projects"

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions in a folder of projects, in the folder above it, or of one project."""
        known = root.name == "projects" or (root / "projects").is_dir()
        root = root / "projects" if root.name != "projects" and known else root
        for path in files(
            root, "*.jsonl", "*/*.jsonl", "*/subagents/**/agent-*.jsonl", "*/*/subagents/**/agent-*.jsonl"
        ):
            if known or _is_ours(head_of(path)):
                yield transcript(self.name, path, path.stem.removeprefix("agent-"))

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:
        subagent = transcript.path.name.startswith("agent-")
        tree = _Tree(transcript, reading, subagent)
        session = _Conversation(tree.copies)
        for number, entry in tree.live_entries():
            yield from session.records(number, entry)
        yield from session.unfinished()


def _is_ours(head: bytes) -> bool:
    return b'"sessionId":' in head and b'"type":' in head and b'"projectHash"' not in head


def _is_needed(head: bytes) -> bool:
    kind = _FIRST_TYPE.match(head)
    return kind is None or kind[1].decode() in _TREE or kind[1] == b"last-prompt"


class _Node(NamedTuple):
    number: int
    parent: str
    #: The id of the message of an answer, or the entry that called the tool of a result.
    of: str


class _Said(NamedTuple):
    """A text of an answer."""

    place: tuple[int, int]
    id: str
    #: The number of its block in the answer, in newer files.
    position: object
    text: str


class _Tree:
    """The entries of a file by id, with the parent of each."""

    def __init__(self, transcript: Transcript, reading: Reading, subagent: bool) -> None:
        #: The entries by line, of a file that is small; of another one they are read again.
        self.entries: dict[int, Mapping[str, Any]] | None = {} if transcript.size <= SMALL else None
        #: The places (line, block) of texts that are repeated with more at the end; the last has the id of the first.
        self.copies: dict[tuple[int, int], str] = {}
        self._nodes: dict[str, _Node] = {}
        #: The entry that the last line about it calls the last one, and whether messages follow that line.
        self._leaf, self._last = "", False
        self._message, self._said = "", list[_Said]()
        self._path = transcript.path
        self._subagent = subagent
        self._reading = reading
        with open_regular(transcript.path) as file:
            for number, line in enumerate(lines(file, reading, self._is_needed)):
                attachment = _ATTACHMENT.search(line) if b'"attachment":' in line[:300] else None
                if attachment is not None and _QUEUED not in line[:2048]:
                    parent = _PARENT.match(line)
                    reading.known += 1
                    above = parent[1] if parent is not None else None
                    self._add(number, attachment[1].decode(), (above or b"").decode(), "")
                    continue
                entry = parsed(line)
                if entry is None:
                    reading.broken += 1
                else:
                    self._take(number, entry)
                    if self.entries is not None:
                        self.entries[number] = entry

    def _is_needed(self, head: bytes) -> bool:
        needed = _is_needed(head)
        if not needed:
            kind = head[9:].partition(b'"')[0].decode()
            self._reading.count(kind, kind in _IGNORED)
        return needed

    def _take(self, number: int, entry: Mapping[str, Any]) -> None:
        kind = text(entry, "type")
        self._reading.count(kind, kind in _TREE or kind in _IGNORED or kind == "last-prompt")
        if kind == "last-prompt":
            self._leaf, self._last = text(entry, "leafUuid"), False
        elif text(entry, "uuid") and bool(entry.get("isSidechain")) == self._subagent:
            self._reading.version = text(entry, "version") or self._reading.version
            message = text(mapping(entry, "message"), "id")
            parent = text(entry, "parentUuid") or text(entry, "logicalParentUuid")
            self._add(number, text(entry, "uuid"), parent, message or text(entry, "sourceToolAssistantUUID"))
            if message:
                self._compare(number, message, entry)
            elif not text(entry, "sourceToolAssistantUUID"):
                self._message = ""
            self._last = self._last or kind in ("user", "assistant")

    def _add(self, number: int, uuid: str, parent: str, of: str) -> None:
        known = self._nodes.get(uuid)
        if known is None:
            self._nodes[uuid] = _Node(number, parent, of)
        elif of and of == self._message:
            self._nodes[uuid] = _Node(number, known.parent or parent, of)
        elif not known.parent and parent != uuid:
            self._nodes[uuid] = known._replace(parent=parent)

    def _compare(self, number: int, message: str, entry: Mapping[str, Any]) -> None:
        """Note the texts of an answer that this entry repeats with more at the end."""
        if message != self._message:
            self._message, self._said = message, []
        position = entry.get("apiBlockIndex")
        for block, content in enumerate(blocks_of(mapping(entry, "message").get("content"))):
            new = _Said((number, block), _place_of(entry, block), position, text(content, "text"))
            if text(content, "type") != "text" or not new.text:
                continue
            for old in [each for each in self._said if each.position == position and new.text.startswith(each.text)]:
                self.copies[old.place] = ""
                new = new._replace(id=old.id)
                self.copies[new.place] = old.id
                self._said.remove(old)
            self._said.append(new)

    def live_entries(self) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """Yield the entries of the conversation, with their lines."""
        live = self._live()
        if self.entries is not None:
            yield from ((number, self.entries[number]) for number in sorted(live) if number in self.entries)
            return
        with open_regular(self._path) as file:
            for number, line in enumerate(lines(file, None, _is_needed)):
                entry = parsed(line) if number in live else None
                if entry is not None:
                    yield number, entry

    def _live(self) -> Collection[int]:
        """Return the lines of the branch up to the last entry, and of the calls and results beside it."""
        order = list(self._nodes)
        places = {uuid: place for place, uuid in enumerate(order)}
        path: dict[str, None] = {}
        at, first = self._tip(), len(order)
        while at:
            path[at] = None
            place, parent = places[at], self._nodes[at].parent
            first = min(first, place)
            # The line of a parent may be broken; the entry before it then stands for it.
            at = parent if parent in self._nodes or not parent else "".join(order[place - 1 : place])
            if at in path:
                # In a cycle of parents, the entry before all of them does.
                self._reading.broken += 1
                at = "".join(order[first - 1 : first])
        answers = {self._nodes[each].of for each in path} - {""}
        called = {uuid for uuid, node in self._nodes.items() if uuid in path or node.of in answers}
        return {node.number for uuid, node in self._nodes.items() if uuid in called or node.of in called}

    def _tip(self) -> str:
        """Return the last entry of the conversation.

        It is the one that the last line about it names, unless messages follow that line, and without such a line the
        newest one that is not a parent.
        """
        if self._leaf in self._nodes and not self._last:
            return self._leaf
        parents = {node.parent for node in self._nodes.values()}
        # In a cycle, all of them may be parents.
        tips = [uuid for uuid in self._nodes if uuid not in parents] or self._nodes
        return max(tips, key=lambda uuid: self._nodes[uuid].number, default="")


class _Conversation(Session):
    """Makes records of the entries of a session, in which a call and its result are two entries."""

    def __init__(self, copies: Mapping[tuple[int, int], str]) -> None:
        super().__init__("")
        self._copies = copies
        #: A queued prompt, which may be repeated as an ordinary one.
        self._queued_prompt = ""

    def records(self, number: int, entry: Mapping[str, Any]) -> Iterator[Record]:
        """Yield the records of an entry, and the calls that it is the result of."""
        kind = text(entry, "type")
        if kind == "assistant":
            yield from self._answer(number, entry)
        elif kind == "user":
            yield from self._results(entry)
            yield from self._prompts(entry)
        elif kind == "attachment":
            yield from self._queued(entry)

    def _answer(self, number: int, entry: Mapping[str, Any]) -> Iterator[Record]:
        message = mapping(entry, "message")
        if entry.get("isApiErrorMessage") or message.get("model") == "<synthetic>":
            return
        for block, content in enumerate(blocks_of(message.get("content"))):
            name = self._copies.get((number, block), _place_of(entry, block))
            if text(content, "type") == "text" and name:
                yield _record(entry, name, "assistant", text(content, "text").strip())
            elif text(content, "type") == "tool_use":
                done = actions(text(content, "name"), mapping(content, "input"))
                self.wait_for(text(content, "id"), [_record(entry, name, *action) for action in done])

    def _results(self, entry: Mapping[str, Any]) -> Iterator[Record]:
        for block in blocks_of(mapping(entry, "message").get("content")):
            output = text_of(block.get("content"))
            if block.get("is_error") and output.startswith(_REFUSED):
                self.taken(text(block, "tool_use_id"))
            yield from self.finished(text(block, "tool_use_id"), output, failed=bool(block.get("is_error")))

    def _prompts(self, entry: Mapping[str, Any]) -> Iterator[Record]:
        written = entry.get("isMeta") or entry.get("isCompactSummary") or entry.get("promptSource") == "system"
        if not written and not any(field in entry for field in _RESULT_FIELDS):
            yield from self._prompt_of(entry, mapping(entry, "message").get("content"))

    def _queued(self, entry: Mapping[str, Any]) -> Iterator[Record]:
        """Yield a prompt that was typed while the agent worked."""
        queued = mapping(entry, "attachment")
        if not (queued.get("isMeta") or entry.get("isMeta")) and queued.get("commandMode", "prompt") == "prompt":
            for record in self._prompt_of(entry, queued.get("prompt")):
                self._queued_prompt = record.text
                yield record

    def _prompt_of(self, entry: Mapping[str, Any], content: object) -> Iterator[Record]:
        blocks = [text(block, "text") for block in blocks_of(content) if text(block, "type") == "text"]
        said = "\n".join(filter(None, map(_typed, blocks)))
        repeated, self._queued_prompt = said == self._queued_prompt, ""
        if said and not repeated:
            yield from self.unfinished()
            yield _record(entry, text(entry, "uuid"), "user", said)


def _place_of(entry: Mapping[str, Any], block: int) -> str:
    return f"{text(entry, 'uuid')}:{block}" if block else text(entry, "uuid")


def _typed(said: str) -> str:
    if said.lstrip().startswith(("<command-name>", "<command-message>")):
        arguments = element(said, "command-args")
        return arguments and f"{element(said, 'command-name')} {arguments}".strip()
    return typed(said, _PREFIXES, _ELEMENTS)


def _record(entry: Mapping[str, Any], name: str, role: Role, said: str) -> Record:
    agent = text(entry, "agentId") if entry.get("isSidechain") else ""
    session = text(mapping(entry, "forkedFrom"), "sessionId") or text(entry, "sessionId")
    return Record(
        id=name,
        session=agent or session,
        parent=session if agent else "",
        time=moment(entry.get("timestamp")),
        role=role,
        text=said,
        project=text(entry, "cwd"),
        branch=text(entry, "gitBranch"),
    )


#: The prompts of interactive sessions, without answers; it stays when transcripts are deleted.
_PROMPTS = "history.jsonl"


class DeletedSessions(Reader):
    """The prompts in ~/.claude/history.jsonl of sessions that have no transcript and were not read from one."""

    name = "claude-code-prompts"
    verified = ClaudeCode.verified

    def __init__(self, read: Collection[str] = ()) -> None:
        self._read = frozenset(read)

    def _places(self, environment: Mapping[str, str], home: Path) -> Iterator[Path]:
        yield client_home("CLAUDE_CONFIG_DIR", home / ".claude", environment) / _PROMPTS

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the one file."""
        if root.name == _PROMPTS and root.is_file() and not root.is_symlink():
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
