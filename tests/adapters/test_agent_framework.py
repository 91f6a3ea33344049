"""The context provider of the Microsoft Agent Framework."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from memotherm import Memotherm
from memotherm.adapters.agent_framework import MemothermContextProvider

pytestmark = pytest.mark.sqlite


class Client(BaseChatClient[Any]):
    """A model with one reply, which keeps the messages of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Sequence[Message]] = []

    async def _inner_get_response(  # type: ignore[override]
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **arguments: Any
    ) -> ChatResponse[Any]:
        self.seen.append(messages)
        return ChatResponse(messages=[Message("assistant", ["Staging listens on port 5544"])])


def test_a_run_is_given_what_other_sessions_said_and_is_captured(mem: Memotherm) -> None:
    """Every run of a session is given it; what the session itself said is left out."""
    client = Client()
    agent = Agent(client, context_providers=[MemothermContextProvider(mem)])

    async def run() -> None:
        mem.remember("The port of production is 7788", metadata={"session": "old"})
        session = agent.create_session(session_id="now")
        await agent.run("Which port has production, please tell me?", session=session)
        await agent.run("Which port has production today?", session=session)

    asyncio.run(run())
    for messages in client.seen:
        given = [message for message in messages if "memotherm-memory" in message.text]
        assert len(given) == 1
        assert "7788" in given[0].text
        assert "please tell me" not in given[0].text
        assert given[0].additional_properties["_attribution"]["origin_session_ids"] == ["old"]
    # Of the questions, the answers are kept.
    assert {memory.metadata["role"] for memory in mem.find(where={"session": "now"})} == {"assistant"}


@pytest.mark.slow
def test_a_prompt_that_cannot_be_stored_as_it_is_does_not_fail_the_run(open_mem: Callable[..., Memotherm]) -> None:
    """Half a character is replaced, and what is longer than a memory may be is cut."""
    mem = open_mem(":memory:", settings={"max_content_chars": 60})
    agent = Agent(Client(), context_providers=[MemothermContextProvider(mem)])
    reply: Any = asyncio.run(agent.run(f"Which port \ud800 has staging? {'It matters. ' * 10}"))
    assert reply.text == "Staging listens on port 5544"
    (said,) = mem.find(where={"role": "user"})
    assert said.content.startswith("Which port ? has staging?")
    assert len(said.content) <= 60


def test_nothing_is_stored_with_capture_off(mem: Memotherm) -> None:
    """And a run that no memory answers has no context."""
    client = Client()
    agent = Agent(client, context_providers=[MemothermContextProvider(mem, capture=False)])
    asyncio.run(agent.run("Which port has production?"))
    assert [len(messages) for messages in client.seen] == [1]
    assert list(mem.find()) == []
