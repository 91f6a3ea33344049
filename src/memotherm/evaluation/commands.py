"""`memotherm bench`: measure retrieval quality and silence on your data, or run questions of your own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import click
from rich.console import RenderableType

from memotherm import Memotherm, __version__
from memotherm.cli import exit_codes
from memotherm.cli.options import memory_option, prints
from memotherm.cli.output import Output
from memotherm.cli.parsing import SuggestingGroup
from memotherm.errors import NotFound
from memotherm.evaluation import quality as measured
from memotherm.evaluation.cases import read_cases, run_cases
from memotherm.evaluation.datasets import EvaluationSet, load, load_prompts
from memotherm.evaluation.report import ProgressBars, ablation_json, ablation_table, quality_report, silence_table
from memotherm.evaluation.silence import TEN_FACTS, beginnings, measure_silence
from memotherm.model.clock import system_clock

__all__ = ["bench"]

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.group("bench", cls=SuggestingGroup)
def bench() -> None:
    """Measure Memotherm on your machine and your data.

    \b
    memotherm bench quality --data evaluation/
    memotherm bench cases cases.toml
    """


def _options(command: Any) -> Any:  # noqa: ANN401 - a decorator
    for option in (
        prints,
        click.option(
            "--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results as JSON to this file."
        ),
        click.option("--cache", type=_FOLDER, envvar="MEMOTHERM_VECTORS", help="Cache vectors in this folder."),
        click.option("--set", "prefixes", multiple=True, help="Only sets whose name begins with this (repeatable)."),
        click.option(
            "--data", type=_FOLDER, envvar="MEMOTHERM_DATA", required=True,
            help="A folder of evaluation sets, or of folders of them.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


@bench.command("quality")
@_options
@click.option("--fusion", type=click.Choice(["evidence", "weighted", "rrf"]), help="Use another fusion.")
@click.option("--diagnose", "question", help="Explain the result of one question, by its id.")
@click.option("--ablate", is_flag=True, help="Measure the ranking without each of its parts.")
@click.option("--on", "store", help="Use this store, such as an empty PostgreSQL database.")
def quality(
    data: Path,
    prefixes: tuple[str, ...],
    fusion: str | None,
    question: str | None,
    ablate: bool,
    cache: Path | None,
    store: str | None,
    out: Path | None,
) -> Output:
    """Run evaluation sets through remember and recall, and compare with simple rankings.

    \b
    memotherm bench quality --data evaluation/
    memotherm bench quality --data evaluation/ --set locomo --diagnose locomo_0_qa3
    memotherm bench quality --data evaluation/ --ablate
    memotherm bench quality --data evaluation/ --on postgresql://memotherm@localhost/empty
    """
    sets = measured.quality_sets(load(data), prefixes)
    settings: dict[str, Any] = {"fusion": fusion} if fusion else {}
    if question is not None:
        lines = _diagnosis(sets, question, settings, cache)
        return Output({"question": question, "lines": lines}, lines)
    results = [_measure(data_set, settings, cache, store, ablate=ablate) for data_set in sets]
    if ablate:
        tables: Iterable[RenderableType] = map(ablation_table, results)
        return _report({"settings": settings, "sets": [*map(ablation_json, results)]}, tables, out)
    tables = (part for result in results for part in quality_report(result))
    return _report({"settings": settings, "sets": [result.as_dict() for result in results]}, tables, out)


def _measure(
    data: EvaluationSet, settings: dict[str, Any], cache: Path | None, store: str | None, *, ablate: bool
) -> measured.Result:
    with tempfile.TemporaryDirectory(prefix="memotherm-quality-") as folder, ProgressBars(data.name) as progress:
        if ablate:
            return measured.ablate(data, Path(folder), progress, cache=cache)
        return measured.run(data, Path(folder), progress, settings=settings, cache=cache, store=store)


def _diagnosis(sets: list[EvaluationSet], question_id: str, settings: dict[str, Any], cache: Path | None) -> list[str]:
    asked = [(data, each) for data in sets for each in data.questions if each.id == question_id]
    if not asked:
        raise NotFound(f"no question {question_id!r} in these sets: use a qid of the data")
    data, question = asked[0]
    with tempfile.TemporaryDirectory(prefix="memotherm-quality-") as folder, ProgressBars(data.name) as progress:
        return measured.diagnose(data, question, Path(folder), progress, settings=settings, cache=cache)


@bench.command("silence")
@_options
def silence(data: Path, prefixes: tuple[str, ...], cache: Path | None, out: Path | None) -> Output:
    """Ask prompts that no memory answers, such as "thanks", and count the contexts that stay empty.

    Beside it stands what the floor of confidence costs: the gold in the contexts of answerable questions.
    A store of ten facts and the first 30 and 100 turns of conversations are measured besides the sets of the folder.

    \b
    memotherm bench silence --data evaluation/
    memotherm bench silence --data evaluation/ --set locomo
    """
    prompts = load_prompts(data)
    results = []
    for whole in measured.quality_sets([TEN_FACTS, *load(data)], prefixes):
        for part in (*beginnings(whole), whole):
            with tempfile.TemporaryDirectory(prefix="memotherm-silence-") as folder, ProgressBars(part.name) as bars:
                results.append(measure_silence(part, prompts, Path(folder), bars, cache=cache))
    return _report({"sets": [result.as_dict() for result in results]}, [silence_table(results)], out)


def _report(values: dict[str, Any], lines: Iterable[RenderableType], out: Path | None) -> Output:
    """Return a report, and write it to a file if there is one."""
    report = {"date": system_clock().isoformat(timespec="seconds"), "version": __version__, **values}
    if out is not None:
        out.write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    return Output(report, lines)


@bench.command("cases")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@prints
@memory_option()
def cases(mem: Memotherm, file: TextIO) -> Output:
    """Run the regression cases of a TOML file: questions, and the memories that must be found.

    The playground of the dashboard writes cases. The exit code is 1 if a case fails.

    \b
    memotherm bench cases cases.toml
    """
    results = list(run_cases(mem, read_cases(file.read())))
    failed = sum(not result.passed for result in results)
    lines = [
        f"✓ {result.name}" if result.passed else f"✗ {result.name}: not found: {', '.join(result.missing)}"
        for result in results
    ]
    return Output(
        {"cases": [result.as_dict() for result in results], "failed": failed},
        [*lines, f"{len(results) - failed} of {len(results)} cases passed"],
        code=exit_codes.FAILURE if failed else exit_codes.OK,
    )
