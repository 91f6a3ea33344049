"""Bringing the index in line with the files, and nothing more than that.

Only files whose time stamp or bytes differ are read, only chunks that are new are embedded. Files are
committed in small groups, each file whole; a run that is interrupted goes on where it stopped, and two
processes that sync at once do not undo each other. New files come before removed ones, so that text
that only moved keeps its vectors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

from memotherm.errors import EmbedderError, InvalidInput
from memotherm.model import Scope
from memotherm.notes.day import local_day
from memotherm.notes.files import Content, NoteFiles, Seen, discover, read, seen
from memotherm.notes.indexing import Outcome, Shelf, key_of
from memotherm.notes.layout import Layout, transcript_name
from memotherm.notes.placement import is_transcript, note_tier
from memotherm.notes.transcript import transcript
from memotherm.notes.values import Skipped, Sync
from memotherm.settings import Settings
from memotherm.storage.contract import Store, Transaction
from memotherm.storage.values import Cause, NoteRow, RootRow
from memotherm.text.markdown import Chunk, Cut, chunks, decoded
from memotherm.text.tokens import counter
from memotherm.vectors.vectorizer import Progress, Vectorizer

__all__ = ["Place", "Syncer"]

#: Chunks that are embedded together, and files that are committed together.
_GROUP_CHUNKS = 64
_GROUP_FILES = 64
_ATTEMPTS = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """Whose notes are meant, where they are, and how they are cut."""

    layout: Layout
    scope: Scope
    shelf: str
    cut: Cut
    transcripts: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A file that was read and cut, and what the index knew of it then."""

    base: NoteRow | None
    row: NoteRow
    chunks: list[Chunk]


@dataclass(slots=True)
class _SyncRun:
    """What one run has found and done so far."""

    space: int
    cause: Cause
    found: NoteFiles
    known: dict[str, NoteRow]
    outcome: Outcome = field(default_factory=Outcome)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    refreshed: list[NoteRow] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    degraded: dict[str, None] = field(default_factory=dict)


