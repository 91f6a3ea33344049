"""The session of the OpenAI Agents SDK: items come back equal, and other conversations know what was said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents.memory import Session

from memotherm import InvalidInput, Memotherm
from memotherm.adapters.openai_agents import MemothermSession

ITEMS: Any = [
    {"role": "user", "content": "The port of staging is 5544"},
    {"type": "reasoning", "id": "r1", "summary": [], "score": 1.5, "big": 2**70},
    {"type": "function_call", "call_id": "c1", "name": "probe", "arguments": '{"port": 5544}'},
    {"type": "function_call_output", "call_id": "c1", "output": "nul \x00 and lone \ud800"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Noted.", "annotations": []}]},
    {"role": "user", "content": "The port of staging is 5544"},
]


def test_items_come_back_equal_and_in_order(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Equal items, characters that a database refuses and large numbers are kept; a limit returns the latest."""
    session, other = (MemothermSession(name, open_mem(tmp_path / "m.db")) for name in ("a", "a/b"))

    async def run() -> None:
        await session.add_items(ITEMS[:3])
        await other.add_items(ITEMS[:1])
        await session.add_items(ITEMS[3:])
        assert isinstance(session, Session)
        assert await session.get_items() == ITEMS
        assert await session.get_items(2) == ITEMS[-2:]
        assert await session.get_items(0) == []
        assert await session.pop_item() == ITEMS[-1]
        await session.clear_session()
        assert await session.get_items() == []
        assert await session.pop_item() is None
        assert await other.get_items() == ITEMS[:1]

    asyncio.run(run())


@pytest.mark.sqlite
def test_what_cannot_be_recalled_is_not_part_of_the_content(mem: Memotherm) -> None:
    """Credentials and half characters come back in items, but not in what other conversations recall."""
    session = MemothermSession("s", mem)
    items: Any = [{"role": "user", "content": "The key of staging is AKIAIOSFODNN7EXAMPLE \ud800 in Oslo"}]
    asyncio.run(session.add_items(items))
    assert asyncio.run(session.get_items()) == items
    assert [memory.content for memory in mem.find()] == ["The key of staging is [redacted] ? in Oslo"]


@pytest.mark.sqlite
def test_items_that_are_popped_at_the_same_time_are_popped_once(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Two sessions of one conversation never return the same item."""
    sessions = [MemothermSession("s", open_mem(tmp_path / "m.db")) for _ in range(2)]
    stored: Any = [{"role": "user", "content": f"item {number}"} for number in range(8)]

    async def run() -> list[Any]:
        await sessions[0].add_items(stored)
        return await asyncio.gather(*(session.pop_item() for session in sessions * 2))

    popped = asyncio.run(run())
    assert sorted(item["content"] for item in popped) == ["item 4", "item 5", "item 6", "item 7"]


@pytest.mark.sqlite
def test_an_item_that_is_refused_stores_none_of_its_batch(mem: Memotherm) -> None:
    """What JSON cannot express stops all items of the call."""
    session = MemothermSession("s", mem)
    unstorable: Any = {"role": "user", "content": object()}
    with pytest.raises(TypeError, match="JSON"):
        asyncio.run(session.add_items([ITEMS[0], unstorable]))
    with pytest.raises(InvalidInput, match="metadata takes"):
        asyncio.run(session.add_items([ITEMS[0], {"role": "user", "content": "x" * 10_000_001}]))
    assert asyncio.run(session.get_items()) == []


@pytest.mark.sqlite
def test_the_callback_brings_what_other_conversations_said_once(mem: Memotherm) -> None:
    """The context stands before the new items, leaves out this conversation, and is not recalled itself."""
    earlier, session = MemothermSession("earlier", mem), MemothermSession("now", mem)
    asyncio.run(earlier.add_items(ITEMS[:1]))
    asyncio.run(session.add_items([{"role": "user", "content": "The port of production is 7788"}]))
    question: Any = {"role": "user", "content": "Which port has staging, which production?"}

    history = asyncio.run(session.get_items())
    combined: Any = asyncio.run(session.session_input_callback(history, [question]))
    assert [combined[0], combined[2]] == [*history, question]
    assert "staging is 5544" in combined[1]["content"]
    assert "7788" not in combined[1]["content"]
    asyncio.run(session.add_items(combined[1:]))
    assert asyncio.run(session.session_input_callback([], [question])) == [question]
    found = [hit.memory.content for hit in mem.recall("port of staging", tiers=("hot", "warm", "cold"))]
    assert found.count("The port of staging is 5544") == 1
    assert not any("memotherm-memory" in content for content in found)
