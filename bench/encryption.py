"""An encrypted store against a plain one, interleaved call by call."""

from __future__ import annotations

import itertools
from pathlib import Path

from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from bench.synthetic import drafts
from bench.timing import Times, side_by_side
from memotherm import Memotherm, Settings
from memotherm.storage.open import open_store

__all__ = ["measure"]

_KEY = "5e" * 32
_BATCH = 5000
_LIVE_SEED, _NEW_SEED, _BULK_SEED = 1, 5, 7
_MOST = 1.4


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return how many times as long recalls and writes take."""
    with (
        _filled(lab, lab.folder / "plain.db", Settings(), options.live) as plain,
        _filled(lab, lab.folder / "encrypted.db", Settings(key=_KEY), options.live) as encrypted,
    ):
        pair = (plain, encrypted)
        recalls = side_by_side([mem.recall for mem in pair], options.questions)
        new = [(str(draft["content"]),) for draft in drafts(200, _NEW_SEED, "warm")]
        # Each pass writes other contents, so that none is a duplicate.
        marks = itertools.count()
        writes = side_by_side(
            [lambda content, mem=mem: mem.remember(f"{content[0]} {next(marks)}") for mem in pair],  # type: ignore[misc]
            new,
        )
        batches = [[*drafts(500, _BULK_SEED + number, "warm")] for number in range(4)]
        bulk = side_by_side(
            [
                lambda batch, mem=mem: mem.remember_many(  # type: ignore[misc]
                    [{**draft, "content": f"{draft['content']} {next(marks)}"} for draft in batch]
                )
                for mem in pair
            ],
            batches,
        )
    return [
        _row("recall", f"recall, {options.live:,} live memories", recalls),
        _row("remember", "remember, one by one", writes),
        _row("remember_many", "remember_many, 500 at once", bulk),
    ]


def _filled(lab: Lab, path: Path, settings: Settings, live: int) -> Memotherm:
    mem = Memotherm(open_store(str(path), settings), lab.embedder, settings=settings)
    stream = iter(drafts(live, _LIVE_SEED, "warm"))
    while batch := list(itertools.islice(stream, _BATCH)):
        mem.remember_many(batch)
    return mem


def _row(key: str, what: str, pair: list[Times]) -> Row:
    plain, encrypted = pair
    return Row(
        key=f"encrypted_{key}",
        what=f"{what}, encrypted against plain, CPU p50",
        value=round(encrypted.p50 / plain.p50, 3),
        unit="×",
        target=_MOST,
        notes={"plain": plain._asdict(), "encrypted": encrypted._asdict()},
    )
