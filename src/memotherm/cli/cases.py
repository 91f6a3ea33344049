"""`memotherm cases`: run questions of your own, and fail if one does not find what it must."""

from __future__ import annotations

from typing import TextIO

import click

from memotherm.cli import exit_codes
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json
from memotherm.evaluation.cases import read_cases, run_cases

__all__ = ["command"]


@click.command("cases")
@click.argument("file", type=click.File("r", encoding="utf-8"))
@store_option
@json_option
def command(file: TextIO, store: StoreOptions, as_json: bool) -> int:
    """Run the regression cases of a TOML file: questions, and the memories that must be found.

    The playground of the dashboard writes cases. The exit code is 1 if a case fails.

    \b
    memotherm cases cases.toml
    """
    cases = read_cases(file.read())
    with opened(store, existing=True) as mem:
        results = list(run_cases(mem, cases))
    failed = sum(not result.passed for result in results)
    if as_json:
        print_json({"cases": [result.as_dict() for result in results], "failed": failed})
    else:
        for result in results:
            missing = "" if result.passed else f": not found: {', '.join(result.missing)}"
            click.echo(f"{'✓' if result.passed else '✗'} {result.name}{missing}")
        click.echo(f"{len(results) - failed} of {len(results)} cases passed")
    return exit_codes.FAILURE if failed else exit_codes.OK
