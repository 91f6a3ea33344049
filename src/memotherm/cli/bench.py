"""`memotherm bench`: measure retrieval quality, and silence where no memory answers, on your data."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from memotherm import __version__
from memotherm.cli.formatting import console
from memotherm.cli.options import json_option
from memotherm.errors import NotFound
from memotherm.evaluation.controls import CONTROLS, STRICTER
from memotherm.evaluation.datasets import EvaluationSet, SilentPrompt, load, load_prompts
from memotherm.evaluation.quality import MEASURES, OURS, Result, diagnose, quality_sets, run
from memotherm.evaluation.quality import ablate as run_ablations
from memotherm.evaluation.silence import TEN_FACTS, SilenceResult, beginnings, measure_silence
from memotherm.model.clock import system_clock

__all__ = ["command"]


@click.group("bench")
def command() -> None:
    """Measure Memotherm on your machine and your data."""


_data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="MEMOTHERM_DATA",
    required=True,
    help="A folder of evaluation sets, or of folders of them.",
)
_set_option = click.option(
    "--set", "prefixes", multiple=True, help="Only sets whose name begins with this (repeatable)."
)
_cache_option = click.option(
    "--cache",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="MEMOTHERM_VECTORS",
    help="Cache vectors in this folder.",
)
_out_option = click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JSON to this file."
)


@command.command("quality")
@_data_option
@_set_option
@click.option("--fusion", type=click.Choice(["evidence", "weighted", "rrf"]), help="Use another fusion.")
@click.option("--diagnose", "question", help="Explain the result of one question, by its id.")
@click.option("--ablate", is_flag=True, help="Measure the ranking without each of its parts.")
@_cache_option
@click.option("--on", "store", help="Use this store, such as an empty PostgreSQL database.")
@_out_option
@json_option
def quality(
    data: Path,
    prefixes: tuple[str, ...],
    fusion: str | None,
    question: str | None,
    ablate: bool,
    cache: Path | None,
    store: str | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Run evaluation sets through remember and recall, and compare with simple rankings.

    \b
    memotherm bench quality --data evaluation/
    memotherm bench quality --data evaluation/ --set locomo --diagnose locomo_0_qa3
    memotherm bench quality --data evaluation/ --ablate
    memotherm bench quality --data evaluation/ --on postgresql://memotherm@localhost/empty
    """
    sets = quality_sets(load(data), prefixes)
    settings: dict[str, Any] = {"fusion": fusion} if fusion else {}
    if question is not None:
        for line in _diagnosis(sets, question, settings, cache):
            click.echo(line)
        return
    results = [_measure(data_set, settings, cache, store, ablate=ablate) for data_set in sets]
    rows = [_ablation_json(result) if ablate else result.as_dict() for result in results]
    if _reported({"settings": settings, "sets": rows}, out, as_json=as_json):
        return
    for result in results:
        if ablate:
            _print_ablation(result)
        else:
            _print_quality(result)


@command.command("silence")
@_data_option
@_set_option
@_cache_option
@_out_option
@json_option
def silence(data: Path, prefixes: tuple[str, ...], cache: Path | None, out: Path | None, as_json: bool) -> None:
    """Ask prompts that no memory answers, such as "thanks", and count the contexts that stay empty.

    Beside it stands what the floor of confidence costs: the gold in the contexts of answerable questions.
    A store of ten facts and the first 30 and 100 turns of conversations are measured besides the sets of the folder.

    \b
    memotherm bench silence --data evaluation/
    memotherm bench silence --data evaluation/ --set locomo
    """
    prompts = load_prompts(data)
    sets = quality_sets([TEN_FACTS, *load(data)], prefixes)
    sets = [each for data_set in sets for each in (*beginnings(data_set), data_set)]
    results = [_measure_silence(data_set, prompts, cache) for data_set in sets]
    if not _reported({"sets": [result.as_dict() for result in results]}, out, as_json=as_json):
        _print_silence(results)


def _reported(values: dict[str, Any], out: Path | None, *, as_json: bool) -> bool:
    """Write a report to a file, if there is one, and with `as_json` print it; return whether it was printed."""
    report = {"date": system_clock().isoformat(timespec="seconds"), "version": __version__, **values}
    if out is not None:
        out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    if as_json:
        click.echo(json.dumps(report, indent=2))
    return as_json


