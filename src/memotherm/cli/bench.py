"""`memotherm bench`: questions of your own, and the memories that they must find."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import click

from memotherm import Memotherm
from memotherm.cli import exit_codes
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output
from memotherm.cli.parsing import SuggestingGroup
from memotherm.errors import InvalidInput

Json = dict[str, Any]

#: The arguments of `recall` that a case may have beside its query, and what else it may have.
_OPTIONS = ("tiers", "limit", "include_narrower")
_KEYS = ("name", "query", "scope", *_OPTIONS, "expect")


@click.group("bench", cls=SuggestingGroup)
def bench() -> None:
    """Measure Memotherm with questions of your own.

    \b
    memotherm bench cases cases.toml
    """


@bench.command("cases")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@memory_option()
def cases(mem: Memotherm, file: TextIO) -> Output:
    """Run the regression cases of a TOML file: questions, and the memories that must be found.

    The playground of the dashboard writes cases. The exit code is 1 if a case fails.

    \b
    memotherm bench cases cases.toml
    """
    results = list(run_cases(mem, read_cases(file.read())))
    failed = sum(not result["passed"] for result in results)
    lines = [
        f"✓ {result['name']}" if result["passed"] else f"✗ {result['name']}: not found: {', '.join(result['missing'])}"
        for result in results
    ]
    return Output(
        {"cases": results, "failed": failed},
        [*lines, f"{len(results) - failed} of {len(results)} cases passed"],
        code=exit_codes.FAILURE if failed else exit_codes.OK,
    )


def run_cases(mem: Memotherm, cases: Sequence[Json]) -> Iterator[Json]:
    """Yield the result of each case, with the expected memories that are missing; nothing counts as a use."""
    for case in cases:
        view = mem.scoped(**case.get("scope", {})).read_only()
        options = {name: case[name] for name in _OPTIONS if name in case}
        recall = view.recall(case["query"], track=False, **options)
        found = [hit.memory.id for hit in (*recall.hits, *recall.pinned)]
        missing = [memory_id for memory_id in case["expect"] if memory_id not in found]
        yield {"name": case.get("name", case["query"]), "passed": not missing, "missing": missing, "found": found}


def read_cases(text: str) -> list[Json]:
    """Return the cases of a file, or raise `InvalidInput`; `recall` checks the values of its arguments.

    The playground of the dashboard writes them:

        [[case]]
        query = "When is the release?"
        scope = { project = "shop" }
        expect = ["mem_01j8zq4x000000000000000000"]
    """
    try:
        cases = tomllib.loads(text).get("case")
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise InvalidInput(f"the file of cases is not valid TOML: {exc}") from exc
    if not isinstance(cases, list) or not cases:
        raise InvalidInput("the file has no cases: write [[case]] with a query and the ids that it expects")
    for number, case in enumerate(cases, 1):
        unknown = [key for key in case if key not in _KEYS] if isinstance(case, dict) else ["case"]
        if unknown:
            raise InvalidInput(f"case {number}: unknown key {unknown[0]!r}: use {', '.join(_KEYS)}")
        if not case.get("query"):
            raise InvalidInput(f'case {number} needs a query, such as query = "When is the release?"')
        expect = case.get("expect")
        if not isinstance(expect, list) or not expect:
            raise InvalidInput(f"case {number}: expect must be a list of the ids that must be found")
        if not isinstance(case.get("scope", {}), dict):
            raise InvalidInput(f'case {number}: scope must be a table such as {{ project = "shop" }}')
    return cases
