"""An exported store, imported into an empty one, is the same in every field, or the import says what differs."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import pytest

from memotherm import Memory, Memotherm
from memotherm.cli.privacy import exported_lines, write_lines
from memotherm.errors import MemothermError
from memotherm.model.results import Page
from memotherm.testing import FakeClock

from .texts import PIECES

_SCOPES: tuple[dict[str, str], ...] = (
    {},
    {"project": "apollo"},
    {"project": "apollo", "user": "ann", "session": "s1"},
    {"tenant": "rival"},
)


def _live(mem: Memotherm, clock: FakeClock, dice: random.Random) -> None:
    """Let a random history happen."""
    ids: list[str] = []
    for _ in range(60):
        clock.advance(minutes=dice.randrange(600))
        view = mem.scoped(**dice.choice(_SCOPES))
        with suppress(MemothermError):  # such as a limit, or a memory that this scope cannot see
            if not ids or dice.random() < 0.5:
                made = view.remember(
                    "".join(dice.choices(PIECES, k=dice.choice((1, 1, 3)))),
                    kind=dice.choice(("fact", "task")),
                    tags=dice.sample(["red", "blue\u2028", "grün"], dice.randrange(3)),
                    tier=dice.choice((None, "hot", "cold")),
                    priority=dice.choice(("normal", "normal", "pinned", "critical", "low")),
                    ttl=dice.choice((None, None, "1d", "3000000d")),
                    metadata=dice.choice((None, {"n": [1, 2.5, None], "ü": {"\u2028": "x"}})),
                    key=dice.choice((None, None, None, f"notes/{dice.randrange(4)}")),
                    index=dice.random() < 0.8,
                    source=dice.choice(("agent", "agent", "extracted")),
                    supersedes=dice.choice((None, *ids[-2:])),
                )
                ids.append(made.id)
            verb = dice.choice(
                (view.archive, view.archive, view.forget, view.restore, view.pin, view.verify, view.purge)
            )
            verb(dice.choice(ids))
            view.recall(dice.choice(PIECES))
    mem.scoped(project="apollo").maintain()


def _exported(mem: Memotherm) -> dict[str, Memory]:
    pages = (
        mem.find(retention=state, include_narrower=True, limit=500) for state in ("active", "archived", "proposed")
    )
    return {memory.id: replace(memory, version=0) for page in pages for memory in page}


@pytest.mark.parametrize("seed", range(8))
def test_an_import_of_an_export_is_equal_or_says_what_differs(
    seed: int, open_mem: Callable[..., Memotherm], clock: FakeClock, tmp_path: Path
) -> None:
    """A target with a lower limit says which entry it refused; a second import changes nothing."""
    dice, export = random.Random(seed), tmp_path / "all.jsonl"
    source = open_mem(tmp_path / "source.db", settings={"max_pinned": 5})
    target = open_mem(tmp_path / "target.db", settings={"max_pinned": dice.choice((2, 5))})
    _live(source, clock, dice)
    with click.Context(click.Command("backup")):
        lines = exported_lines(source, include_narrower=True, hidden=True)
    write_lines(str(export), lines)
    imported = target.store.import_("jsonl", export)

    before, after = _exported(source), _exported(target)
    left_out = {json.loads(lines[int(skipped.path.rpartition("#L")[2]) - 1])["id"] for skipped in imported.skipped}
    expected = {each: memory for each, memory in before.items() if each not in left_out}
    assert after == expected
    assert imported.stored == len(expected) == len(before) - len(imported.skipped)
    again = target.store.import_("jsonl", export)
    assert (again.stored, again.duplicates, again.skipped) == (0, len(expected), imported.skipped)
    assert _exported(target) == after
    copies = [target.scoped(agent="copy").store.import_("jsonl", export) for _ in range(2)]
    assert copies[0].stored > 0 == copies[1].stored


def test_an_export_is_one_state_of_the_store(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Memories that are archived while it is written are in it."""
    mem, other = open_mem(tmp_path / "memory.db"), open_mem(tmp_path / "memory.db")
    ids = {memory.id for memory in mem.remember_many([{"content": f"otter {number}"} for number in range(20)])}
    find = Memotherm.find

    def find_then_archive(self: Memotherm, **filters: Any) -> Page:
        found = find(self, **filters)
        for memory in find(other, limit=3):
            other.archive(memory.id)
        return found

    with click.Context(click.Command("export")), patch.object(Memotherm, "find", find_then_archive):
        lines = exported_lines(mem, include_narrower=False, hidden=True)
    assert {json.loads(line)["id"] for line in lines} == ids
