"""`memotherm policy`: show, lint, test, compare and replay tier policies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from memotherm.cli.exit_codes import CONFIG, FAILURE
from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.parsing import SuggestingGroup
from memotherm.cli.policy_replay import replay
from memotherm.cli.terminal import printable
from memotherm.errors import PolicyError
from memotherm.policy import Finding, Policy, load
from memotherm.text.quantity import pluralize
from memotherm.tools.serializers import move_json

__all__ = ["command"]


@click.group("policy", cls=SuggestingGroup)
def command() -> None:
    """Show, lint, test, compare and replay tier policies.

    A policy is a TOML file, or the name of one that comes with the package: builtin, coding-agent,
    customer-support, personal-assistant, research.
    """


@command.command("show")
@click.argument("policy", default="builtin")
@json_option
def show(policy: str, as_json: bool) -> None:
    """Print the rules of a policy in the order in which they are asked, with their origin.

    \b
    memotherm policy show
    memotherm policy show coding-agent --json
    """
    read = load(policy)
    if as_json:
        print_json({"name": read.name, "hash": read.digest, "limits": read.limits, "rules": list(_rules_json(read))})
        return
    click.echo(f"{read.name} ({read.digest}){f': {read.description}' if read.description else ''}")
    for name, value in read.limits.items():
        click.echo(f"  {name} = {value}")
    for rule in _rules_json(read):
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
        print_json({"policy": policy, "findings": [_finding_json(finding) for finding in found]})
    else:
        for finding in found:
            kind = "warning" if finding.warning else "error"
            line = "" if finding.line is None else f":{finding.line}"
            click.echo(printable(f"{policy}{line}: {kind} {finding.code} {finding.message}"))
        if not found:
            click.echo(f"{policy}: no problems found")
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
        listed = [{"name": result.name, "passed": result.passed, "detail": result.detail} for result in results]
        print_json({"policy": policy, "tests": listed, "failed": failed})
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
        listed = [
            {
                "id": difference.memory.id,
                "content": difference.memory.content,
                "tier": str(difference.memory.tier),
                "run": difference.run,
                "first": None if difference.first is None else move_json(difference.first),
                "second": None if difference.second is None else move_json(difference.second),
            }
            for difference in found
        ]
        print_json({"differences": listed})
        return
    for difference in found:
        click.echo(str(difference))
    click.echo(f"{pluralize(len(found), 'memory')} would end in another tier")


command.add_command(replay)


def _rules_json(policy: Policy) -> Iterator[dict[str, Any]]:
    """Yield the rules of a policy and of those it extends, in order."""
    for rule in policy.own_rules:
        targets: Sequence[str] = [str(tier) for tier, _ in rule.targets] or ["stay"]
        yield {
            "id": rule.id,
            "run": rule.run,
            "to": " or ".join(targets),
            "why": rule.why,
            "origin": policy.name,
        }
    if policy.base is not None:
        yield from _rules_json(policy.base)


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": "warning" if finding.warning else "error",
        "line": finding.line,
        "path": ".".join(map(str, finding.path)),
        "message": finding.message,
    }
