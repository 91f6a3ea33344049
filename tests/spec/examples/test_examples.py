"""Examples of the source documents, named by document and section; `differences.txt` lists those that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

import memotherm
from memotherm import LimitReached, Memotherm
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import queried


def opened(path: Path, **settings: object) -> Memotherm:
    return memotherm.open(path / "memory.db", embedder=HashEmbedder(), clock=FakeClock(), settings=settings)


def test_002_testing_auto_spill(tmp_path: Path) -> None:
    """Hot memory stays below its limit, and the rest is cold; with a limit that is reached."""
    with opened(tmp_path, hot_token_limit=60) as mem:
        session = mem.session("session-1")
        for number in range(20):
            session.add(f"Message {number} with some content", "message")
        status = session.status()

    assert status.hot.tokens <= status.limit
    assert status.cold.memories > 0


def test_002_testing_recall_from_cold(tmp_path: Path) -> None:
    """What was spilled is recalled."""
    with opened(tmp_path) as mem:
        session = mem.session("session-1")
        session.add("The budget is $50K", "fact")
        session.spill()
        assert "$50K" in session.recall("what was the budget?")[0].memory.content


def test_002_testing_promotion(tmp_path: Path) -> None:
    """A memory that is recalled five times is hot again."""
    with opened(tmp_path) as mem:
        session = mem.session("session-1")
        session.add("Important fact", "fact")
        session.spill()
        for _ in range(5):
            session.recall("important fact")
        assert any(memory.content == "Important fact" for memory in session.hot())


def test_001_problem_a_pinned_warning_is_always_included(tmp_path: Path) -> None:
    """Test cases 1 to 3: stored with a tier, pinned, unpinned."""
    with opened(tmp_path) as mem:
        agent = mem.scoped(agent="agent_1")
        warning = agent.remember("NEVER transfer to agent_X (scammer)", tier="critical")  # type: ignore[arg-type]
        agent.remember("My long-term goal is to build infrastructure", tier="important")  # type: ignore[arg-type]
        agent.remember("Last tick I started building a calculator")
        agent.remember("Agent_Y mentioned they like trading", tier="low")  # type: ignore[arg-type]
        agent.pin(warning.id)
        first = mem.get_relevant_memories("agent_1", "calculator").splitlines()[0]
        assert first == "- [pinned] NEVER transfer to agent_X (scammer)"
        assert str(agent.unpin(warning.id).priority) == "normal"
        assert "[pinned]" not in mem.get_relevant_memories("agent_1", "calculator")


def test_001_memory_metadata_storage(tmp_path: Path) -> None:
    """The tier is metadata on add; an empty query with that filter lists the pinned memories."""
    with opened(tmp_path) as mem:
        agent = mem.scoped(agent="agent_1")
        pinned = agent.remember("Content", metadata={"tier": 0, "created_tick": 42})
        agent.remember("Another content")
        assert [hit.memory.id for hit in agent.recall("", where={"tier": 0})] == [pinned.id]


def test_001_test_cases_limits_and_checkpoint(tmp_path: Path) -> None:
    """Test cases 5 and 6: at most five pinned memories, also after a checkpoint and its restore."""
    with opened(tmp_path) as mem:
        for number in range(5):
            mem.remember(f"Pinned rule {number}", priority="pinned")
        with pytest.raises(LimitReached):
            mem.remember("Pinned rule 5", priority="pinned")
        saved = mem.checkpoint(tmp_path / "saved.db")
    memotherm.restore(saved, tmp_path / "restored.db")
    with memotherm.open(tmp_path / "restored.db", embedder=HashEmbedder()) as mem:
        assert len(mem.pinned()) == 5


def test_003_filtering_retrieval_by_tier(tmp_path: Path) -> None:
    """The body of the document, sent as it is."""
    with opened(tmp_path) as mem:
        mem.remember("The goals of last quarter were met", tier="cold")
        mem.remember("The goals of last quarter are discussed today")
        found = queried(mem, {"query": "last quarter goals", "tier": "cold", "limit": 10})
    assert [item["content"] for item in found["results"]] == ["The goals of last quarter were met"]


def test_004_retrieval_search_then_get(tmp_path: Path) -> None:
    """Search, then expand the context with exact lines."""
    lines = [f"Line {number}" for number in range(1, 101)]
    lines[49:55] = ["The deployment process:", *(f"- deployment step {step}" for step in range(1, 6))]
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-20.md").write_text("\n".join(lines) + "\n", "utf-8")
    with opened(tmp_path) as mem:
        notes = mem.notes(tmp_path)
        hit = notes.search("deployment process")[0]
        assert (hit.path, hit.start_line <= 50 <= hit.end_line) == ("memory/2026-01-20.md", True)
        assert notes.get("memory/2026-01-20.md", 40, 30).text.splitlines() == lines[39:69]
