"""Results of a search of notes, and excerpts of their lines."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

from memotherm.errors import NoteUnavailable
from memotherm.notes.files import read_file, transcript, transcripts
from memotherm.notes.placement import is_transcript, note_date
from memotherm.notes.values import NoteText
from memotherm.recall.values import Ranked, State
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.storage.values import ChunkLocation
from memotherm.text.markdown import decode, split_lines
from memotherm.text.redaction import redactor
from memotherm.text.words import query_words, words

#: The longest snippet, in characters.
_SNIPPET_CHARS = 700
#: The longest excerpt, in characters.
_MAX_CHARS = 20_000
_GROUPS = {"group", "channel", "room", "public"}


def shows_citations(setting: str, chat: str | None) -> bool:
    """Return whether a chat of that type shows citations."""
    if setting != "auto":
        return setting == "on"
    return (chat or "direct").casefold() not in _GROUPS


def chat_of(session: str | None) -> str | None:
    """Return the type of chat that the id of a session names, as in OpenClaw's `agent:main:discord:group:4711`."""
    return next((each for each in (session or "").split(":")[2:] if each.casefold() in _GROUPS), None)


def age_factor(path: str, today: date, half_life_days: float) -> float:
    """Return the factor by which age lowers the relevance of a note; 1 for undated and curated notes."""
    day = note_date(path)
    if day is None or day >= today:
        return 1.0
    return math.exp(-math.log(2) * (today - day).days / half_life_days)


class NoteOrder:
    """The order of notes: pinned chunks are ranked like others, and older notes may be ranked lower."""

    def __init__(self, store: Store, today: date, half_life_days: float | None) -> None:
        self._store = store
        self._today = today
        self._half_life_days = half_life_days
        #: The positions of the best candidates in their files, and their scores in [0, 1], by number.
        self.places: Mapping[int, ChunkLocation] = {}
        self.scores: dict[int, float] = {}

    def rank(self, state: State, count: int) -> None:
        """Rank all candidates again, and read the positions of the first ones."""
        least = max(state.question.min_score, 1e-9)
        pinned = [item for item in state.pinned if max(item.relevance, min(1.0, item.coverage)) >= least]
        ranked = [*state.ranked, *pinned]
        if self._half_life_days is not None:
            self.places = self._store.chunk_locations([candidate.no for candidate in ranked])
        scores = {candidate.no: self._score(candidate) for candidate in ranked}
        state.ranked = sorted(ranked, key=lambda candidate: (-scores[candidate.no], -candidate.no))
        if self._half_life_days is None:
            self.places = self._store.chunk_locations([candidate.no for candidate in state.ranked[:count]])
        self.scores = {no: min(1.0, max(0.0, score)) for no, score in scores.items()}

    def _score(self, candidate: Ranked) -> float:
        place = self.places.get(candidate.no)
        age = 1.0
        if self._half_life_days is not None and place is not None:
            age = age_factor(place.path, self._today, self._half_life_days)
        return candidate.relevance * age + (candidate.score - candidate.relevance)


def diverse(candidates: Sequence[tuple[float, str]], wanted: int, balance: float) -> list[int]:
    """Return the indices of `wanted` candidates (score, text), chosen by maximal marginal relevance."""
    word_sets = [frozenset(words(text)) for _, text in candidates]
    chosen: list[int] = []

    def marginal(index: int) -> float:
        nearest = max((_jaccard(word_sets[index], word_sets[other]) for other in chosen), default=0.0)
        return balance * candidates[index][0] - (1 - balance) * nearest

    left = list(range(len(candidates)))
    while left and len(chosen) < wanted:
        best = max(left, key=lambda index: (marginal(index), -index))
        left.remove(best)
        chosen.append(best)
    return chosen


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def snippet(text: str, query: str, most: int = _SNIPPET_CHARS) -> tuple[str, int, int]:
    """Return at most `most` characters around the best match of a query, and its first and last line, from 0."""
    lines = text.split("\n")
    if len(text) <= most:
        return text, 0, len(lines) - 1
    wanted = frozenset(query_words(query))
    best = max(range(len(lines)), key=lambda number: (_matches(lines[number], wanted), -number))
    first = last = best
    size = len(lines[best])
    if size > most - 2:
        return _part_of(lines[best], wanted, most), best, best
    while True:
        if last + 1 < len(lines) and size + 1 + len(lines[last + 1]) <= most - 4:
            last += 1
            size += 1 + len(lines[last])
        elif first > 0 and size + 1 + len(lines[first - 1]) <= most - 4:
            first -= 1
            size += 1 + len(lines[first])
        else:
            break
    before = ["…"] if first else []
    after = ["…"] if last + 1 < len(lines) else []
    return "\n".join([*before, *lines[first : last + 1], *after]), first, last


def _matches(line: str, wanted: frozenset[str]) -> int:
    return len(wanted.intersection(words(line[:20_000]))) if wanted else 0


def _part_of(line: str, wanted: frozenset[str], most: int) -> str:
    """Return a part of a long line that starts shortly before the first word of the query."""
    start = 0
    for match in re.finditer(r"\S+", line):
        if wanted.intersection(words(match[0])):
            start = max(0, match.start() - most // 4)
            break
    start = line.find(" ", start, start + 40) + 1 or start if start else 0
    body = line[start : start + most - 2]
    return f"{'…' if start else ''}{body}{'…' if start + most - 2 < len(line) else ''}"


def read_lines(root: Path, path: str, transcript_folders: Sequence[Path], settings: Settings) -> list[str]:
    """Return the lines of a note, or of a redacted transcript; none if the file does not exist."""
    file: Path | None = root / path
    if is_transcript(path):
        file = next((file for name, file in transcripts(transcript_folders) if name == path), None)
    try:
        content = read_file(file) if file is not None else None
    except OSError as exc:
        raise NoteUnavailable(f"cannot read {path}: {exc.strerror or exc}") from exc
    if content is None:
        return []
    if is_transcript(path):
        return transcript(content.data, redactor(settings).text)
    return split_lines(decode(content.data))


def excerpt(path: str, lines: Sequence[str], first: int, count: int | None) -> NoteText:
    """Return `count` lines from line `first`, or fewer if they are too long."""
    total = len(lines)
    requested = lines[first - 1 : None if count is None else first - 1 + count]
    if not requested:
        hint = f"{path} has {total} lines" if total else ""
        return NoteText(path=path, text="", total_lines=total, hint=hint)
    returned, size = 0, 0
    for line in requested:
        size += len(line) + 1
        if size > _MAX_CHARS and returned:
            break
        returned += 1
    text = "\n".join(requested[:returned])
    last = first + returned - 1
    hints = []
    if len(text) > _MAX_CHARS:
        hints.append(f"line {last} has {len(text):,} characters and was cut after {_MAX_CHARS:,}")
        text = text[:_MAX_CHARS]
    if returned < len(requested) or (count is not None and last < total):
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
