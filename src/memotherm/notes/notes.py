"""The verbs of Markdown memory, on one folder and one scope."""

from __future__ import annotations

import datetime as dates
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from memotherm.errors import InvalidInput, NoteUnavailable, NotFound, StoreBusy, StoreFull, StoreUnavailable
from memotherm.model import Memory, Scope, Tier
from memotherm.notes import linking
from memotherm.notes.appending import append, writable
from memotherm.notes.day import local_day
from memotherm.notes.files import read
from memotherm.notes.layout import Layout, transcript_name
from memotherm.notes.placement import is_transcript
from memotherm.notes.searching import NoteOrder, Scored, diverse, shows_citations, snippet
from memotherm.notes.sync import Place, Syncer
from memotherm.notes.transcript import transcript
from memotherm.notes.values import Appended, Conflict, NoteHit, NoteResults, NoteText, Sync
from memotherm.notes.watcher import Watcher
from memotherm.recall.log import RecallLog
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.values import Question, Ranked
from memotherm.settings import Settings
from memotherm.storage.contract import Store
from memotherm.storage.values import ChunkPlace, Filter, Record
from memotherm.text.clean import require_text
from memotherm.text.markdown import Cut, decoded, lines_of
from memotherm.vectors.vectorizer import Progress, Vectorizer

__all__ = ["NoteServices", "Notes"]

_LONGEST_QUERY = 100_000
_LONGEST_APPEND = 1_000_000
#: The most that one `get` returns, in characters, and what `lines` may ask for.
_GET_CHARS = 20_000
_MOST_LINES = 100_000
_MOST_RESULTS = 200
_DIVERSE_POOL = 50
_ALL_TIERS = tuple(Tier)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteServices:
    """What notes work with; the facade hands it over."""

    store: Store
    vectorizer: Vectorizer
    pipeline: Pipeline
    settings: Settings
    scope: Scope
    now: Callable[[], datetime]
    actor: str
    #: The facade's own verbs, for memories that are not notes.
    get: Callable[[str], Memory]
    remember: Callable[[str], Memory]
    update: Callable[[str, str], Memory]


