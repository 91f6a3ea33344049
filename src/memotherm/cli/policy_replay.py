"""`memotherm policy replay`: what other rules would have done, on a trace of requests."""

from __future__ import annotations

import click

from memotherm.cli.options import json_option
from memotherm.cli.output import print_json
from memotherm.cli.progress import progress_bar
from memotherm.errors import InvalidInput
from memotherm.policy.simulation import HitRates, auto_sizes, hit_rates
from memotherm.policy.traces import read_trace

__all__ = ["replay"]


@click.command("replay")
@click.option("--trace", required=True, metavar="FILE", help="A file of requests, one key per line; .gz is read too.")
@click.option(
    "--sizes",
    default="auto",
    metavar="LIST",
    show_default=True,
    help="The numbers of keys that the caches hold, such as 100,1000; `auto`: shares of the distinct keys.",
)
@json_option
def replay(trace: str, sizes: str, as_json: bool) -> None:
    """Print the hit rates of LRU and of the optimal cache over a trace.

    \b
    memotherm policy replay --trace web07.txt.gz --sizes auto
    """
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
