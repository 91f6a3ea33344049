"""The notes of one folder in one scope: sync, search, read, append."""

from __future__ import annotations

import datetime as dates
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from memotherm.errors import InvalidInput, NoteUnavailable, NotFound, StoreBusy, StoreFull, StoreUnavailable
from memotherm.model import Scope, Tier, Trust
from memotherm.model.memory import TierName
from memotherm.notes.edits import append, new_lines, writable
from memotherm.notes.files import Layout
from memotherm.notes.placement import CURATED, is_curated, is_transcript, local_day, note_date
from memotherm.notes.search import NoteOrder, chat_of, diverse, excerpt, read_lines, shows_citations, snippet
from memotherm.notes.sync import Syncer
from memotherm.notes.values import Appended, Curated, NoteHit, NoteResults, NoteText, Sync
from memotherm.notes.watcher import Watcher
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.recaller import RecallLog
from memotherm.recall.values import Question, Ranked
from memotherm.remember.forgotten import require_allowed_texts
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import ChunkLocation, Record, Search
from memotherm.text.chunks import ChunkSize
from memotherm.text.content import pluralize, require_text
from memotherm.vectors.vectorizer import Progress, Vectorizer

_LONGEST_QUERY = 100_000
_LONGEST_APPEND = 1_000_000
#: Maximum lines of one `get`.
_MAX_LINES = 100_000
_MAX_RESULTS = 200
_DIVERSE_POOL = 50
#: The weight of relevance against diversity.
_RELEVANCE_SHARE = 0.7
#: Days after which a dated note scores half, with `decay`.
_HALF_LIFE_DAYS = 30.0
_ALL_TIERS = tuple(Tier)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoteServices:
    """The services of the facade that notes use."""

    store: Store
    vectorizer: Vectorizer
    pipeline: Pipeline
    settings: Settings
    scope: Scope
    now: Callable[[], datetime]
    actor: str
    trust: Trust


