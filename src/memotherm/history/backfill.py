"""`memotherm backfill`: past sessions of coding agents and chat programs become memories, oldest first.

Words first: each turn is stored as one memory, which can be searched at once. Then the statements in it are read, which
takes most of the time, and the turn becomes the memories that they are, oldest first.

A run is one batch of the ledger: all its events have the batch as their actor, and `undo --batch` takes them back.
What a turn becomes and the note that its transcript was read are committed together, so that a run that was killed
goes on where it stopped, as the same batch. A memory has the same id in every run, so that a transcript that has grown,
was resumed, forked or replayed stores nothing twice.
"""

from __future__ import annotations

import secrets
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from memotherm import Memotherm
from memotherm.errors import Forbidden, InvalidInput, LimitReached, NotFound
from memotherm.facade.undoing import BATCHES
from memotherm.history.helper import Helper
from memotherm.history.places import Places
from memotherm.history.reader import Reader
from memotherm.history.reading import Found, Progress, Statements, TranscriptReader, statements_of, transcript_key
from memotherm.history.records import Transcript
from memotherm.history.sources.claude_code import DeletedSessions
from memotherm.history.turns import Turn
from memotherm.model import Memory, Priority, Trust
from memotherm.model.memory import HISTORY, UNREAD_TURN
from memotherm.model.results import LARGEST_PAGE
from memotherm.model.value import Value
from memotherm.settings.paths import environment
from memotherm.text.claims import Claims
from memotherm.text.content import digest, pluralize

