"""`memotherm bench`: questions of your own, and the memories that they must find."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TextIO

import click

from memotherm import Memotherm, Scope, Tier
from memotherm.cli import exit_codes
from memotherm.cli.options import memory_option
from memotherm.cli.output import Output
from memotherm.cli.parsing import SuggestingGroup
from memotherm.errors import InvalidInput
from memotherm.model import SCOPE_FIELDS


class RecallCase(NamedTuple):
    """A question, and the memories that must be among its hits; the fields are the keys of the file.

        [[case]]
        query = "When is the release?"
        scope = { project = "shop" }
        expect = ["mem_01j8zq4x000000000000000000"]

    The playground of the dashboard writes them.
    """

    name: str
    query: str
    #: Where it is asked, inside the scope of the run.
    scope: Scope
    tiers: tuple[Tier, ...]
    limit: int
    #: Whether narrower scopes are searched, too.
    include_narrower: bool
    expect: tuple[str, ...]


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


def run_cases(mem: Memotherm, cases: list[RecallCase]) -> Iterator[dict[str, Any]]:
    """Yield the result of each case, with the expected memories that are missing; nothing counts as a use."""
    for case in cases:
        view = mem.scoped(**dict(case.scope.items())) if case.scope.items() else mem
        recall = view.read_only().recall(
            case.query, case.limit, case.tiers, track=False, include_narrower=case.include_narrower
        )
        found = [hit.memory.id for hit in (*recall.hits, *recall.pinned)]
        missing = [memory_id for memory_id in case.expect if memory_id not in found]
        yield {"name": case.name, "passed": not missing, "missing": missing, "found": found}


def read_cases(text: str) -> list[RecallCase]:
    """Return the cases of a file, or raise `InvalidInput` that says which case is wrong."""
    try:
        tables = tomllib.loads(text).get("case", [])
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise InvalidInput(f"the file of cases is not valid TOML: {exc}") from exc
    if not isinstance(tables, list) or not tables:
        raise InvalidInput("the file has no cases: write [[case]] with a query and the ids that it expects")
    return [_case(number, table) for number, table in enumerate(tables, 1)]


def _case(number: int, table: Any) -> RecallCase:  # noqa: ANN401 - a value of the file
    where = f"case {number}"
    if not isinstance(table, Mapping):
        raise InvalidInput(f"{where} is not a table: write [[case]]")
    unknown = [key for key in table if key not in RecallCase._fields]
    if unknown:
        raise InvalidInput(f"{where}: unknown key {unknown[0]!r}: use {', '.join(RecallCase._fields)}")
    query, limit, include_narrower = table.get("query"), table.get("limit", 10), table.get("include_narrower", False)
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput(f'{where} needs a query, such as query = "When is the release?"')
    if isinstance(limit, bool) or not isinstance(limit, int) or not isinstance(include_narrower, bool):
        raise InvalidInput(f"{where}: limit must be a whole number, and include_narrower true or false")
    expect = _texts(table.get("expect"), f"{where}: expect", "the ids that must be found")
    tiers = _texts(table.get("tiers", ["hot", "warm"]), f"{where}: tiers", "hot, warm and cold")
    scope = table.get("scope", {})
    if not isinstance(scope, Mapping) or any(field not in SCOPE_FIELDS for field in scope):
        raise InvalidInput(f"{where}: scope must be a table with the fields {', '.join(SCOPE_FIELDS)}")
    searched = tuple(Tier.of(tier) for tier in tiers)
    return RecallCase(str(table.get("name", query)), query, Scope(**scope), searched, limit, include_narrower, expect)


def _texts(value: object, name: str, meaning: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(part, str) for part in value):
        raise InvalidInput(f"{name} must be a list of texts: {meaning}")
    return tuple(value)
