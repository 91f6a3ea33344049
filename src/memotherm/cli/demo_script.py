"""An agent's week, as a list of steps: the demonstration without its looks.

A step is a function that uses the memory and returns what there is to tell. To add one,
write it and put it into `STEPS`. This module knows the facade; it does not know the terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import memotherm
from memotherm import Event, Hit, Memory, Memotherm, Settings, Status, Tier
from memotherm.cli.chart import WEEKS, chart

__all__ = ["STEPS", "Step", "Week", "tell"]

#: What a step shows, besides its words.
Shown = Memory | Hit | Event | Status | str

_MONDAY = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Step:
    """One thing that happened: when, what, the call behind it, and what came of it."""

    at: datetime
    title: str
    text: str
    code: str
    shown: Sequence[Shown] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the step as plain values."""
        return {
            "at": self.at.isoformat(),
            "title": self.title,
            "text": self.text,
            "code": self.code,
            "shown": [_plain(each) for each in self.shown],
        }


@dataclass
class Week:
    """The memory, its clock, and the memories of the story by the names it gives them."""

    mem: Memotherm
    now: datetime = _MONDAY
    known: dict[str, Memory] = field(default_factory=dict)

    def until(self, day: int, hour: int) -> datetime:
        """Let time pass until an hour of a day (0 = Monday)."""
        self.now = _MONDAY.replace(hour=0) + timedelta(days=day, hours=hour)
        return self.now

    def id(self, name: str) -> str:
        """Return the id of a memory of the story."""
        return self.known[name].id

    def fresh(self, name: str) -> Memory:
        """Return a memory of the story as it is now."""
        return self.mem.get(self.id(name))


def tell(folder: Path) -> Iterator[Step]:
    """Live through the week in a new store, one step at a time."""
    week: Week
    # A user's own settings must not change the story, so none are read.
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
        "postgres": {"content": "We chose PostgreSQL over MySQL for the billing service", "kind": "decision"},
        "kickoff": {"content": "Kickoff meeting: Ana leads design, Tom leads the data migration"},
        "canteen": {"content": "The canteen closes at two o'clock", "priority": "low"},
    }  # fmt: skip
    stored = week.mem.remember_many(drafts.values())
    week.known.update(zip(drafts, stored, strict=True))
    return Step(
        at=at,
        title="The agent starts work and remembers",
        text="Three tiers: hot is in the prompt, warm is found by search, cold is the archive.",
        code='mem.remember("Production deploys are ...", tier="hot", tags=["blocker"])',
        shown=stored,
    )


def ask(week: Week) -> Step:
    """Monday: a question in other words."""
    at = week.until(0, 14)
    hits = week.mem.recall("may we deploy this week?", limit=2)
    return Step(
        at=at,
        title="A question in other words",
        text="Meaning and keywords are searched together; every score has its reason.",
        code='mem.recall("may we deploy this week?", limit=2)',
        shown=[*hits],
    )


def cool(week: Week) -> Step:
    """Tuesday: into the archive, and found there when asked."""
    at = week.until(1, 10)
    moved = week.mem.move(week.id("kickoff"), "cold", why="the kickoff is over")
    question = "who leads the data migration?"
    usual = [hit.memory.id for hit in week.mem.recall(question)]
    dug = week.mem.recall(question, tiers=("cold",), limit=1)
    found = "finds it still" if moved.id in usual else "does not look there"
    return Step(
        at=at,
        title="What is over goes cold",
        text=f"The usual recall {found} and pays nothing for it; asked, cold answers too.",
        code='mem.move(id, "cold")  ·  mem.recall(question, tiers=("cold",))',
        shown=[moved, *dug],
    )


def pin(week: Week) -> Step:
    """Tuesday: something that must never be missing."""
    at = week.until(1, 16)
    week.mem.pin(week.id("units"), why="the user repeated it")
    hits = week.mem.recall("how far is the data centre?", limit=1)
    return Step(
        at=at,
        title="One preference must never be missing",
        text="A pinned memory comes with every answer, whatever is asked.",
        code='mem.pin(id)  ·  mem.recall("how far is the data centre?", limit=1)',
        shown=[*hits],
    )


