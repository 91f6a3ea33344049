"""`python -m bench quality` and `python -m bench silence`: evaluation sets, with tables of what was measured."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table
from rich.text import Text

from bench import report
from bench.controls import CONTROLS, STRICTER
from bench.datasets import EvaluationSet, load, load_prompts
from bench.quality import MEASURES, OURS, Result, ablate, diagnose, row_of
from bench.quality import run as run_set
from bench.silence import TEN_FACTS, SilenceResult, beginnings, measure_silence
from memotherm import __version__
from memotherm.errors import InvalidInput

__all__ = ["add_options", "run"]

#: The content of the JSON, and what is printed.
_Found = tuple[dict[str, Any], Iterable[Table | str]]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of both commands."""
    options = parser.add_argument_group("quality and silence")
    options.add_argument(
        "--set", dest="sets", action="append", default=[], help="only sets whose name begins with this (repeatable)"
    )
    options.add_argument("--cache", type=Path, help="cache vectors in this folder (also MEMOTHERM_VECTORS)")
    options.add_argument("--out", type=Path, help="write the results as JSON to this file")
    options.add_argument("--fusion", choices=("evidence", "weighted", "rrf"), help="quality: use another fusion")
    options.add_argument("--diagnose", metavar="QID", help="quality: explain the result of one question")
    options.add_argument("--ablate", action="store_true", help="quality: measure without each part of the ranking")
    options.add_argument("--on", metavar="URL", help="quality: use this store, such as an empty PostgreSQL database")


def run(arguments: argparse.Namespace) -> None:
    """Run `quality` or `silence`; `quality` of all sets with the defaults also writes results/quality.json."""
    folder, vectors = os.environ.get("MEMOTHERM_DATA"), os.environ.get("MEMOTHERM_VECTORS")
    if not folder:
        raise InvalidInput("there is no evaluation data: pass --data DIR or set MEMOTHERM_DATA")
    cache = arguments.cache or (Path(vectors) if vectors else None)
    values, lines = (_silence if arguments.suite == "silence" else _quality)(Path(folder), arguments, cache)
    found = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "version": __version__, **values}
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=2) + "\n", "utf-8")
    if arguments.json:
        print(json.dumps(found, indent=2))
        return
    console = Console()
    for line in lines:
        console.print(line, markup=False)


def _quality(folder: Path, arguments: argparse.Namespace, cache: Path | None) -> _Found:
    """Run sets through remember and recall, and compare with simple rankings."""
    sets = _chosen(load(folder), arguments)[: 1 if arguments.quick else None]
    settings = {"fusion": arguments.fusion} if arguments.fusion else {}
    if arguments.diagnose:
        return _diagnosis(sets, arguments.diagnose, settings, cache)
    results = []
    for data in sets:
        with _scratch() as scratch, ProgressBars(data.name) as progress:
            if arguments.ablate:
                result = ablate(data, Path(scratch), progress, cache=cache)
            else:
                result = run_set(data, Path(scratch), progress, settings=settings, cache=cache, store=arguments.on)
            results.append(result)
    if arguments.ablate:
        return {"settings": settings, "sets": [ablation_json(each) for each in results]}, map(ablation_table, results)
    if not (arguments.quick or arguments.sets or arguments.fusion or arguments.on or arguments.out):
        report.write("quality", report.record("quality", [row_of(each) for each in results]))
    tables = (part for result in results for part in quality_report(result))
    return {"settings": settings, "sets": [result.as_dict() for result in results]}, tables


def _diagnosis(sets: Sequence[EvaluationSet], question_id: str, settings: dict[str, Any], cache: Path | None) -> _Found:
    asked = [(data, each) for data in sets for each in data.questions if each.id == question_id]
    if not asked:
        raise InvalidInput(f"no question {question_id!r} in these sets: use a qid of the data")
    data, question = asked[0]
    with _scratch() as scratch, ProgressBars(data.name) as progress:
        lines = diagnose(data, question, Path(scratch), progress, settings=settings, cache=cache)
    return {"question": question_id, "lines": lines}, lines


def _silence(folder: Path, arguments: argparse.Namespace, cache: Path | None) -> _Found:
    """Ask prompts that no memory answers, such as "thanks", and count the contexts that stay empty.

    Beside it stands what the floor of confidence costs: the gold in the contexts of answerable questions.
    A store of ten facts and the first 30 and 100 turns of conversations are measured besides the sets of the folder.
    """
    prompts = load_prompts(folder)
    results = []
    for whole in _chosen([TEN_FACTS, *load(folder)], arguments):
        for part in (*beginnings(whole), whole):
            with _scratch() as scratch, ProgressBars(part.name) as progress:
                results.append(measure_silence(part, prompts, Path(scratch), progress, cache=cache))
    return {"sets": [result.as_dict() for result in results]}, [silence_table(results)]


def _chosen(sets: Iterable[EvaluationSet], arguments: argparse.Namespace) -> list[EvaluationSet]:
    return [data for data in sets if not arguments.sets or data.name.startswith(tuple(arguments.sets))]


def _scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="memotherm-bench-")


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
