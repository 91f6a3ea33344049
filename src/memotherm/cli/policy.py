"""`memotherm policy`: show, lint, test, compare, replay and adopt tier policies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from memotherm import Memotherm
from memotherm.cli.exit_codes import CONFIG, FAILURE, OK
from memotherm.cli.options import StoreOptions, memory_option, opened, prints, store_option, yes_option
from memotherm.cli.output import Output, confirm, is_json, printable, progress_bar
from memotherm.cli.parsing import SuggestingGroup, since
from memotherm.errors import InvalidInput, PolicyError
from memotherm.model.clock import as_moment, system_clock
from memotherm.operations.codec import to_json
from memotherm.settings import FIELDS
from memotherm.settings import load as load_settings
from memotherm.text.content import pluralize
from memotherm.tiers.policies import require_adoptable
from memotherm.tiers.policy import Finding, Policy, load
from memotherm.tools.results import policy_json

if TYPE_CHECKING:
    from memotherm.tiers.replay import Replay

#: How many differing memories are listed before a confirmation.
_SHOWN = 20
_PLACEHOLDER = re.compile(r"\{([a-z_]+)[^}]*\}")
_CHANGES_RULES = "this changes which rules are in force"


@click.group("policy", cls=SuggestingGroup)
def policy() -> None:
    """Show, lint, test, compare, replay and adopt tier policies.

    A policy is a TOML file, or the name of one that comes with the package: builtin, coding-agent,
    customer-support, personal-assistant, research.

    \b
    memotherm policy show
    memotherm policy adopt coding-agent --since 90d
    """


@policy.command("show")
@click.argument("name", metavar="POLICY", required=False)
@prints
@store_option
def show(name: str | None, store: StoreOptions) -> Output:
    """Print the rules of a policy, or of the one in force, in the order in which they are asked, with their origin.

    \b
    memotherm policy show
    memotherm policy show coding-agent --json
    """
    if name is not None:
        read, settings = load(name), load_settings()
    else:
        with opened(store) as mem:
            read, settings = mem.policies.current(), mem.settings
    shown = policy_json(read)
    values = {**{each: getattr(settings, each) for each in FIELDS}, **read.limits}
    return Output(shown, _rule_lines(read, shown["rules"], values), [f"the file: {read.origin}"] * (read.base is None))


def _rule_lines(read: Policy, rules: Sequence[Mapping[str, Any]], values: Mapping[str, Any]) -> Iterator[object]:
    """Yield the name and the limits of a policy, and its rules as rows, with the values of their reasons."""
    from rich.text import Text

    from memotherm.cli.formatting import row

    yield row(Text(f"{read.name} ({read.digest})", style="bold"), *[Text(read.description)] * bool(read.description))
    yield from (f"  {limit} = {value}" for limit, value in read.limits.items())
    width, places = (max((len(rule[name]) for rule in rules), default=0) for name in ("id", "to"))
    for rule in rules:
        head = Text(f"  {rule['run']:<9} ").append(f"{rule['id']:<{width}}", style="cyan")
        head.append(f"  {rule['to']:<{places}}")
        told = Text(_told(rule, values))
        yield row(head, told if rule["origin"] == read.name else told.append(f"  ({rule['origin']})", style="dim"))


#: What the placeholders of a reason are limited by, where that is another condition, and what they stand for otherwise.
_LIMITED_BY = {"days": ("idle",), "recent_uses": ("recent_uses", "uses"), "relevance": ("query_relevance",)}
_OTHERWISE = {"reason": "a session needs room in hot"}
#: The placeholders whose limit is the least value.
_AT_LEAST = {"recent_uses", "relevance"}


def _told(rule: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """Return the reason of a rule with the limits of its conditions where the values of a memory would stand."""

    def limit(placeholder: re.Match[str]) -> str:
        names = _LIMITED_BY.get(placeholder[1], (placeholder[1],))
        compared = [str(table[name]) for table in rule["when"] for name in names if name in table]
        words = [text.lstrip("<>=! ").partition(",")[0].strip() for text in compared]
        found = [f"{values[word]:g}" if word in values else word.removesuffix("d") for word in words]
        least = ["more"] * bool(found and placeholder[1] in _AT_LEAST)
        return " or ".join([*dict.fromkeys(found), *least]) or _OTHERWISE.get(placeholder[1], "some")

    return _PLACEHOLDER.sub(limit, rule["why"])


@policy.command("lint")
@click.argument("name", metavar="POLICY")
@click.option("--on-store", is_flag=True, help="Also check what the rules would do to the memories of the store.")
@prints
@store_option
def lint(name: str, on_store: bool, store: StoreOptions) -> Output:
    """Check a policy; exit with 5 if it has errors. Warnings do not count.

    \b
    memotherm policy lint policy.toml
    memotherm policy lint policy.toml --on-store --json
    """
    try:
        read = load(name)
        if on_store:
            with opened(store) as mem:
                found = mem.policies.lint(read)
        else:
            found = read.lint()
    except PolicyError as exc:
        if not exc.findings:
            raise
        found = [finding for finding in exc.findings if isinstance(finding, Finding)]
    data = {"policy": name, "findings": to_json(found)}
    code = OK if all(finding.warning for finding in found) else CONFIG
    return Output(data, _finding_lines(name, found), code=code)


@policy.command("test")
@click.argument("name", metavar="POLICY")
@prints
def test(name: str) -> Output:
    """Run the tests of a policy; exit with 1 if one fails.

    \b
    memotherm policy test policy.toml
    """
    results = load(name).test()
    failed = sum(not result.passed for result in results)
    data = {"policy": name, "tests": to_json(results), "failed": failed}
    lines = [*map(str, results), f"{pluralize(len(results), 'test')}, {failed} failed"]
    return Output(data, lines, code=FAILURE if failed else OK)


@policy.command("diff")
@click.argument("first")
@click.argument("second")
@memory_option(whole_store=True)
def diff(mem: Memotherm, first: str, second: str) -> Output:
    """List the memories of a store whose next move differs between two policies.

    \b
    memotherm policy diff builtin policy.toml
    """
    found = mem.policies.diff(load(first), load(second))
    lines = [*map(str, found), f"{pluralize(len(found), 'memory')} would end in another tier"]
    return Output({"differences": to_json(found)}, lines)


@policy.command("adopt")
@click.argument("name", metavar="POLICY")
@click.option("--since", type=since, metavar="TIME", help="When the period of the replay begins, such as 90d (ago).")
@click.option("--no-replay", is_flag=True, help="Do not replay the past, which takes time and needs the recall log.")
@yes_option
@memory_option(whole_store=True)
def adopt(mem: Memotherm, name: str, since: str | None, no_replay: bool, yes: bool) -> Output:
    """Put a policy in force for all processes that use the store.

    Prints what lint finds, the tests, a replay of the past beside the policy in force, and the memories whose next
    move differs. A policy with errors or failing tests is refused, and the one in force stays.

    \b
    memotherm policy adopt policy.toml --since 90d
    memotherm policy adopt research --no-replay --yes --json
    """
    read = load(name)
    found, results = mem.policies.lint(read), read.test()
    differing = mem.policies.diff(mem.policies.current(), read)
    _print_before_change(
        [
            *_finding_lines(name, found),
            *map(str, results),
            *map(str, differing[:_SHOWN]),
            f"{pluralize(len(differing), 'memory')} would end in another tier than now",
        ]
    )
    require_adoptable(read, found)
    replayed = "--no-replay" if no_replay else _replayed(mem, read, since)
    unknown = f"the past was not replayed: {replayed}"
    _print_before_change([unknown] if isinstance(replayed, str) else _report_lines(replayed))
    confirm(f"Adopt {read.name} ({read.digest})?", _CHANGES_RULES, yes=yes)
    adopted = mem.policies.adopt(read)
    data = {
        "adoption": to_json(adopted),
        "findings": to_json(found),
        "tests": to_json(results),
        "differences": to_json(differing),
        "replay": None if isinstance(replayed, str) else to_json(replayed),
    }
    return Output(data, [f"{adopted.name} ({adopted.hash}) is in force"])


def _replayed(mem: Memotherm, candidate: Policy, since: str | None) -> Replay | str:
    """Return what a policy would have done with the past, beside the one in force; or why that is not known."""
    if since is not None:
        as_moment(since, "since", system_clock())
    current = mem.policies.current()
    if current.name == candidate.name:
        current = replace(current, name=f"{current.name} in force")
    compared = [candidate] if current.digest == candidate.digest else [candidate, current]
    with progress_bar("steps", keeps=False) as update:
        try:
            return mem.policies.replay(compared, since=since, progress=update)
        except InvalidInput as exc:
            return str(exc)


@policy.command("rollback")
@yes_option
@memory_option(whole_store=True)
def rollback(mem: Memotherm, yes: bool) -> Output:
    """Take back all moves of the policy in force, and put the one before it in force.

    Memories that something else has moved since are left alone and listed.

    \b
    memotherm policy rollback
    """
    present = mem.policies.current()
    confirm(f"Take back {present.name} ({present.digest}) and all its moves?", _CHANGES_RULES, yes=yes)
    done = mem.policies.rollback()
    taken = f"{pluralize(len(done.moves), 'move')} of {done.name} taken back; {done.adoption.name} is in force"
    return Output(to_json(done), [*(f"left alone {skipped}" for skipped in done.skipped), taken])


@policy.command("history")
@memory_option(whole_store=True)
def history(mem: Memotherm) -> Output:
    """List which policies were adopted and rolled back.

    \b
    memotherm policy history
    """
    adoptions = mem.policies.history()
    lines = [*map(str, adoptions)] or ["no policy was adopted: the built-in rules are in force"]
    return Output({"adoptions": to_json(adoptions)}, lines)


def _finding_lines(name: str, found: Sequence[Finding]) -> list[str]:
    return [
        f"{name}{'' if each.line is None else f':{each.line}'}: {'warning' if each.warning else 'error'} "
        f"{each.code} {each.message}"
        for each in found
    ] or [f"{name}: no problems found"]


def _print_before_change(lines: Iterable[str]) -> None:
    """Print lines; if the reader has closed the pipe (`| head`), the change that follows is made all the same."""
    with suppress(BrokenPipeError):
        for line in () if is_json() else lines:
            click.echo(printable(line))


@policy.command("replay")
@click.argument("policies", nargs=-1)
@click.option("--since", type=since, metavar="TIME", help="When the period begins, or how long ago, such as 90d.")
@click.option(
    "--limit", default=10, show_default=True, help="How many of the best hits of a question it demands at most."
)
@click.option("--explain", is_flag=True, help="Print which rules had moved to cold what was demanded.")
@prints
@store_option
def replay(policies: tuple[str, ...], since: str | None, limit: int, explain: bool, store: StoreOptions) -> Output:
    """Print what policies would have done with the past of a store; nothing is changed.

    The questions of the recall log are asked again over all tiers.

    \b
    memotherm policy replay policy.toml builtin --since 90d --explain
    """
    loaded = [load(name) for name in policies or ("builtin",)]
    with opened(store) as mem, progress_bar("steps", keeps=False) as update:
        found = mem.policies.replay(loaded, since=since, limit=limit, progress=update)
    lines = list(_report_lines(found))
    for name, rules in found.cold_by_rule.items() if explain else ():
        cold = sum(rules.values())
        lines.append(f"{name}: {cold:,} of {found.demanded:,} demanded memories were cold")
        lines += [f"  {rule or 'no rule'}  {times:,} ({times / cold:.0%})" for rule, times in rules.items()]
    return Output(to_json(found), lines, found.notes)


def _report_lines(found: Replay) -> Iterator[str]:
    """Yield the report as a table, the differences, and the memories that were demanded while they were cold."""
    rows = [
        {
            "policy": row.name,
            "live hits": f"{row.live_hits:.1%}",
            "hot hits": "-" if row.hot_hits is None else f"{row.hot_hits:.1%}",
            "tokens/turn": "-" if row.tokens_per_turn is None else f"{row.tokens_per_turn:,.0f}",
            "live mean/max": f"{row.live_mean:,.0f} / {row.live_max:,}",
            "moves": "-" if row.moves is None else f"{row.moves:,}",
            "flaps": "-" if row.flaps is None else f"{row.flaps:,}",
            "cold asked": f"{row.cold_asked:,}",
            "": row.note,
        }
        for row in found.rows
    ]
    table = [[*rows[0]], *([*row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *values, note in table:
        cells = (value.rjust(width) for value, width in zip(values, widths[1:-1], strict=True))
        yield "  ".join([name.ljust(widths[0]), *cells, note]).rstrip()
    yield f"{found.askable:,} of {found.questions:,} questions asked again, {found.demanded:,} memories demanded"
    for (first, other), interval in found.differences.items():
        points = 100 * (found.row(first).live_hits - found.row(other).live_hits)
        between = f"[{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
        yield f"live hits, {first} - {other}: {points:+.1f} {between} (95 %, bootstrap over sessions)"
    for cause in found.causes:
        yield f"{cause.policy}: {cause.id} {cause.content!r} cooled by {cause.rule}, asked for {cause.times} times"
