"""An agent that is given what it was told before."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from strands import Agent
from strands.memory import MemoryManager
from strands.models import Model

import memotherm
from memotherm.adapters.strands import MemothermMemoryStore

prompts: list[str] = []


class ScriptedModel(Model):
    async def stream(self, messages: list[Any], *arguments: Any, **options: Any) -> AsyncIterator[dict[str, Any]]:
        prompts.append(" ".join(block.get("text", "") for block in messages[-1]["content"]))
        reply = "The window seat." if "<memory>" in prompts[-1] else "Noted."
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": reply}, "contentBlockIndex": 0}}
        yield {"contentBlockStop": {"contentBlockIndex": 0}}
        yield {"messageStop": {"stopReason": "end_turn"}}

    async def structured_output(self, *arguments: Any, **options: Any) -> AsyncIterator[dict[str, Any]]:
        raise NotImplementedError
        yield {}

    def get_config(self) -> dict[str, Any]:
        return {}

    def update_config(self, **options: Any) -> None:
        pass


mem = memotherm.open("agent.db", scope=memotherm.Scope(user="ada"))


async def ask(question: str) -> str:
    manager = MemoryManager(stores=[MemothermMemoryStore(mem, extraction=True)], add_tool_config=True)
    agent = Agent(model=ScriptedModel(), memory_manager=manager, callback_handler=None)
    reply = await agent.invoke_async(question)
    await manager.flush()
    return str(reply).strip()


asyncio.run(ask("I always book the window seat"))
print(asyncio.run(ask("Which seat do I book on trains?")))
