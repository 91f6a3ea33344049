"""Memotherm as a memory block of LlamaIndex: `MemothermMemoryBlock(memory=mem)`."""

from __future__ import annotations

import asyncio
import math
from typing import Any

try:
    from llama_index.core.base.llms.types import ChatMessage, MessageRole
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.memory import BaseMemoryBlock
except ImportError as exc:
    raise ImportError("this adapter needs LlamaIndex: pip install 'memotherm[llama-index]'") from exc

from memotherm.adapters.conversation import BUDGET, Conversation
from memotherm.context.assembler import turn_query
from memotherm.memory import Memotherm
from memotherm.text.tokens import count_tokens

_SOURCE = "llama-index"
#: The session of messages that were put without one.
_NO_SESSION = "unknown"
#: The queries of the latest contexts, to pack them again.
_MOST_QUERIES = 32
#: The tokens of LlamaIndex and ours are counted by different models.
_MARGIN = 1.2


class MemothermMemoryBlock(BaseMemoryBlock[str]):
    """Memories for the latest message, and capture of messages that left the short-term memory.

    If the tokens do not suffice, the block is packed again for fewer tokens instead of being dropped.
    """

    name: str = Field(default="memotherm", description="The name of the memory block.")
    priority: int = Field(default=1, description="The priority of the block; 0 would never shorten it.")
    memory: Memotherm = Field(description="An open memory, whose scope says whose memories they are.", exclude=True)
    budget: int = Field(default=BUDGET, description="The most tokens of the block.")
    _queries: dict[str, str | None] = PrivateAttr(default_factory=dict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:  # noqa: ANN401, ARG002
        """Return the context of the latest message of the user."""
        asked = [message.content for message in messages or [] if message.role == MessageRole.USER]
        query = turn_query(asked[-1] if asked else None)
        text = (await asyncio.to_thread(self.memory.context, query, self.budget)).text
        self._queries[text] = query
        while len(self._queries) > _MOST_QUERIES:
            del self._queries[next(iter(self._queries))]
        return text

    async def _aput(self, messages: list[ChatMessage]) -> None:
        """Capture the messages of the user and the assistant."""
        for message in messages:
            if message.role in (MessageRole.USER, MessageRole.ASSISTANT):
                session = str(message.additional_kwargs.get("session_id") or _NO_SESSION)
                conversation = Conversation(self.memory, session, _SOURCE)
                await asyncio.to_thread(conversation.capture, message.role.value, message.content or "")

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the most important part of the block, or None if nothing fits."""
        if not content or content not in self._queries:
            return None
        rest = count_tokens(content, self.memory.settings.tokenizer) - math.ceil(tokens_to_truncate * _MARGIN)
        if rest <= 0:
            return None
        return (await asyncio.to_thread(self.memory.context, self._queries[content], rest, track=False)).text or None
