"""Read transcripts into turns and the memories that they become, without storing anything.

First the words of each turn are read; the statements in them, which take most of the time, when the words are stored.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from memotherm.history.exchanges import Exchange, exchanges, fix_of, texts_of, words_of
from memotherm.history.helper import Helper
from memotherm.history.places import EXCLUDED, Places
from memotherm.history.reader import Reader
from memotherm.history.records import Reading, Transcript
from memotherm.history.turns import Turn, Turns
from memotherm.hooks.hosts import HOSTS, PREFIXES
from memotherm.hooks.project import user_name
from memotherm.hooks.turns import Content
from memotherm.model import Priority, Tier, Trust
from memotherm.model.memory import HISTORY, UNREAD_TURN
from memotherm.settings import Settings
from memotherm.statements.kinds import Kind, holds_until, read_together
from memotherm.text.claims import Claims, claims_of_many
from memotherm.text.content import digest, without_blocks
from memotherm.text.redaction import redactor
from memotherm.text.triggers import FIX

#: Called with (bytes read, bytes of all transcripts).
Progress = Callable[[int, int], None]

#: How commands to a host begin.
_COMMANDS = ("/", "!")
#: More than is kept, so that no secret is cut in two before redaction.
_READ_CHARS = 40_000
_MAX_CHARS = 20_000
#: For how long the turns of past sessions are warm; statements are warm for as long as others that nobody uses.
_WARM_DAYS = 45
#: A session whose last record is younger than this may go on: its last turn is read again later.
_OPEN = timedelta(hours=1)
#: How many exchanges the helper gets at once, and how many such batches may wait.
_BATCH, _MOST_BATCHES = 64, 5
#: The kinds of what is said in passing.
_PASSING = ("message", UNREAD_TURN)
#: The most transcripts that are named because of a problem.
_MOST_PROBLEMS = 20


@dataclass(slots=True)
class Found:
    """What was found of one program."""

    source: str
    #: The version whose files were last checked, and those that wrote the transcripts.
    verified: str
    #: Whether these are the prompts of sessions whose transcript is gone.
    deleted: bool = False
    versions: set[str] = field(default_factory=set)
    roots: list[str] = field(default_factory=list)
    #: Transcripts, those that are new or have grown, and the bytes of these.
    transcripts: int = 0
    unread: int = 0
    bytes: int = 0
    sessions: set[str] = field(default_factory=set)
    #: The exchanges of each project, and those left out, by reason.
    projects: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    first: datetime | None = None
    last: datetime | None = None
    #: The turns and the solved errors to store, and the secrets that were replaced in them.
    kept: Counter[str] = field(default_factory=Counter)
    redacted: int = 0
    #: Entries that cannot be read, and types of entries that are not known.
    broken: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    #: The transcripts that could not be read, and why: the first of them, and how many there are.
    problems: dict[str, str] = field(default_factory=dict)
    unreadable: int = 0

    def add_time(self, time: datetime) -> None:
        """Count a moment to those from which something was found."""
        self.first = min(time, self.first or time)
        self.last = max(time, self.last or time)

    def add_problem(self, path: str, why: str) -> None:
        """Count a transcript that could not be read."""
        self.unreadable += 1
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems[path] = why

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self) | {
            "versions": sorted(self.versions), "sessions": len(self.sessions),
            "projects": dict(self.projects.most_common()), "left_out": dict(self.left_out), "kept": dict(self.kept),
            "unknown": dict(self.unknown), "first": self.first and self.first.isoformat(),
            "last": self.last and self.last.isoformat(),
        }  # fmt: skip


def transcript_key(transcript: Transcript) -> str:
    """Return the name under which a store notes that a transcript was read."""
    return digest(f"{transcript.source}\n{transcript.path}\n{transcript.session}")


class _Pending(NamedTuple):
    """An exchange of which the words are being read."""

    exchange: Exchange
    #: When it was said, not in the future; None if that is not known.
    time: datetime | None
    project: str
    transcript: Transcript
    number: int
    found: Found


class _Kept(NamedTuple):
    """What is kept of an exchange, without secrets, and how many were replaced."""

    prompt: str
    answer: str
    files: list[str]
    words: Content | None
    fixes: list[Content]
    secrets: int


def _kept_of(exchanges: Sequence[Exchange], settings: Settings) -> list[_Kept | str]:
    """Return what is kept of each exchange; the reason instead if that fails."""
    kept: list[_Kept | str] = []
    for exchange in exchanges:
        try:
            kept.append(_kept(exchange, settings))
        except Exception as error:  # noqa: BLE001 - one bad transcript must not stop the others
            kept.append(f"{type(error).__name__}: {error}")
    return kept


def _kept(exchange: Exchange, settings: Settings) -> _Kept:
    redact, secrets = redactor(settings).redact, 0

    def redacted(text: str) -> str:
        nonlocal secrets
        clean, count = redact(text.strip()[:_READ_CHARS])
        secrets += count
        return clean[:_MAX_CHARS]

    prompt, answer = _said(redacted(exchange.prompt)), _said(redacted(exchange.answer))
    files = [redacted(file) for file in exchange.files]
    fixes = [fix_of(each, redacted) for each in exchange.fixes]
    return _Kept(prompt, answer, files, words_of(prompt, answer, settings.tokenizer), fixes, secrets)


class Statements(NamedTuple):
    """What was said in some turns."""

    #: What to store of each; the reason if it cannot be read.
    contents: list[list[Content] | str]
    #: The claims of all of it.
    claims: dict[str, Claims]


def statements_of(turns: Sequence[tuple[str, str, Content | None]], tokenizer: str) -> Statements:
    """Read the statements in prompts with the networks, given the answers and the words of each turn."""
    read_together(prompt for prompt, _, _ in turns)
    read: list[list[Content] | str] = []
    for prompt, answer, words in turns:
        try:
            # What is empty now is stored as it was found.
            read.append((texts_of(prompt, answer, tokenizer) or [words]) if words else [])
        except Exception as error:  # noqa: BLE001 - one bad turn must not stop the others
            read.append(f"{type(error).__name__}: {error}")
    contents = (content for found in read if not isinstance(found, str) for content in found)
    return Statements(read, claims_of_many(content.text for content in contents))


class TranscriptReader:
    """Reads transcripts into entries, and counts what it finds."""

    def __init__(
        self,
        settings: Settings,
        places: Places,
        now: datetime,
        *,
        captured: Mapping[str, datetime],
        trust: Trust = Trust.PERSON,
        since: datetime | None = None,
        helper: Helper | None = None,
    ) -> None:
        self.turns = Turns()
        self._helper = helper or Helper()
        self._batch: list[_Pending] = []
        self._waiting: deque[tuple[list[_Pending], Future[list[_Kept | str]]]] = deque()
        #: The transcripts that were read to their end, and the state in which they were, by number.
        self.read: dict[int, Transcript] = {}
        #: Those of which something was left out because it is not wanted.
        self.partly: set[int] = set()
        self._settings = settings
        self._places = places
        self._now = now
        self._captured = captured
        self._trust = trust
        self._since = since
        self._next = 0
        self._user = user_name()

    def add(self, source: Reader, transcripts: Iterable[Transcript], found: Found) -> Iterator[int]:
        """Read transcripts, and yield the size of each when it was read; a broken one does not stop the others."""
        for transcript in transcripts:
            self._read(source, transcript, found)
            yield transcript.size
        self._send()
        while self._waiting:
            self._take()

    def _read(self, source: Reader, transcript: Transcript, found: Found) -> None:
        reading, number, complete = Reading(), self._next, True
        self._next += 1
        try:
            for exchange in exchanges(source.read(transcript, reading)):
                if exchange.end is not None and abs(self._now - exchange.end) < _OPEN:
                    # Its answer may be still to come; hooks or the next run store it.
                    complete = False
                    continue
                self._add(exchange, transcript, number, found)
        except Exception as error:  # noqa: BLE001 - one bad transcript must not stop the others
            reading.problem = reading.problem or f"{type(error).__name__}: {error}"
        found.versions |= {reading.version} - {""}
        found.broken += reading.broken
        found.unknown += reading.unknown
        if not reading.known and not reading.records and not reading.problem:
            reading.problem = "no known entry" if reading.broken or reading.unknown else "empty"
        if reading.problem:
            version = f" (written by version {reading.version})" if reading.version else ""
            found.add_problem(str(transcript.path), f"{reading.problem}{version}")
        elif complete:
            self.read[number] = transcript

    def _add(self, exchange: Exchange, transcript: Transcript, number: int, found: Found) -> None:
        """Have the words of an exchange read, if it is wanted."""
        time = min(exchange.time, self._now) if exchange.time else None
        place = self._places.place(exchange.folder, transcript.source)
        reason = place.left_out or (EXCLUDED if self._places.excludes(exchange.session) else "")
        if not reason and self._since is not None and (time is None or time < self._since):
            reason = "older"
        stored = self._captured.get(exchange.session)
        if not reason and stored is not None and (time is None or time >= stored):
            reason = "stored by hooks"
        if reason:
            found.left_out[reason] += 1
            self.partly.add(number)
            return
        if time is not None:
            found.add_time(time)
        found.sessions.add(exchange.session)
        found.projects[place.name] += 1
        exchange.prompt, exchange.answer = (each.strip()[:_READ_CHARS] for each in (exchange.prompt, exchange.answer))
        self._batch.append(_Pending(exchange, time, place.name, transcript, number, found))
        if len(self._batch) == _BATCH:
            self._send()

    def _send(self) -> None:
        """Let the helper read the words of the exchanges of a batch, and add those that it has read."""
        batch = [each.exchange for each in self._batch]
        self._waiting.append((self._batch, self._helper.call(_kept_of, batch, self._settings)))
        self._batch = []
        while len(self._waiting) > _MOST_BATCHES:
            self._take()

    def _take(self) -> None:
        """Add the turns of the batch that has waited for longest."""
        batch, read = self._waiting.popleft()
        for pending, kept in zip(batch, read.result(), strict=True):
            found = pending.found
            if isinstance(kept, str):
                found.add_problem(str(pending.transcript.path), kept)
                self.read.pop(pending.number, None)
            elif (kept.words or kept.fixes) and self.turns.add(self._turn(pending, kept), pending.number):
                found.redacted += kept.secrets
                found.kept += Counter({"turn": 1, FIX: len(kept.fixes)})

    def _turn(self, pending: _Pending, kept: _Kept) -> Turn:
        exchange, time = pending.exchange, pending.time
        where = {"folder": exchange.folder, "branch": exchange.branch, "files": kept.files}
        return Turn(
            pending.transcript.source, exchange.id, exchange.session, time, time or self._now,
            exchange.end or time or self._now, pending.project, {name: value for name, value in where.items() if value},
            kept.prompt, kept.answer, kept.words, kept.fixes, pending.found.deleted,
        )  # fmt: skip

    def unread(self, turn: Turn) -> dict[str, Any]:
        """Return a turn as one memory, of which the words are found and the statements are still to be read."""
        contents = (*filter(None, [turn.words]), *turn.fixes)
        text = "\n".join(dict.fromkeys(content.text for content in contents))
        return self._entry(turn, contents[0]._replace(text=text, kind=Kind(UNREAD_TURN)), 0)

    def entries(self, turn: Turn, contents: Sequence[Content]) -> list[dict[str, Any]]:
        """Return the memories that a turn becomes, given its texts."""
        return [self._entry(turn, content, number) for number, content in enumerate((*contents, *turn.fixes))]

    def _entry(self, turn: Turn, content: Content, number: int) -> dict[str, Any]:
        """Return the memory to store for a text."""
        text, time, age = content.text, turn.time, self._age(turn)
        kind = self._kind(content, age)
        metadata = {"role": content.role, "session": turn.session, "client": _client(turn.source), **turn.place}
        metadata |= {} if time is not None else {"time": "unknown"}
        metadata |= {"transcript": "deleted"} if turn.deleted else {}
        scope = {"user": self._user} if content.kind.about_user else {"project": turn.project, "user": self._user}
        until = None if time is None or kind in ("task", UNREAD_TURN) else holds_until(text, time.date())
        trust = Trust.IMPORT if turn.deleted else self._trust
        return {
            "content": text,
            "kind": kind,
            "tags": list(content.kind.tags),
            "tier": str(self._tier(kind, age)),
            # What was said in passing comes behind what was stored as a fact.
            "priority": str(Priority.LOW if kind in _PASSING else Priority.NORMAL),
            "metadata": metadata,
            "source": f"history:{turn.source}",
            "valid_until": until,
            "scope": {**scope, "agent": HISTORY},
            "trust": str(trust if content.role == "user" else trust.at_most(Trust.AGENT)),
            "created_at": turn.moment,
            "state": {
                "id": f"mem_{digest(f'{turn.source} {turn.id} {number}')[:26]}",
                "tier_rule": "history",
                "updated_at": turn.moment,
            },
        }

    def _age(self, turn: Turn) -> timedelta | None:
        return None if turn.time is None else self._now - turn.time

    def _kind(self, content: Content, age: timedelta | None) -> str:
        """Return the kind of a memory; nobody knows whether an old task is still open."""
        kind = content.kind.name
        if kind == "task" and (age is None or age > timedelta(days=self._settings.task_cold_after_days)):
            kind = "message"
        return kind

    def _tier(self, kind: str, age: timedelta | None) -> Tier:
        """Return the tier of a memory by its age; a rule holds until it is changed."""
        if kind == "rule":
            return Tier.WARM
        days = min(_WARM_DAYS, self._settings.cool_warm_days) if kind in _PASSING else self._settings.cool_warm_days
        return Tier.WARM if age is not None and age <= timedelta(days=days) else Tier.COLD


def _client(source: str) -> str:
    """Return what the hooks of a program call it."""
    host = HOSTS.get(source)
    return (host.client if host is not None else "") or source


def _said(text: str) -> str:
    """Return a text without recalled memories; empty for commands to the host and texts that it wrote."""
    said = without_blocks(text).strip()
    return "" if said.startswith((*PREFIXES, *_COMMANDS)) else said
