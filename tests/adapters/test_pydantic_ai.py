"""The capability of Pydantic AI: a context of each run, tools, and the capture of what was said."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from memotherm import InvalidInput, Memotherm
from memotherm.adapters.pydantic_ai import MemothermCapability

pytestmark = [pytest.mark.sqlite, pytest.mark.usefixtures("event_loop")]


class Script:
    """A model that returns given parts, and keeps the messages of each request."""

    def __init__(self, *parts: Any) -> None:
        self.parts = list(parts)
        self.seen: list[list[ModelMessage]] = []

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.seen.append(list(messages))
        return ModelResponse([self.parts.pop(0)])


def texts(message: ModelMessage) -> list[str]:
    return [str(getattr(part, "content", "")) for part in message.parts]


def test_a_context_enters_the_history_once(mem: Memotherm) -> None:
    """The second run of a conversation has the same prefix, and is not given the same memories again."""
    mem.remember("The port of staging is 5544")
    script = Script(TextPart("It is 5544."), TextPart("As I said."))
    agent = Agent(FunctionModel(script), capabilities=[MemothermCapability(mem, tools=False)])
    first = agent.run_sync("Which port has staging?")
    agent.run_sync("And which port has staging today?", message_history=first.all_messages())

    before, after = script.seen
    assert after[: len(before)] == before
    given = [text for message in after for text in texts(message) if "memotherm-memory" in text]
    assert len(given) == 1
    assert "The port of staging is 5544" in given[0]


def test_tools_recall_and_remember_and_tell_the_model_what_is_wrong(mem: Memotherm) -> None:
    """What is remembered in a run is stored, and a refused argument can be tried again."""
    script = Script(
        ToolCallPart("remember", {"content": "The port of staging is 5544", "kind": "Not A Kind"}),
        ToolCallPart("remember", {"content": "The port of staging is 5544"}),
        ToolCallPart("recall", {"query": "port of staging"}),
        TextPart("done"),
    )
    Agent(FunctionModel(script), capabilities=[MemothermCapability(mem)]).run_sync("Note that staging listens on 5544")

    refused = script.seen[1][-1].parts[0]
    assert isinstance(refused, ToolReturnPart)
    assert refused.outcome == "retried"
    assert "unknown kind" in str(refused.content)
    assert "The port of staging is 5544" in str(texts(script.seen[3][-1]))


def test_the_prompt_and_the_reply_are_captured_with_their_conversation(mem: Memotherm) -> None:
    """Credentials are replaced, and nothing is stored with `capture=False`."""
    for capture in (False, True):
        script = Script(TextPart("Staging listens on port 5544 now"))
        agent = Agent(FunctionModel(script), capabilities=[MemothermCapability(mem, capture=capture)])
        agent.run_sync("Use the token ghp_abcdefghijklmnopqrstuvwxyz0123456789 for staging", conversation_id="c1")
        assert len(mem.find()) == (2 if capture else 0)
    user = mem.find(where={"role": "user"})[0]
    assert user.content == "Use the token [redacted] for staging"
    assert user.metadata["session"] == "c1"
    with pytest.raises(InvalidInput, match="mode is"):
        MemothermCapability(mem, mode="system")  # type: ignore[arg-type]