class Notes:
    """The notes of one folder: `sync`, `search`, `get`, `append`, `watch`; `export` and `adopt` for memories.

    Args:
        tools: What the facade hands over.
        root: The folder that has `MEMORY.md` and `memory/`.
        extra_paths: More files and folders inside it; the setting `note_paths` adds to them.
        name: What the index is known by; None takes the folder's path.
    """

    def __init__(
        self,
        tools: NoteServices,
        root: str | os.PathLike[str],
        extra_paths: Sequence[str] = (),
        name: str | None = None,
    ) -> None:
        settings = tools.settings
        self._tools = tools
        self._layout = Layout(root, (*extra_paths, *settings.note_paths))
        self._place = Place(
            layout=self._layout,
            scope=tools.scope,
            shelf=f"notes:{name or self._layout.root}",
            cut=Cut(size=settings.chunk_tokens, overlap=settings.chunk_overlap),
            transcripts=_transcripts(settings),
        )
        self._syncer = Syncer(tools.store, tools.vectorizer, settings, self._place)

    def __repr__(self) -> str:
        return f"<Notes {str(self.root)!r} scope: {self._tools.scope}>"

    @property
    def root(self) -> Path:
        """The folder."""
        return self._layout.root

    # Indexing

    def sync(self, progress: Progress | None = None) -> Sync:
        """Bring the index in line with the files; `progress(done, total)` counts files."""
        done = self._syncer.sync(self._tools.now(), self._tools.actor, progress)
        return replace(done, conflicts=tuple(self.conflicts()))

    def watch(self) -> Watcher:
        """Return a watcher that syncs when files have come to rest: `with notes.watch(): ...`."""
        return Watcher(self.root, self._watched, self.sync, self._tools.settings.watch_debounce_ms)

    def clear(self) -> int:
        """Take everything of this folder out of the store and return how many notes it was; the files stay."""
        return self._syncer.clear(self._tools.now(), self._tools.actor)

    def paths(self) -> list[str]:
        """Return the notes that are indexed."""
        space = self._syncer.space()
        return [] if space is None else [row.path for row in self._tools.store.notes(space)]

    def stale(self) -> list[str]:
        """Return the paths that have changed since they were indexed, as far as time stamps tell."""
        return self._syncer.stale()

    # Searching and reading

    def search(
        self,
        query: str,
        max_results: int = 6,
        min_score: float = 0.35,
        *,
        tiers: Sequence[Tier | str] | str = _ALL_TIERS,
        chat: str | None = None,
        decay: bool | None = None,
        diversity: bool | None = None,
        track: bool = True,
    ) -> NoteResults:
        """Return the lines that answer a query, best first, as the files are now.

        Args:
            query: What is asked, in words.
            max_results: How many results at most.
            min_score: The least relevance; a strong match of words passes it by itself.
            tiers: Where to look; notes are searched when somebody asks for them, so by default everywhere.
            chat: The type of the chat (direct, group, channel), which decides whether citations are shown.
            decay: Whether older dated notes count less; None takes the setting.
            diversity: Whether results that repeat each other make room; None takes the setting.
            track: Whether this counts as a use of the chunks.
        """
        settings = self._tools.settings
        _require_number("max_results", max_results, 0, _MOST_RESULTS)
        if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
            raise InvalidInput(f"min_score must be between 0 and 1, not {min_score!r}")
        looked_at = tuple(dict.fromkeys(Tier.of(tier) for tier in ([tiers] if isinstance(tiers, str) else tiers)))
        shown = shows_citations(settings.citations, chat)
        stale, notes = self._fresh()
        answer = NoteResults(query=query, citations=shown, tiers=looked_at, stale=stale, degraded=notes)
        space = self._syncer.space()
        if space is None or not isinstance(query, str) or not query.strip():
            return answer
        question = Question(
            text=require_text(query, "the query", _LONGEST_QUERY),
            spaces=(space,),
            tiers=looked_at,
            where=Filter(now=self._tools.now()),
            min_score=min_score,
        )
        diversity = settings.note_diversity if diversity is None else diversity
        half_life = settings.note_half_life_days if (settings.note_decay if decay is None else decay) else None
        order = NoteOrder(self._tools.store.for_recall(), local_day(question.where.now, settings), half_life)
        count = max(max_results, _DIVERSE_POOL) if diversity else max_results
        ranking = self._tools.pipeline.run(question, settings.pool_size, count, stages=[order])
        candidates = ranking.ranked[:count]
        if diversity:
            scored = [
                Scored(number, order.scores[candidate.no], ranking.records[candidate.no].memory.content)
                for number, candidate in enumerate(candidates)
            ]
            chosen = diverse(scored, max_results, settings.note_diversity_lambda)
            candidates = [candidates[number] for number in chosen]
        nos = [candidate.no for candidate in candidates]
        RecallLog(self._tools.store, settings).write(ranking, nos, candidates, touched=nos if track else ())
        hits = tuple(
            _hit(query, ranking.records[candidate.no], candidate, order.scores[candidate.no], order.places)
            for candidate in candidates
        )
        return replace(answer, hits=hits, degraded=(*notes, *ranking.degraded))

    def get(self, path: str | os.PathLike[str], from_line: int = 1, lines: int | None = None) -> NoteText:
        """Return lines of a note exactly as they are; a missing file, or a range beyond its end, is empty.

        `path` may be a citation such as `memory/2026-01-26.md#L10-L15`.
        """
        plain, first, count = Layout.split_citation(os.fspath(path))
        if first is not None and from_line == 1 and lines is None:
            path, from_line, lines = plain, first, count
        _require_number("from_line", from_line, 1, 1 << 62)
        if lines is not None:
            _require_number("lines", lines, 1, _MOST_LINES)
        relative = self._layout.located(path)
        return _excerpt(relative, self._lines(relative), from_line, lines)

    # Writing

    def append(self, content: str, date: dates.date | str | None = None) -> Appended:
        """Add text at the end of a day's note; what is there is never changed.

        Args:
            content: Markdown; it becomes whole lines.
            date: The day; None takes today in the user's time zone.
        """
        require_text(content, "content", _LONGEST_APPEND)
        path = self._layout.located(self._layout.day(self._day(date)))
        start, end, written = append(self.root / path, content)
        return Appended(path=path, start_line=start, end_line=end, written=written)

    def today(self) -> str:
        """Return the path of today's note."""
        return self._layout.day(self._day(None))

    @property
    def writable(self) -> bool:
        """Whether notes can be written here."""
        return writable(self.root)

    # Memories as notes, notes as memories

    def export(self, memory_id: str, path: str | None = None) -> Appended:
        """Write a memory into a note as a list item that stays linked to it; None takes the curated note."""
        memory = self._tools.get(memory_id)
        if memory.scope != self._tools.scope:
            raise InvalidInput(f"{memory_id} belongs to another scope ({memory.scope}): export it from there")
        if memory.source.startswith("file:"):
            raise InvalidInput(f"{memory_id} is a note already: {memory.metadata.get('path')}")
        relative = self._layout.located(path or "MEMORY.md")
        self.sync()
        done = linking.export(self.root / relative, relative, memory)
        self.sync()
        return done

    def adopt(self, path: str, line: int) -> Memory:
        """Make a memory of the list item at a line; the item carries its id from then on."""
        relative = self._layout.located(path)
        _require_number("line", line, 1, 1 << 62)
        self.sync()
        made = linking.adopt(self.root / relative, relative, line, self._tools.remember)
        self.sync()
        return self._tools.get(made if isinstance(made, str) else made.id)

    def conflicts(self) -> list[Conflict]:
        """Return the list items that do not say what their memory says."""
        space = self._syncer.space()
        return [] if space is None else linking.conflicts(self._tools.store, space, self.root)

    def resolve(self, memory_id: str, keep: str) -> Memory:
        """Settle a conflict: keep="file" changes the memory, keep="memory" changes the list item."""
        if keep not in ("file", "memory"):
            raise InvalidInput(f"keep must be file or memory, not {keep!r}")
        conflict = next((each for each in self.conflicts() if each.memory_id == memory_id), None)
        if conflict is None:
            raise NotFound(f"there is no conflict about {memory_id}")
        if keep == "file":
            self._tools.update(memory_id, conflict.in_file)
        else:
            linking.write_item(self.root / conflict.path, self._tools.get(memory_id))
        self._agree(conflict.path)
        return self._tools.get(memory_id)

    # Small steps

    def _fresh(self) -> tuple[bool, tuple[str, ...]]:
        """Bring the index up to date before a search; tell whether it still is behind, and why."""
        if not self._tools.settings.sync_on_search:
            behind = self._syncer.stale()
            return bool(behind), (f"{len(behind)} notes have changed since the last sync: run sync",) if behind else ()
        try:
            done = self.sync()
        except (StoreBusy, StoreFull, StoreUnavailable, NoteUnavailable) as exc:
            return True, (f"the notes could not be synced, so this may be out of date: {exc}",)
        unread = [each for each in done.skipped if each.why.startswith("cannot be read")]
        return bool(unread), (*done.degraded, *map(str, unread))

    def _lines(self, relative: str) -> list[str]:
        file = self._transcript_file(relative) if is_transcript(relative) else self.root / relative
        try:
            content = read(file) if file is not None else None
        except OSError as exc:
            raise NoteUnavailable(f"cannot read {relative}: {exc.strerror or exc}") from exc
        if content is None:
            return []
        return transcript(content.data).lines if is_transcript(relative) else lines_of(decoded(content.data))

    def _transcript_file(self, relative: str) -> Path | None:
        for base in self._place.transcripts:
            for file in base.rglob("*.jsonl") if base.is_dir() else [base]:
                if transcript_name(base, file) == relative:
                    return file
        return None

    def _watched(self) -> list[Path]:
        """Return the folders whose every file matters, those that exist."""
        folders = [self.root if each == "." else self.root / each for each in self._layout.folders]
        parents = [(self.root / each).parent for each in self._layout.files]
        transcripts = [base if base.is_dir() else base.parent for base in self._place.transcripts]
        wanted = dict.fromkeys([*folders, *(each for each in parents if each != self.root), *transcripts])
        return [each for each in wanted if each.is_dir()]

    def _day(self, day: dates.date | str | None) -> dates.date:
        if day is None:
            return local_day(self._tools.now(), self._tools.settings)
        if isinstance(day, datetime):
            return day.date()
        if isinstance(day, dates.date):
            return day
        try:
            return dates.date.fromisoformat(str(day))
        except ValueError:
            raise InvalidInput(f"{day!r} is not a day: write for example 2026-01-26") from None

    def _agree(self, path: str) -> None:
        """Let the index see that file and memory say the same again."""
        space = self._syncer.space()
        if space is not None:
            with self._tools.store.write() as transaction:
                note = transaction.note(space, path)
                if note is not None:
                    transaction.put_note(note._replace(hash="", settled=False))
        self.sync()


