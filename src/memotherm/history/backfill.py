"""`memotherm backfill`: past sessions of coding agents and chat programs become memories, oldest first.

A run is one batch of the ledger: all its events have the batch as their actor, and `undo --batch` takes them back.
Entries and the note that a transcript was read are committed together, so that a run that was killed goes on where
it stopped. An entry has the same id in every run, so that a transcript that has grown, was resumed, forked or
replayed stores nothing twice.
"""

from __future__ import annotations

import secrets
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from memotherm import Memotherm
from memotherm.errors import Forbidden, InvalidInput, LimitReached, NotFound
from memotherm.facade.queries import LARGEST_PAGE
from memotherm.facade.undoing import BATCHES
from memotherm.history.helper import Helper
from memotherm.history.places import Places
from memotherm.history.reader import Reader
from memotherm.history.reading import Found, Progress, TranscriptReader, transcript_key
from memotherm.history.records import Transcript
from memotherm.history.sources.claude_code import DeletedSessions
from memotherm.model import Memory, Trust
from memotherm.model.memory import HISTORY
from memotherm.model.value import Value
from memotherm.settings.paths import environment
from memotherm.text.claims import Claims, claims_of_many
from memotherm.text.content import digest, pluralize

#: How many entries are stored in one transaction.
_GROUP = 500
#: From how many bytes of transcripts on a second process pays, which takes a second to start.
_WORTH_HELP = 8_000_000
#: How many of them wait for their claims.
_MOST_WAITING = 2
_OUTCOMES = ("stored", "known", "forgotten")


class Wanted(NamedTuple):
    """Which sessions are wanted."""

    #: Not those of before this moment.
    since: datetime | None = None
    #: Only projects, and no projects, folders and sessions, that match one of these patterns.
    projects: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    #: Only this folder or file, instead of those that the programs use.
    path: Path | None = None


_EVERYTHING = Wanted()


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Backfilled(Value):
    """The result of a backfill."""

    #: The name of the batch, for `undo --batch`; empty if nothing was stored.
    batch: str
    stored: int = 0
    #: Entries that were stored before, that were forgotten here, and that could not be stored, by reason.
    known: int = 0
    forgotten: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        details = [f"{self.known} known already"]
        if self.forgotten:
            details.append(f"{self.forgotten} forgotten here before")
        details += [f"{count} left out: {why}" for why, count in self.skipped.items()]
        return f"{pluralize(self.stored, 'memory')} of past sessions stored ({', '.join(details)})"


