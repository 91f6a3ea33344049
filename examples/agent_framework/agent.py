"""An agent that knows in a new session what an earlier one said."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

import memotherm
from memotherm.adapters.agent_framework import MemothermContextProvider

requests: list[Sequence[Message]] = []


class ScriptedClient(BaseChatClient):
    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **arguments: Any
    ) -> ChatResponse:
        requests.append(messages)
        told = any("window seat" in message.text for message in messages[:-1])
        return ChatResponse(messages=[Message("assistant", ["The window seat." if told else "Noted."])])


mem = memotherm.open("agent.db", scope=memotherm.Scope(user="ada"))
agent = Agent(ScriptedClient(), context_providers=[MemothermContextProvider(mem)])


async def ask(session_id: str, question: str) -> str:
    response = await agent.run(question, session=agent.create_session(session_id=session_id))
    return response.text


asyncio.run(ask("monday", "I always book the window seat"))
print(asyncio.run(ask("tuesday", "Which seat do I book on trains?")))
