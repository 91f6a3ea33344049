"""`memotherm demo`: a week of an agent's memories, and a chart of half a year, in the terminal or as JSON lines."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.text import Text

import memotherm
from memotherm import Event, Hit, Memory, Move, Settings, Status, Tier
from memotherm.cli.formatting import console, line_of, row, tier_bar

#: What a step prints below its text.
StepResult = Memory | Hit | Event | Move | Status | str

_PAUSE_SECONDS = 2.5
_MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
_NEXT = (
    ("Store a memory", 'memotherm remember "..."'),
    ("Install it in your agent", "memotherm install claude-code"),
    ("Read the docs", "README.md, then docs/"),
    ("Measure speed", "make bench"),
    ("See what is stored, in the browser", "memotherm dashboard"),
)


@click.command("demo")
@click.option("--slow", is_flag=True, help="Pause between the steps.")
@click.option("--json", "as_json", is_flag=True, help="Print the steps as JSON lines.")
def demo(slow: bool, as_json: bool) -> None:
    """Run a demonstration: a week of an agent's memories.

    The store is in a temporary folder; your own store is neither read nor written.

    \b
    memotherm demo --slow
    """
    out = console()
    if not as_json:
        out.print("[bold]Memotherm[/bold] · an agent's week of memories")
        out.print("One agent, a temporary store, a simulated clock, the real search.", style="dim")
    with tempfile.TemporaryDirectory(prefix="memotherm-demo-", ignore_cleanup_errors=True) as folder:
        for step in _week(Path(folder), out.width):
            if as_json:
                results = [_json(result) for result in step.results]
                values = {"at": step.at.isoformat(), "title": step.title, "text": step.text, "code": step.code}
                click.echo(json.dumps({**values, "results": results}, ensure_ascii=False))
                continue
            out.print()
            out.print(Text(f"{step.at:%A %H:%M}", style="bold cyan"), Text(step.title, style="bold"))
            out.print(row(Text(), Text(step.text), Text(step.code, style="dim italic")))
            for line in _lines(step.results):
                out.print(line)
            if slow:
                time.sleep(_PAUSE_SECONDS)
    if not as_json:
        out.print("\nNext", style="bold")
        for number, (purpose, command) in enumerate(_NEXT, 1):
            out.print(row(Text(f"  {number}."), Text(f"{purpose}: ").append(command, style="cyan")))


class _Step(NamedTuple):
    """A step: its time, its title and text, the calls it makes, and their results."""

    at: datetime
    title: str
    text: str
    code: str
    results: Sequence[StepResult]


def _week(folder: Path, width: int) -> Iterator[_Step]:
    """Use a new store for a week, and yield each step; its chart fits a width."""
    now = _MONDAY

    def wait_until(day: int, hour: int) -> None:
        nonlocal now
        now = _MONDAY + timedelta(days=day, hours=hour)

    def step(title: str, text: str, code: str, results: Sequence[StepResult]) -> _Step:
        return _Step(now, title, text, code, results)

    # The demonstration does not depend on the user's settings.
    with memotherm.open(folder / "week.db", embedder="local", settings=Settings(), clock=lambda: now) as mem:
        wait_until(0, 9)
        freeze, units, port, task, kickoff, canteen = stored = mem.remember_many([
            {"content": "Production deploys are frozen until Friday noon", "tags": ["blocker"], "tier": "hot",
             "priority": "important"},
            {"content": "The user prefers metric units and short answers", "kind": "preference"},
            {"content": "The staging database listens on port 5433", "tags": ["staging"]},
            {"content": "Choose a database for the billing service", "kind": "task", "tags": ["task"]},
            {"content": "Kickoff meeting: Ana leads design, Tom leads the data migration"},
            {"content": "The canteen closes at two o'clock", "priority": "low"},
        ])  # fmt: skip
        yield step(
            "The agent stores memories",
            "Three tiers: hot memories are in the prompt, warm ones are searched by default, cold ones on request.",
            'mem.remember("Production deploys are ...", tier="hot", tags=["blocker"])',
            stored,
        )

        wait_until(0, 14)
        yield step(
            "A query in other words",
            "Meaning and keywords are searched together; every score is explained.",
            'mem.recall("may we deploy this week?", limit=2)',
            [*mem.recall("may we deploy this week?", limit=2)],
        )

        wait_until(1, 10)
        moved = mem.move(kickoff.id, "cold", why="the kickoff is over")
        question = "who leads the data migration?"
        usual = [hit.memory.id for hit in mem.recall(question)]
        default = "still finds it" if moved.id in usual else "does not search it"
        yield step(
            "An old memory becomes cold",
            f"The default recall {default}; a recall of the cold tier finds it.",
            'mem.move(id, "cold")  ·  mem.recall(question, tiers=("cold",))',
            [moved, *mem.recall(question, tiers=("cold",), limit=1)],
        )

        wait_until(1, 16)
        mem.pin(units.id, why="the user repeated it")
        yield step(
            "A preference is pinned",
            "Every recall and context includes a pinned memory.",
            'mem.pin(id)  ·  mem.recall("how far is the data centre?", limit=1)',
            [*mem.recall("how far is the data centre?", limit=1).pinned],
        )

        wait_until(2, 11)
        new = mem.remember(
            "The staging database listens on port 5544 since Wednesday", tags=["staging"], supersedes=port.id
        )
        hits = mem.recall("which port does staging use?", limit=1)
        yield step(
            "A fact changes",
            "The new fact supersedes the old one, which is archived.",
            'mem.remember("... 5544 ...", supersedes=old.id)  ·  mem.recall("which port?")',
            [*(hit for hit in hits if hit.memory.id == new.id), mem.get(port.id)],
        )

        wait_until(3, 9)
        mem.forget(canteen.id, why="not about work")
        deleted = mem.get(canteen.id)
        yield step(
            "A memory is deleted and restored",
            "A deleted memory can be restored; only purge erases.",
            "mem.forget(id)  ·  mem.restore(id)",
            [deleted, mem.restore(canteen.id, why="lunch turned out to matter")],
        )

        wait_until(3, 18)
        mem.update(task.id, metadata={"status": "done"})
        moves = mem.compact().moves
        yield step(
            "The tier rules run",
            "Rules decide which memories stay hot; each move has a rule and a reason.",
            'mem.update(id, metadata={"status": "done"})  ·  mem.compact()',
            [line for move in moves for line in (mem.get(move.id), move)] or ["nothing to move"],
        )

        wait_until(3, 19)
        yield step(
            "Half a year",
            f"Another agent, {_WEEKS} weeks: used memories stay warm (●), others become cold (·), hot (▲) stays small.",
            "mem.compact()  ·  mem.maintain()  # every week",
            _chart(min(_BAR_WIDTH, width - _BESIDE_BAR)),
        )

        wait_until(4, 12)
        moved = mem.move(freeze.id, "cold", why="the freeze ended, or so it seemed")
        mem.undo(moved.version)
        yield step(
            "Every change is recorded and can be undone",
            f"The memory became cold too early: event #{moved.version} is undone, and both events are recorded.",
            f"mem.history(id)  ·  mem.undo({moved.version})",
            [*mem.history(moved.id), mem.get(freeze.id)],
        )

        wait_until(4, 17)
        problems = mem.check()
        verdict = "check() finds no problems" if not problems else f"check() found {len(problems)} problems"
        yield step(
            "The week in one file",
            f"One SQLite file, no network, no language model; {verdict}.",
            "mem.status()  ·  mem.check()",
            [mem.status()],
        )


# The chart

_WEEKS = 32
_BAR_WIDTH = 36
#: The columns that a row of the chart has beside its bar.
_BESIDE_BAR = 43
_BARS = {Tier.HOT: "▲", Tier.WARM: "●", Tier.COLD: "·"}
_SUBJECTS = ("harbour", "museum", "billing", "garden", "sensor", "lecture")


def _chart(width: int) -> list[str]:
    """Simulate half a year, and return a line with the sizes of the tiers for every fourth week."""
    now = _MONDAY + timedelta(hours=9)
    counts: dict[int, dict[Tier, int]] = {}
    with memotherm.open(":memory:", embedder="none", settings=Settings(), clock=lambda: now) as mem:
        for week in range(1, _WEEKS + 1):
            # A week's memories; some recent ones are recalled, and an old one.
            subject = _SUBJECTS[week % len(_SUBJECTS)]
            mem.remember_many([
                {"content": f"Week {week}: the {subject} needs attention", "tier": "hot", "tags": ["blocker"],
                 "metadata": {"status": "open" if week % 8 == 0 else "resolved"}},
                {"content": f"Week {week}: we decided how the {subject} is built", "kind": "decision"},
                {"content": f"Week {week}: somebody prefers the {subject} in blue", "kind": "preference",
                 "tier": "hot"},
                *({"content": f"Week {week}: fact {number} about the {subject}"} for number in range(5)),
            ])  # fmt: skip
            mem.recall(f"week {week} {subject}", limit=2)
            mem.recall("week 1 fact 1", tiers=("hot", "warm", "cold"), limit=1)
            now += timedelta(days=7)
            mem.compact()
            mem.maintain()
            if week % 4 == 0:
                counts[week] = {tier: count.memories for tier, count in mem.status().tiers.items()}
    most = max(sum(count.values()) for count in counts.values())
    lines = []
    for week, count in counts.items():
        bar = "".join(_BARS[tier] * round(width * count[tier] / most) for tier in Tier)
        numbers = "  ".join(f"{tier} {count[tier]:>3}" for tier in Tier)
        lines.append(f"week {week:>2}  {bar:<{width}}  {numbers}")
    return lines


# Output


def _lines(results: Sequence[StepResult]) -> Iterator[Text]:
    for result in results:
        match result:
            case str():
                yield row(Text("  "), Text(result, style="dim"))
            case Status():
                yield from (row(Text("  "), tier_bar(result, tier, 60)) for tier in Tier)
            case _:
                yield line_of(result, 4, ids=False)


def _json(result: StepResult) -> dict[str, Any]:
    match result:
        case Memory():
            return {"memory": _memory(result)}
        case Hit():
            return {"hit": {"score": round(result.score, 4), "why": str(result.why), "memory": _memory(result.memory)}}
        case Event():
            changes = {name: list(pair) for name, pair in result.changes.items()}
            return {"event": {"seq": result.seq, "action": result.action, "why": result.why, "changes": changes}}
        case Move():
            return {"text": f"{result.rule}: {result.why}"}
        case str():
            return {"text": result}
        case status:
            return {"status": {str(tier): status.tiers[tier].memories for tier in Tier}}


def _memory(memory: Memory) -> dict[str, str]:
    fields = {name: str(getattr(memory, name)) for name in ("tier", "priority", "retention")}
    return {"id": memory.id, "content": memory.content, **fields}
