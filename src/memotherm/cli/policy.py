"""`memotherm policy`: show, lint, test, compare, replay and adopt tier policies."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

import click

from memotherm import Memotherm
from memotherm.cli.exit_codes import CONFIG, FAILURE
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.parsing import SuggestingGroup
from memotherm.cli.policy_replay import replay, report_lines
from memotherm.cli.progress import progress_bar
from memotherm.cli.terminal import printable
from memotherm.errors import InvalidInput, PolicyError
from memotherm.model.clock import as_moment, system_clock
from memotherm.text.content import pluralize
from memotherm.tiers.adoption import ShadowReport
from memotherm.tiers.lab.replay import Replay
from memotherm.tiers.policies import require_adoptable
from memotherm.tiers.policy import Finding, Policy, load
from memotherm.tools.serializers import (
    adoption_json,
    case_json,
    difference_json,
    finding_json,
    policy_json,
    replay_json,
    rollback_json,
    shadow_json,
)

__all__ = ["command"]

#: How many differing memories are listed before a confirmation.
_SHOWN = 20


@click.group("policy", cls=SuggestingGroup)
def command() -> None:
    """Show, lint, test, compare, replay and adopt tier policies.

    A policy is a TOML file, or the name of one that comes with the package: builtin, coding-agent,
    customer-support, personal-assistant, research.
    """


@command.command("show")
@click.argument("policy", required=False)
@store_option
@json_option
def show(policy: str | None, store: StoreOptions, as_json: bool) -> None:
    """Print the rules of a policy, or of the one in force, in the order in which they are asked, with their origin.

    \b
    memotherm policy show
    memotherm policy show coding-agent --json
    """
    if policy is not None:
        read = load(policy)
    else:
        with opened(store, existing=True) as mem:
            read = mem.policies.current()
    shown = policy_json(read)
    if as_json:
        print_json(shown)
        return
    click.echo(f"{read.name} ({read.digest}){f': {read.description}' if read.description else ''}")
    for name, value in read.limits.items():
        click.echo(f"  {name} = {value}")
    for rule in shown["rules"]:
        click.echo(
            f"  {rule['run']:<9} {rule['id']:<24} -> {rule['to']:<10} {printable(rule['why'])}  ({rule['origin']})"
        )
    if read.base is None:
        print_notes([f"the file: {read.origin}"])


@command.command("lint")
@click.argument("policy")
@click.option("--on-store", is_flag=True, help="Also check what the rules would do to the memories of the store.")
@store_option
@json_option
def lint(policy: str, on_store: bool, store: StoreOptions, as_json: bool) -> None:
    """Check a policy; exit with 5 if it has errors. Warnings do not count.

    \b
    memotherm policy lint policy.toml
    memotherm policy lint policy.toml --on-store --json
    """
    try:
        read = load(policy)
        if on_store:
            with opened(store, existing=True) as mem:
                found = mem.policies.lint(read)
        else:
            found = read.lint()
    except PolicyError as exc:
        if not exc.findings:
            raise
        found = [finding for finding in exc.findings if isinstance(finding, Finding)]
    if as_json:
        print_json({"policy": policy, "findings": [finding_json(finding) for finding in found]})
    else:
        for line in _finding_lines(policy, found):
            click.echo(printable(line))
    if any(not finding.warning for finding in found):
        raise click.exceptions.Exit(CONFIG)


@command.command("test")
@click.argument("policy")
@json_option
def test(policy: str, as_json: bool) -> None:
    """Run the tests of a policy; exit with 1 if one fails.

    \b
    memotherm policy test policy.toml
    """
    results = load(policy).test()
    failed = sum(not result.passed for result in results)
    if as_json:
        print_json({"policy": policy, "tests": [case_json(result) for result in results], "failed": failed})
    else:
        for result in results:
            click.echo(printable(str(result)))
        click.echo(f"{pluralize(len(results), 'test')}, {failed} failed")
    if failed:
        raise click.exceptions.Exit(FAILURE)


@command.command("diff")
@click.argument("first")
@click.argument("second")
@store_option
@json_option
def diff(first: str, second: str, store: StoreOptions, as_json: bool) -> None:
    """List the memories of a store whose next move differs between two policies.

    \b
    memotherm policy diff builtin policy.toml
    """
    policies = (load(first), load(second))
    with opened(store, existing=True) as mem:
        found = mem.policies.diff(*policies)
    if as_json:
        print_json({"differences": [difference_json(difference) for difference in found]})
        return
    for difference in found:
        click.echo(str(difference))
    click.echo(f"{pluralize(len(found), 'memory')} would end in another tier")


command.add_command(replay)


@command.command("adopt")
@click.argument("policy")
@click.option("--since", metavar="TIME", help="When the period of the replay begins, such as 90d (ago).")
@click.option("--no-replay", is_flag=True, help="Do not replay the past, which takes time and needs the recall log.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@store_option
@json_option
def adopt(policy: str, since: str | None, no_replay: bool, yes: bool, store: StoreOptions, as_json: bool) -> None:
    """Put a policy in force for all processes that use the store.

    Prints what lint finds, the tests, a replay of the past beside the policy in force, and the memories whose next
    move differs. A policy with errors or failing tests is refused, and the one in force stays.

    \b
    memotherm policy adopt policy.toml --since 90d
    memotherm policy adopt research --no-replay --yes --json
    """
    read = load(policy)
    with opened(store, existing=True) as mem:
        found, results = mem.policies.lint(read), read.test()
        differing = mem.policies.diff(mem.policies.current(), read)
        if not as_json:
            _print_before_change(
                [
                    *_finding_lines(policy, found),
                    *map(str, results),
                    *map(str, differing[:_SHOWN]),
                    f"{pluralize(len(differing), 'memory')} would end in another tier than now",
                ]
            )
        require_adoptable(read, found)
        replayed = "--no-replay" if no_replay else _replayed(mem, read, since, quiet=as_json)
        if not as_json:
            unknown = f"the past was not replayed: {replayed}"
            _print_before_change([unknown] if isinstance(replayed, str) else report_lines(replayed))
        _confirm(f"Adopt {read.name} ({read.digest})?", yes=yes)
        adopted = mem.policies.adopt(read)
    if as_json:
        print_json(
            {
                "adoption": adoption_json(adopted),
                "findings": [finding_json(finding) for finding in found],
                "tests": [case_json(result) for result in results],
                "differences": [difference_json(difference) for difference in differing],
                "replay": None if isinstance(replayed, str) else replay_json(replayed),
            }
        )
    else:
        click.echo(f"{adopted.name} ({adopted.hash}) is in force")


def _replayed(mem: Memotherm, candidate: Policy, since: str | None, *, quiet: bool) -> Replay | str:
    """Return what a policy would have done with the past, beside the one in force; or why that is not known."""
    if since is not None:
        as_moment(since, "since", system_clock())
    current = mem.policies.current()
    if current.name == candidate.name:
        current = replace(current, name=f"{current.name} in force")
    compared = [candidate] if current.digest == candidate.digest else [candidate, current]
    with progress_bar("steps", quiet=quiet, keeps=False) as update:
        try:
            return mem.replay(compared, since=since, progress=update)
        except InvalidInput as exc:
            return str(exc)


@command.command("rollback")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@store_option
@json_option
def rollback(yes: bool, store: StoreOptions, as_json: bool) -> None:
    """Take back all moves of the policy in force, and put the one before it in force.

    Memories that something else has moved since are left alone and listed.

    \b
    memotherm policy rollback
    """
    with opened(store, existing=True) as mem:
        present = mem.policies.current()
        _confirm(f"Take back {present.name} ({present.digest}) and all its moves?", yes=yes)
        done = mem.policies.rollback()
    if as_json:
        print_json(rollback_json(done))
        return
    for skipped in done.skipped:
        click.echo(printable(f"left alone {skipped}"))
    click.echo(f"{pluralize(len(done.moves), 'move')} of {done.name} taken back; {done.adoption.name} is in force")


@command.command("history")
@store_option
@json_option
def history(store: StoreOptions, as_json: bool) -> None:
    """List which policies were adopted and rolled back.

    \b
    memotherm policy history
    """
    with opened(store, existing=True) as mem:
        adoptions = mem.policies.history()
    if as_json:
        print_json({"adoptions": [adoption_json(adoption) for adoption in adoptions]})
        return
    for adoption in adoptions:
        click.echo(printable(str(adoption)))
    if not adoptions:
        click.echo("no policy was adopted: the built-in rules are in force")


@command.group("shadow", cls=SuggestingGroup)
def shadow() -> None:
    """Let a policy decide beside the one in force, without moving anything."""


@shadow.command("start")
@click.argument("policy")
@store_option
@json_option
def start(policy: str, store: StoreOptions, as_json: bool) -> None:
    """Put a policy in the shadow: compact and maintain record what it would move, recalls what it would miss.

    \b
    memotherm policy shadow start policy.toml
    """
    with opened(store, existing=True) as mem:
        started = mem.policies.start_shadow(policy)
    if as_json:
        print_json(adoption_json(started))
    else:
        click.echo(f"{started.name} ({started.hash}) is in the shadow")


@shadow.command("report")
@store_option
@json_option
def report(store: StoreOptions, as_json: bool) -> None:
    """Print what the policy in the shadow would have missed and spared.

    \b
    memotherm policy shadow report --json
    """
    with opened(store, existing=True) as mem:
        _print_report(mem.policies.shadow_report(), as_json=as_json)


@shadow.command("stop")
@store_option
@json_option
def stop(store: StoreOptions, as_json: bool) -> None:
    """Take the policy out of the shadow, and print its last report.

    \b
    memotherm policy shadow stop
    """
    with opened(store, existing=True) as mem:
        _print_report(mem.policies.stop_shadow(), as_json=as_json)


def _print_report(found: ShadowReport, *, as_json: bool) -> None:
    if as_json:
        print_json(shadow_json(found))
        return
    click.echo(printable(str(found)))
    for (tier, real), count in found.differing.items():
        click.echo(f"  {pluralize(count.memories, 'memory')} would be {tier} instead of {real} ({count.tokens} tokens)")


def _finding_lines(policy: str, found: Sequence[Finding]) -> list[str]:
    """Return what lint found, a line each."""
    if not found:
        return [f"{policy}: no problems found"]
    lines = []
    for finding in found:
        kind = "warning" if finding.warning else "error"
        line = "" if finding.line is None else f":{finding.line}"
        lines.append(f"{policy}{line}: {kind} {finding.code} {finding.message}")
    return lines


def _print_before_change(lines: Iterable[str]) -> None:
    """Print lines; if the reader has closed the pipe (`| head`), the change that follows is made all the same."""
    with suppress(BrokenPipeError):
        for line in lines:
            click.echo(printable(line))


def _confirm(question: str, *, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("this changes which rules are in force and standard input is not a terminal: pass --yes")
    click.confirm(question, abort=True, err=True)