def supersede(week: Week) -> Step:
    """Wednesday: a fact changes."""
    at = week.until(2, 11)
    new = week.mem.remember(
        "The staging database listens on port 5544 since Wednesday", tags=["staging"], supersedes=week.id("port")
    )
    week.known["new port"] = new
    hits = week.mem.recall("which port does staging use?", limit=1)
    return Step(
        at=at,
        title="A fact changes",
        text="The new fact supersedes the old one, which is kept but no longer found.",
        code='mem.remember("... 5544 ...", supersedes=old.id)  ·  mem.recall("which port?")',
        shown=[*(hit for hit in hits if hit.memory.id == new.id), week.fresh("port")],
    )


def forget(week: Week) -> Step:
    """Thursday: forgotten, and restored."""
    at = week.until(3, 9)
    week.mem.forget(week.id("canteen"), why="not about work")
    gone = week.fresh("canteen")
    week.until(3, 12)
    back = week.mem.restore(week.id("canteen"), why="lunch turned out to matter")
    return Step(
        at=at,
        title="Forgotten, and restored",
        text="Forgetting hides a memory and can be taken back; only purge erases.",
        code="mem.forget(id)  ·  mem.restore(id)",
        shown=[gone, back],
    )


def compact(week: Week) -> Step:
    """Thursday: the tier rules run."""
    at = week.until(3, 18)
    done = week.mem.compact()
    moved = [line for move in done.moves for line in (week.mem.get(move.id), f"{move.rule}: {move.why}")]
    return Step(
        at=at,
        title="The rules tidy up",
        text="Plain rules decide what stays close; each move names its rule and reason.",
        code="mem.compact()",
        shown=moved or ["nothing to move"],
    )


def seasons(week: Week) -> Step:
    """Thursday: how it goes on, with another agent and a faster clock."""
    return Step(
        at=week.until(3, 19),
        title="And in half a year?",
        text=f"Another agent, {WEEKS} weeks: what is used stays warm (●), the rest sinks (·), hot (▲) stays small.",
        code="mem.compact()  ·  mem.maintain()  # every week",
        shown=chart(),
    )


def ledger(week: Week) -> Step:
    """Friday: what happened to one memory, and taking a step back."""
    at = week.until(4, 12)
    moved = week.mem.move(week.id("freeze"), "cold", why="the freeze ended, or so it seemed")
    week.mem.undo(moved.version)
    return Step(
        at=at,
        title="Every change is on record, and can be undone",
        text=f"The freeze went cold too early: event #{moved.version} is taken back, both stay on record.",
        code=f"mem.history(id)  ·  mem.undo({moved.version})",
        shown=[*week.mem.history(moved.id), week.fresh("freeze")],
    )


def close(week: Week) -> Step:
    """Friday: what is left of the week."""
    at = week.until(4, 17)
    problems = week.mem.check()
    verdict = "check() finds nothing wrong" if not problems else f"check() found {len(problems)} problems"
    return Step(
        at=at,
        title="The week in one file",
        text=f"One SQLite file, no network, no language model; {verdict}.",
        code="mem.status()  ·  mem.check()",
        shown=[week.mem.status()],
    )


STEPS: tuple[Callable[[Week], Step], ...] = (
    remember, ask, cool, pin, supersede, forget, compact, seasons, ledger, close,
)  # fmt: skip


def _plain(shown: Shown) -> Any:  # noqa: ANN401
    match shown:
        case Memory():
            return {"memory": _memory(shown)}
        case Hit():
            return {"hit": {"score": round(shown.score, 4), "why": str(shown.why), "memory": _memory(shown.memory)}}
        case Event():
            changes = {name: list(pair) for name, pair in shown.changes.items()}
            return {"event": {"seq": shown.seq, "action": shown.action, "why": shown.why, "changes": changes}}
        case Status():
            return {"status": {str(tier): shown.tiers[tier].memories for tier in Tier}}
        case str():
            return {"text": shown}


def _memory(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "content": memory.content,
        "tier": str(memory.tier),
        "priority": str(memory.priority),
        "retention": str(memory.retention),
    }