def _transcripts(settings: Settings) -> tuple[Path, ...]:
    if not settings.experimental_session_memory:
        return ()
    return tuple(Path(each).expanduser().resolve() for each in settings.transcript_paths)


def _hit(query: str, record: Record, candidate: Ranked, score: float, places: Mapping[int, ChunkPlace]) -> NoteHit:
    memory = record.memory
    place = places.get(record.no, ChunkPlace("", 1, 1, "", False))
    body = memory.content.removeprefix(f"{place.heading}\n\n") if place.heading else memory.content
    return NoteHit(
        path=place.path,
        start_line=place.first,
        end_line=place.last,
        score=score,
        snippet=snippet(body, query),
        heading=place.heading,
        memory_id=memory.id,
        tier=memory.tier,
        source="sessions" if is_transcript(place.path) else "memory",
        why=candidate.why,
    )


def _excerpt(path: str, lines: Sequence[str], first: int, count: int | None) -> NoteText:
    """Return a range of lines, cut where it would be too long."""
    total = len(lines)
    wanted = lines[first - 1 : None if count is None else first - 1 + count]
    if not wanted:
        hint = f"{path} has {total} lines" if total else ""
        return NoteText(path=path, text="", total_lines=total, hint=hint)
    taken, size = 0, 0
    for line in wanted:
        size += len(line) + 1
        if size > _GET_CHARS and taken:
            break
        taken += 1
    text = "\n".join(wanted[:taken])
    last = first + taken - 1
    hints = []
    if len(text) > _GET_CHARS:
        hints.append(f"line {last} has {len(text):,} characters and was cut after {_GET_CHARS:,}")
        text = text[:_GET_CHARS]
    more = taken < len(wanted)
    if more or (count is not None and last < total):
        hints.append(f"{total - last} more lines: go on with get({path!r}, {last + 1})")
    return NoteText(
        path=path,
        text=text,
        start_line=first,
        end_line=last,
        total_lines=total,
        next_line=last + 1 if last < total else None,
        hint="; ".join(hints),
    )


def _require_number(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"{name} must be a whole number from {low} to {high}, not {value!r}")
