"""`memotherm config`, `completion`, `doctor` and `bench`: settings, shell, installation, and questions of your own."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

import memotherm
from memotherm import Memotherm, Scope
from memotherm.cli import exit_codes
from memotherm.cli.memories import whereabouts
from memotherm.cli.options import StoreOptions, folder_option, memory_option, narrower_option, prints
from memotherm.cli.output import Output, printable
from memotherm.cli.parsing import SuggestingGroup, TextCommand
from memotherm.errors import InvalidInput, MemothermError
from memotherm.settings import FIELDS, default_store, load
from memotherm.settings.paths import sqlite_path, user_file
from memotherm.settings.sources import change_user_file, described_settings, known, with_setting, without_setting

if TYPE_CHECKING:
    from memotherm.doctor import Finding


@click.group("config", cls=SuggestingGroup)
def config() -> None:
    """Show the settings and where each value comes from, or change one.

    \b
    memotherm config show --origin
    memotherm config set max_pinned 5
    """


@config.command("show")
@click.option("--origin", is_flag=True, help="Print where each value comes from.")
@click.option("--changed", is_flag=True, help="Print only settings that are not at their default.")
@prints
def show(origin: bool, changed: bool) -> Output:
    """Print the settings; API keys are left out.

    \b
    memotherm config show --origin
    """
    settings = _described(changed=changed)
    lines = {
        name: repr(entry["value"]) + (f"  ({entry['origin']})" if origin else "") for name, entry in settings.items()
    }
    return Output(settings if origin else {name: entry["value"] for name, entry in settings.items()}, [lines])


@config.command("path")
@prints
def path() -> Output:
    """Print the path of your settings file, which `config set` writes."""
    file = user_file()
    missing = ["the file does not exist yet: `memotherm config set NAME VALUE` creates it"] * (not file.is_file())
    return Output({"path": str(file), "exists": file.is_file()}, [str(file)], missing)


@config.command("set", cls=TextCommand)
@click.argument("name")
@click.argument("value")
@prints
def set_(name: str, value: str) -> Output:
    """Set a setting in your settings file; comments in it stay.

    \b
    memotherm config set max_pinned 5
    """
    [own_name] = known({name: value}, "the arguments")
    return _edited(own_name, lambda text: with_setting(text, own_name, value))


@config.command("unset")
@click.argument("name", type=click.Choice(list(FIELDS)))
@prints
def unset(name: str) -> Output:
    """Remove a setting from your settings file.

    \b
    memotherm config unset max_pinned
    """
    return _edited(name, lambda text: without_setting(text, name))


def _described(*, changed: bool = False) -> dict[str, dict[str, Any]]:
    """Return the settings, without files that cannot be used; print what is wrong with these, also beside JSON."""
    problems: list[str] = []
    settings = described_settings(changed=changed, problems=problems)
    for problem in problems:
        click.echo(f"warning: {printable(problem)}", err=True)
    return settings


def _edited(name: str, change: Callable[[str], str]) -> Output:
    """Change the user's file; return the setting, and a note if something else than the file determines it."""
    file = change_user_file(change)
    entry: dict[str, Any] = _described()[name]
    stronger = f"the value comes from {entry['origin']}, which takes precedence over your settings file"
    notes = [] if entry["origin"] in (str(file), "default") else [stronger]
    return Output({"name": name, **entry}, [f"{name} = {entry['value']!r}"], notes)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the shell script for completion of commands and options.

    \b
    memotherm completion bash >> ~/.bashrc
    memotherm completion zsh >> ~/.zshrc
    memotherm completion fish > ~/.config/fish/completions/memotherm.fish
    """
    from click.shell_completion import get_completion_class

    from memotherm.cli.app import app

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    # Shells request completions with the variable that click derives from the name of the program.
    click.echo(kind(app, {}, "memotherm", "_MEMOTHERM_COMPLETE").source())


_MARKS = {"ok": ("✓", "green"), "note": ("·", "cyan"), "warning": ("!", "yellow"), "failure": ("✗", "red")}


@click.command("doctor")
@narrower_option
@prints
@folder_option
def doctor(store: StoreOptions, include_narrower: bool) -> Output:
    """Check the installation, and print how to correct problems.

    Your store is only read; writing is tested in temporary files.

    \b
    memotherm doctor --store agent.db
    """
    from memotherm.doctor import findings

    found = list(findings(lambda: _of_store(store, include_narrower=include_narrower)))
    broken = any(finding.state == "failure" for finding in found)
    data = {"ok": not broken, "findings": [finding._asdict() for finding in found]}
    return Output(data, _finding_lines(found), code=exit_codes.FAILURE if broken else exit_codes.OK)


def _finding_lines(found: list[Finding]) -> Iterator[object]:
    from rich.text import Text

    from memotherm.cli.formatting import row

    width = max(len(finding.name) for finding in found)
    for finding in found:
        mark, colour = _MARKS[finding.state]
        head = Text().append(mark, style=f"bold {colour}").append(f" {finding.name:<{width}}")
        yield row(head, Text(finding.detail), *[Text(f"→ {finding.remedy}", style="dim")] * bool(finding.remedy))


def _of_store(store: StoreOptions, *, include_narrower: bool) -> Iterator[Finding]:
    from memotherm.doctor import Finding, checked, failure, project_finding, store_findings

    url = store.url or default_store(load())
    path = sqlite_path(url)
    if path is not None and not path.exists():
        yield Finding("store", "note", f"{url} does not exist yet", f"memotherm remember '...' --store {url}")
        return
    try:
        outer = memotherm.open(store.url, scope=Scope(tenant=store.scope.tenant))
    except MemothermError as error:
        yield failure("store", error)
        return
    with outer:
        fields = {name: value for name, value in store.scope.items() if name != "tenant"}
        # Without a scope, the whole store is counted.
        include_narrower = include_narrower or not fields
        mem = outer.scoped(**fields)
        yield checked("project", lambda: project_finding(outer, Path.cwd()))
        yield from store_findings(
            mem, url, include_narrower=include_narrower, elsewhere=lambda hint: whereabouts(mem, store, hint)
        )


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