class Backfill:
    """One run: what there is to read, what would be kept, and storing it."""

    def __init__(
        self,
        mem: Memotherm,
        sources: Mapping[str, Reader],
        wanted: Wanted = _EVERYTHING,
        environ: Mapping[str, str] | None = None,
        home: Path | None = None,
    ) -> None:
        self._mem = mem
        self._now = mem.store.key_value("").now()
        # Without the path, which decides what is listed.
        wishes = (mem.settings.capture_exclude, *wanted[:-1])
        self._without = digest(repr(wishes))
        self._read = mem.store.transcripts_read()
        self._places = Places(mem.settings, wanted.exclude, wanted.projects)
        #: The programs of which something was found, with the transcripts that were not read yet.
        self._unread: list[tuple[Reader, Found, list[Transcript]]] = []
        self._helper = Helper()
        # Nobody knows who wrote files that were brought from elsewhere.
        trust = Trust.PERSON if wanted.path is None else Trust.IMPORT
        self._reader = TranscriptReader(
            mem.settings, self._places, self._now,
            captured=mem.store.captured_sessions(), trust=trust, since=wanted.since, helper=self._helper,
        )  # fmt: skip
        # The prompts of a session that was read are known, also when its transcript is gone.
        deleted = DeletedSessions({state.get("session", "") for state in self._read.values()})
        variables, folder = environment() if environ is None else environ, home or Path.home()
        for source in (*sources.values(), deleted):
            self._list(source, source.roots(variables, folder) if wanted.path is None else [wanted.path])
        if wanted.path is not None and not self._unread:
            raise NotFound(f"{wanted.path} has no transcripts of a known program: {', '.join(sources)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.entries.close()
        self._helper.close()

    @property
    def found(self) -> list[Found]:
        """What was found, by program."""
        return [found for _, found, _ in self._unread]

    @property
    def entries(self) -> int:
        """How many memories `store` would store, unless they are known."""
        return len(self._reader.entries)

    def excluded(self) -> list[Memory]:
        """Return the memories of past sessions whose project, folder or session is excluded now."""
        found: list[Memory] = []
        cursor = "" if self._places.exclude else None
        while cursor is not None:
            page = self._mem.find(include_narrower=True, limit=LARGEST_PAGE, cursor=cursor or None)
            found += [memory for memory in page if memory.scope.agent == HISTORY and self._is_excluded(memory)]
            cursor = page.cursor
        return found

    def _is_excluded(self, memory: Memory) -> bool:
        session, folder = (str(memory.metadata.get(name, "")) for name in ("session", "folder"))
        return self._places.excludes(session, memory.scope.project or "", folder)

    def forget(self, memories: Sequence[Memory]) -> None:
        """Delete memories, as `forget` does."""
        for memory in memories:
            self._mem.scoped(**dict(memory.scope.items())).forget(memory.id, why="excluded")

    def _list(self, source: Reader, roots: Sequence[Path]) -> None:
        """List the transcripts of a program, without parsing them."""
        found, unread = Found(source.name, source.verified), list[Transcript]()
        found.deleted = isinstance(source, DeletedSessions)
        for root in roots:
            listed = 0
            try:
                for transcript in source.transcripts(root):
                    listed += 1
                    if not self._is_read(transcript):
                        unread.append(transcript)
            except OSError as error:
                found.add_problem(str(root), error.strerror or str(error))
                listed += 1
            if listed:
                found.roots.append(str(root))
            found.transcripts += listed
        found.unread, found.bytes = len(unread), sum(transcript.size for transcript in unread)
        if found.transcripts:
            self._unread.append((source, found, unread))

    def _is_read(self, transcript: Transcript) -> bool:
        """Return whether a transcript was read in this state, and all of it that is wanted."""
        state = self._read.get(transcript_key(transcript), {})
        return state.get("changed") == transcript.changed and state.get("without", self._without) == self._without

    def _state(self, number: int, batch: str) -> dict[str, str]:
        """Return what the store notes about a transcript that was read; if something was left out, by which wishes."""
        transcript = self._reader.read[number]
        state = {"changed": transcript.changed, "session": transcript.session, "batch": batch}
        return {**state, "without": self._without} if number in self._reader.partly else state

    def read(self, progress: Progress = lambda done, total: None) -> None:  # noqa: ARG005 - nobody listens
        """Read the transcripts that are new or have grown; nothing is stored."""
        total, done = sum(found.bytes for found in self.found), 0
        if total > _WORTH_HELP:
            self._helper.start()
        for source, found, unread in self._unread:
            for size in self._reader.add(source, unread, found):
                done += size
                progress(done, total)

    def store(self, progress: Progress = lambda done, total: None) -> Backfilled:  # noqa: ARG005 - nobody listens
        """Store what was read, oldest first; what is done stays if it is interrupted."""
        self._places.trust()
        batch = f"{BATCHES}{self._now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        reader, outcomes = self._reader, Counter[str]()
        left = reader.entries.counts()
        finished = {number for number in reader.read if not left[number]}
        group: list[dict[str, Any]] = []
        #: Groups of which the claims are being found, with the transcripts that are read when they are stored.
        waiting: deque[tuple[list[dict[str, Any]], set[int], Future[dict[str, Claims]]]] = deque()

        def send() -> None:
            nonlocal group, finished
            contents = [entry["content"] for entry in group]
            waiting.append((group, finished, self._helper.call(claims_of_many, contents)))
            group, finished = [], set()

        def write() -> None:
            entries, complete, claims = waiting.popleft()
            read = {transcript_key(reader.read[number]): self._state(number, batch) for number in complete}
            outcomes.update(self._store(entries, batch, read, claims.result()))
            progress(min(sum(outcomes.values()), len(reader.entries)), len(reader.entries))

        for entry, number in reader.entries.oldest_first():
            group.append(entry)
            left[number] -= 1
            if not left[number] and number in reader.read:
                finished.add(number)
            if len(group) == _GROUP:
                send()
            if len(waiting) > _MOST_WAITING:
                write()
        if group or finished:
            send()
        while waiting:
            write()
        counts = {name: outcomes.pop(name, 0) for name in _OUTCOMES}
        return Backfilled(batch=batch if counts["stored"] else "", skipped=dict(outcomes), **counts)

    def _store(
        self,
        entries: Sequence[dict[str, Any]],
        batch: str,
        read: Mapping[str, Mapping[str, Any]],
        claims: Mapping[str, Claims],
    ) -> list[str]:
        """Store entries; if one of them is refused, all others, and the reason for that one."""
        try:
            return [_outcome(each) for each in self._mem.store.add_history(entries, batch, self._now, read, claims)]
        except (InvalidInput, LimitReached, Forbidden) as error:
            if not entries:
                raise
            if len(entries) == 1:
                with suppress(InvalidInput):
                    self._mem.store.add_history([], batch, self._now, read)
                return [str(error)]
        middle = len(entries) // 2
        first = self._store(entries[:middle], batch, {}, claims)
        return first + self._store(entries[middle:], batch, read, claims)


def _outcome(text: str) -> str:
    """Return the outcome of an entry: one that is here already, in whatever state, is known."""
    return text if text in _OUTCOMES else "known"