class Syncer:
    """Syncs one place into one store."""

    def __init__(self, store: Store, vectorizer: Vectorizer, settings: Settings, place: Place) -> None:
        self._store = store
        self._vectorizer = vectorizer
        self._settings = settings
        self._place = place

    def space(self) -> int | None:
        """Return the number of the space that the chunks are in; None before the first sync."""
        return self._store.collection(self._place.scope, self._place.shelf)

    def discover(self) -> NoteFiles:
        """List the notes, and the transcripts if they are wanted."""
        found = discover(self._place.layout, self._settings.note_max_bytes)
        for base in self._place.transcripts:
            for file in sorted(base.rglob("*.jsonl")) if base.is_dir() else [base]:
                each = seen(transcript_name(base, file), file)
                if each is not None and each.size > self._settings.note_max_bytes:
                    found.skipped.append(Skipped(path=each.path, why="too large (setting note_max_bytes)"))
                elif each is not None:
                    found.files.setdefault(each.path, each)
        return found

    def stale(self) -> list[str]:
        """Return the paths that a sync would look at, without reading any file."""
        space = self.space()
        known = {} if space is None else {row.path: row for row in self._store.notes(space)}
        found = self.discover()
        changed = [path for path, each in found.files.items() if self._moved_on(known.get(path), each)]
        return sorted({*changed, *(path for path in known if self._gone(path, found))})

    def sync(self, now: datetime, actor: str, progress: Progress | None = None) -> Sync:
        """Do it, and tell what it came to."""
        found = self.discover()
        space = self.space()
        if space is None and not found.files:
            return Sync(skipped=tuple(found.skipped))
        space = self._prepared_space(space)
        known = {row.path: row for row in self._store.notes(space)}
        run = _SyncRun(space, Cause(action="sync", at=now, actor=actor, rule="note.sync"), found, known)
        self._follow_renames(run)
        self._index(run, [each for each in found.files.values() if self._differs(run, each)], progress)
        self._remove(run, [row for path, row in run.known.items() if self._gone(path, found)])
        self._refresh(run)
        self._age(run)
        self._stand_by(run)
        return _told(run)

    def _stand_by(self, run: _SyncRun) -> None:
        """If the embedder has failed, let the fallback see what is new, so that it is found by meaning all the same."""
        if not run.degraded:
            return
        try:
            self._vectorizer.fill_fallback(run.cause.at)
        except EmbedderError as exc:
            run.degraded[f"the fallback embedder has not seen all notes: {exc}"] = None

    def clear(self, now: datetime, actor: str) -> int:
        """Take every note out of the store, and the folder out of the list of known ones."""
        space = self.space()
        if space is None:
            return 0
        known = {row.path: row for row in self._store.notes(space)}
        run = _SyncRun(space, Cause(action="sync", at=now, actor=actor, rule="note.sync"), NoteFiles({}, []), known)
        self._remove(run, list(known.values()))
        with self._store.write() as transaction:
            transaction.drop_root(space)
        return len(run.removed)

    def _prepared_space(self, space: int | None) -> int:
        """Return the space, registering the root where that is not done yet."""
        place = self._place
        told = (str(place.layout.root), place.layout.extra, place.scope, place.shelf)
        if space is not None and RootRow(space, *told) in self._store.roots((space,)):
            return space
        with self._store.write() as transaction:
            space = transaction.space(place.scope, place.shelf)
            transaction.put_root(RootRow(space, *told))
        return space

    # What differs

    def _moved_on(self, row: NoteRow | None, each: Seen) -> bool:
        return row is None or row.stamp != each.stamp or row.cut != self._cut(each.path)

    def _differs(self, run: _SyncRun, each: Seen) -> bool:
        row = run.known.get(each.path)
        if row is not None and is_transcript(each.path) and row.cut == self._cut(each.path):
            return self._grown(run, row, each)
        return row is None or not row.settled or self._moved_on(row, each)

    def _grown(self, run: _SyncRun, row: NoteRow, each: Seen) -> bool:
        """Tell whether a transcript has grown enough, or was written anew."""
        growth = each.size - row.size
        if row.stamp == each.stamp:
            return False
        if growth < 0 or growth >= self._settings.transcript_bytes:
            return True
        if transcript(_tail(each.file, row.size)).messages >= self._settings.transcript_messages:
            return True
        run.waiting.append(each.path)
        return False

    @staticmethod
    def _gone(path: str, found: NoteFiles) -> bool:
        """Tell whether a file no longer exists; what is in a folder that cannot be read now stays known."""
        return path not in found.files and not any(path.startswith(folder) for folder in found.closed)

    def _cut(self, path: str) -> str:
        return f"{self._place.cut.name}t" if is_transcript(path) else self._place.cut.name

    # Files that changed

    def _follow_renames(self, run: _SyncRun) -> None:
        """Let files that only have another name keep their memories."""
        gone = {row.hash: row for path, row in run.known.items() if self._gone(path, run.found)}
        sizes = {row.size for row in gone.values()}
        for each in run.found.files.values():
            if each.path in run.known or each.size not in sizes:
                continue
            content = self._content(run, each)
            row = gone.pop(content.hash, None) if content is not None else None
            if content is not None and row is not None:
                self._rename(run, row, each, content)

    def _rename(self, run: _SyncRun, row: NoteRow, each: Seen, content: Content) -> None:
        tier = note_tier(each.path, self._today(run), self._settings)
        after = row._replace(path=each.path, stamp=content.stamp, settled=content.settled, tier=tier)
        with self._store.write() as transaction:
            if transaction.note(run.space, row.path) != row or transaction.note(run.space, each.path) is not None:
                return
            self._shelf(transaction, run).rename(after, row.path)
        del run.known[row.path]
        run.known[each.path] = after
        run.renamed.append((row.path, each.path))

    def _index(self, run: _SyncRun, files: Sequence[Seen], progress: Progress | None) -> None:
        done = self._recut(run, files, progress)
        for group in self._groups(run, [each for each in files if not self._is_cut_otherwise(run, each)]):
            self._commit_group(run, [each for each in group if each is not None])
            done += len(group)
            if progress is not None:
                progress(done, len(files))

    def _recut(self, run: _SyncRun, files: Sequence[Seen], progress: Progress | None) -> int:
        """Cut anew what was cut by other settings: all of it is made first, then the index changes over at once."""
        prepared: list[_Prepared | None] = []
        for each in [each for each in files if self._is_cut_otherwise(run, each)]:
            prepared.append(self._prepared(run, each, run.known.get(each.path)))
            if progress is not None:
                progress(len(prepared), len(files))
        self._commit_group(run, [each for each in prepared if each is not None])
        return len(prepared)

    def _is_cut_otherwise(self, run: _SyncRun, each: Seen) -> bool:
        row = run.known.get(each.path)
        return row is not None and row.cut != self._cut(each.path)

    def _groups(self, run: _SyncRun, files: Sequence[Seen]) -> Iterator[list[_Prepared | None]]:
        """Yield files that are read and cut, a few at a time; None for one that needs nothing."""
        group: list[_Prepared | None] = []
        weight = 0
        for each in files:
            prepared = self._prepared(run, each, run.known.get(each.path))
            group.append(prepared)
            weight += len(prepared.chunks) if prepared is not None else 0
            if weight >= _GROUP_CHUNKS or len(group) >= _GROUP_FILES:
                yield group
                group, weight = [], 0
        if group:
            yield group

    def _prepared(self, run: _SyncRun, each: Seen, base: NoteRow | None) -> _Prepared | None:
        content = self._content(run, each)
        if content is None:
            return None
        row = NoteRow(
            note=base.note if base is not None else 0,
            space=run.space,
            path=each.path,
            hash=content.hash,
            stamp=content.stamp,
            size=len(content.data),
            messages=0,
            settled=content.settled,
            cut=self._cut(each.path),
            tier=note_tier(each.path, self._today(run), self._settings),
        )
        if base is not None and (base.hash, base.cut) == (row.hash, row.cut):
            run.refreshed.append(base._replace(stamp=row.stamp, settled=row.settled))
            return None
        if not is_transcript(each.path):
            return _Prepared(base, row, chunks(decoded(content.data), _size, self._place.cut))
        spoken = transcript(content.data)
        cut = chunks(spoken.text, _size, self._place.cut)
        return _Prepared(base, row._replace(messages=spoken.messages), cut)

    def _content(self, run: _SyncRun, each: Seen) -> Content | None:
        """Return the bytes of a file; one that vanished is gone, one that cannot be read is left as it is known."""
        try:
            if not is_transcript(each.path):
                self._place.layout.require_plain(each.path)
            content = read(each.file)
        except InvalidInput:
            run.found.files.pop(each.path, None)
            run.skipped.append(Skipped(path=each.path, why="leads through a symbolic link"))
            return None
        except OSError as exc:
            run.skipped.append(Skipped(path=each.path, why=f"cannot be read: {exc.strerror or exc}"))
            return None
        if content is None:
            run.found.files.pop(each.path, None)
        return content

    def _commit_group(self, run: _SyncRun, group: list[_Prepared]) -> None:
        for _ in range(_ATTEMPTS):
            if not group:
                return
            vectors, made_by = self._vectors(run, group)
            with self._store.write(made_by=made_by) as transaction:
                shelf = self._shelf(transaction, run)
                late = [each for each in group if not self._committed(run, shelf, each, vectors)]
            # Another process was faster with these: look again at file and index.
            group = [
                again
                for each in late
                if (current := run.found.files.get(each.row.path)) is not None
                and (again := self._prepared(run, current, run.known.get(each.row.path))) is not None
            ]

    def _vectors(self, run: _SyncRun, group: Sequence[_Prepared]) -> tuple[dict[str, Any], int | None]:
        """Return the vectors of each chunk, and the number of the embedder that made them."""
        wanted = {
            key_of(chunk): chunk.text if chunk.memory_id else chunk.content for each in group for chunk in each.chunks
        }
        embedded = self._vectorizer.for_contents(list(wanted.values()))
        if embedded.reason:
            run.degraded[embedded.reason] = None
        return dict(zip(wanted, embedded.vectors, strict=True)), embedded.made_by

    def _committed(self, run: _SyncRun, shelf: Shelf, each: _Prepared, vectors: dict[str, Any]) -> bool:
        current = shelf.transaction.note(run.space, each.row.path)
        if current != each.base:
            if current is None:
                run.known.pop(each.row.path, None)
            else:
                run.known[each.row.path] = current
            return False
        shelf.put(each.row, each.chunks, vectors)
        (run.added if each.base is None else run.changed).append(each.row.path)
        return True

    # Files that did not

    def _remove(self, run: _SyncRun, rows: Sequence[NoteRow]) -> None:
        for group in _batches(rows):
            with self._store.write() as transaction:
                shelf = self._shelf(transaction, run)
                for row in group:
                    current = transaction.note(run.space, row.path)
                    if current is not None and current.note == row.note:
                        shelf.drop(current)
                        run.removed.append(row.path)

    def _refresh(self, run: _SyncRun) -> None:
        """Remember the new time stamps of files whose bytes are the same."""
        before = {row.path: row for row in run.known.values()}
        rows = [row for row in run.refreshed if before.get(row.path) != row]
        for group in _batches(rows):
            with self._store.write() as transaction:
                for row in group:
                    current = transaction.note(run.space, row.path)
                    if current is not None and (current.hash, current.cut) == (row.hash, row.cut):
                        transaction.put_note(current._replace(stamp=row.stamp, settled=row.settled))

    def _age(self, run: _SyncRun) -> None:
        """Move the files whose tier has changed with the day, or with the settings."""
        today = self._today(run)
        due = [
            row._replace(tier=tier)
            for path, row in run.known.items()
            if path in run.found.files and (tier := note_tier(path, today, self._settings)) is not row.tier
        ]
        for group in _batches(due):
            with self._store.write() as transaction:
                shelf = self._shelf(transaction, run)
                for row in group:
                    current = transaction.note(run.space, row.path)
                    if current is not None and current.tier is not row.tier:
                        shelf.rest(current._replace(tier=row.tier))

    def _shelf(self, transaction: Transaction, run: _SyncRun) -> Shelf:
        return Shelf(
            transaction=transaction,
            space=run.space,
            scope=self._place.scope,
            settings=self._settings,
            today=self._today(run),
            cause=run.cause,
            outcome=run.outcome,
        )

    def _today(self, run: _SyncRun) -> date:
        return local_day(run.cause.at, self._settings)


