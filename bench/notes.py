"""Markdown notes: the cost of the first sync, of an edit, and of a search of many notes.

Times are CPU times, but for how soon an edit is found. What an edit adds to a sync is compared with the
same in a folder that has no other note, so that the row says what the others cost.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import memotherm
from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.synthetic import SyntheticEmbedder, texts
from memotherm.notes.notes import Notes

__all__ = ["measure"]

_PARAGRAPHS = 19
_EDITS = 12
#: The most seconds until an edit is found.
_VISIBLE_SECONDS = 2.0
#: The most CPU seconds of the first sync per note; embedding with the bundled model takes far longer.
_NOTE_MS = 20.0


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return the rows of this suite."""
    count = 500 if options.quick else 10_000
    with tempfile.TemporaryDirectory(prefix="memotherm-notes-") as scratch:
        folder = Path(scratch)
        many = _written(folder / "many", count)
        single = _written(folder / "single", 1)
        mem = memotherm.open(folder / "many.db", embedder=SyntheticEmbedder())
        alone = memotherm.open(folder / "single.db", embedder=SyntheticEmbedder())
        with mem, alone:
            return _rows(lab, mem.notes(many), alone.notes(single), count)


def _rows(lab: Lab, notes: Notes, alone: Notes, count: int) -> list[Row]:
    task = lab.progress.add_task("first index", total=count)
    started = time.process_time()
    notes.sync(lambda done, total: lab.progress.update(task, completed=done, total=total))
    first = (time.process_time() - started) / count * 1000
    lab.progress.remove_task(task)
    alone.sync()
    time.sleep(2.1)  # until time stamps are reliable again
    notes.sync()
    alone.sync()
    notes.search("the first search of a process reads the vectors")
    scan = min(_cpu(notes.sync) for _ in range(5))
    waits = sorted(_visible(notes, number) for number in range(_EDITS))
    work, bare = _work(notes), _work(alone)
    size = f"{count:,} notes of 2 kB"
    return [
        Row(key="first_index", what=f"first index, {size}, each", value=first, unit="ms CPU", target=_NOTE_MS),
        Row(key="sync_nothing", what=f"sync of {size} when nothing changed", value=scan, unit="ms CPU", target=400),
        Row(
            key="edit_visible",
            what=f"one edit among {size} until a search finds it, median",
            value=statistics.median(waits),
            unit="s",
            target=_VISIBLE_SECONDS,
            notes={"longest": waits[-1]},
        ),
        Row(
            key="edit_work",
            what="what indexing that edit adds to a sync, against the same with one note alone",
            value=work / bare,
            unit="x",
            target=3,
            notes={"edit_ms": work, "alone_ms": bare},
        ),
    ]


def _written(root: Path, count: int) -> Path:
    stream = texts(count * _PARAGRAPHS, seed=21)
    for number in range(count):
        file = root / "memory" / f"{number % 100:02d}" / f"note-{number:05d}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        body = "\n\n".join(next(stream) for _ in range(_PARAGRAPHS))
        file.write_text(f"# Note {number}\n\n{body}\n", "utf-8")
    return root


def _edited(notes: Notes, word: str) -> None:
    """Insert a word into a line of one note."""
    file = notes.root / "memory" / "00" / "note-00000.md"
    lines = file.read_text("utf-8").split("\n")
    lines[4] = f"{word} {lines[4].partition(' ')[2]}"
    file.write_text("\n".join(lines), "utf-8")


def _visible(notes: Notes, number: int) -> float:
    """Return the seconds from an edit until a search finds it."""
    word = f"zyzzyva{number}"
    _edited(notes, word)
    began = time.monotonic()
    # The synthetic embedder has no semantics: only a keyword match has so high a score.
    found = notes.search(word, min_score=0.9)
    taken = time.monotonic() - began
    if not found or word not in found[0].snippet:
        raise RuntimeError(f"a search right after the edit did not find {word}")
    return taken


def _work(notes: Notes) -> float:
    """Return the additional CPU milliseconds of a sync after one edit; syncs with and without one are interleaved."""
    plain, edited = [], []
    for number in range(2 * _EDITS):
        plain.append(_cpu(notes.sync))
        _edited(notes, f"abacus{number}")
        edited.append(_cpu(notes.sync))
    return statistics.median(edited) - statistics.median(plain)


def _cpu(call: Callable[[], object]) -> float:
    started = time.process_time()
    call()
    return (time.process_time() - started) * 1000
