"""The steps of the demonstration: a week of an agent's memories.

A step is a function that uses the memory and returns a `Step`; `STEPS` lists them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import memotherm
from memotherm import Event, Hit, Memory, Memotherm, Settings, Status, Tier
from memotherm.demo.chart import WEEKS, chart

__all__ = ["STEPS", "Step", "Week", "run_demo"]

#: What a step prints below its text.
StepResult = Memory | Hit | Event | Status | str

_MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step: its time, its text, the calls it makes, and their results."""

    at: datetime
    title: str
    text: str
    code: str
    results: Sequence[StepResult] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the step as JSON values."""
        return {
            "at": self.at.isoformat(),
            "title": self.title,
            "text": self.text,
            "code": self.code,
            "results": [_json(result) for result in self.results],
        }


@dataclass
class Week:
    """The memory, its clock, and the memories of the demonstration by name."""

    mem: Memotherm
    now: datetime = _MONDAY
    memories: dict[str, Memory] = field(default_factory=dict)

    def until(self, day: int, hour: int) -> datetime:
        """Advance the clock to an hour of a day (0 = Monday)."""
        self.now = _MONDAY.replace(hour=0) + timedelta(days=day, hours=hour)
        return self.now

    def id(self, name: str) -> str:
        """Return the id of a memory."""
        return self.memories[name].id

    def current(self, name: str) -> Memory:
        """Return a memory as it is now."""
        return self.mem.get(self.id(name))


def run_demo(folder: Path) -> Iterator[Step]:
    """Run the steps in a new store, and yield each."""
    week: Week
    # The demonstration does not depend on the user's settings.
    with memotherm.open(folder / "week.db", embedder="local", settings=Settings(), clock=lambda: week.now) as mem:
        week = Week(mem)
        for step in STEPS:
            yield step(week)


def remember(week: Week) -> Step:
    """Monday: the first memories."""
    at = week.until(0, 9)
    drafts: Mapping[str, Mapping[str, Any]] = {
        "freeze": {
            "content": "Production deploys are frozen until Friday noon", "tags": ["blocker"], "tier": "hot",
            "priority": "important",
        },
        "units": {"content": "The user prefers metric units and short answers", "kind": "preference"},
        "port": {"content": "The staging database listens on port 5433", "tags": ["staging"]},
        "postgres": {"content": "Choose a database for the billing service", "kind": "task", "tags": ["task"]},
        "kickoff": {"content": "Kickoff meeting: Ana leads design, Tom leads the data migration"},
        "canteen": {"content": "The canteen closes at two o'clock", "priority": "low"},
    }  # fmt: skip
    stored = week.mem.remember_many(drafts.values())
    week.memories.update(zip(drafts, stored, strict=True))
    return Step(
        at=at,
        title="The agent stores memories",
        text="Three tiers: hot memories are in the prompt, warm ones are searched by default, cold ones on request.",
        code='mem.remember("Production deploys are ...", tier="hot", tags=["blocker"])',
        results=stored,
    )


def ask(week: Week) -> Step:
    """Monday: a query in other words."""
    at = week.until(0, 14)
    hits = week.mem.recall("may we deploy this week?", limit=2)
    return Step(
        at=at,
        title="A query in other words",
        text="Meaning and keywords are searched together; every score is explained.",
        code='mem.recall("may we deploy this week?", limit=2)',
        results=[*hits],
    )


def cool(week: Week) -> Step:
    """Tuesday: a move to cold, and a search there."""
    at = week.until(1, 10)
    moved = week.mem.move(week.id("kickoff"), "cold", why="the kickoff is over")
    question = "who leads the data migration?"
    usual = [hit.memory.id for hit in week.mem.recall(question)]
    cold = week.mem.recall(question, tiers=("cold",), limit=1)
    default = "still finds it" if moved.id in usual else "does not search it"
    return Step(
        at=at,
        title="An old memory becomes cold",
        text=f"The default recall {default}; a recall of the cold tier finds it.",
        code='mem.move(id, "cold")  ·  mem.recall(question, tiers=("cold",))',
        results=[moved, *cold],
    )


def pin(week: Week) -> Step:
    """Tuesday: a pinned memory."""
    at = week.until(1, 16)
    week.mem.pin(week.id("units"), why="the user repeated it")
    hits = week.mem.recall("how far is the data centre?", limit=1)
    return Step(
        at=at,
        title="A preference is pinned",
        text="Every recall and context includes a pinned memory.",
        code='mem.pin(id)  ·  mem.recall("how far is the data centre?", limit=1)',
        results=[*hits],
    )


def supersede(week: Week) -> Step:
    """Wednesday: a fact changes."""
    at = week.until(2, 11)
    new = week.mem.remember(
        "The staging database listens on port 5544 since Wednesday", tags=["staging"], supersedes=week.id("port")
    )
    week.memories["new port"] = new
    hits = week.mem.recall("which port does staging use?", limit=1)
    return Step(
        at=at,
        title="A fact changes",
        text="The new fact supersedes the old one, which is archived.",
        code='mem.remember("... 5544 ...", supersedes=old.id)  ·  mem.recall("which port?")',
        results=[*(hit for hit in hits if hit.memory.id == new.id), week.current("port")],
    )


def forget(week: Week) -> Step:
    """Thursday: a deletion, and its reversal."""
    at = week.until(3, 9)
    week.mem.forget(week.id("canteen"), why="not about work")
    deleted = week.current("canteen")
    week.until(3, 12)
    restored = week.mem.restore(week.id("canteen"), why="lunch turned out to matter")
    return Step(
        at=at,
        title="A memory is deleted and restored",
        text="A deleted memory can be restored; only purge erases.",
        code="mem.forget(id)  ·  mem.restore(id)",
        results=[deleted, restored],
    )


def compact(week: Week) -> Step:
    """Thursday: the tier rules run."""
    at = week.until(3, 18)
    week.mem.update(week.id("postgres"), metadata={"status": "done"})
    compaction = week.mem.compact()
    moved = [line for move in compaction.moves for line in (week.mem.get(move.id), f"{move.rule}: {move.why}")]
    return Step(
        at=at,
        title="The tier rules run",
        text="Rules decide which memories stay hot; each move has a rule and a reason.",
        code='mem.update(id, metadata={"status": "done"})  ·  mem.compact()',
        results=moved or ["nothing to move"],
    )


def seasons(week: Week) -> Step:
    """Thursday: half a year of another agent."""
    return Step(
        at=week.until(3, 19),
        title="Half a year",
        text=f"Another agent, {WEEKS} weeks: used memories stay warm (●), others become cold (·), hot (▲) stays small.",
        code="mem.compact()  ·  mem.maintain()  # every week",
        results=chart(),
    )


def ledger(week: Week) -> Step:
    """Friday: the events of a memory, and an undo."""
    at = week.until(4, 12)
    moved = week.mem.move(week.id("freeze"), "cold", why="the freeze ended, or so it seemed")
    week.mem.undo(moved.version)
    return Step(
        at=at,
        title="Every change is recorded and can be undone",
        text=f"The memory became cold too early: event #{moved.version} is undone, and both events are recorded.",
        code=f"mem.history(id)  ·  mem.undo({moved.version})",
        results=[*week.mem.history(moved.id), week.current("freeze")],
    )


def close(week: Week) -> Step:
    """Friday: the status of the store."""
    at = week.until(4, 17)
    problems = week.mem.check()
    verdict = "check() finds no problems" if not problems else f"check() found {len(problems)} problems"
    return Step(
        at=at,
        title="The week in one file",
        text=f"One SQLite file, no network, no language model; {verdict}.",
        code="mem.status()  ·  mem.check()",
        results=[week.mem.status()],
    )


STEPS: tuple[Callable[[Week], Step], ...] = (
    remember, ask, cool, pin, supersede, forget, compact, seasons, ledger, close,
)  # fmt: skip


def _json(result: StepResult) -> Any:  # noqa: ANN401
    match result:
        case Memory():
            return {"memory": _memory(result)}
        case Hit():
            return {"hit": {"score": round(result.score, 4), "why": str(result.why), "memory": _memory(result.memory)}}
        case Event():
            changes = {name: list(pair) for name, pair in result.changes.items()}
            return {"event": {"seq": result.seq, "action": result.action, "why": result.why, "changes": changes}}
        case Status():
            return {"status": {str(tier): result.tiers[tier].memories for tier in Tier}}
        case str():
            return {"text": result}


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "content": memory.content,
        "tier": str(memory.tier),
        "priority": str(memory.priority),
        "retention": str(memory.retention),
    }
