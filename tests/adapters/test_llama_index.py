"""The memory block of LlamaIndex."""

from __future__ import annotations

import asyncio

import pytest

from memotherm import Memotherm

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed; `make adapters` runs this")
pytestmark = pytest.mark.sqlite

from llama_index.core.llms import ChatMessage  # noqa: E402
from llama_index.core.memory import Memory  # noqa: E402

from memotherm.adapters.llama_index import MemothermMemoryBlock  # noqa: E402


def test_a_block_is_shortened_by_its_budget_instead_of_being_dropped(mem: Memotherm) -> None:
    """The best memory remains, all tokens are within the limit, and where nothing fits there is no block."""
    mem.pin(mem.remember("The port of staging is 5544").id)
    for number in range(20):
        mem.remember(f"Ticket {number} says that the port of staging was changed in the year {1990 + number}")
    question = [ChatMessage(role="user", content="Which port has staging?")]

    async def run() -> tuple[str, str | None, str | None]:
        block = MemothermMemoryBlock(memory=mem, budget=500)
        whole = await block.aget(question)
        return whole, await block.atruncate(whole, 100), await block.atruncate(whole, 5000)

    whole, shorter, nothing = asyncio.run(run())
    assert shorter is not None
    assert "5544" in shorter
    assert 0 < len(shorter) < len(whole) - 300
    assert nothing is None


def test_messages_that_leave_the_short_term_memory_are_captured(mem: Memotherm) -> None:
    """They come back when they answer, also in the same session, and with their session and role."""
    block = MemothermMemoryBlock(memory=mem)
    memory = Memory.from_defaults(
        session_id="s1", token_limit=400, chat_history_token_ratio=0.1, token_flush_size=20, memory_blocks=[block]
    )

    async def run() -> list[ChatMessage]:
        for number in range(8):
            await memory.aput(ChatMessage(role="user", content=f"The port of host {number} is 554{number} since May"))
            await memory.aput(ChatMessage(role="assistant", content=f"I noted the port of host {number}, it is open"))
        return list(await memory.aget("Which port has host 0?"))

    messages = asyncio.run(run())
    assert "The port of host 0 is 5540" in str(messages[0].content)
    stored = mem.find(where={"role": "user"})
    assert stored[-1].metadata == {"role": "user", "session": "s1"}