def _size(text: str) -> int:
    """Return the tokens of a text for cutting it: an estimate is better here than an upper bound."""
    exact = counter()
    return exact(text) if exact.exact else (len(text) + 3) // 4


def _batches(rows: Sequence[NoteRow]) -> Iterator[Sequence[NoteRow]]:
    return (rows[start : start + _GROUP_FILES] for start in range(0, len(rows), _GROUP_FILES))


def _tail(file: str, size: int) -> bytes:
    """Return what a file has beyond a size."""
    try:
        with Path(file).open("rb") as handle:
            handle.seek(size)
            return handle.read()
    except OSError:
        return b""


def _kept_away(place: tuple[str, int, int]) -> Skipped:
    path, first, last = place
    return Skipped(path=path, why=f"lines {first}-{last} say what was purged: remember it to have it back")


def _told(run: _SyncRun) -> Sync:
    worked = len(run.added) + len(run.changed) + len(run.renamed)
    return Sync(
        added=tuple(sorted(run.added)),
        changed=tuple(sorted(run.changed)),
        removed=tuple(sorted(run.removed)),
        renamed=tuple(run.renamed),
        unchanged=len(run.found.files) - worked,
        chunks_new=run.outcome.new,
        chunks_kept=run.outcome.kept,
        moves=tuple(run.outcome.moves),
        skipped=(*run.found.skipped, *run.skipped, *map(_kept_away, run.outcome.purged)),
        waiting=tuple(run.waiting),
        unlinked=tuple(run.outcome.unlinked),
        degraded=tuple(run.degraded),
    )
