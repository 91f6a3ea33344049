"""Tables of what was measured, and progress bars, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from memotherm.evaluation.controls import CONTROLS, STRICTER
from memotherm.evaluation.quality import MEASURES, OURS, Result
from memotherm.evaluation.silence import SilenceResult

__all__ = ["ProgressBars", "ablation_json", "ablation_table", "quality_report", "silence_table"]


class ProgressBars:
    """A progress bar on standard error for each kind of work on one set."""

    def __init__(self, name: str) -> None:
        self._bars = Progress(console=Console(stderr=True), transient=True)
        self._name = name
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressBars:
        self._bars.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bars.stop()

    def __call__(self, task: str, advance: int, total: int) -> None:
        """Advance the bar of a task."""
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(f"{self._name}: {task}", total=total)
        self._bars.advance(self._tasks[task], advance)


def quality_report(result: Result) -> Iterator[Table | str]:
    """Yield the measures of all rankings and of each category of questions, and our lead over the controls."""
    table = _table(f"{result.name} (N = {len(result.questions)})", ("ranking", *MEASURES))
    for ranking, values in result.table().items():
        table.add_row(ranking, *_measures(values), style="bold" if ranking == OURS else "")
    for category in sorted({question.category for question in result.questions if question.category}):
        count = sum(question.category == category for question in result.questions)
        table.add_row(f"  {category} ({count})", *_measures(result.table(category)[OURS]), style="dim")
    yield table
    for kind, controls in (("control", CONTROLS), ("control with our words", STRICTER)):
        for name in ("nDCG@10", "all@5"):
            best, (delta, low, high) = result.lead(name, controls)
            yield f"  {name}: {delta:+.3f} [{low:+.3f}, {high:+.3f}] against {best}, the best {kind}"


def ablation_table(result: Result) -> Table:
    """Return what leaving out each part of the ranking changes."""
    whole = result.table()[OURS]["nDCG@10"]
    title = f"{result.name} (N = {len(result.questions)}): nDCG@10 {whole:.3f}"
    table = _table(title, ("left out", "changes it by", "95 % interval"))
    for idea, (delta, low, high) in result.costs().items():
        table.add_row(idea, f"{delta:+.3f}", Text(f"[{low:+.3f}, {high:+.3f}]"))
    return table


def ablation_json(result: Result) -> dict[str, Any]:
    """Return what leaving out each part of the ranking changes, as JSON."""
    costs = result.costs().items()
    return {
        "set": result.name,
        "n": len(result.questions),
        "nDCG@10": result.table()[OURS]["nDCG@10"],
        "left_out": {idea: {"nDCG@10": delta, "low": low, "high": high} for idea, (delta, low, high) in costs},
    }


def silence_table(results: Sequence[SilenceResult]) -> Table:
    """Return how often contexts stay empty, and what that costs."""
    floor = results[0].floor if results else 0.0
    names = ("set", "questions", "prompts", "silent", "gold", "gold without floor", "area under the curve")
    table = _table(f"Silence with context_min_confidence {floor}", names)
    for result in results:
        figures = (result.silent, result.gold, result.gold_without_floor, result.area)
        counts = (str(len(result.answers)), str(len(result.prompts)))
        table.add_row(result.name, *counts, *(f"{figure:.3f}" for figure in figures))
    return table


def _table(title: str, names: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left")
    for index, name in enumerate(names):
        table.add_column(name, justify="right" if index else "left")
    return table


def _measures(values: dict[str, float]) -> list[str]:
    return [f"{values[name]:.3f}" for name in MEASURES]
