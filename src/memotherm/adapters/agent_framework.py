"""Memotherm as a context provider of the Microsoft Agent Framework: `MemothermContextProvider(mem)`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

try:
    from agent_framework import AgentSession, ContextProvider, Message, SessionContext, SupportsAgentRun
except ImportError as exc:
    raise ImportError(
        "this adapter needs the Microsoft Agent Framework: pip install 'memotherm[agent-framework]'"
    ) from exc

from memotherm.adapters.conversation import BUDGET, Conversation
from memotherm.memory import Memotherm


class MemothermContextProvider(ContextProvider):
    """Adds memories for the messages of a run, and captures the messages and the reply."""

    def __init__(
        self, memory: Memotherm, *, source_id: str = "memotherm", budget: int = BUDGET, capture: bool = True
    ) -> None:
        """Use an open memory; its scope decides whose memories these are.

        Args:
            memory: The memory.
            source_id: The name of this provider in attributions.
            budget: The most tokens of the context of a run.
            capture: Whether to store the messages of the user and the reply after a run.
        """
        super().__init__(source_id)
        self.memory = memory
        self._budget = budget
        self._capture = capture

    async def before_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002 - the names are the framework's
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Add the context, with the sessions that its memories come from."""
        # The framework does not keep the messages of providers, so each run needs all that is relevant.
        brought = await asyncio.to_thread(
            self._conversation(session).context,
            _text_of(context.input_messages, "user"),
            self._budget,
            repeat=True,
        )
        if brought.text:
            named = (entry.memory.metadata.get("session") for entry in brought.included)
            origins = list(dict.fromkeys(str(name) for name in named if name))
            context.extend_messages(self, [Message("user", [brought.text])], origin_session_ids=origins or None)

    async def after_run(
        self,
        *,
        agent: SupportsAgentRun,  # noqa: ARG002
        session: AgentSession,
        context: SessionContext,
        state: dict[str, Any],  # noqa: ARG002
    ) -> None:
        """Store the messages of the user and the agent."""
        if not self._capture:
            return
        conversation = self._conversation(session)
        replies = context.response.messages if context.response is not None else []
        for role, messages in (("user", context.input_messages), ("assistant", replies)):
            await asyncio.to_thread(conversation.capture, role, _text_of(messages, role))

    def _conversation(self, session: AgentSession) -> Conversation:
        return Conversation(self.memory, session.session_id, "agent-framework")


def _text_of(messages: Sequence[Message], role: str) -> str:
    return "\n".join(message.text for message in messages if message.role == role and message.text)