class Notes:
    """The notes of one folder: `sync`, `search`, `get`, `append`, `curate`, `watch`.

    Args:
        tools: The services of the facade.
        root: The folder with `MEMORY.md` and `memory/`.
        extra_paths: More files and folders inside it, in addition to the setting `note_paths`.
        name: The name of the index; None for the path of the folder.
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
        # By default those of the workspace itself.
        transcripts = settings.transcript_paths or (self._layout.root / "sessions",)
        transcripts = transcripts if settings.experimental_session_memory else ()
        self._transcripts = tuple(Path(path).expanduser().resolve() for path in transcripts)
        self._syncer = Syncer(
            store=tools.store,
            vectorizer=tools.vectorizer,
            settings=settings,
            layout=self._layout,
            scope=tools.scope,
            collection=f"notes:{name or self._layout.name}",
            chunk_size=ChunkSize(size=settings.chunk_tokens),
            transcripts=self._transcripts,
        )

    def __repr__(self) -> str:
        return f"<Notes {str(self.root)!r} scope: {self._tools.scope}>"

    @property
    def root(self) -> Path:
        """The folder."""
        return self._layout.root

    # Indexing

    def sync(self, progress: Progress | None = None) -> Sync:
        """Update the index from the files; `progress(done, total)` counts files."""
        return self._syncer.sync(self._tools.now(), self._tools.actor, progress)

    def watch(self) -> Watcher:
        """Return a watcher that syncs after files have changed: `with notes.watch(): ...`."""
        return Watcher(self._syncer.stamps, self.sync, self._tools.settings.watch_debounce_ms)

    def clear(self) -> int:
        """Delete the notes of this folder from the store, not the files; return the number of notes."""
        return self._syncer.clear(self._tools.now(), self._tools.actor)

    def paths(self) -> list[str]:
        """Return the paths of the indexed notes."""
        space = self._syncer.space()
        return [] if space is None else [row.path for row in self._tools.store.notes(space)]

    def stale(self) -> list[str]:
        """Return the paths that have changed since they were indexed, by their time stamps."""
        return self._syncer.stale()

    # Searching and reading

    def search(
        self,
        query: str,
        max_results: int = 6,
        min_score: float = 0.35,
        *,
        tiers: Sequence[Tier | TierName] | TierName = _ALL_TIERS,
        chat: str | None = None,
        decay: bool = False,
        diversity: bool = False,
        track: bool = True,
    ) -> NoteResults:
        """Return the lines that match a query, best first; sync first, unless `sync_on_search` is off.

        Args:
            query: The query, in words.
            max_results: The most results.
            min_score: The least relevance; a strong keyword match is enough by itself.
            tiers: The tiers to search; all by default.
            chat: The type of the chat (direct, group, channel), which decides whether citations are shown; None for the
                type that the id of the scope's session names.
            decay: Whether to reduce the score of older dated notes.
            diversity: Whether to drop results that repeat others.
            track: Whether to count this as a use of the chunks.
        """
        settings = self._tools.settings
        _require_number("max_results", max_results, 0, _MAX_RESULTS)
        if isinstance(min_score, bool) or not isinstance(min_score, int | float) or not 0 <= min_score <= 1:
            raise InvalidInput(f"min_score must be between 0 and 1, not {min_score!r}")
        looked_at = tuple(dict.fromkeys(Tier.of(tier) for tier in ([tiers] if isinstance(tiers, str) else tiers)))
        shown = shows_citations(settings.citations, chat or chat_of(self._tools.scope.session))
        stale, notes = self.refresh()
        answer = NoteResults(query=query, citations=shown, tiers=looked_at, stale=stale, degraded=notes)
        space = self._syncer.space()
        if space is None or not isinstance(query, str) or not query.strip():
            return answer
        question = Question(
            text=require_text(query, "the query", _LONGEST_QUERY),
            search=Search(spaces=(space,), now=self._tools.now(), tiers=looked_at),
            serving=self._tools.store.identity(),
            min_score=min_score,
            plain=True,
        )
        half_life = _HALF_LIFE_DAYS if decay else None
        order = NoteOrder(self._tools.store, local_day(question.search.now, settings), half_life)
        count = max(max_results, _DIVERSE_POOL) if diversity else max_results
        pipeline = self._tools.pipeline
        with pipeline.ranked(question, settings.pool_size) as state:
            order.rank(state, count)
            pipeline.read(state, count)
        ranking = pipeline.finish(state)
        candidates = ranking.ranked[:count]
        if diversity:
            scored = [(order.scores[each.no], ranking.records[each.no].memory.content) for each in candidates]
            candidates = [candidates[index] for index in diverse(scored, max_results, _RELEVANCE_SHARE)]
        nos = [candidate.no for candidate in candidates]
        RecallLog(self._tools.store, settings).write(ranking, nos, candidates, track=track)
        hits = tuple(
            _hit(query, ranking.records[candidate.no], candidate, order.scores[candidate.no], order.places)
            for candidate in candidates
        )
        return replace(answer, hits=hits, degraded=(*notes, *ranking.degraded))

    def get(self, path: str | os.PathLike[str], from_line: int = 1, lines: int | None = None) -> NoteText:
        """Return lines of a note exactly as they are; an empty text for a missing file or a range beyond its end.

        `path` may be a citation such as `memory/2026-01-26.md#L10-L15`.
        """
        plain, first, count = Layout.split_citation(os.fspath(path))
        if first is not None and from_line == 1 and lines is None:
            path, from_line, lines = plain, first, count
        _require_number("from_line", from_line, 1, 1 << 62)
        if lines is not None:
            _require_number("lines", lines, 1, _MAX_LINES)
        relative = self._layout.resolve(path)
        return excerpt(
            relative, read_lines(self.root, relative, self._transcripts, self._tools.settings), from_line, lines
        )

    # Writing

    def append(self, content: str, date: dates.date | str | None = None) -> Appended:
        """Append text to the note of a day.

        Args:
            content: Markdown; written as whole lines.
            date: The day; None for today in the user's time zone.
        """
        self._tools.store.require_writable()
        require_text(content, "content", _LONGEST_APPEND)
        require_allowed_texts(self._tools.store, self._tools.scope, (content,), self._tools.trust)
        path = self._layout.resolve(self._layout.day(self._day(date)))
        start, end, written = append(self.root / path, content)
        return Appended(path=path, start_line=start, end_line=end, written=written)

    def curate(
        self, path: str | os.PathLike[str], from_line: int = 1, lines: int | None = None, dry_run: bool = False
    ) -> Curated:
        """Copy lines of a note to the end of the curated note, except those already there.

        Args:
            path: The note, or a citation such as `memory/2026-01-26.md#L10-L15`.
            from_line: The first line.
            lines: How many lines; None for all.
            dry_run: Return what would be copied, and write nothing.
        """
        self._tools.store.require_writable()
        note = self.get(path, from_line, lines)
        curated = self._layout.resolve(CURATED)
        if is_curated(note.path) or is_transcript(note.path):
            raise InvalidInput(f"{note.path} cannot be curated: name a note such as memory/2026-01-26.md")
        if not note.text:
            raise NotFound(f"{note.path} has no line {from_line}: it has {pluralize(note.total_lines, 'line')}")
        chosen = tuple(new_lines(note.text.split("\n"), read_lines(self.root, curated, (), self._tools.settings)))
        result = Curated(source=note.citation, path=curated, lines=chosen, dry_run=dry_run)
        if dry_run or not chosen:
            return result
        text = "\n".join(chosen)
        require_allowed_texts(self._tools.store, self._tools.scope, (text,), self._tools.trust)
        start, end, _ = append(self.root / curated, text)
        return replace(result, start_line=start, end_line=end)

    def today(self) -> str:
        """Return the path of today's note."""
        return self._layout.day(self._day(None))

    @property
    def writable(self) -> bool:
        """Whether notes can be written here."""
        return writable(self.root)

    def refresh(self) -> tuple[bool, tuple[str, ...]]:
        """Sync before a search, unless `sync_on_search` is off; return whether the index is out of date, and why."""
        if not self._tools.settings.sync_on_search or not self._tools.store.writable:
            stale = self._syncer.stale()
            return bool(stale), (f"{len(stale)} notes have changed since the last sync: run sync",) if stale else ()
        try:
            result = self.sync()
        except (StoreBusy, StoreFull, StoreUnavailable, NoteUnavailable) as exc:
            return True, (f"the notes could not be synced, so this may be out of date: {exc}",)
        unread = [skipped for skipped in result.skipped if skipped.why.startswith("cannot be read")]
        waiting = [f"{path} has new messages that are not indexed yet" for path in result.waiting]
        return bool(unread or waiting), (*result.degraded, *map(str, unread), *waiting)

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


def _hit(query: str, record: Record, candidate: Ranked, score: float, places: Mapping[int, ChunkLocation]) -> NoteHit:
    memory = record.memory
    place = places.get(record.no, ChunkLocation("", 1, 1, ""))
    body = memory.content.removeprefix(f"{place.heading}\n\n") if place.heading else memory.content
    shown, first, last = snippet(body, query)
    # The memory may have been changed since, and then has other lines than the file.
    cited = place.first + first, place.first + last
    if body.count("\n") != place.last - place.first:
        cited = place.first, place.last
    return NoteHit(
        path=place.path,
        start_line=cited[0],
        end_line=cited[1],
        score=score,
        date=str(note_date(place.path) or memory.updated_at.date()),
        snippet=shown,
        heading=place.heading,
        memory_id=memory.id,
        tier=memory.tier,
        source="sessions" if is_transcript(place.path) else "memory",
        why=candidate.why,
    )


def _require_number(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"{name} must be a whole number from {low} to {high}, not {value!r}")
