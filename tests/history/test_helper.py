"""The second process of a backfill: its answers are those of the first, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.transcripts import write_sessions

from memotherm import Memotherm
from memotherm.history import backfill
from memotherm.history.backfill import Backfill
from memotherm.history.helper import Helper
from memotherm.history.sources import SOURCES
from memotherm.text.claims import Claim, Claims, claims_of_many


def _ordered(found: dict[str, Claims]) -> dict[str, tuple[list[Claim], tuple[int, ...]]]:
    return {text: (sorted(claims), corrects) for text, (claims, corrects) in found.items()}


@pytest.fixture
def started() -> Iterator[Helper]:
    """A helper with a process."""
    started = Helper()
    started.start()
    yield started
    started.close()


def test_a_second_process_answers_as_the_first_does(started: Helper) -> None:
    """The values travel unchanged; the claims of a sentence have no order."""
    texts = ["The port is 5433.", "No, the port is 5544 now.", "Der Bus fährt um 7:21."]
    assert _ordered(started.call(claims_of_many, texts).result()) == _ordered(claims_of_many(texts))


def test_calls_are_answered_after_the_process_was_killed(started: Helper) -> None:
    """As by a system that is short of memory."""
    first = _ordered(started.call(claims_of_many, ["The port is 5433."]).result())
    started._process.kill()
    started._process.join()
    for _ in range(5):
        assert _ordered(started.call(claims_of_many, ["The port is 5433."]).result()) == first


def test_memories_are_the_same_with_and_without_it(
    open_mem: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Contents, kinds, tiers and what is superseded."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "memotherm"))
    write_sessions(tmp_path, 4)

    def stored(name: str, worth: int) -> list[tuple[object, ...]]:
        monkeypatch.setattr(backfill, "_WORTH_HELP", worth)
        mem: Memotherm = open_mem(tmp_path / name)
        with Backfill(mem.by("person"), SOURCES, environ={}, home=tmp_path) as run:
            run.read()
            run.store()
        return [
            (each.id, each.content, each.kind, each.tier, each.tags, each.supersedes, each.valid_until, each.metadata)
            for each in mem.find(include_narrower=True, limit=1000, order="oldest")
        ]

    alone = stored("alone.db", 1_000_000_000)
    assert len(alone) > 100
    assert stored("helped.db", 0) == alone
