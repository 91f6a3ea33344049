"""A weak answer says that cold has a better one; a good one does not look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, tools
from memotherm.cli import app
from memotherm.rest.app import application
from memotherm.storage.sqlite.store import SqliteStore

_LIVE = (
    "The standup is at ten on weekdays", "The logo is green", "Anna reviews the pull requests", "The linter is ruff",
    "Coffee is on the third floor", "The build takes six minutes",
)  # fmt: skip
_DECISION = "We chose PostgreSQL for the billing database"
_QUESTION = "which database did we choose for billing?"
_HINT = f"1 better match in cold: {_DECISION} (recall with tiers=hot,warm,cold)"


@pytest.fixture
def archive() -> Iterator[Memotherm]:
    """Return a store with the bundled model, whose answer to a question has gone cold."""
    with memotherm.open(":memory:") as mem:
        mem.remember_many([{"content": content} for content in _LIVE])
        mem.remember(_DECISION, kind="decision", tier="cold")
        mem.remember("The office plants are watered on Fridays", tier="cold")
        yield mem


def test_a_weak_recall_names_the_better_match_in_cold(archive: Memotherm) -> None:
    """Through Python, MCP and REST; the hint names how to see it, and that answers."""
    assert archive.recall(_QUESTION).hint == _HINT
    assert tools.call(archive, "memory_recall", {"query": _QUESTION})["hint"] == _HINT
    with TestClient(application(archive), base_url="http://127.0.0.1") as client:
        assert client.post("/recall", json={"query": _QUESTION}).json()["hint"] == _HINT
    found = archive.recall(_QUESTION, tiers=("hot", "warm", "cold"))
    assert (found[0].memory.content, found.hint) == (_DECISION, "")


@pytest.mark.parametrize("query", ["thanks, please continue", "ok", "what is the capital of France?"])
def test_nothing_is_said_where_cold_has_no_answer_either(archive: Memotherm, query: str) -> None:
    """The hint is empty."""
    assert archive.recall(query).hint == ""


def test_a_context_does_not_look_at_cold(archive: Memotherm) -> None:
    """A prompt that nothing live answers stays silent."""
    assert archive.context(_QUESTION).text == ""


def test_a_good_answer_does_not_search_cold(archive: Memotherm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither for a recall nor for a context; a weak one does, once, if cold has the words that are missing."""
    searched: list[tuple[str, ...]] = []
    search = SqliteStore.search_vector

    def noted(store: SqliteStore, asked: Any, *more: Any) -> Any:
        searched.append(tuple(map(str, asked.tiers)))
        return search(store, asked, *more)

    monkeypatch.setattr(SqliteStore, "search_vector", noted)
    assert archive.recall("who reviews the pull requests?").hint == ""
    archive.context("who reviews the pull requests?")
    assert searched == [("hot", "warm"), ("warm",)]
    archive.recall(_QUESTION)
    assert searched[2:] == [("hot", "warm"), ("cold",)]
    for weak in ("how do I bake sourdough bread?", "thanks", "who is the capital of the moon?"):
        archive.recall(weak)
    assert searched[4:] == [("hot", "warm")] * 3


def test_words_that_live_memories_have_are_not_looked_up_in_cold(archive: Memotherm) -> None:
    """A search there would cost as much as the recall; a search of all tiers finds what cold says with these words."""
    archive.remember("The build of the green logo takes long on weekdays", tier="cold")
    assert archive.recall("what takes the linter long on the third floor?").hint == ""


def test_the_command_line_names_its_own_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On standard error, beside what was found."""
    with memotherm.open(tmp_path / "memory.db") as mem:
        mem.remember_many([{"content": content} for content in _LIVE])
        mem.remember(_DECISION, kind="decision", tier="cold")
    assert app.run(["recall", _QUESTION, "--store", str(tmp_path / "memory.db")]) == 0

    assert f"1 better match in cold: {_DECISION} (--include-cold)" in capsys.readouterr().err