def _measure_silence(data: EvaluationSet, prompts: list[SilentPrompt], cache: Path | None) -> SilenceResult:
    with tempfile.TemporaryDirectory(prefix="memotherm-silence-") as folder, _bars() as bars:
        return measure_silence(data, prompts, Path(folder), _ProgressBars(bars, data.name), cache=cache)


def _print_silence(results: list[SilenceResult]) -> None:
    floor = results[0].floor if results else 0.0
    table = Table(title=f"Silence with context_min_confidence {floor}", title_justify="left")
    for name in ("set", "questions", "prompts", "silent", "gold", "gold without floor", "area under the curve"):
        table.add_column(name, justify="left" if name == "set" else "right")
    for result in results:
        figures = (result.silent, result.gold, result.gold_without_floor, result.area)
        counts = (str(len(result.answers)), str(len(result.prompts)))
        table.add_row(result.name, *counts, *(f"{figure:.3f}" for figure in figures))
    console().print(table)


def _measure(
    data: EvaluationSet, settings: dict[str, Any], cache: Path | None, store: str | None, *, ablate: bool
) -> Result:
    with tempfile.TemporaryDirectory(prefix="memotherm-quality-") as folder, _bars() as bars:
        progress = _ProgressBars(bars, data.name)
        if ablate:
            return run_ablations(data, Path(folder), progress, cache=cache)
        return run(data, Path(folder), progress, settings=settings, cache=cache, store=store)


def _ablation_json(result: Result) -> dict[str, Any]:
    """Return the effect of leaving out each part of the ranking."""
    return {
        "set": result.name,
        "n": len(result.questions),
        "nDCG@10": result.table()[OURS]["nDCG@10"],
        "left_out": {
            idea: {"nDCG@10": delta, "low": low, "high": high} for idea, (delta, low, high) in result.costs().items()
        },
    }


def _diagnosis(sets: list[EvaluationSet], question_id: str, settings: dict[str, Any], cache: Path | None) -> list[str]:
    for data in sets:
        for question in data.questions:
            if question.id == question_id:
                with tempfile.TemporaryDirectory(prefix="memotherm-quality-") as folder, _bars() as bars:
                    progress = _ProgressBars(bars, data.name)
                    return diagnose(data, question, Path(folder), progress, settings=settings, cache=cache)
    raise NotFound(f"no question {question_id!r} in these sets: use a qid of the data")


def _bars() -> Progress:
    return Progress(console=Console(stderr=True), transient=True)


class _ProgressBars:
    """A progress bar for each kind of work on one set."""

    def __init__(self, bars: Progress, name: str) -> None:
        self._bars = bars
        self._name = name
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, task: str, advance: int, total: int) -> None:
        if task not in self._tasks:
            self._tasks[task] = self._bars.add_task(f"{self._name}: {task}", total=total)
        self._bars.advance(self._tasks[task], advance)


def _print_quality(result: Result) -> None:
    out = console()
    table = Table(title=f"{result.name} (N = {len(result.questions)})", title_justify="left")
    table.add_column("ranking")
    for name in MEASURES:
        table.add_column(name, justify="right")
    for ranking, values in result.table().items():
        cells = [f"{values[name]:.3f}" for name in MEASURES]
        table.add_row(ranking, *cells, style="bold" if ranking == OURS else "")
    categories = sorted({question.category for question in result.questions if question.category})
    for category in categories:
        values = result.table(category)[OURS]
        count = sum(question.category == category for question in result.questions)
        table.add_row(f"  {category} ({count})", *(f"{values[name]:.3f}" for name in MEASURES), style="dim")
    out.print(table)
    for kind, controls in (("control", CONTROLS), ("control with our words", STRICTER)):
        for name in ("nDCG@10", "all@5"):
            best, (delta, low, high) = result.lead(name, controls)
            out.print(f"  {name}: {delta:+.3f} [{low:+.3f}, {high:+.3f}] against {best}, the best {kind}")


def _print_ablation(result: Result) -> None:
    out = console()
    whole = result.table()[OURS]["nDCG@10"]
    table = Table(title=f"{result.name} (N = {len(result.questions)}): nDCG@10 {whole:.3f}", title_justify="left")
    table.add_column("left out")
    table.add_column("changes it by", justify="right")
    table.add_column("95 % interval", justify="right")
    for idea, (delta, low, high) in result.costs().items():
        table.add_row(idea, f"{delta:+.3f}", f"[{low:+.3f}, {high:+.3f}]".replace("[", r"\["))
    out.print(table)
