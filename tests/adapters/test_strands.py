"""The memory store of Strands Agents."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memotherm import Memotherm

pytest.importorskip("strands", reason="strands-agents is not installed; `make adapters` runs this")
pytestmark = pytest.mark.sqlite

from strands.memory.types import AddMessagesContext, MemoryEntry  # noqa: E402

from memotherm.adapters.strands import MemothermMemoryStore  # noqa: E402


def said(role: str, *texts: str) -> Any:
    return {"role": role, "content": [{"text": text} for text in texts]}


def found(store: MemothermMemoryStore, query: str, **options: Any) -> list[MemoryEntry]:
    return list(asyncio.run(store.search(query, options or None)))  # type: ignore[arg-type]


def test_messages_are_stored_word_for_word_and_a_batch_that_is_sent_again_changes_nothing(mem: Memotherm) -> None:
    """Equal messages with other numbers are kept; blocks without text are left out."""
    store = MemothermMemoryStore(mem, session_id="s1")
    batch = [
        said("user", "The port of staging is 5544"),
        said("assistant"),
        said("user", "The port of staging is 5544"),
    ]
    for _ in range(2):
        stored = asyncio.run(store.add_messages(batch, AddMessagesContext(sequence_numbers=[0, 1, 4])))
        assert stored == {"stored": 2}
    assert [memory.content for memory in mem.find()] == ["The port of staging is 5544"] * 2
    assert mem.find()[0].metadata == {"role": "user", "session": "s1"}
    asyncio.run(store.add_messages(batch[:1]))
    assert len(mem.find()) == 3


def test_agents_and_runs_that_number_their_messages_alike_lose_none(mem: Memotherm) -> None:
    """The numbers begin at 0 for each agent, also for those that continue a conversation or share a store."""
    store, later = (MemothermMemoryStore(mem, session_id="a/b c") for _ in range(2))
    for each, text in ((store, "Staging is in Oslo"), (later, "Staging is in Bergen"), (later, "Staging is in Turku")):
        asyncio.run(each.add_messages([said("user", text)], AddMessagesContext(sequence_numbers=[0])))
    assert {memory.content.split()[-1] for memory in mem.find()} == {"Oslo", "Bergen", "Turku"}


def test_facts_are_found_with_score_and_metadata(mem: Memotherm) -> None:
    """The number of results is that of the search, then that of the store."""
    store = MemothermMemoryStore(mem, max_search_results=2)
    for number in range(4):
        asyncio.run(store.add(f"The port of staging {number} is 554{number}", {"number": number}))
        asyncio.run(store.add(f"The port of staging {number} is 554{number}", {"number": number}))
    assert len(mem.find()) == 4
    assert len(found(store, "port of staging")) == 2
    entries = found(store, "port of staging", max_search_results=3)
    assert len(entries) == 3
    assert entries[0].metadata is not None
    assert {"id", "score", "number"} == entries[0].metadata.keys()
    assert found(store, "  ") == []


def test_what_is_refused_stores_nothing(mem: Memotherm) -> None:
    """The errors are those of Strands' own store, and of the memory."""
    for arguments in ({"name": " "}, {"max_search_results": 0}):
        with pytest.raises(ValueError, match="MemothermMemoryStore: "):
            MemothermMemoryStore(mem, **arguments)  # type: ignore[arg-type]
    store = MemothermMemoryStore(mem)
    with pytest.raises(ValueError, match="content must not be empty"):
        asyncio.run(store.add(" "))
    with pytest.raises(ValueError, match="not writable"):
        asyncio.run(MemothermMemoryStore(mem, writable=False).add("a fact"))
    with pytest.raises(ValueError, match="sequence numbers"):
        asyncio.run(store.add_messages([said("user", "a message")], AddMessagesContext(sequence_numbers=[1, 2])))
    assert list(mem.find()) == []
