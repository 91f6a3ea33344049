"""Updates the index of a folder of notes from its files.

Only files whose time stamp has changed are read, and only new chunks are embedded. Files are committed
in small groups, each file as a whole: an interrupted run continues where it stopped, and two processes
that sync at once do not undo each other's changes. New files are committed before removed ones, so
that text that only moved keeps its vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from memotherm.errors import EmbedderError, InvalidInput
from memotherm.model import Scope
from memotherm.model.actions import Action
from memotherm.notes.files import FileContent, FileListing, Layout, ListedFile, list_files, read_file, transcript
from memotherm.notes.index import NoteWriter, chunk_digest
from memotherm.notes.placement import is_transcript, local_day, note_placement
from memotherm.notes.values import Skipped, Sync
from memotherm.remember.forgotten import forgotten_names, without_forgotten
from memotherm.settings import Settings
from memotherm.storage.store import Store, Transaction
from memotherm.storage.tombstones import FORGOTTEN
from memotherm.storage.values import Cause, NoteRow, RootRow
from memotherm.text.chunks import Chunk, ChunkSize, chunks
from memotherm.text.markdown import decode
from memotherm.text.redaction import redactor
from memotherm.text.tokens import counter
from memotherm.vectors.vectorizer import Progress, Vectorizer

Result = TypeVar("Result")

#: Chunks that are embedded together, and files that are committed together.
_GROUP_CHUNKS = 64
_GROUP_FILES = 64
_ATTEMPTS = 5
#: A transcript is indexed again when it has grown by this many bytes or messages.
_TRANSCRIPT_BYTES = 100_000
_TRANSCRIPT_MESSAGES = 50


class _ChunkedFile(NamedTuple):
    """A file that was read and chunked, and its row in the index at that time."""

    indexed: NoteRow | None
    row: NoteRow
    chunks: list[Chunk]


@dataclass(slots=True)
class _SyncRun:
    space: int
    cause: Cause
    today: date
    listing: FileListing
    #: The indexed files by path.
    indexed: dict[str, NoteRow]
    #: The writers of the committed transactions.
    writers: list[NoteWriter] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    #: Rows of files with a new time stamp but the same bytes.
    restamped: dict[str, NoteRow] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    degraded: dict[str, None] = field(default_factory=dict)
    #: (path, first line, last line) of chunks that say something forgotten.
    forgotten: dict[tuple[str, int, int], None] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Syncer:
    """Syncs one folder of notes into one collection of a store."""

    store: Store
    vectorizer: Vectorizer
    settings: Settings
    layout: Layout
    scope: Scope
    collection: str
    chunk_size: ChunkSize
    transcripts: tuple[Path, ...]

    def space(self) -> int | None:
        """Return the number of the space of the chunks; None before the first sync."""
        return self.store.collection(self.scope, self.collection)

    def stamps(self) -> dict[str, str]:
        """Return the time stamps of the files by path, one of which differs after each change."""
        return {path: file.stamp for path, file in list_files(self.layout, self.transcripts).files.items()}

    def stale(self) -> list[str]:
        """Return the paths that a sync would read or remove, by their time stamps."""
        space = self.space()
        indexed = {} if space is None else {row.path: row for row in self.store.notes(space)}
        listing = self._listing()
        changed = [path for path, file in listing.files.items() if self._has_changed(indexed.get(path), file)]
        return sorted({*changed, *(path for path in indexed if self._is_removed(path, listing))})

    def sync(self, now: datetime, actor: str, progress: Progress | None = None) -> Sync:
        """Update the index from the files, and return what changed."""
        listing = self._listing()
        space = self.space()
        if space is None and not listing.files:
            return Sync(skipped=tuple(listing.skipped))
        root = RootRow(space or 0, self.layout.name, self.layout.extra, self.scope, self.collection)
        if space is None or root not in self.store.roots((space,)):
            space = self.store.transact(partial(_register, root=root))
        run = self._run(space, listing, now, actor)
        misplaced = self.store.misplaced_notes(run.space)
        if misplaced:
            self._write(run, lambda writer: writer.restore_scopes(misplaced))
        self._follow_renames(run)
        self._index(run, [file for file in listing.files.values() if self._needs_reading(run, file)], progress)
        self._remove(run, [row for path, row in run.indexed.items() if self._is_removed(path, listing)])
        self._refresh(run)
        if run.degraded:
            try:
                self.vectorizer.fill_fallback(now)
            except EmbedderError as exc:
                run.degraded[f"the fallback embedder has not seen all notes: {exc}"] = None
        return _result(run)

    def clear(self, now: datetime, actor: str) -> int:
        """Delete all notes of the folder, and the folder itself, from the store; return the number of notes."""
        space = self.space()
        if space is None:
            return 0
        run = self._run(space, FileListing(), now, actor)
        self._remove(run, list(run.indexed.values()))
        self.store.transact(lambda transaction: transaction.drop_root(space))
        return len(run.removed)

    def _run(self, space: int, listing: FileListing, now: datetime, actor: str) -> _SyncRun:
        cause = Cause(action=Action.SYNC, at=now, actor=actor, rule="note.sync")
        indexed = {row.path: row for row in self.store.notes(space)}
        return _SyncRun(space, cause, local_day(now, self.settings), listing, indexed)

    # Which files to read

    def _listing(self) -> FileListing:
        """Return the files, without those whose names say what was forgotten here."""
        listing = list_files(self.layout, self.transcripts)
        for path in forgotten_names(self.store, self.scope, listing.files.keys()):
            del listing.files[path]
            listing.skipped.append(Skipped(path=f"{FORGOTTEN}.md", why="its name says what was forgotten or purged"))
        return listing

    def _has_changed(self, row: NoteRow | None, file: ListedFile) -> bool:
        return row is None or row.stamp != file.stamp or row.cut != self._chunking(file.path)

    def _needs_reading(self, run: _SyncRun, file: ListedFile) -> bool:
        row = run.indexed.get(file.path)
        if row is not None and is_transcript(file.path) and row.cut == self._chunking(file.path):
            return self._has_grown(run, row, file)
        return row is None or not row.settled or self._has_changed(row, file)

    def _has_grown(self, run: _SyncRun, row: NoteRow, file: ListedFile) -> bool:
        """Return whether a transcript has grown enough to be read again, or was replaced."""
        growth = file.size - row.size
        if row.stamp == file.stamp:
            return False
        if growth < 0 or growth >= _TRANSCRIPT_BYTES:
            return True
        try:
            with Path(file.file).open("rb") as handle:
                handle.seek(row.size)
                new = sum(1 for message in transcript(handle.read()) if message)
        except OSError:
            new = 0
        if 0 < new < _TRANSCRIPT_MESSAGES:
            run.waiting.append(file.path)
        return new >= _TRANSCRIPT_MESSAGES

    @staticmethod
    def _is_removed(path: str, listing: FileListing) -> bool:
        """Return whether a file no longer exists; a file in a folder that cannot be read stays indexed."""
        return path not in listing.files and not any(path.startswith(folder) for folder in listing.unreadable)

    def _chunking(self, path: str) -> str:
        """Return an identifier of how a file is chunked; if it changes, the file is chunked again."""
        return f"{self.chunk_size.name}t" if is_transcript(path) else self.chunk_size.name

    # New and changed files

    def _follow_renames(self, run: _SyncRun) -> None:
        """Keep the memories of files that were renamed."""
        removed = {row.hash: row for path, row in run.indexed.items() if self._is_removed(path, run.listing)}
        sizes = {row.size for row in removed.values()}
        for file in list(run.listing.files.values()):  # one that is gone meanwhile is removed from the listing
            if file.path in run.indexed or file.size not in sizes:
                continue
            content = self._content(run, file)
            row = removed.pop(content.hash, None) if content is not None else None
            if content is None or row is None:
                continue
            tier = note_placement(file.path, run.today).tier
            after = row._replace(path=file.path, stamp=content.stamp, settled=content.settled, tier=tier)
            if self._write(run, partial(_rename, before=row, after=after)):
                del run.indexed[row.path]
                run.indexed[file.path] = after
                run.renamed.append((row.path, file.path))

    def _index(self, run: _SyncRun, files: Sequence[ListedFile], progress: Progress | None) -> None:
        """Read and write files: first those that were chunked with other settings, all at once; then in groups."""
        outdated = [
            file
            for file in files
            if (row := run.indexed.get(file.path)) is not None and row.cut != self._chunking(file.path)
        ]
        group: list[_ChunkedFile] = []
        for done, file in enumerate(dict.fromkeys([*outdated, *files]), 1):
            chunked = self._chunked(run, file, run.indexed.get(file.path))
            group += [chunked] if chunked is not None else []
            full = len(group) >= _GROUP_FILES or sum(len(each.chunks) for each in group) >= _GROUP_CHUNKS
            complete = done in (len(outdated), len(files)) or (full and done > len(outdated))
            if complete:
                self._commit(run, group)
                group = []
            if progress is not None and (complete or done <= len(outdated)):
                progress(done, len(files))

    def _chunked(self, run: _SyncRun, file: ListedFile, indexed: NoteRow | None) -> _ChunkedFile | None:
        """Return a file with its chunks; None when its bytes are indexed already or cannot be read."""
        content = self._content(run, file)
        if content is None:
            return None
        row = NoteRow(
            note=indexed.note if indexed is not None else 0,
            space=run.space,
            path=file.path,
            hash=content.hash,
            stamp=content.stamp,
            size=len(content.data),
            messages=0,
            settled=content.settled,
            cut=self._chunking(file.path),
            tier=note_placement(file.path, run.today).tier,
        )
        if indexed is not None and (indexed.hash, indexed.cut) == (row.hash, row.cut):
            run.restamped[file.path] = indexed._replace(stamp=row.stamp, settled=row.settled)
            return None
        if is_transcript(file.path):
            lines = transcript(content.data, redactor(self.settings).text)
            text, row = "\n".join(lines), row._replace(messages=sum(1 for line in lines if line))
        else:
            text = decode(content.data)
        return _ChunkedFile(indexed, row, chunks(text, _estimated_tokens, self.chunk_size))

    def _content(self, run: _SyncRun, file: ListedFile) -> FileContent | None:
        """Return the bytes of a file; None, with an entry in `skipped`, if it is gone or cannot be read."""
        try:
            if not is_transcript(file.path):
                self.layout.require_plain(file.path)
            content = read_file(file.file)
        except InvalidInput:
            run.listing.files.pop(file.path, None)
            run.skipped.append(Skipped(path=file.path, why="leads through a symbolic link"))
            return None
        except OSError as exc:
            run.skipped.append(Skipped(path=file.path, why=f"cannot be read: {exc.strerror or exc}"))
            return None
        if content is None:
            run.listing.files.pop(file.path, None)
        return content

    def _commit(self, run: _SyncRun, group: list[_ChunkedFile]) -> None:
        """Write files in one transaction; reread those that another process wrote in the meantime."""
        for _ in range(_ATTEMPTS):
            if not group:
                return
            group = self._without_forgotten(run, group)
            contents = {chunk_digest(chunk): chunk.content for file in group for chunk in file.chunks}
            embedded = self.vectorizer.for_contents(list(contents.values()))
            if embedded.reason:
                run.degraded[embedded.reason] = None
            vectors = dict(zip(contents, embedded.vectors, strict=True))
            conflicts = self._write(run, partial(_put_files, files=group, vectors=vectors), embedded.made_by)
            for file in group:
                path = file.row.path
                if path not in conflicts:
                    (run.added if file.indexed is None else run.changed).append(path)
                elif (current := conflicts[path]) is None:
                    run.indexed.pop(path, None)
                else:
                    run.indexed[path] = current
            group = [
                chunked
                for file in group
                if file.row.path in conflicts
                and (listed := run.listing.files.get(file.row.path)) is not None
                and (chunked := self._chunked(run, listed, run.indexed.get(file.row.path))) is not None
            ]

    def _without_forgotten(self, run: _SyncRun, group: list[_ChunkedFile]) -> list[_ChunkedFile]:
        """Return files without what was forgotten here, which also applies to files."""
        texts = {text for file in group for chunk in file.chunks for text in (chunk.text, chunk.heading)}
        marked = without_forgotten(self.store, self.scope, texts)
        if not marked:
            return group
        for file in group:
            found = [(chunk.start, chunk.end) for chunk in file.chunks if chunk.text in marked]
            run.forgotten |= {(file.row.path, *lines): None for lines in found}
        return [
            file._replace(
                chunks=[
                    replace(
                        chunk, text=marked.get(chunk.text, chunk.text), heading=marked.get(chunk.heading, chunk.heading)
                    )
                    for chunk in file.chunks
                    if marked.get(chunk.text, chunk.text)
                ]
            )
            for file in group
        ]

    # Removed and unchanged files

    def _remove(self, run: _SyncRun, rows: Sequence[NoteRow]) -> None:
        def drop(writer: NoteWriter, row: NoteRow, current: NoteRow) -> bool:
            if current.note != row.note:
                return False
            writer.drop(current)
            return True

        run.removed += self._update(run, rows, drop)

    def _refresh(self, run: _SyncRun) -> None:
        """Store new time stamps of files with the same bytes, and new tiers by the date."""

        def refresh(writer: NoteWriter, row: NoteRow, current: NoteRow) -> None:
            if (current.hash, current.cut) == (row.hash, row.cut):
                current = current._replace(stamp=row.stamp, settled=row.settled)
            if current.tier is row.tier:
                writer.transaction.put_note(current)
            else:
                writer.place(current._replace(tier=row.tier))

        due = []
        for path, row in run.indexed.items():
            after = run.restamped.get(path, row)
            tier = note_placement(path, run.today).tier
            if path in run.listing.files and (after != row or tier is not row.tier):
                due.append(after._replace(tier=tier))
        self._update(run, due, refresh)

    def _update(
        self, run: _SyncRun, rows: Sequence[NoteRow], change: Callable[[NoteWriter, NoteRow, NoteRow], bool | None]
    ) -> list[str]:
        """Change files that are still indexed, in groups; `change` gets the row as it was read, and as it is now.

        Return the paths of the files for which `change` has returned True.
        """

        def write(writer: NoteWriter, group: Sequence[NoteRow]) -> list[str]:
            changed = []
            for row in group:
                current = writer.transaction.note(writer.space, row.path)
                if current is not None and change(writer, row, current):
                    changed.append(row.path)
            return changed

        groups = (rows[start : start + _GROUP_FILES] for start in range(0, len(rows), _GROUP_FILES))
        return [path for group in groups for path in self._write(run, partial(write, group=group))]

    def _write(self, run: _SyncRun, change: Callable[[NoteWriter], Result], made_by: int | None = None) -> Result:
        """Write files in one transaction; the run keeps the writer of the attempt that was committed."""

        def write(transaction: Transaction) -> tuple[Result, NoteWriter]:
            writer = NoteWriter(
                transaction=transaction,
                space=run.space,
                scope=self.scope,
                settings=self.settings,
                today=run.today,
                cause=run.cause,
            )
            return change(writer), writer

        result, writer = self.store.transact(write, made_by=made_by)
        run.writers.append(writer)
        return result


def _register(transaction: Transaction, root: RootRow) -> int:
    space = transaction.space(root.scope, root.collection)
    transaction.put_root(root._replace(space=space))
    return space


def _put_files(writer: NoteWriter, files: Sequence[_ChunkedFile], vectors: dict[str, Any]) -> dict[str, NoteRow | None]:
    """Write files; return the present rows of those that were not written because another process has changed them."""
    conflicts: dict[str, NoteRow | None] = {}
    for file in files:
        current = writer.transaction.note(writer.space, file.row.path)
        if current == file.indexed:
            writer.put(file.row, file.chunks, vectors)
        else:
            conflicts[file.row.path] = current
    return conflicts


def _rename(writer: NoteWriter, before: NoteRow, after: NoteRow) -> bool:
    """Rename a file, unless another process has changed one of the two."""
    note = writer.transaction.note
    if note(writer.space, before.path) != before or note(writer.space, after.path) is not None:
        return False
    writer.rename(after, before.path)
    return True


def _estimated_tokens(text: str) -> int:
    """Return the tokens of a text; an estimate, not an upper bound, if they cannot be counted exactly."""
    exact = counter()
    return exact(text) if exact.exact else (len(text) + 3) // 4


def _result(run: _SyncRun) -> Sync:
    updated = len(run.added) + len(run.changed) + len(run.renamed)
    forgotten = [
        Skipped(path=path, why=f"lines {first}-{last} say what was forgotten or purged: remember it to have it back")
        for path, first, last in run.forgotten
    ]
    return Sync(
        added=tuple(sorted(run.added)),
        changed=tuple(sorted(run.changed)),
        removed=tuple(sorted(run.removed)),
        renamed=tuple(run.renamed),
        unchanged=len(run.listing.files) - updated,
        chunks_new=sum(writer.chunks_new for writer in run.writers),
        chunks_kept=sum(writer.chunks_kept for writer in run.writers),
        moves=tuple(move for writer in run.writers for move in writer.moves),
        skipped=(*run.listing.skipped, *run.skipped, *forgotten),
        waiting=tuple(run.waiting),
        degraded=tuple(run.degraded),
    )
