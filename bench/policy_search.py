"""A search for a better default policy.

Every variant is a policy that extends the built-in one, replayed on the same past. The grid changes only what the
specification leaves open: how long warm memories stay without use, and whether frequent use keeps them longer.
A variant is chosen on one simulated year, among those that keep no more memories live than the built-in policy, and
judged on another year with another seed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from bench.report import Row
from memotherm.tiers.policy import Policy, loads
from memotherm.tiers.replay import Replay, ReplayRow

__all__ = ["DEFAULT", "grid", "search_rows"]

#: The policy that all variants extend, and are compared with.
DEFAULT = "builtin"
#: The default is 180.
_COOL_WARM_DAYS = (90, 120, 150, 165, 180)
#: Uses from which a memory stays warm; 0 for no such rule.
_KEPT_USES = (0, 2, 3, 5)
_KEEP = """
[[rule]]
id = "keep.used"
run = "maintain"
when = {{ tier = "warm", uses = ">= {uses}", idle = ">= 7d" }}
to = "stay"
why = "used {uses} times or more"
"""


def grid() -> list[Policy]:
    """Return the variants of the built-in policy that are tried as a better default."""
    return [
        _variant(
            f"warm for {days} days" + (f", longer if used {uses} times" if uses else ""),
            _KEEP.format(uses=uses) if uses else "",
            cool_warm_days=days,
        )
        for days, uses in itertools.product(_COOL_WARM_DAYS, _KEPT_USES)
        if uses or days < _COOL_WARM_DAYS[-1]
    ]


def _variant(name: str, rules: str = "", **limits: float) -> Policy:
    set_limits = "".join(f"{limit} = {value}\n" for limit, value in limits.items())
    return loads(f'[policy]\nname = "{name}"\nextends = "{DEFAULT}"\n[limits]\n{set_limits}{rules}')


def search_rows(chosen_on: Replay, judged_on: dict[str, Replay]) -> Iterator[Row]:
    """Yield a row for each variant on the year it is chosen on, and for the chosen one on the other histories."""
    tried = [chosen_on.row(policy.name) for policy in grid()]
    default = chosen_on.row(DEFAULT)
    for row in (default, *tried):
        yield _search_row("chosen on", chosen_on, row.name)
    small = [row for row in tried if row.live_mean <= default.live_mean]
    best = max(small, key=lambda row: (row.live_hits, -row.live_mean))
    for history, found in judged_on.items():
        yield _search_row(history, found, DEFAULT)
        yield _search_row(history, found, best.name)


def _search_row(history: str, found: Replay, name: str) -> Row:
    return Row(
        key=f"search/{history}/{name}",
        what=f"{history}, {name}: live hits (built-in policy: the target)",
        value=round(found.row(name).live_hits, 4),
        unit="",
        target=round(found.row(DEFAULT).live_hits, 4),
        rising=True,
        notes=_notes(found.row(name), found),
    )


def _notes(line: ReplayRow, found: Replay) -> dict[str, object]:
    """Return the line of a variant, with the interval of its live hits minus those of the built-in policy."""
    difference = found.differences.get((DEFAULT, line.name))
    return {
        "live_hits": round(line.live_hits, 4),
        "hot_hits": round(line.hot_hits or 0.0, 4),
        "live_mean": round(line.live_mean),
        "tokens_per_turn": round(line.tokens_per_turn or 0.0, 1),
        "moves": line.moves,
        "flaps": line.flaps,
        "better_by": None if difference is None else [round(0.0 - difference.high, 4), round(0.0 - difference.low, 4)],
        "questions": found.questions,
        "demanded": found.demanded,
    }