#: How many turns are stored in one transaction.
_GROUP = 500
#: From how many bytes of transcripts on a second process pays, which takes a second to start.
_WORTH_HELP = 8_000_000
#: How many of them wait for their statements.
_MOST_WAITING = 2
_OUTCOMES = ("stored", "read", "known", "forgotten")
#: The name under which the store notes the batch of a run that has not come to its end.
_UNFINISHED = "unfinished"


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
        # A run that was killed goes on as the same batch, so that one name takes all of it back.
        unfinished = self._read.get(_UNFINISHED, {}).get("batch", "")
        self._goes_on = bool(unfinished)
        self._batch = unfinished or f"{BATCHES}{self._now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        self._places = Places(mem.settings, wanted.exclude, wanted.projects)
        #: The ids of the sessions that are still there, and whether all were listed.
        self._sessions, self._complete = set[str](), wanted.path is None
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
        self._reader.turns.close()
        self._helper.close()

    @property
    def found(self) -> list[Found]:
        """What was found, by program, without programs whose files are those that another program could read."""
        read = {each.path for _, found, unread in self._unread if found.sessions for each in unread}
        listed = ((found, {each.path for each in unread}) for _, found, unread in self._unread)
        return [found for found, paths in listed if found.sessions or not paths or not paths <= read]

    @property
    def turns(self) -> int:
        """How many turns `store` would store, unless they are known."""
        return len(self._reader.turns)

    def excluded(self) -> list[Memory]:
        """Return the memories of past sessions whose project, folder or session is excluded now."""
        return list(filter(self._is_excluded, self._all())) if self._places.exclude else []

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
                    self._sessions.add(transcript.session)
                    if not self._is_read(transcript):
                        unread.append(transcript)
            except OSError as error:
                found.add_problem(str(root), error.strerror or str(error))
                self._complete = False
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

    def _state(self, number: int) -> dict[str, str]:
        """Return what the store notes about a transcript that was read; if something was left out, by which wishes."""
        transcript = self._reader.read[number]
        state = {"changed": transcript.changed, "session": transcript.session, "batch": self._batch}
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

    def store(self) -> Backfilled:
        """Store what was read; what is done stays if it is interrupted."""
        self.store_words()
        return self.store_statements()

    def store_words(self, progress: Progress = lambda done, total: None) -> None:  # noqa: ARG005 - nobody listens
        """Store the turns, so that all of them can be searched."""
        self._places.trust()
        done, turns = 0, self._reader.turns.oldest_first()
        while group := list(islice(turns, _GROUP)):
            begun = {_UNFINISHED: {"batch": self._batch}}
            self._store([self._reader.unread(turn) for turn, _ in group], begun, {})
            done += len(group)
            progress(done, len(self._reader.turns))

    def store_statements(self, progress: Progress = lambda done, total: None) -> Backfilled:  # noqa: ARG005
        """Let the stored turns become what was said in them, and note which transcripts were read."""
        reader, outcomes, done = self._reader, Counter[str](), 0
        #: Groups of which the statements are being read, with the transcripts that are read when they are stored.
        waiting: deque[tuple[list[tuple[Turn, int]], set[int], Future[Statements]]] = deque()

        def write(read: Mapping[str, Mapping[str, Any]]) -> None:
            nonlocal done
            turns, complete, statements = waiting.popleft()
            outcomes.update(self._store_read(turns, complete, statements.result(), read))
            done += len(turns)
            progress(done, len(reader.turns))

        for group, complete in self._groups():
            said = [(turn.prompt, turn.answer, turn.words) for turn, _ in group]
            statements = self._helper.call(statements_of, said, self._mem.settings.tokenizer)
            waiting.append((group, complete, statements))
            if len(waiting) > _MOST_WAITING:
                write({})
        ended = {_UNFINISHED: {"batch": ""}}
        while waiting:
            write(ended if len(waiting) == 1 and not self._goes_on else {})
        if self._goes_on:
            outcomes.update(self._store([_as_message(each) for each in self._left_unread()], ended, {}))
        counts = {name: outcomes.pop(name, 0) for name in _OUTCOMES}
        counts["stored"] += counts.pop("read")
        return Backfilled(batch=self._batch if counts["stored"] else "", skipped=dict(outcomes), **counts)

    def _left_unread(self) -> list[Memory]:
        """Return the turns of the run that was killed whose transcripts are gone, so that nobody can read them."""
        turns = self._all(UNREAD_TURN) if self._complete else ()
        return [turn for turn in turns if turn.metadata.get("session") not in self._sessions]

    def _all(self, kind: str | None = None) -> Iterator[Memory]:
        """Yield the memories of past sessions, in all scopes."""
        cursor: str | None = ""
        while cursor is not None:
            page = self._mem.find(include_narrower=True, limit=LARGEST_PAGE, cursor=cursor or None, kind=kind)
            yield from (memory for memory in page if memory.scope.agent == HISTORY)
            cursor = page.cursor

    def _groups(self) -> Iterator[tuple[list[tuple[Turn, int]], set[int]]]:
        """Yield turns, oldest first, with the transcripts that end in each group."""
        left = self._reader.turns.counts()
        complete = {number for number in self._reader.read if not left[number]}
        turns = self._reader.turns.oldest_first()
        while (group := list(islice(turns, _GROUP))) or complete:
            left.subtract(number for _, number in group)
            complete |= {number for _, number in group if not left[number]}
            yield group, complete & self._reader.read.keys()
            complete = set()

    def _store_read(
        self,
        turns: Sequence[tuple[Turn, int]],
        complete: set[int],
        statements: Statements,
        read: Mapping[str, Mapping[str, Any]],
    ) -> list[str]:
        """Store what some turns become; one that cannot be read stays as it is, and its transcript is read again."""
        entries, failed, reader = list[dict[str, Any]](), list[str](), self._reader
        for (turn, number), contents in zip(turns, statements.contents, strict=True):
            if isinstance(contents, str):
                failed.append(contents)
                reader.read.pop(number, None)
            else:
                entries += reader.entries(turn, contents)
        complete &= reader.read.keys()
        states = {transcript_key(reader.read[number]): self._state(number) for number in complete}
        return failed + self._store(entries, {**states, **read}, statements.claims)

    def _store(
        self,
        entries: Sequence[dict[str, Any]],
        read: Mapping[str, Mapping[str, Any]],
        claims: Mapping[str, Claims],
    ) -> list[str]:
        """Store entries; if one of them is refused, all others, and the reason for that one."""
        try:
            return [
                _outcome(each) for each in self._mem.store.add_history(entries, self._batch, self._now, read, claims)
            ]
        except (InvalidInput, LimitReached, Forbidden) as error:
            if not entries:
                raise
            if len(entries) == 1:
                with suppress(InvalidInput):
                    self._mem.store.add_history([], self._batch, self._now, read)
                return [str(error)]
        middle = len(entries) // 2
        first = self._store(entries[:middle], {}, claims)
        return first + self._store(entries[middle:], read, claims)


def _as_message(turn: Memory) -> dict[str, Any]:
    """Return the entry that an unread turn becomes if its statements cannot be read."""
    return {
        "content": turn.content, "kind": "message", "tags": [], "tier": str(turn.tier), "priority": str(Priority.LOW),
        "metadata": dict(turn.metadata), "source": turn.source, "valid_until": None, "scope": dict(turn.scope.items()),
        "trust": str(turn.trust), "created_at": turn.created_at,
        "state": {"id": turn.id, "tier_rule": "history", "updated_at": turn.updated_at},
    }  # fmt: skip


def _outcome(text: str) -> str:
    """Return the outcome of an entry: one that is here already, in whatever state, is known."""
    return text if text in _OUTCOMES else "known"
