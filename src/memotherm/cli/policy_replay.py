"""`memotherm policy replay`: what other rules would have done, on the past of a store or on a trace of requests."""

from __future__ import annotations

from collections.abc import Iterator

import click

from memotherm.cli.options import StoreOptions, json_option, opened, store_option
from memotherm.cli.output import print_json, print_notes
from memotherm.cli.progress import progress_bar
from memotherm.cli.terminal import printable
from memotherm.errors import InvalidInput
from memotherm.tiers.lab.caches import HitRates, auto_sizes, hit_rates, read_trace
from memotherm.tiers.lab.replay import Interval, Replay, ReplayRow
from memotherm.tiers.policy import load
from memotherm.tools.serializers import replay_json

__all__ = ["replay", "report_lines"]

_COLUMNS = ("live hits", "hot hits", "tokens/turn", "live mean/max", "moves", "flaps", "cold asked", "regret")


@click.command("replay")
@click.argument("policies", nargs=-1)
@click.option("--since", metavar="TIME", help="When the period begins, or how long ago, such as 90d.")
@click.option(
    "--limit", default=10, show_default=True, help="How many of the best hits of a question it demands at most."
)
@click.option(
    "--explain", is_flag=True, help="Print which rules had moved to cold what the oracle would have had live."
)
@click.option("--trace", metavar="FILE", help="Replay a file of requests, one key per line; .gz is read too.")
@click.option(
    "--sizes",
    default="auto",
    metavar="LIST",
    show_default=True,
    help="With --trace: the numbers of keys that caches hold, such as 100,1000; `auto`: shares of the distinct keys.",
)
@store_option
@json_option
def replay(
    policies: tuple[str, ...],
    since: str | None,
    limit: int,
    explain: bool,
    trace: str | None,
    sizes: str,
    store: StoreOptions,
    as_json: bool,
) -> None:
    """Print what policies would have done with the past of a store; nothing is changed.

    The questions of the recall log are asked again over all tiers. With --trace, print the hit rates of LRU and of the
    optimal cache over a file of requests.

    \b
    memotherm policy replay policy.toml builtin --since 90d --explain
    memotherm policy replay --trace web07.txt.gz --sizes auto
    """
    if trace is not None:
        if policies:
            raise InvalidInput("a trace has no memories for policies: leave out --trace, or the policies")
        _replay_trace(trace, sizes, as_json=as_json)
        return
    loaded = [load(policy) for policy in policies or ("builtin",)]
    with opened(store, existing=True) as mem, progress_bar("steps", quiet=as_json, keeps=False) as update:
        found = mem.replay(loaded, since=since, limit=limit, progress=update)
    if as_json:
        print_json(replay_json(found))
        return
    for line in report_lines(found):
        click.echo(printable(line))
    for line in _rule_lines(found) if explain else ():
        click.echo(printable(line))
    print_notes(found.notes)


def _rule_lines(found: Replay) -> Iterator[str]:
    """Yield the rules of each policy that explain its regret, those with most of it first."""
    for policy, rules in found.regret_by_rule.items():
        regretted = sum(rules.values())
        yield f"{policy}: {regretted:,} of {found.demanded:,} demanded memories were cold and not with the oracle"
        for rule, times in rules.items():
            yield f"  {rule or 'no rule'}  {times:,} ({times / regretted:.0%})"


def report_lines(found: Replay) -> Iterator[str]:
    """Yield the report as a table, the differences, and the memories that explain the regret."""
    table = [("policy", *_COLUMNS, ""), *(_cells(row) for row in found.rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *values, note in table:
        cells = (value.rjust(width) for value, width in zip(values, widths[1:-1], strict=True))
        yield "  ".join([name.ljust(widths[0]), *cells, note]).rstrip()
    yield f"{found.askable:,} of {found.questions:,} questions asked again, {found.demanded:,} memories demanded"
    for (first, other), interval in found.differences.items():
        points = 100 * (found.row(first).live_hits - found.row(other).live_hits)
        yield f"live hits, {first} - {other}: {points:+.1f} {_interval(interval)} (95 %, bootstrap over sessions)"
    for cause in found.causes:
        yield f"{cause.policy}: {cause.id} {cause.content!r} cooled by {cause.rule}, asked for {cause.times} times"


def _cells(row: ReplayRow) -> tuple[str, ...]:
    return (
        row.name,
        f"{row.live_hits:.1%}",
        "-" if row.hot_hits is None else f"{row.hot_hits:.1%}",
        "-" if row.tokens_per_turn is None else f"{row.tokens_per_turn:,.0f}",
        f"{row.live_mean:,.0f} / {row.live_max:,}",
        "-" if row.moves is None else f"{row.moves:,}",
        "-" if row.flaps is None else f"{row.flaps:,}",
        f"{row.cold_asked:,}",
        "-" if row.regret is None else f"{100 * row.regret:.1f}",
        row.note,
    )


def _interval(interval: Interval) -> str:
    return f"[{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"


def _replay_trace(trace: str, sizes: str, *, as_json: bool) -> None:
    keys = read_trace(trace)
    distinct = len(set(keys))
    wanted = auto_sizes(distinct) if sizes == "auto" else _sizes(sizes)
    rates: list[HitRates] = []
    with progress_bar("sizes", quiet=as_json, keeps=False) as update:
        for size in wanted:
            rates.append(hit_rates(keys, size))
            update(len(rates), len(wanted))
    if as_json:
        listed = [
            {"size": each.size, "lru": each.lru, "lru_hits": each.lru_hits}
            | {"oracle": each.belady, "oracle_hits": each.belady_hits}
            for each in rates
        ]
        print_json({"trace": trace, "requests": len(keys), "keys": distinct, "sizes": listed})
        return
    click.echo(f"{len(keys):,} requests for {distinct:,} keys")
    click.echo(f"{'size':>10}  {'lru':>8}  {'oracle':>8}")
    for each in rates:
        click.echo(f"{each.size:>10,}  {each.lru:>8.2%}  {each.belady:>8.2%}")


def _sizes(text: str) -> tuple[int, ...]:
    """Return the sizes of a list such as 100,1000."""
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise InvalidInput(f"cannot read the sizes {text!r}: write for example 100,1000, or auto") from None
    if min(sizes) < 0:
        raise InvalidInput("the size of a cache cannot be negative")
    return sizes
