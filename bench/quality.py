"""Retrieval quality on external evaluation data, against simple controls."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm.evaluation.datasets import EvaluationSet, load
from memotherm.evaluation.quality import OURS, Result, run

__all__ = ["measure", "measure_set"]


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return a row for every set: our nDCG@10 against that of the best control."""
    folder = os.environ.get("MEMOTHERM_DATA")
    if not folder:
        lab.progress.console.print("quality: no evaluation data; pass --data DIR or set MEMOTHERM_DATA")
        return []
    cache = os.environ.get("MEMOTHERM_VECTORS")
    sets = load(Path(folder))
    return [measure_set(each, lab, Path(cache) if cache else None) for each in (sets[:1] if options.quick else sets)]


def measure_set(data: EvaluationSet, lab: Lab, cache: Path | None) -> Row:
    """Return the row of one set."""
    tasks: dict[str, object] = {}

    def told(what: str, more: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = lab.progress.add_task(f"{data.name}: {what}", total=total)
        lab.progress.advance(tasks[what], more)  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory() as folder:
        return _row(run(data, Path(folder), told, cache=cache))


def _row(result: Result) -> Row:
    table = result.table()
    best, _ = result.lead("nDCG@10")
    return Row(
        key=result.name,
        what=f"nDCG@10, {result.name} (N = {len(result.questions)}), against {best}",
        value=round(table[OURS]["nDCG@10"], 4),
        unit="",
        target=round(table[best]["nDCG@10"], 4),
        rising=True,
        notes=result.as_dict(),
    )
